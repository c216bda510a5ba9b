use super::*;
use crate::codec::json;
use crate::dialect::pi::Pi;
use crate::dialect::tests::{Told, essence, texts, told_lines, values};
use crate::id::{Id, Kind};
use crate::object::Session;
use crate::session::Usage;

const SESSION: &str = "01234567-89ab-cdef-0123-456789abcdef";
const OTHER: &str = "fedcba98-7654-3210-fedc-ba9876543210";

/// Writes a line of the tree; the parent may be empty.
fn line(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"parentUuid":{parent},"userType":"external","cwd":"/w",
        "sessionId":"{SESSION}","version":"2.0.0","type":"{kind}","uuid":"{id}",
        "timestamp":"2026-01-01T00:00:01.000Z"{rest}}}"#
    )
}

/// Writes a message that says its own id.
fn say(kind: &str, id: &str, parent: &str) -> String {
    let message = format!(r#","message":{{"role":"{kind}","content":"{id}"}}"#);
    line(kind, id, parent, &message)
}

fn call(id: &str, parent: &str, call: &str) -> String {
    let message = format!(
        r#","message":{{"id":"msg_1","role":"assistant","model":"m",
        "content":[{{"type":"tool_use","id":"{call}","name":"ls","input":{{"a":1}}}}]}}"#
    );
    line("assistant", id, parent, &message)
}

fn result(id: &str, parent: &str, call: &str) -> String {
    let message = format!(
        r#","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}",
        "content":"{id}"}}]}},"toolUseResult":"{id}","sourceToolAssistantUUID":"{parent}""#
    );
    line("user", id, parent, &message)
}

