//! Sessions with branches, strays and compactions, told in order.

use super::*;
use crate::codec::json;
use crate::repo::Repo;
use crate::session::{self, Change};
use crate::store::{Durability, RefValue};

/// Tells a session: branches and their lines, each branch new where it is first named.
pub(super) fn tell(parts: &[(&str, &[&str])]) -> Repo {
    let repo = Repo::in_memory();
    for (branch, lines) in parts {
        let pin = session::pin(&repo, Some("s"), Some(branch), 0, "tester").unwrap();
        let bodies = lines.iter().map(|line| json::parse(line.as_bytes()).unwrap()).collect();
        session::append(&repo, &pin, bodies, Durability::Full, 1_769_848_200_250).unwrap();
    }
    repo
}

/// Hangs an entry on another, or on none, and leaves the branch where it was.
fn hang(repo: &Repo, on: Option<Id>, label: &str, body: &str) -> Id {
    let mut id = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, "s", 0)?;
        let end = change.branch("main")?;
        change.set("heads/main", on.map(RefValue::Id))?;
        id = Some(change.append("main", label, json::parse(body.as_bytes()).unwrap(), 0)?);
        change.set("heads/main", end.map(RefValue::Id))?;
        change.finish(None)
    })
    .unwrap();
    id.unwrap()
}

fn markdown_of(repo: &Repo, scope: Scope) -> String {
    let mut out = Vec::new();
    markdown(&*repo.snapshot().unwrap(), "s", scope, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn ids(repo: &Repo) -> Vec<Id> {
    session::transcript(&*repo.snapshot().unwrap(), "s").unwrap()
}

/// Says that these stand in a text, in this order, and each once.
#[track_caller]
fn check_order(text: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = text[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part:?} is missing or out of order in\n{text}"));
        assert_eq!(text.matches(part).count(), 1, "{part:?} in\n{text}");
    }
}

const ASK: &str = r#"{"role":"user","content":"ask"}"#;
const CALLS: &str = r#"{"role":"assistant","model":"m","content":[{"type":"thinking",
    "thinking":"hm"},{"type":"tool_use","id":"1","name":"list","input":{"p":"x"}},
    {"type":"tool_use","id":"2","name":"show","input":{}}]}"#;

#[test]
fn each_branch_is_a_section_and_shared_history_stands_once() {
    let repo = tell(&[
        ("main", &[ASK, r#"{"role":"assistant","content":"shared"}"#]),
        ("other", &[r#"{"role":"user","content":"elsewhere"}"#]),
        ("main", &[r#"{"role":"user","content":"onwards"}"#]),
        ("deeper", &[r#"{"role":"user","content":"at the end"}"#]),
    ]);
    let text = markdown_of(&repo, Scope::Session);
    let sections = [
        "## Branch main",
        "\nask",
        "\nshared",
        "[other](#branch-2): elsewhere",
        "\nonwards",
        "[deeper](#branch-3): at the end",
        "## Branch other",
        "\nelsewhere",
        "## Branch deeper",
        "\nat the end",
    ];
    check_order(&text, &sections);
    assert_eq!(text.matches("Branches off [main](#e").count(), 2);
    let ids = ids(&repo);
    let path = markdown_of(&repo, Scope::Path(ids[2]));
    check_order(&path, &["\nask", "\nshared", "\nelsewhere"]);
    assert!(!path.contains("onwards") && !path.contains("Branch"), "{path}");
    let subtree = markdown_of(&repo, Scope::Subtree(ids[3]));
    check_order(&subtree, &["\nask", "\nshared", "\nonwards", "\nat the end"]);
    assert!(!subtree.contains("elsewhere"), "{subtree}");
    let unknown = Scope::Path(Id::from_bytes([7; 32]));
    assert!(markdown(&*repo.snapshot().unwrap(), "s", unknown, &mut Vec::new()).is_err());
}

#[test]
fn results_stand_with_their_calls_wherever_they_hang() {
    let repo = tell(&[("main", &[ASK, CALLS])]);
    let call = ids(&repo)[1];
    hang(&repo, Some(call), "message", r#"{"role":"tool","tool_call_id":"1","content":"one"}"#);
    hang(&repo, Some(call), "progress", r#"{"percent":50}"#);
    hang(&repo, None, "session", r#"{"cwd":"/x"}"#);
    let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let after = [
        r#"{"role":"tool","tool_call_id":"2","isError":true,"content":"two"}"#,
        r#"{"role":"tool","tool_call_id":"2","content":"again"}"#,
        r#"{"role":"assistant","content":"done"}"#,
    ];
    let after = after.map(|line| json::parse(line.as_bytes()).unwrap()).to_vec();
    session::append(&repo, &pin, after, Durability::Full, 0).unwrap();
    let text = markdown_of(&repo, Scope::Session);
    check_order(
        &text,
        &[
            "Calls **list**",
            "Result:\n\n```\none",
            "Calls **show**",
            "Error:\n\n```\ntwo",
            "1 beside the path</summary>\n\n*progress*",
            "### Tool",
            "again",
            "\ndone",
            "</summary>\n\n*session* cwd\\=/x",
        ],
    );
    assert!(!text.contains("## Branch"), "what leads to nothing is no branch: {text}");
}

#[test]
fn a_result_on_another_branch_stays_there() {
    let result = r#"{"role":"tool","tool_call_id":"1","content":"there"}"#;
    let said = r#"{"role":"assistant","content":"then"}"#;
    let repo = tell(&[("main", &[ASK, CALLS]), ("other", &[result, said])]);
    let text = markdown_of(&repo, Scope::Session);
    check_order(&text, &["Calls **list**", "## Branch other", "```\nthere"]);
    assert_eq!(text.matches("No result.").count(), 2);
}

#[test]
fn what_a_compaction_puts_away_is_folded_and_what_it_keeps_is_not() {
    let said = |text: &str| format!(r#"{{"id":"{text}","role":"user","content":"{text}"}}"#);
    let lines = ["one", "two", "three"].map(said);
    let compaction = r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"three"}"#;
    let last = r#"{"type":"compaction","summary":"all"}"#;
    let repo =
        tell(&[("main", &[&lines[0], &lines[1], &lines[2], compaction, &said("four"), last])]);
    let text = markdown_of(&repo, Scope::Session);
    check_order(
        &text,
        &[
            "2 entries before",
            "\none",
            "\ntwo",
            "\nthree",
            "\nso far",
            "1 entries before",
            "\nfour",
            "\nall",
        ],
    );
    let kept = text.find("\nthree").unwrap();
    assert!(text[..kept].contains("</details>"), "{text}");
}

#[test]
fn markdown_stays_within_its_place() {
    let text = r#"{"role":"user<b>","content":"a <b> `<i>`\n```html\n<u>\n"}"#;
    let result = r#"{"role":"tool","tool_call_id":"9","content":"x ```` \u001b[1m"}"#;
    let text = markdown_of(&tell(&[("main", &[text, result])]), Scope::Session);
    assert!(text.contains("### User\\<b\\>"), "{text}");
    assert!(text.contains("a \\<b> `<i>`\n```html\n<u>\n```\n"), "{text}");
    assert!(text.contains("`````\nx ```` ␛[1m\n`````"), "{text}");
}

#[test]
fn an_empty_session_has_a_title() {
    let repo = tell(&[("main", &[])]);
    assert!(markdown_of(&repo, Scope::Session).starts_with("# s\n"));
    let mut page = Vec::new();
    html(&*repo.snapshot().unwrap(), "s", Scope::Session, &mut page).unwrap();
    assert!(String::from_utf8(page).unwrap().contains("Nothing was said yet."));
}
