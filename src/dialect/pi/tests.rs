mod written;

use super::*;
use crate::dialect::claude::Claude;
use crate::dialect::tests::{Told, essence, texts, told_lines, values};
use crate::dialect::{Label, recognised};
use crate::id::{Id, Kind};
use crate::object::{Fork, Session};
use crate::time;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":
    "2026-01-01T00:00:00.000Z","cwd":"/w","parentSession":"/x/2025-12-31T00-00-00-000Z_s0.jsonl"}"#;
const V1: &str = r#"{"type":"session","id":"s1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w",
    "provider":"p","modelId":"m","thinkingLevel":"off"}"#;

fn read(lines: &[&str]) -> Told {
    told_lines(&Pi, "", lines)
}

/// Writes an entry of the tree.
fn entry(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","id":"{id}","parentId":{parent},
        "timestamp":"2026-01-01T00:00:01.000Z"{rest}}}"#
    )
}

/// Writes a message that says its own id.
fn say(id: &str, parent: &str, role: &str) -> String {
    let rest = format!(r#","message":{{"role":"{role}","content":"{id}"}}"#);
    entry("message", id, parent, &rest)
}

/// Writes a message of a linear file.
fn line(role: &str, text: &str) -> String {
    format!(r#"{{"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#)
}

/// Reads a header and entries.
fn tree(entries: &[String]) -> Told {
    let lines: Vec<&str> = [HEADER].into_iter().chain(entries.iter().map(String::as_str)).collect();
    read(&lines)
}

fn linear(entries: &[String]) -> Told {
    let lines: Vec<&str> = [V1].into_iter().chain(entries.iter().map(String::as_str)).collect();
    read(&lines)
}

#[test]
fn its_files_are_recognised_and_no_others() {
    let message = say("a", "", "user");
    let own: [&[&str]; 5] = [
        &[HEADER],
        &[V1, r#"{"type":"message","message":{"role":"user"}}"#],
        &[r#"{"type":"session","id":"x","cwd":"/"}"#],
        &[r#"{"type":"session","version":2,"uuid":"a","parentUuid":null,"id":"x"}"#],
        &[&message],
    ];
    for lines in own {
        assert!(Pi.recognise(&values(lines)), "{lines:?}");
    }
    let others: [&[&str]; 6] = [
        &[r#"{"type":"session","id":"x","cwd":"/","provider":"p","model":"m"}"#],
        &[r#"{"type":"session","id":"x","parent_id":null,"branch_point":null}"#],
        &[r#"{"type":"session","version":1,"id":"x"}"#],
        &[r#"{"type":"session","id":"x"}"#, r#"{"type":"message","role":"user","content":"y"}"#],
        &[r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user"}}"#],
        &[r#"{"type":"session.start","data":{},"id":"a","parentId":null}"#],
    ];
    for lines in others {
        assert!(!Pi.recognise(&values(lines)), "{lines:?}");
    }
}

#[test]
fn types_parents_and_speakers_are_read() {
    let cases = [
        (say("a", "", "user"), "message", Parent::Root, Voice::Person),
        (say("a", "b", "assistant"), "message", Parent::Id("b".into()), Voice::Model),
        (say("a", "b", "toolResult"), "message", Parent::Id("b".into()), Voice::None),
        (say("a", "", "custom"), "custom_message", Parent::Root, Voice::None),
        (say("a", "", "hookMessage"), "custom_message", Parent::Root, Voice::None),
        (say("a", "", "bashExecution"), "bash_execution", Parent::Root, Voice::Person),
        (say("a", "", "branchSummary"), "branch_summary", Parent::Root, Voice::None),
        (entry("compaction", "a", "", ""), "compaction", Parent::Root, Voice::None),
        (entry("label", "a", "b", ""), "label", Parent::Id("b".into()), Voice::None),
        (entry("of tomorrow", "a", "", ""), "of tomorrow", Parent::Root, Voice::None),
        (r#"{"type":"message"}"#.to_owned(), "message", Parent::Before, Voice::None),
        (r#"{"x":1}"#.to_owned(), "unknown", Parent::Before, Voice::None),
    ];
    for (line, label, parent, voice) in cases {
        let step = Pi.read(&values(&[&line])[0], &mut Source::default());
        assert_eq!((step.label.as_str(), step.parent, step.voice), (label, parent, voice));
    }
}

#[test]
fn the_session_is_told_by_header_and_entries() {
    let told = tree(&[
        entry("model_change", "a", "", r#","provider":"p1","modelId":"m1""#),
        entry("session_info", "b", "a", r#","name":"old""#),
        entry("session_info", "c", "b", r#","name":" new ""#),
        entry("label", "d", "c", r#","targetId":"a","label":"here""#),
        entry("label", "e", "d", r#","targetId":"a""#),
        entry("message", "f", "e", r#","message":{"role":"assistant","model":"m2"}"#),
    ]);
    let source = &told.source;
    assert_eq!(source.foreign.as_deref(), Some("s1"));
    assert_eq!((source.version, source.cwd.as_deref()), (3, Some("/w")));
    assert_eq!(source.time, time::parse("2026-01-01T00:00:00.000Z"));
    assert_eq!(source.name.as_deref(), Some("new"));
    assert_eq!((source.provider.as_deref(), source.model.as_deref()), (Some("p1"), Some("m2")));
    assert_eq!(source.lineage.as_ref().unwrap().session, "s0");
    let label = |name: Option<&str>| Label { name: name.map(Into::into), target: "a".into() };
    assert_eq!(source.labels, [label(Some("here")), label(None)]);
    assert_eq!(told.labels()[0], "(session)");
    let cleared = tree(&[
        entry("session_info", "a", "", r#","name":"x""#),
        entry("session_info", "b", "a", ""),
    ]);
    assert_eq!(cleared.source.name, None);
    let first = linear(&[]);
    assert_eq!((first.source.version, first.source.model.as_deref()), (1, Some("m")));
}

#[test]
fn a_context_is_the_path_and_emits_what_pi_emits() {
    let told = tree(&[
        say("lost", "nowhere", "user"),
        say("u1", "", "user"),
        say("x", "u1", "assistant"),
        entry("custom", "c", "u1", r#","customType":"t","data":"no""#),
        entry("custom_message", "cm", "c", r#","customType":"t","content":"hook","display":false"#),
        entry("branch_summary", "bs", "cm", r#","fromId":"x","summary":"tried x""#),
        entry("branch_summary", "be", "bs", r#","fromId":"x","summary":"""#),
        entry("thinking_level_change", "th", "be", r#","thinkingLevel":"high""#),
        entry("model_change", "mc", "th", r#","provider":"p1","modelId":"m1""#),
        entry("label", "l", "mc", r#","targetId":"u1","label":"L""#),
        entry("session_info", "si", "l", r#","name":"N""#),
        entry(
            "message",
            "sh",
            "si",
            r#","message":{"role":"bashExecution","command":"ls","output":"f"}"#,
        ),
        entry(
            "message",
            "no",
            "sh",
            r#","message":{"role":"bashExecution","command":"x","excludeFromContext":true}"#,
        ),
        entry("message", "old", "no", r#","message":{"role":"hookMessage","content":"old hook"}"#),
        entry("message", "kept", "old", r#","message":{"role":"branchSummary","summary":"b"}"#),
        say("u2", "kept", "user"),
    ]);
    assert_eq!(told.texts(), ["u1", "hook", "tried x", "$ ls\nf", "old hook", "b", "u2"]);
    let context = told.context();
    assert!(context.messages.iter().all(|shown| shown.message.role == "user"));
    assert_eq!((context.model.as_deref(), context.provider.as_deref()), (Some("m1"), Some("p1")));
    assert_eq!(context.thinking.as_deref(), Some("high"));
    assert_eq!(texts(&told.context_of("lost")), ["lost"], "a missing parent ends the walk");
    assert_eq!(told.context_of("u1").thinking, None);
}

#[test]
fn the_last_word_on_the_model_is_a_change_or_an_answer() {
    let change = entry("model_change", "c", "", r#","provider":"p1","modelId":"m1""#);
    let answer =
        r#","message":{"role":"assistant","content":"x","provider":"p2","model":"m2"}"#.to_owned();
    let told = tree(&[
        change,
        entry("message", "a", "c", &answer),
        entry("model_change", "d", "a", r#","provider":"p3","modelId":"m3""#),
    ]);
    for (at, model) in [("c", "m1"), ("a", "m2"), ("d", "m3")] {
        assert_eq!(told.context_of(at).model.as_deref(), Some(model));
    }
}

#[test]
fn the_last_compaction_wins_and_keeps_what_it_names() {
    let compaction = |id: &str, parent: &str, kept: &str| {
        let rest = format!(r#","summary":"sum {id}","firstKeptEntryId":"{kept}","tokensBefore":9"#);
        entry("compaction", id, parent, &rest)
    };
    let told = tree(&[
        say("u1", "", "user"),
        say("a1", "u1", "assistant"),
        say("u2", "a1", "user"),
        compaction("k1", "u2", "a1"),
        say("a2", "k1", "assistant"),
        compaction("k2", "a2", "u2"),
        say("u3", "k2", "user"),
        compaction("k3", "u3", "gone"),
        say("u4", "k3", "user"),
        compaction("k4", "u4", "k4"),
        say("u5", "k4", "user"),
    ]);
    let cases: [(&str, &[&str]); 5] = [
        ("u2", &["u1", "a1", "u2"]),
        ("a2", &["sum k1", "a1", "u2", "a2"]),
        ("u3", &["sum k2", "u2", "a2", "u3"]),
        ("u4", &["sum k3", "u4"]),
        ("u5", &["sum k4", "u5"]),
    ];
    for (at, expected) in cases {
        assert_eq!(texts(&told.context_of(at)), expected, "{at}");
    }
    assert_eq!(told.context_of("u4").lost.as_deref(), Some("gone"));
    assert_eq!(told.context_of("u5").lost, None);
}

#[test]
fn the_draft_of_version_two_hangs_on_its_header() {
    let said = |id: &str, parent: &str, role: &str| {
        format!(
            r#"{{"type":"message","uuid":"{id}","parentUuid":"{parent}",
            "message":{{"role":"{role}","content":"{id}"}}}}"#
        )
    };
    let told = read(&[
        r#"{"type":"session","version":2,"uuid":"ses1","parentUuid":null,"id":"abc","cwd":"/p"}"#,
        &said("1", "ses1", "user"),
        &said("2", "1", "assistant"),
        &said("3", "2", "user"),
        r#"{"type":"compaction","uuid":"c1","parentUuid":"3","summary":"c",
            "firstKeptEntryUuid":"2"}"#,
        r#"{"type":"stack_summary","uuid":"s1","parentUuid":"1","summary":"popped"}"#,
        &said("4", "s1", "user"),
    ]);
    assert_eq!(told.steps[1].parent, Parent::Root);
    assert_eq!(told.source.foreign.as_deref(), Some("abc"));
    assert_eq!(texts(&told.context_of("c1")), ["c", "2", "3"]);
    assert_eq!(told.texts(), ["1", "popped", "4"]);
}

#[test]
fn places_of_a_linear_file_count_its_header() {
    let compaction = |kept: u64| {
        format!(r#"{{"type":"compaction","summary":"sum","firstKeptEntryIndex":{kept}}}"#)
    };
    let cases: [(u64, &[&str]); 6] = [
        (0, &["sum", "1", "2", "3", "5"]),
        (1, &["sum", "1", "2", "3", "5"]),
        (2, &["sum", "2", "3", "5"]),
        (3, &["sum", "3", "5"]),
        (4, &["sum", "5"]),
        (99, &["sum", "5"]),
    ];
    for (kept, expected) in cases {
        let told = linear(&[
            line("user", "1"),
            line("assistant", "2"),
            line("user", "3"),
            compaction(kept),
            line("user", "5"),
        ]);
        assert_eq!(told.texts(), expected, "{kept}");
        assert_eq!(told.context().lost, None);
    }
}

#[test]
fn a_pop_puts_its_summary_in_the_place_of_what_it_pops() {
    let pop = |back_to: u64, summary: &str, before: &str| {
        format!(
            r#"{{"type":"stack_pop","backToIndex":{back_to},"summary":"{summary}"{}}}"#,
            if before.is_empty() {
                String::new()
            } else {
                format!(r#","prePopSummary":"{before}""#)
            }
        )
    };
    let compaction = |kept: u64, summary: &str| {
        format!(r#"{{"type":"compaction","summary":"{summary}","firstKeptEntryIndex":{kept}}}"#)
    };
    let said = |places: std::ops::RangeInclusive<u64>| {
        places.map(|place| line("user", &place.to_string())).collect::<Vec<_>>()
    };
    let cases: [(Vec<Vec<String>>, &[&str]); 8] = [
        // Back to the third.
        (vec![said(1..=5), vec![pop(3, "S", "")], said(7..=7)], &["1", "2", "S", "7"]),
        // Twice, the second within the first's rest, and before it.
        (
            vec![said(1..=4), vec![pop(3, "S", "")], said(6..=8), vec![pop(7, "T", "")]],
            &["1", "2", "S", "6", "T"],
        ),
        (vec![said(1..=4), vec![pop(3, "S", "")], said(6..=8), vec![pop(2, "T", "")]], &["1", "T"]),
        // A popped pop still stands for what it popped before.
        (
            vec![said(1..=4), vec![pop(2, "S", "")], vec![pop(4, "T", "")], said(7..=7)],
            &["1", "S", "T", "7"],
        ),
        // Behind what a compaction keeps: the compaction stays.
        (
            vec![said(1..=4), vec![compaction(2, "C")], said(6..=7), vec![pop(4, "S", "")]],
            &["C", "2", "3", "S"],
        ),
        // Back before it: what was there is summed up anew.
        (
            vec![said(1..=5), vec![compaction(4, "C")], said(7..=8), vec![pop(2, "S", "P")]],
            &["P", "S"],
        ),
        // And compacted after that: all but the kept is in the new summary.
        (
            vec![
                said(1..=5),
                vec![compaction(4, "C"), pop(2, "S", "P")],
                said(8..=10),
                vec![compaction(9, "D")],
                said(12..=12),
            ],
            &["D", "9", "10", "12"],
        ),
        (
            vec![said(1..=5), vec![pop(2, "S", "")], said(7..=8), vec![compaction(4, "D")]],
            &["D", "7", "8"],
        ),
    ];
    for (lines, expected) in cases {
        let told = linear(&lines.concat());
        assert_eq!(told.texts(), expected);
    }
}

#[test]
fn nothing_that_stands_somewhere_is_too_odd_to_read() {
    let odd = [
        Value::Null,
        Value::Link(Id::of(Kind::Blob, b"long")),
        Value::Integer(-1),
        Value::List(vec![Value::Null]),
        Value::map([("role", Value::from(7))]),
    ];
    let keys = ["type", "id", "parentId", "timestamp", "message", "version", "name", "targetId"];
    let kinds = ["session", "message", "label", "session_info", "model_change"];
    for (key, odd) in keys.iter().flat_map(|key| odd.iter().map(move |odd| (key, odd))) {
        for kind in kinds {
            let mut fields = vec![("type", Value::from(kind)), ("id", "a".into())];
            fields.retain(|(name, _)| name != key);
            fields.push((key, odd.clone()));
            let step = Pi.read(&Value::map(fields), &mut Source::default());
            assert!(!step.label.is_empty());
        }
    }
}