fn read(lines: &[String]) -> Told {
    told_lines(&Claude, "", &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn its_files_are_recognised_and_no_others() {
    let message = say("user", "a", "");
    let own: [&[&str]; 5] = [
        &[&message],
        &[r#"{"type":"summary","summary":"x","leafUuid":"y"}"#],
        &[r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#],
        &[r#"{"type":"queue-operation","operation":"enqueue","sessionId":"x"}"#],
        &[r#"{"silly":1}"#, r#"{"type":"user","uuid":"a","sessionId":"x","message":{}}"#],
    ];
    for lines in own {
        assert!(Claude.recognise(&values(lines)), "{lines:?}");
    }
    let others: [&[&str]; 5] = [
        &[r#"{"type":"session","version":2,"uuid":"a","parentUuid":null,"id":"x"}"#],
        &[r#"{"type":"message","uuid":"a","parentUuid":"b","message":{"role":"user"}}"#],
        &[r#"{"sessionId":"x","projectHash":"y","messages":[]}"#],
        &[r#"{"type":"user.message","data":{},"id":"a","parentId":null}"#],
        &[r#"{"timestamp":"x","type":"session_meta","payload":{}}"#],
    ];
    for lines in others {
        assert!(!Claude.recognise(&values(lines)), "{lines:?}");
    }
}

#[test]
fn types_parents_and_speakers_are_read() {
    let id = |id: &str| Parent::Id(id.to_owned());
    let boundary = r#","subtype":"compact_boundary","logicalParentUuid":"b""#;
    let cases = [
        (say("user", "a", ""), "message", Parent::Root, Voice::Person),
        (say("assistant", "a", "b"), "message", id("b"), Voice::Model),
        (result("a", "b", "c1"), "message", id("b"), Voice::None),
        (line("user", "a", "b", r#","isMeta":true"#), "message", id("b"), Voice::None),
        (line("user", "a", "b", r#","isCompactSummary":true"#), "message", id("b"), Voice::None),
        (
            line("assistant", "a", "b", r#","isApiErrorMessage":true"#),
            "message",
            id("b"),
            Voice::None,
        ),
        (line("system", "a", "", boundary), "compaction", id("b"), Voice::None),
        (
            line("system", "a", "b", r#","subtype":"local_command""#),
            "custom_message",
            id("b"),
            Voice::None,
        ),
        (line("system", "a", "b", r#","subtype":"api_error""#), "system", id("b"), Voice::None),
        (
            line("user", "a", "", r#","sourceToolAssistantUUID":"b""#),
            "message",
            id("b"),
            Voice::Person,
        ),
        (line("progress", "a", "b", ""), "progress", id("b"), Voice::None),
        (line("attachment", "a", "b", ""), "attachment", id("b"), Voice::None),
        (r#"{"type":"user","uuid":"a"}"#.to_owned(), "message", Parent::Before, Voice::Person),
        (
            r#"{"type":"pr-link","sessionId":"x"}"#.to_owned(),
            "pr-link",
            Parent::Beside,
            Voice::None,
        ),
        (r#"{"silly":1}"#.to_owned(), "unknown", Parent::Beside, Voice::None),
    ];
    for (line, label, parent, voice) in cases {
        let step = Claude.read(&values(&[&line])[0], &mut Source::default());
        assert_eq!(
            (step.label.as_str(), step.parent, step.voice),
            (label, parent, voice),
            "{line}"
        );
    }
}

#[test]
fn the_file_names_the_session_or_its_first_line_does() {
    let first = r#"{"type":"user","uuid":"a","sessionId":"old","agentId":"x"}"#;
    let second = r#"{"type":"user","uuid":"b","sessionId":"new"}"#;
    let cases = [
        (OTHER, Some(OTHER), None),
        ("agent-x", Some("old"), Some("x")),
        ("", Some("old"), Some("x")),
        ("01234567-89ab-cdef-0123-456789abcdeg", Some("old"), Some("x")),
    ];
    for (stem, session, agent) in cases {
        let source = told_lines(&Claude, stem, &[first, second]).source;
        assert_eq!(
            (source.foreign.as_deref(), source.agent.as_deref()),
            (session, agent),
            "{stem}"
        );
    }
    let source = told_lines(&Claude, "", &[second, first]).source;
    assert_eq!((source.foreign.as_deref(), source.agent), (Some("new"), None));
}

#[test]
fn a_persons_title_counts_more_than_others() {
    let summary = r#"{"type":"summary","summary":"by summary","leafUuid":"x"}"#;
    let later = r#"{"type":"summary","summary":"by a later one","leafUuid":"x"}"#;
    let ai = r#"{"type":"ai-title","aiTitle":"by a model","sessionId":"x"}"#;
    let custom = r#"{"type":"custom-title","customTitle":"by a person","sessionId":"x"}"#;
    let empty = r#"{"type":"custom-title","customTitle":" ","sessionId":"x"}"#;
    let cases: [(&[&str], Option<&str>); 6] = [
        (&[], None),
        (&[summary, later], Some("by a later one")),
        (&[ai, summary], Some("by a model")),
        (&[custom, ai, summary], Some("by a person")),
        (&[summary, ai, custom], Some("by a person")),
        (&[ai, empty], Some("by a model")),
    ];
    for (lines, name) in cases {
        assert_eq!(told_lines(&Claude, "", lines).source.name.as_deref(), name, "{lines:?}");
    }
}

#[test]
fn the_rest_of_a_session_is_told_by_its_lines() {
    let model = |model: &str| format!(r#","message":{{"role":"assistant","model":"{model}"}}"#);
    let fork =
        |id: &str| format!(r#","forkedFrom":{{"sessionId":"{OTHER}","messageUuid":"{id}"}}"#);
    let told = read(&[
        line("user", "a", "", &fork("a0")),
        line("assistant", "b", "a", &(model("m1") + &fork("b0"))),
        line("assistant", "c", "b", &model("<synthetic>")),
    ]);
    let source = &told.source;
    assert_eq!((source.model.as_deref(), source.cwd.as_deref()), (Some("m1"), Some("/w")));
    assert_eq!(source.time, told.steps[0].time);
    assert!(source.time.is_some());
    let lineage = source.lineage.as_ref().unwrap();
    assert_eq!((lineage.session.as_str(), lineage.entry.as_deref()), (OTHER, Some("b0")));
    assert_eq!(told.context().model.as_deref(), Some("m1"), "nobody's model is in force");
}

#[test]
fn a_model_is_shown_what_the_program_sends_it() {
    let told = read(&[
        say("user", "u1", ""),
        line("user", "meta", "u1", r#","isMeta":true,"message":{"role":"user","content":"meta"}"#),
        line("progress", "p", "meta", r#","data":{"content":"no"}"#),
        line("attachment", "at", "p", r#","attachment":{"content":"no"}"#),
        line("system", "sy", "at", r#","subtype":"turn_duration","content":"no""#),
        line("system", "lc", "sy", r#","subtype":"local_command","content":"<stdout>out""#),
        line(
            "assistant",
            "err",
            "lc",
            r#","isApiErrorMessage":true,
            "message":{"role":"assistant","model":"<synthetic>","content":"no"}"#,
        ),
        r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#.to_owned(),
        say("assistant", "a1", "err"),
        line(
            "user",
            "side",
            "",
            r#","isSidechain":true,"message":{"role":"user","content":"another's"}"#,
        ),
    ]);
    assert_eq!(texts(&told.context_of("a1")), ["u1", "meta", "<stdout>out", "a1"]);
    assert_eq!(told.context_of("a1").messages[2].message.role, "user");
    assert_eq!(texts(&told.context_of("side")), ["another's"]);
    assert_eq!(told.labels()[7], "(file-history-snapshot)");
}

/// A session that was compacted.
fn compacted() -> Told {
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
    let prompt = format!(
        r#","message":{{"role":"user","content":[{{"type":"text","text":"see"}},{image}]}}"#
    );
    let answer = r#","message":{"id":"msg_0","role":"assistant","model":"m","content":[
        {"type":"thinking","thinking":"hm","signature":"sig"},
        {"type":"redacted_thinking","data":"x"},{"type":"text","text":"looking"}],
        "usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5,
        "cache_creation_input_tokens":6}}"#;
    let failed = r#","message":{"role":"user","content":[{"type":"tool_result",
        "tool_use_id":"c3","content":[{"type":"text","text":"bad"}],"is_error":true}]}"#;
    let summary = r#","isCompactSummary":true,"isVisibleInTranscriptOnly":true,
        "message":{"role":"user","content":"the summary"}"#;
    read(&[
        line("user", "u1", "", &prompt),
        line("assistant", "t1", "u1", answer),
        call("k1", "t1", "c1"),
        call("k2", "k1", "c2"),
        result("r1", "k1", "c1"),
        line("progress", "p", "k2", ""),
        result("r2", "p", "c2"),
        call("k3", "r2", "c3"),
        line("user", "r3", "k3", failed),
        say("assistant", "a1", "r3"),
        line(
            "system",
            "cb",
            "",
            r#","subtype":"compact_boundary","logicalParentUuid":"a1",
            "compactMetadata":{"trigger":"auto","preTokens":7}"#,
        ),
        line("user", "cs", "cb", summary),
        say("user", "u2", "cs"),
    ])
}

#[test]
fn results_that_hang_beside_the_path_join_their_calls() {
    let told = compacted();
    let expected = ["see", "looking", ">c1", ">c2", "<c2:r2", "<c1:r1", ">c3", "<c3:bad", "a1"];
    assert_eq!(texts(&told.context_of("a1")), expected);
    assert_eq!(told.context_of("a1").dangling, []);
}

#[test]
fn results_that_hang_on_nothing_join_their_calls() {
    let told = read(&[
        call("k1", "", "c1"),
        line(
            "user",
            "r1",
            "",
            r#","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",
            "content":"r1"}]}"#,
        ),
        say("user", "other", ""),
        say("assistant", "a1", "k1"),
    ]);
    assert_eq!(told.texts(), [">c1", "<c1:r1", "a1"]);
}

#[test]
fn behind_a_boundary_the_summary_comes_first() {
    let told = compacted();
    assert_eq!(texts(&told.context_of("cb")), [""; 0]);
    assert_eq!(told.texts(), ["the summary", "u2"]);
    assert_eq!(told.context().lost, None);
    assert_eq!(told.context().model.as_deref(), Some("m"), "the model is known from before");
}

#[test]
fn nothing_that_stands_somewhere_is_too_odd_to_read() {
    let odd = [
        Value::Null,
        Value::Link(Id::of(Kind::Blob, b"long")),
        Value::Integer(-1),
        Value::List(vec![Value::Null]),
        Value::map([("content", Value::List(vec![7.into()]))]),
    ];
    let keys = ["type", "uuid", "parentUuid", "sessionId", "message", "subtype", "forkedFrom"];
    for (key, odd) in keys.iter().flat_map(|key| odd.iter().map(move |odd| (key, odd))) {
        for kind in ["user", "assistant", "system", "custom-title"] {
            let mut fields = vec![("type", Value::from(kind)), ("uuid", "a".into())];
            fields.retain(|(name, _)| name != key);
            fields.push((key, odd.clone()));
            let step = Claude.read(&Value::map(fields), &mut Source::default());
            assert!(!step.label.is_empty());
        }
    }
}

#[test]
fn what_is_written_is_read_again_with_the_same_meaning() {
    let before = compacted();
    let mut session = Session::new("not a uuid", 5);
    session.name = Some("a name".to_owned());
    let (values, after) = before.carried(&Claude, &session);
    assert_eq!(essence(&after.context()), essence(&before.context()));
    let cut = |told: &Told| {
        let at = told.steps.iter().position(|step| step.label == "compaction").unwrap();
        let Parent::Id(parent) = &told.steps[at].parent else { panic!("it hangs on something") };
        told.context_of(parent)
    };
    assert_eq!(essence(&cut(&after)), essence(&cut(&before)));
    let usage = |told: &Told| Usage { of: None, ..cut(told).messages[1].message.usage.clone() };
    assert_eq!(usage(&after), usage(&before));

    assert_eq!(after.source.name.as_deref(), Some("a name"));
    let session_id = after.source.foreign.as_ref().unwrap();
    assert!(is_uuid(session_id), "{session_id}");
    assert!(after.steps.iter().filter_map(|step| step.id.as_ref()).all(|id| is_uuid(id)));
    let mut ids: Vec<_> = after.steps.iter().filter_map(|step| step.id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), values.len() - 1, "no id comes twice");
    let signed = values.iter().any(|value| json::to_string(value).contains(r#""signature":"sig""#));
    assert!(signed, "what was signed stays so");
    let boundary = values.iter().find(|value| text(value, "type") == Some("system")).unwrap();
    let metadata = boundary.get("compactMetadata").unwrap();
    assert_eq!(metadata.get("preTokens"), Some(&7.into()));
    let (again, _) = before.carried(&Claude, &session);
    assert_eq!(again, values, "the same every time");
    let (_, own) = before.carried(&Claude, &Session::new(SESSION, 0));
    assert_eq!(own.source.foreign.as_deref(), Some(SESSION));
}

#[test]
fn a_boundary_and_its_summary_become_one_compaction_elsewhere() {
    let before = compacted();
    let (values, there) = before.carried(&Pi, &Session::new("s", 0));
    assert_eq!(there.texts(), before.texts());
    assert_eq!(there.context().lost, None);
    let kinds = there.labels();
    assert_eq!(kinds[kinds.len() - 2..], ["compaction", "message"]);
    let signed = values.iter().any(|value| json::to_string(value).contains("thinkingSignature"));
    assert!(signed, "what was signed stays so");
    // Without a summary behind it, too, nothing before it is shown.
    let bare = read(&[
        say("user", "u1", ""),
        line("system", "cb", "u1", r#","subtype":"compact_boundary""#),
        line("progress", "p", "cb", ""),
        say("user", "u2", "p"),
    ]);
    let (_, there) = bare.carried(&Pi, &Session::new("s", 0));
    assert_eq!(there.texts(), ["u2"]);
}
