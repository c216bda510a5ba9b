//! Both forms of files, forks, rollbacks, compactions, and what is written.

use super::*;
use crate::dialect::tests::told_lines;
use crate::dialect::told::tests::{
    check_links, conversation, parsed, read, recognised_as, settings, step, written,
};
use crate::dialect::{Leaving, Parent};
use crate::object::{Fork, Session};
use crate::session::{Block, Message, summaries};

const NEW: &str = r#"
{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"t1",
   "timestamp":"2025-12-31T23:59:59.000Z","cwd":"/w","model_provider":"openai",
   "git":{"branch":"main"}}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"event_msg","payload":{"type":"task_started",
   "turn_id":"a"}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"message",
   "role":"developer","content":[{"type":"input_text","text":"rules"}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"turn_context","payload":{"cwd":"/w",
   "model":"gpt-5.4","effort":"medium"}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"response_item","payload":{"type":"message",
   "role":"user","content":[{"type":"input_text","text":"hi"}]}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"event_msg","payload":{"type":"user_message",
   "message":"hi"}}
{"timestamp":"2026-01-01T00:00:04.000Z","type":"response_item","payload":{"type":"reasoning",
   "summary":[],"content":null,"encrypted_content":"x"}}
{"timestamp":"2026-01-01T00:00:05.000Z","type":"response_item",
   "payload":{"type":"function_call","name":"ls","arguments":"{}","call_id":"c"}}
{"timestamp":"2026-01-01T00:00:06.000Z","type":"response_item",
   "payload":{"type":"function_call_output","call_id":"c","output":"x"}}
{"timestamp":"2026-01-01T00:00:07.000Z","type":"event_msg",
   "payload":{"type":"thread_name_updated","thread_id":"t1","thread_name":"Greetings"}}
{"timestamp":"2026-01-01T00:00:08.000Z","type":"compacted","payload":{"message":"they met"}}
{"timestamp":"2026-01-01T00:00:09.000Z","type":"world_state","payload":{"full":true}}"#;

const OLD: &str = r#"
{"id":"t0","timestamp":"2025-08-18T01:16:13.522Z","instructions":null}
{"record_type":"state"}
{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"hi"}]}
{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}]}
{"record_type":"state"}
{"type":"function_call","name":"ls","arguments":"{}","call_id":"c"}
{"type":"function_call_output","call_id":"c","output":"x"}"#;

fn labels(file: &str) -> Vec<String> {
    read(&Codex, file).0.into_iter().map(|(step, _)| step.label).collect()
}

#[test]
fn lines_with_a_payload_are_read() {
    let expected = [
        "session",
        "event_msg",
        "message",
        "config_change",
        "message",
        "event_msg",
        "response_item",
        "message",
        "message",
        "event_msg",
        "compaction",
        "world_state",
    ];
    assert_eq!(labels(NEW), expected);
    let (steps, source) = read(&Codex, NEW);
    assert_eq!(steps[0].0.parent, Parent::Beside);
    assert!(steps[1..].iter().all(|(step, _)| step.parent == Parent::Before));
    let voices: Vec<Voice> = [2, 4, 7, 8].map(|place: usize| steps[place].0.voice).to_vec();
    assert_eq!(voices, [Voice::None, Voice::Person, Voice::Model, Voice::None]);
    assert_eq!(steps[4].0.time, Some(1_767_225_603_000));
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let known = [&source.foreign, &source.cwd, &source.provider, &source.model, &source.name];
    assert_eq!(known.map(text), ["t1", "/w", "openai", "gpt-5.4", "Greetings"]);
    assert_eq!(source.time, Some(1_767_225_599_000));
    let found = settings(&Codex, NEW);
    assert_eq!(
        (found.model.as_deref(), found.thinking.as_deref()),
        (Some("gpt-5.4"), Some("medium"))
    );
}

