//! Contexts of the tree format: the lists that the document prints.

use std::collections::BTreeMap;

use sapwood::codec::{Value, json};
use sapwood::object::Entry;
use sapwood::session::{self, Change};
use sapwood::store::Durability;
use sapwood::{Id, Repo};

/// Keeps lines of the document's format, each with the parent that it names, and gives the entries.
fn kept(lines: &str) -> (Repo, BTreeMap<String, Id>) {
    let repo = Repo::in_memory();
    session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let mut ids: BTreeMap<String, Id> = BTreeMap::new();
    for line in lines.lines() {
        let body = json::parse(line.as_bytes()).unwrap();
        let text = |key: &str| body.get(key).and_then(Value::as_text);
        let entry = Entry {
            label: text("type").unwrap().to_owned(),
            time: 1,
            parents: text("parentUuid").map(|parent| ids[parent]).into_iter().collect(),
            body: body.clone(),
            raw: None,
        };
        let mut id = None;
        let commit = repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 1)?;
            id = Some(change.append_entry("main", entry.clone())?);
            change.finish(None)
        });
        commit.unwrap();
        ids.insert(text("uuid").unwrap().to_owned(), id.unwrap());
    }
    (repo, ids)
}

/// Draws a path, one name after the other; names that begin with a letter of `summaries` sum up.
fn drawn(path: &[(&str, Option<&str>)]) -> String {
    let lines = path.iter().map(|(name, parent)| {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let said = match name.strip_suffix(":summary") {
            Some(_) => format!(r#""type":"stack_summary","summary":"{name}""#),
            None => {
                let message = format!(r#"{{"role":"user","content":"{name}"}}"#);
                format!(r#""type":"message","message":{message}"#)
            }
        };
        format!(r#"{{{said},"uuid":"{name}","parentUuid":{parent}}}"#)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn shown(repo: &Repo, at: Id) -> Vec<String> {
    let context = session::context(&*repo.snapshot().unwrap(), Some("s"), at).unwrap();
    let said = context.messages.iter().map(|shown| {
        let name = match (shown.label.as_str(), shown.message.role.as_str()) {
            ("branch_summary" | "compaction" | "stack_summary", _) => "Summary",
            (_, "user") => "User",
            (_, "assistant") => "Assistant",
            (_, other) => other,
        };
        format!("{name}: {:?}", shown.message.text())
    });
    said.collect()
}

#[test]
fn a_full_session_with_branching() {
    let (repo, ids) = kept(concat!(
        r#"{"type":"session","version":2,"uuid":"ses1","parentUuid":null,"id":"abc","cwd":"/project"}"#,
        "\n",
        r#"{"type":"message","uuid":"m1","parentUuid":"ses1","message":{"role":"user","content":"Build a CLI"}}"#,
        "\n",
        r#"{"type":"message","uuid":"m2","parentUuid":"m1","message":{"role":"assistant","content":"I'll create..."}}"#,
        "\n",
        r#"{"type":"message","uuid":"m3","parentUuid":"m2","message":{"role":"user","content":"Add --verbose flag"}}"#,
        "\n",
        r#"{"type":"message","uuid":"m4","parentUuid":"m3","message":{"role":"assistant","content":"Here's the flag..."}}"#,
        "\n",
        r#"{"type":"message","uuid":"m5","parentUuid":"m4","message":{"role":"user","content":"Actually use Python"}}"#,
        "\n",
        r#"{"type":"message","uuid":"m6","parentUuid":"m5","message":{"role":"assistant","content":"Converting to Python..."}}"#,
        "\n",
        r#"{"type":"branch_summary","uuid":"bs1","parentUuid":"m2","summary":"Attempted Node.js CLI with --verbose flag"}"#,
        "\n",
        r#"{"type":"message","uuid":"m7","parentUuid":"bs1","message":{"role":"user","content":"Use Rust instead"}}"#,
        "\n",
        r#"{"type":"message","uuid":"m8","parentUuid":"m7","message":{"role":"assistant","content":"Creating Rust CLI..."}}"#,
    ));
    let expected = [
        r#"User: "Build a CLI""#,
        r#"Assistant: "I'll create...""#,
        r#"Summary: "Attempted Node.js CLI with --verbose flag""#,
        r#"User: "Use Rust instead""#,
        r#"Assistant: "Creating Rust CLI...""#,
    ];
    assert_eq!(shown(&repo, ids["m8"]), expected);
    let path: Vec<Id> = ["m8", "m7", "bs1", "m2", "m1", "ses1"].map(|name| ids[name]).to_vec();
    assert_eq!(repo.path(&ids["m8"]).unwrap(), path);
    assert_eq!(shown(&repo, ids["m6"]).len(), 6, "the old path is preserved");
}

#[test]
fn branching_in_place() {
    let (repo, ids) = kept(&drawn(&[
        ("hello", None),
        ("hi", Some("hello")),
        ("user A", Some("hi")),
        ("asst A", Some("user A")),
        ("user B", Some("hi")),
        ("asst B", Some("user B")),
    ]));
    let expected = [r#"User: "hello""#, r#"User: "hi""#, r#"User: "user B""#, r#"User: "asst B""#];
    assert_eq!(shown(&repo, ids["asst B"]), expected);
}

#[test]
fn multiple_pops() {
    let mut path = vec![("a", None)];
    let mut chain = |names: &[&'static str]| {
        path.extend(names.windows(2).map(|pair| (pair[1], Some(pair[0]))));
    };
    chain(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    chain(&["c", "i:summary", "j", "k", "l"]);
    chain(&["k", "m:summary", "n"]);
    let (repo, ids) = kept(&drawn(&path));
    let text: Vec<String> = ["a", "b", "c", "i:summary", "j", "k", "m:summary", "n"]
        .iter()
        .map(|name| match name.ends_with(":summary") {
            true => format!("Summary: {name:?}"),
            false => format!("User: {name:?}"),
        })
        .collect();
    assert_eq!(shown(&repo, ids["n"]), text);
}

#[test]
fn compaction_is_a_marker_in_the_chain() {
    let names = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"];
    let mut path = vec![("root", None), ("m1", Some("root"))];
    path.extend(names.windows(2).map(|pair| (pair[1], Some(pair[0]))));
    let compaction = r#"{"type":"compaction","uuid":"c1","parentUuid":"m10","summary":"...","firstKeptEntryUuid":"m6","tokensBefore":50000}"#;
    let (repo, ids) = kept(&format!("{}\n{compaction}", drawn(&path)));
    let mut expected = vec![r#"Summary: "...""#.to_owned()];
    expected.extend(names[5..].iter().map(|name| format!("User: {name:?}")));
    assert_eq!(shown(&repo, ids["c1"]), expected);
}

#[test]
fn each_branch_has_its_own_compactions() {
    let mut path = vec![("root", None), ("m1", Some("root"))];
    let mut chain = |names: &[&'static str]| {
        path.extend(names.windows(2).map(|pair| (pair[1], Some(pair[0]))));
    };
    chain(&["m1", "m2", "m3", "m4", "m5"]);
    let first = drawn(&path);
    let compaction = |name: &str, parent: &str, kept: &str| {
        format!(
            r#"{{"type":"compaction","uuid":"{name}","parentUuid":"{parent}","summary":"{name}","firstKeptEntryUuid":"{kept}"}}"#
        )
    };
    let old = drawn(&[("m6", Some("compaction1")), ("m7", Some("m6")), ("m8", Some("m7"))]);
    let stacked =
        drawn(&[("stack:summary", Some("m2")), ("m9", Some("stack:summary")), ("m10", Some("m9"))]);
    let last = drawn(&[("m11", Some("compaction2"))]);
    let lines = [
        first,
        compaction("compaction1", "m5", "m4"),
        old,
        stacked,
        compaction("compaction2", "m10", "m9"),
        last,
    ];
    let (repo, ids) = kept(&lines.join("\n"));
    let texts = |at: &str| {
        let context = session::context(&*repo.snapshot().unwrap(), Some("s"), ids[at]).unwrap();
        context.messages.iter().map(|shown| shown.message.text()).collect::<Vec<_>>()
    };
    assert_eq!(texts("m11"), ["compaction2", "m9", "m10", "m11"]);
    assert_eq!(texts("m8"), ["compaction1", "m4", "m5", "m6", "m7", "m8"]);
    assert_eq!(texts("m10"), ["root", "m1", "m2", "stack:summary", "m9", "m10"]);
}
