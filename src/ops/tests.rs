//! One conversation as several programs write it: every verb reads it alike.

use std::ops::ControlFlow;

use regex::Regex;

use crate::codec::json;
use crate::dialect::{self, Parent, Source};
use crate::ops::{ContextOptions, Filter, GrepOptions, Target, context, edit, grep, log, stats};
use crate::repo::Repo;
use crate::session::{self, Change};
use crate::store::Durability;
use crate::walk;

/// The dialect, and the values of a file in it.
const FILES: [(&str, &[&str]); 4] = [
    (
        "chat",
        &[
            r#"{"role":"user","content":"list"}"#,
            r#"{"role":"assistant","model":"m","content":"I look","reasoning_content":"hm",
               "tool_calls":[{"id":"c","type":"function",
               "function":{"name":"ls","arguments":"{\"a\":1}"}}],"usage":{"total_tokens":9}}"#,
            r#"{"role":"tool","tool_call_id":"c","content":"one\ntwo"}"#,
            r#"{"role":"assistant","model":"m","content":"two files"}"#,
        ],
    ),
    (
        "copilot",
        &[
            r#"{"type":"session.start","id":"0","parentId":null,"data":{"sessionId":"x"}}"#,
            r#"{"type":"user.message","id":"1","parentId":"0","data":{"content":"list"}}"#,
            r#"{"type":"hook.start","id":"2","parentId":"1","data":{}}"#,
            r#"{"type":"assistant.message","id":"3","parentId":"2","data":{"model":"m",
               "content":"I look","reasoningText":"hm","outputTokens":9,"toolRequests":[
               {"toolCallId":"c","name":"ls","arguments":{"a":1}}]}}"#,
            r#"{"type":"tool.execution_complete","id":"4","parentId":"3","data":
               {"toolCallId":"c","success":true,"result":{"content":"one\ntwo"}}}"#,
            r#"{"type":"assistant.message","id":"5","parentId":"4","data":
               {"model":"m","content":"two files"}}"#,
        ],
    ),
    (
        "gemini",
        &[
            r#"{"sessionId":"x","projectHash":"h","messages":[]}"#,
            r#"{"id":"1","type":"user","content":"list"}"#,
            r#"{"id":"2","type":"gemini","model":"m","content":"I look",
               "thoughts":[{"description":"hm"}],"tokens":{"total":9},"toolCalls":[
               {"id":"c","name":"ls","args":{"a":1},"status":"success","result":[
               {"functionResponse":{"response":{"output":"one\ntwo"}}}]}]}"#,
            r#"{"id":"3","type":"gemini","model":"m","content":"two files"}"#,
        ],
    ),
    (
        "opencode",
        &[
            r#"{"info":{"id":"x"},"messages":[]}"#,
            r#"{"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"list"}]}"#,
            r#"{"info":{"id":"2","role":"assistant","modelID":"m","tokens":{"total":9}},"parts":[
               {"type":"reasoning","text":"hm"},{"type":"text","text":"I look"},
               {"type":"tool","callID":"c","tool":"ls","state":{"status":"completed",
               "input":{"a":1},"output":"one\ntwo"}},{"type":"step-finish"}]}"#,
            r#"{"info":{"id":"3","role":"assistant","modelID":"m"},
               "parts":[{"type":"text","text":"two files"}]}"#,
        ],
    ),
];

/// Reads a file's values into session `s`, those on its path.
fn told(name: &str, lines: &[&str]) -> Repo {
    let repo = Repo::in_memory();
    session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let dialect = dialect::named(name).unwrap();
    let mut source = Source::default();
    for line in lines {
        let value = json::parse(line.as_bytes()).unwrap();
        let step = dialect.read(&value, &mut source);
        if step.parent == Parent::Beside {
            continue;
        }
        let say = &mut |snapshot: &dyn crate::store::Snapshot| {
            let mut change = Change::on(snapshot, "s", 0)?;
            change.append("main", &step.label, value.clone(), 0)?;
            change.finish(None)
        };
        repo.commit(Durability::Full, say).unwrap();
    }
    repo
}

