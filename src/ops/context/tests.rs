//! One conversation in every form.

use super::*;
use crate::codec::json as text;
use crate::repo::Repo;
use crate::store::{Durability, Operation};

/// Tells a conversation, one message a line, and gives its context.
fn context_of(lines: &[&str], options: &ContextOptions) -> ContextOutcome {
    let repo = Repo::in_memory();
    let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let bodies = lines.iter().map(|line| text::parse(line.as_bytes()).unwrap()).collect();
    session::append(&repo, &pin, bodies, Durability::Full, 1).unwrap();
    if options.memory {
        let operation = Operation { time: 1, actor: "t".to_owned(), command: "m".to_owned() };
        let commit = crate::ops::MemoryCommitOptions {
            facts: ["name=Bob", "likes tea", "name=Ann"].map(memory::fact_from_text).to_vec(),
            ..Default::default()
        };
        crate::ops::memory_commit(&repo, &commit, &operation).unwrap();
    }
    context(&*repo.snapshot().unwrap(), options).unwrap()
}

fn with(memory: bool, repair: bool, roles: &[&str]) -> ContextOptions {
    let mut options = ContextOptions { memory, repair, ..ContextOptions::default() };
    roles.iter().for_each(|role| options.roles.add(role).unwrap());
    options
}

const TOOLS: [&str; 7] = [
    r#"{"role":"system","content":"Be brief."}"#,
    r#"{"role":"user","content":"list"}"#,
    r#"{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},
        {"type":"text","text":"looking"},
        {"type":"tool_use","id":"a","name":"ls","input":{"p":1}}]}"#,
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"cat","input":{}}]}"#,
    r#"{"role":"user","content":"wait"}"#,
    r#"{"role":"tool","tool_call_id":"b","content":"two"}"#,
    r#"{"role":"tool","tool_call_id":"a","content":"one"}"#,
];