#[test]
fn bare_lines_of_2025_are_read() {
    let expected = ["session", "state", "message", "message", "state", "message", "message"];
    assert_eq!(labels(OLD), expected);
    let (steps, source) = read(&Codex, OLD);
    let beside: Vec<usize> =
        (0..7).filter(|place| steps[*place].0.parent == Parent::Beside).collect();
    assert_eq!(beside, [0, 1, 4]);
    assert_eq!(source.foreign.as_deref(), Some("t0"));
    assert_eq!(source.time, Some(1_755_479_773_522));
    assert_eq!(labels(r#"{"type":"compaction","encrypted_content":"x"}"#), ["response_item"]);
}

#[test]
fn both_forms_are_recognised_and_read_with_links() {
    assert_eq!(recognised_as(NEW), Some("codex"));
    assert_eq!(recognised_as(OLD), Some("codex"));
    check_links(&Codex, NEW);
    check_links(&Codex, OLD);
    assert!(!Codex.recognise(&[parsed(r#"{"type":"message","role":"user","content":"x"}"#)]));
    assert!(!Codex.recognise(&[parsed(r#"{"id":"x","timestamp":"t","type":"session"}"#)]));
}

#[test]
fn headers_say_where_a_file_was_forked_from() {
    let forks = [
        (r#""forked_from_id":"p""#, None, None),
        (r#""parent_thread_id":"p""#, None, Some("subagent")),
        (
            r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"p"}}}"#,
            None,
            Some("subagent"),
        ),
        (
            r#""forked_from_id":"q","history_base":{"thread_id":"p","end_ordinal_exclusive":9}"#,
            Some("8"),
            None,
        ),
    ];
    for (field, entry, reason) in forks {
        let header = format!(r#"{{"type":"session_meta","payload":{{"id":"c",{field}}}}}"#);
        let lineage = read(&Codex, &header).1.lineage.unwrap();
        let found = (lineage.session.as_str(), lineage.entry.as_deref(), lineage.reason.as_deref());
        assert_eq!(found, ("p", entry, reason), "{field}");
    }
    let copied = r#"
{"type":"session_meta","payload":{"id":"c","cwd":"/c"}}
{"type":"session_meta","payload":{"id":"p","cwd":"/p"}}
{"type":"session_meta","payload":{"id":"c","cwd":"/c"}}"#;
    let source = read(&Codex, copied).1;
    assert_eq!((source.foreign.as_deref(), source.cwd.as_deref()), (Some("c"), Some("/c")));
    assert_eq!(source.lineage.unwrap().session, "p");
}

/// Gives where the last of some lines hangs. `u` is a person's message and its event, `s` begins
/// a task, `a` is an answer, a digit takes so many turns back.
fn last_parent(lines: &str) -> Parent {
    let item = |role: &str| {
        let item = format!(r#"{{"type":"message","role":"{role}","content":[]}}"#);
        format!(r#"{{"type":"response_item","payload":{item}}}"#)
    };
    let event = |fields: &str| format!(r#"{{"type":"event_msg","payload":{{"type":{fields}}}}}"#);
    let lines = lines.chars().flat_map(|line| match line {
        's' => vec![event(r#""task_started""#)],
        'u' => vec![item("user"), event(r#""user_message""#)],
        'a' => vec![item("assistant")],
        turns => vec![event(&format!(r#""thread_rolled_back","num_turns":{turns}"#))],
    });
    let file = lines.collect::<Vec<_>>().join("\n");
    read(&Codex, &file).0.pop().unwrap().0.parent
}

#[test]
fn what_follows_a_rollback_hangs_before_the_turns_that_it_takes_back() {
    let on = |number: u64| Parent::Id(number.to_string());
    let cases = [
        ("auaua1", on(3)),
        ("auaua2", on(0)),
        ("auaua9", on(0)),
        ("auaua0", Parent::Before),
        ("ua1", Parent::Root),
        ("aua1a", Parent::Before),
        ("asuasua1", on(4)),
        ("asuasua2", on(0)),
        // The second turn of the path as it is now: what was taken back does not count.
        ("auaua1ua2", on(0)),
        ("a1", Parent::Before),
    ];
    for (lines, expected) in cases {
        assert_eq!(last_parent(lines), expected, "{lines}");
    }
}

#[test]
fn what_codex_says_in_the_users_name_is_no_message_of_a_person() {
    let long = "x".repeat(1024);
    let cases = [
        ("<environment_context>\\n <cwd>/</cwd>", "", "custom_message", Voice::None),
        ("<turn_aborted>", "", "custom_message", Voice::None),
        (&long, "<environment_context>", "custom_message", Voice::None),
        ("<html> is what I want", "", "message", Voice::Person),
        // A long text may be a link the next time, so nothing hangs on it.
        (&format!("# AGENTS.md instructions {long}"), "", "message", Voice::Person),
    ];
    for (first, second, label, voice) in cases {
        let part = |text: &str| format!(r#"{{"type":"input_text","text":"{text}"}}"#);
        let content = format!("[{},{}]", part(first), part(second));
        let item = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
        let line = format!(r#"{{"type":"response_item","payload":{item}}}"#);
        let step = read(&Codex, &line).0.remove(0).0;
        assert_eq!((step.label.as_str(), step.voice), (label, voice), "{first} {second}");
        let item = r#"{"type":"message","role":"user","content":[]}"#;
        assert_eq!(read(&Codex, item).0[0].0.label, "message");
    }
}

#[test]
fn ordinals_are_what_values_are_known_by() {
    let line = r#"{"ordinal":41,"type":"event_msg","payload":{"type":"x"}}"#;
    assert_eq!(read(&Codex, line).0[0].0.id.as_deref(), Some("41"));
}

/// Lines of a conversation: a person, a model that calls, a tool.
const SAID: [&str; 5] = [
    r#"{"type":"turn_context","payload":{"model":"m","effort":"low"}}"#,
    r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[
       {"type":"input_text","text":"list"}]}}"#,
    r#"{"type":"event_msg","payload":{"type":"user_message","message":"list"}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{}",
       "call_id":"c"}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c",
       "output":"etc"}}"#,
];
const ANSWER: &str = r#"{"type":"response_item","payload":{"type":"message","role":"assistant",
    "content":[{"type":"output_text","text":"one"}]}}"#;

#[test]
fn turns_that_were_taken_back_and_compacted_are_not_shown() {
    let back = r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#;
    let compacted = r#"{"type":"compacted","payload":{"message":"","replacement_history":[
        {"type":"message","role":"user","content":[{"type":"input_text","text":"so far"}]}]}}"#;
    let cases: [(&[&str], &[&str]); 4] = [
        (&[ANSWER], &["list", ">c", "<c:etc", "one"]),
        (&[back, ANSWER], &["one"]),
        (&[compacted, ANSWER], &["so far", "one"]),
        (&[compacted, SAID[1], SAID[2], back, ANSWER], &["so far", "one"]),
    ];
    for (more, expected) in cases {
        let file = told_lines(&Codex, "", &[&SAID, more].concat());
        assert_eq!(file.texts(), expected);
        assert_eq!(file.context().model.as_deref(), Some("m"));
    }
}

#[test]
fn a_file_is_carried_there_and_back() {
    let file = told_lines(&Codex, "", &[&SAID[..], &[ANSWER]].concat());
    for dialect in ["codex", "pi", "claude", "rollouts", "dash"] {
        let dialect = crate::dialect::named(dialect).unwrap();
        let (_, other) = file.carried(dialect, &Session::new("s", 1));
        let (_, back) = other.carried(&Codex, &Session::new("s", 1));
        assert_eq!(back.texts(), file.texts(), "{}", dialect.name());
        // Two tell the model with what it says only, and here nothing does.
        let model = back.context().model;
        assert_eq!(model.is_none(), matches!(dialect.name(), "claude" | "dash"));
    }
}

/// Tells messages block by block, as Codex knows no more.
fn told<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<(String, Block)> {
    let blocks = messages.into_iter().flat_map(|message| {
        message.blocks.iter().map(|block| {
            let block = match block {
                Block::Image(image) => Block::Text(format!("{:?}", image)),
                block => block.clone(),
            };
            (message.role.clone(), block)
        })
    });
    blocks.collect()
}

#[test]
fn what_is_written_says_the_same() {
    let steps = conversation();
    let mut session = Session::new("some session", 7);
    session.name = Some("mine".to_owned());
    session.provider = Some("p".to_owned());
    let fork =
        Fork { session: "root".to_owned(), entry: None, reason: None, metadata: Value::Null };
    session.fork = Some(fork);
    let file = written(&Codex, &session, &steps);
    assert_eq!(recognised_as(&file), Some("codex"));
    let (read, source) = read(&Codex, &file);
    let said = told(read.iter().filter_map(|(_, message)| message.as_ref()));
    assert_eq!(said, told(steps.iter().filter_map(|step| step.message.as_ref())));
    assert_eq!(settings(&Codex, &file).model.as_deref(), Some("m3"));
    assert_eq!((source.model.as_deref(), source.provider.as_deref()), (Some("m1"), Some("p")));
    assert_eq!((source.name.as_deref(), source.time), (Some("mine"), Some(7)));
    let models = file.lines().filter(|line| line.contains("turn_context")).count();
    assert_eq!(models, 2, "only changes are told");
    let spoken = file.lines().filter(|line| line.contains("user_message")).count();
    assert_eq!(spoken, 2, "Codex lists what somebody spoke in");
    assert_eq!(source.foreign.unwrap().len(), 36);
    assert_eq!(source.lineage.unwrap().session.len(), 36);
    let own = "019daf73-6320-79a3-83a5-5421d21daf0b";
    let file = written(&Codex, &Session::new(own, 7), &[]);
    assert!(file.contains(own));
}

/// Gives the texts that are left by the last of these steps, a compaction.
fn left_by(steps: &[Leaving]) -> Vec<String> {
    let file = written(&Codex, &Session::new("s", 7), steps);
    let last = parsed(file.lines().last().unwrap());
    assert_eq!(labels(&file).last().unwrap(), "compaction");
    summaries(&last).iter().map(Message::text).collect()
}

#[test]
fn a_compaction_is_written_with_the_history_that_it_leaves() {
    let said = |time: i64, text: &str| {
        step(time, "message", &format!(r#"{{"role":"user","content":"{text}"}}"#))
    };
    let compaction = step(4, "compaction", r#"{"summary":"sum"}"#);
    let steps = [said(1, "a"), said(2, "b"), said(3, "c"), compaction];
    assert_eq!(left_by(&steps), ["sum"]);
    let [a, b, c, compaction] = steps;
    let first_kept = Some(b.id);
    let b = Leaving { parent: Some(a.id), ..b };
    let c = Leaving { parent: Some(b.id), ..c };
    let compaction = Leaving { parent: Some(c.id), first_kept, ..compaction };
    let kept = [a, b, c, compaction];
    assert_eq!(left_by(&kept), ["sum", "b", "c"]);
    let own = r#"{"type":"compacted","payload":{"message":"","replacement_history":[
        {"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},
        {"type":"compaction","encrypted_content":"secret"}]}}"#;
    let own = [step(4, "compaction", own)];
    assert_eq!(left_by(&own), ["q"]);
    assert!(written(&Codex, &Session::new("s", 7), &own).contains("secret"));
}