#[test]
fn every_program_is_read_alike() {
    for (name, lines) in FILES {
        let repo = told(name, lines);
        let snapshot = repo.snapshot().unwrap();
        let outcome = context(&*snapshot, &ContextOptions::default()).unwrap();
        let expected = concat!(
            r#"{"model":"m","messages":["#,
            r#"{"role":"user","content":[{"type":"text","text":"list"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"I look"},"#,
            r#"{"type":"tool_use","id":"c","name":"ls","input":{"a":1}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","#,
            r#""content":"one\ntwo"}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"two files"}]}]}"#,
        );
        assert_eq!(json::to_string(&outcome.to_anthropic()), expected, "{name}");
        assert!(outcome.context.dangling.is_empty(), "{name}");

        let ids = walk::path(&*snapshot, outcome.entry);
        let logged: Vec<_> =
            log(&*snapshot, ids, Filter::default()).map(|logged| logged.unwrap()).collect();
        let text: Vec<&str> =
            logged.iter().rev().map(|logged| logged.words.text.as_str()).collect();
        let text = text.join("\n");
        let said = "(thinking) hm\nI look\n→ ls {\"a\":1}\n← one\ntwo\ntwo files";
        assert!(text.starts_with("list\n") && text.ends_with(said), "{name}: {text}");

        for word in ["^list$", "hm", "I look", "→ ls", "← one", "^two$", "two files"] {
            let options = GrepOptions {
                sessions: vec!["s".to_owned()],
                pattern: Regex::new(word).unwrap(),
                literals: vec![word.trim_matches(['^', '$']).to_owned()],
                ignores_case: false,
                filter: Filter::default(),
            };
            let mut count = 0;
            grep(&*snapshot, &options, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            assert_eq!(count, 1, "{name}: {word}");
        }

        let stats = stats(&*snapshot, &["s".to_owned()]).unwrap();
        assert_eq!((stats.total.tokens, stats.models["m"].messages), (9, 2), "{name}");

        let edited = edit(&*snapshot, &Target::default(), "msg:2", "I won't", true).unwrap();
        let said = edited.drafts[0].read().unwrap();
        assert_eq!((said.text().as_str(), said.role.as_str()), ("I won't", "assistant"), "{name}");
        assert_eq!((said.calls().count(), said.answers().count()), (0, 0), "{name}");
    }
}

#[test]
fn compactions_show_their_summary_alone() {
    let files: [(&str, &[&str]); 2] = [
        (
            "copilot",
            &[
                r#"{"type":"user.message","id":"1","parentId":null,"data":{"content":"old"}}"#,
                r#"{"type":"session.compaction_complete","id":"2","parentId":"1",
                   "data":{"success":true,"summaryContent":"in short"}}"#,
                r#"{"type":"user.message","id":"3","parentId":"2","data":{"content":"new"}}"#,
            ],
        ),
        (
            "opencode",
            &[
                r#"{"info":{"role":"user"},"parts":[{"type":"text","text":"old"}]}"#,
                r#"{"info":{"role":"user"},"parts":[{"type":"compaction","auto":true}]}"#,
                r#"{"info":{"role":"assistant","summary":true},
                   "parts":[{"type":"text","text":"in short"}]}"#,
                r#"{"info":{"role":"user"},"parts":[{"type":"text","text":"new"}]}"#,
            ],
        ),
    ];
    for (name, lines) in files {
        let repo = told(name, lines);
        let snapshot = repo.snapshot().unwrap();
        let outcome = context(&*snapshot, &ContextOptions::default()).unwrap();
        let texts: Vec<String> =
            outcome.context.messages.iter().map(|shown| shown.message.text()).collect();
        assert_eq!(texts, ["in short", "new"], "{name}");
        let ids = walk::path(&*snapshot, outcome.entry);
        let mut words = log(&*snapshot, ids, Filter::default()).map(|logged| logged.unwrap().words);
        assert!(words.any(|words| words.who == "compaction" && words.text == "in short"), "{name}");
    }
}