#[test]
fn openai_gets_calls_and_results_together() {
    let outcome = context_of(&TOOLS, &with(true, false, &[]));
    let known = r#"{"role":"system","content":"What is known so far:\n- likes tea\n- name: Ann"}"#;
    let expected = [
        known,
        r#"{"role":"system","content":"Be brief."}"#,
        r#"{"role":"user","content":"list"}"#,
        concat!(
            r#"{"role":"assistant","content":"looking","tool_calls":[{"id":"a","#,
            r#""type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}},{"id":"b","#,
            r#""type":"function","function":{"name":"cat","arguments":"{}"}}]}"#
        ),
        r#"{"role":"tool","tool_call_id":"a","content":"one"}"#,
        r#"{"role":"tool","tool_call_id":"b","content":"two"}"#,
        r#"{"role":"user","content":"wait"}"#,
    ];
    let expected = format!(r#"{{"model":"m","messages":[{}]}}"#, expected.join(","));
    assert_eq!(text::to_string(&outcome.to_openai()), expected);
}

#[test]
fn anthropic_gets_the_system_apart_and_roles_in_turn() {
    let outcome = context_of(&TOOLS, &with(true, false, &[]));
    let expected = concat!(
        r#"{"model":"m","system":"What is known so far:\n- likes tea\n- name: Ann\n\nBe brief.","#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"list"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"looking"},"#,
        r#"{"type":"tool_use","id":"a","name":"ls","input":{"p":1}},"#,
        r#"{"type":"tool_use","id":"b","name":"cat","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"},"#,
        r#"{"type":"tool_result","tool_use_id":"b","content":"two"},"#,
        r#"{"type":"text","text":"wait"}]}]}"#
    );
    assert_eq!(text::to_string(&outcome.to_anthropic()), expected);
}

#[test]
fn other_roles_are_mapped_or_told() {
    let lines = [
        r#"{"role":"interviewer","content":"Who are you?"}"#,
        r#"{"role":"user","content":"Ann"}"#,
        r#"{"role":"future_self","content":"Hello, Ann."}"#,
    ];
    let outcome = context_of(&lines, &with(false, false, &[]));
    let told = concat!(
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"interviewer: "#,
        r#"Who are you?"},{"type":"text","text":"Ann"},"#,
        r#"{"type":"text","text":"future_self: Hello, Ann."}]}]}"#
    );
    assert_eq!(text::to_string(&outcome.to_anthropic()), told);
    let roles = ["interviewer=assistant", "future_self=assistant"];
    let outcome = context_of(&lines, &with(false, false, &roles));
    let mapped = concat!(
        r#"{"messages":[{"role":"assistant","content":"Who are you?"},"#,
        r#"{"role":"user","content":"Ann"},{"role":"assistant","content":"Hello, Ann."}]}"#
    );
    assert_eq!(text::to_string(&outcome.to_openai()), mapped);
    for bad in ["x", "x=y", "x=", "=", ""] {
        assert!(RoleMap::default().add(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_call_that_nothing_answers_is_closed_if_asked() {
    let lines = &TOOLS[1..4];
    let open = context_of(lines, &with(false, false, &[]));
    assert_eq!(open.context.dangling.len(), 2);
    assert!(!text::to_string(&open.to_openai()).contains("tool_call_id"));
    let closed = context_of(lines, &with(false, true, &[]));
    assert_eq!(text::to_string(&closed.to_openai()).matches("tool_call_id").count(), 2);
    let last = closed.to_anthropic();
    let last = last.get("messages").unwrap().as_list().unwrap().last().unwrap();
    assert_eq!(last.get("role"), Some(&"user".into()));
    assert_eq!(last.get("content").unwrap().as_list().unwrap().len(), 2);
}

#[test]
fn an_id_that_comes_again_is_answered_each_time() {
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f"}]}"#;
    let result = |text: &str| format!(r#"{{"role":"tool","tool_call_id":"1","content":"{text}"}}"#);
    let (one, two) = (result("one"), result("two"));
    let user = r#"{"role":"user","content":"go on"}"#;
    let outcome = context_of(&[call, user, call, &two], &with(false, true, &[]));
    let request = outcome.to_openai();
    let roles = request.get("messages").unwrap().as_list().unwrap().iter();
    let roles: Vec<_> = roles.filter_map(|message| message.get("role")?.as_text()).collect();
    assert_eq!(roles, ["assistant", "tool", "user", "assistant", "tool"]);
    let outcome = context_of(&[call, &one, call, &two], &with(false, false, &[]));
    let written = text::to_string(&outcome.to_openai());
    assert!(written.find("one") < written.find("two"), "{written}");
}

#[test]
fn pictures_speak_both_dialects() {
    let lines = [
        r#"{"role":"user","content":[{"type":"text","text":"see"},
            {"type":"image","data":"AAAA","mimeType":"image/png"}]}"#,
        r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}"#,
        r#"{"role":"user","content":[{"type":"image",
            "source":{"type":"base64","media_type":"image/gif","data":"BBBB"}}]}"#,
    ];
    let outcome = context_of(&lines, &with(false, false, &[]));
    let openai = text::to_string(&outcome.to_openai());
    for url in ["data:image/png;base64,AAAA", "https://x/y.png", "data:image/gif;base64,BBBB"] {
        assert!(openai.contains(&format!(r#"{{"url":"{url}"}}"#)), "{openai}");
    }
    let anthropic = text::to_string(&outcome.to_anthropic());
    let png = r#"{"type":"base64","media_type":"image/png","data":"AAAA"}"#;
    let address = r#"{"type":"url","url":"https://x/y.png"}"#;
    assert!(anthropic.contains(png) && anthropic.contains(address), "{anthropic}");
}

#[test]
fn markdown_has_a_heading_for_each_message() {
    let lines = [
        r#"{"type":"branch_summary","summary":"so far"}"#,
        r#"{"role":"future_self","content":"hi"}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]}"#,
        r#"{"role":"tool","tool_call_id":"a","content":"x ``` y"}"#,
    ];
    let expected = "## Memory\n\n- likes tea\n- name: Ann\n\n## Summary\n\nso far\n\n\
        ## Future self\n\nhi\n\n## Assistant\n\nCalls `ls` (a):\n\n```json\n{}\n```\n\n\
        ## Tool\n\nResult (a):\n\n````\nx ``` y\n````\n";
    assert_eq!(context_of(&lines, &with(true, false, &[])).to_markdown(), expected);
}
