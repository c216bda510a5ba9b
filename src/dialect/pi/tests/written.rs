//! What is written, and read again.

use super::*;

/// A session with everything that pi knows.
fn everything() -> Told {
    tree(&[
        entry("model_change", "mc", "", r#","provider":"p","modelId":"m""#),
        entry("thinking_level_change", "th", "mc", r#","thinkingLevel":"low""#),
        entry(
            "message",
            "u1",
            "th",
            r#","message":{"role":"user","content":[{"type":"text","text":"see"},
            {"type":"image","data":"aGk=","mimeType":"image/png"}]}"#,
        ),
        entry(
            "message",
            "a1",
            "u1",
            r#","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},
            {"type":"text","text":"looking"},
            {"type":"toolCall","id":"c1","name":"ls","arguments":{"a":[1,2.5]}},
            {"type":"toolCall","id":"c2","name":"cat","arguments":{}}],
            "provider":"p","model":"m","usage":{"input":3,"output":4,"cacheRead":5,"cacheWrite":6,
            "totalTokens":18,"cost":{"total":0.25}}}"#,
        ),
        entry(
            "message",
            "r1",
            "a1",
            r#","message":{"role":"toolResult","toolCallId":"c1","toolName":"ls",
            "content":[{"type":"text","text":"one"}],"isError":false}"#,
        ),
        entry(
            "message",
            "r2",
            "r1",
            r#","message":{"role":"toolResult","toolCallId":"c2","toolName":"cat",
            "content":[{"type":"text","text":"two"}],"isError":true}"#,
        ),
        entry("progress", "pr", "r2", r#","content":"nobody writes this""#),
        entry("custom", "cu", "pr", r#","customType":"t","data":{"x":1}"#),
        entry("custom_message", "cm", "cu", r#","customType":"t","content":"hook","display":true"#),
        entry(
            "message",
            "sh",
            "cm",
            r#","message":{"role":"bashExecution","command":"ls","output":"f","exitCode":0}"#,
        ),
        entry("label", "l", "sh", r#","targetId":"u1","label":"L""#),
        say("x1", "u1", "assistant"),
        entry("branch_summary", "bs", "sh", r#","fromId":"x1","summary":"tried x""#),
        entry(
            "compaction",
            "k",
            "bs",
            r#","summary":"sum","firstKeptEntryId":"pr","details":{"x":1}"#,
        ),
        say("u2", "k", "user"),
    ])
}

#[test]
fn what_is_written_is_read_again_with_the_same_meaning() {
    let before = everything();
    let mut session = Session::new("s9", 5);
    session.name = Some("a name".to_owned());
    session.cwd = Some("/w".to_owned());
    session.fork =
        Some(Fork { session: "s1".to_owned(), entry: None, reason: None, metadata: Value::Null });
    let (values, after) = before.carried(&Pi, &session);
    assert_eq!(essence(&after.context()), essence(&before.context()));
    assert_eq!(after.texts(), ["sum", "hook", "$ ls\nf", "tried x", "u2"]);
    // The path before the compaction, in full.
    let cut = |told: &Told| {
        let at = told.steps.iter().rposition(|step| step.label == "branch_summary").unwrap();
        told.context_of(told.steps[at].id.as_ref().unwrap())
    };
    assert_eq!(essence(&cut(&after)), essence(&cut(&before)));
    assert_eq!(cut(&after).thinking.as_deref(), Some("low"));
    let usage = |told: &Told| cut(told).messages[1].message.usage.clone();
    assert_eq!(usage(&after), usage(&before));

    assert_eq!(after.source.foreign.as_deref(), Some("s9"));
    assert_eq!(after.source.name.as_deref(), Some("a name"));
    assert_eq!(after.source.lineage.as_ref().unwrap().session, "s1");
    let target = &after.source.labels[0].target;
    assert_eq!(essence(&after.context_of(target)), essence(&before.context_of("u1")));
    let mut ids: Vec<_> = after.steps.iter().filter_map(|step| step.id.clone()).collect();
    assert!(ids.iter().all(|id| id.len() == 8));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), values.len() - 1, "no id comes twice");
    let (again, _) = before.carried(&Pi, &session);
    assert_eq!(again, values, "the same every time");
    assert_eq!(recognised(&values).map(|dialect| dialect.name()), Some("pi"));
}

#[test]
fn a_linear_file_becomes_a_tree() {
    let before = linear(&[
        line("user", "1"),
        line("assistant", "2"),
        line("user", "3"),
        r#"{"type":"compaction","summary":"sum","firstKeptEntryIndex":2}"#.to_owned(),
        line("user", "5"),
        line("user", "6"),
        r#"{"type":"stack_pop","backToIndex":6,"summary":"S"}"#.to_owned(),
        line("user", "8"),
    ]);
    assert_eq!(before.texts(), ["sum", "2", "3", "5", "S", "8"]);
    let silent = linear(&[
        line("user", "1"),
        line("user", "2"),
        r#"{"type":"stack_pop","backToIndex":2}"#.to_owned(),
        line("user", "4"),
    ]);
    assert_eq!(silent.carried(&Pi, &Session::new("s", 0)).1.texts(), ["1", "4"]);
    let (_, after) = before.carried(&Pi, &Session::new("s", 0));
    assert_eq!(after.texts(), before.texts());
    let (_, after) = before.carried(&Claude, &Session::new("s", 0));
    assert_eq!(after.texts(), before.texts());
}

#[test]
fn a_session_goes_to_another_program_and_comes_back() {
    let before = everything();
    let (_, there) = before.carried(&Claude, &Session::new("s", 0));
    assert_eq!(there.texts(), before.texts());
    let (_, back) = there.carried(&Pi, &Session::new("s", 0));
    assert_eq!(back.texts(), before.texts());
    // The place before the compaction is in both.
    let cut = |told: &Told| {
        let at = told.steps.iter().position(|step| step.label == "compaction").unwrap();
        let Parent::Id(parent) = &told.steps[at].parent else { panic!("it hangs on something") };
        told.context_of(parent)
    };
    assert_eq!(texts(&cut(&there)), texts(&cut(&before)));
    assert_eq!(texts(&cut(&back)), texts(&cut(&before)));
    let blocks = |told: &Told| essence(&cut(told)).into_iter().take(2).collect::<Vec<_>>();
    assert_eq!(blocks(&back), blocks(&before), "pictures, thoughts and calls");
}

#[test]
fn other_roles_and_mixed_messages_are_written_part_by_part() {
    let before = read(&[
        HEADER,
        r#"{"type":"message","message":{"role":"system","content":"be brief"}}"#,
        r#"{"type":"message","message":{"role":"assistant","content":[
            {"type":"text","text":"first"},{"type":"tool_use","id":"a|b","name":"ls","input":{}},
            {"type":"tool_result","tool_use_id":"a|b","content":"one"},
            {"type":"text","text":"then"}],"model":"claude-x"}}"#,
    ]);
    let (values, after) = before.carried(&Pi, &Session::new("s", 0));
    assert_eq!(after.texts(), ["be brief", "first >a|b", "<a|b:one", "then"]);
    let kinds = after.labels();
    assert_eq!(kinds, ["(session)", "custom_message", "message", "message", "message"]);
    let spoken = values[2].get("message").unwrap();
    assert_eq!(text(spoken, "provider"), Some("anthropic"), "as the model says");
    let (_, after) = before.carried(&Claude, &Session::new("s", 0));
    assert_eq!(after.texts(), ["be brief", "first >a_b", "<a_b:one", "then"]);
}
