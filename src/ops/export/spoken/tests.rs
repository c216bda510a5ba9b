//! Sessions that are written, and read elsewhere: what a model is shown stays the same.

use super::*;
use crate::ops::{Found, ImportNote, ImportOptions, Keep, Target, compact, import, plan_compact};
use crate::session::{Block, restored_entry};
use crate::store::Operation;

const CLAUDE: &str = "01234567-89ab-cdef-0123-456789abcdef";

fn operation() -> Operation {
    Operation { time: 1000, actor: "tester".to_owned(), command: "test".to_owned() }
}

/// Reads a file into a store of its own, and gives its session.
fn read(file: &str) -> (Repo, String) {
    let repo = Repo::in_memory();
    let mut session = None;
    let stdin = std::io::Cursor::new(file.to_owned().into_bytes());
    let mut note = |note: ImportNote<'_>| {
        if let ImportNote::Session(imported) = note {
            session.clone_from(&imported.session);
        }
    };
    let options = ImportOptions::default();
    import(&repo, Found::default(), Some(Box::new(stdin)), &options, &operation(), &mut note)
        .unwrap();
    (repo, session.unwrap_or_else(|| panic!("no session in\n{file}")))
}

fn written(repo: &Repo, session: &str, scope: Scope, to: Option<&str>) -> String {
    let mut out = Vec::new();
    export(repo, session, scope, to, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn end(repo: &Repo, session: &str) -> Id {
    let snapshot = repo.snapshot().unwrap();
    let view = View::of(&*snapshot, session).unwrap();
    view.branch(&view.active().unwrap().unwrap()).unwrap().unwrap()
}

/// Gives the words that a model is shown at an entry: calls as `>call`, results as `<call:text`.
fn words_at(repo: &Repo, session: &str, at: Id) -> String {
    let shown = context(&*repo.snapshot().unwrap(), Some(session), at).unwrap();
    let blocks = shown.messages.into_iter().flat_map(|shown| shown.message.blocks);
    let words = blocks.map(|block| match block {
        Block::Text(text) => text,
        Block::Call(call) => format!(">{}", call.id),
        Block::Result(answer) => format!("<{}:{}", answer.call, answer.text),
        other => panic!("{other:?}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn words(repo: &Repo, session: &str) -> String {
    words_at(repo, session, end(repo, session))
}

/// Finds the entry whose body holds a text.
fn entry(repo: &Repo, session: &str, text: &str) -> Id {
    let snapshot = repo.snapshot().unwrap();
    let said = crate::session::transcript(&*snapshot, session).unwrap();
    let holds =
        |id: &&Id| json::to_string(&restored_entry(&*snapshot, id).unwrap().body).contains(text);
    *said.iter().find(holds).unwrap()
}

/// A line of Claude Code; the parent may be empty.
fn claude(id: &str, parent: &str, kind: &str, content: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    let message = format!(r#"{{"role":"{kind}","content":[{content}]}}"#);
    format!(
        "{{\"parentUuid\":{parent},\"cwd\":\"/w\",\"sessionId\":\"{CLAUDE}\",\"version\":\"2\",\
         \"type\":\"{kind}\",\"uuid\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:01.000Z\",\
         \"message\":{message}}}\n"
    )
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"ls","input":{{}}}}"#)
}

fn result(call: &str, text: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"{text}"}}"#)
}

#[test]
fn what_a_compaction_keeps_of_a_file_is_kept_elsewhere() {
    let number = |number: usize| format!("w{number}");
    let role = |number: usize| if number % 2 == 1 { "user" } else { "assistant" };
    let tree = (1..6).map(|at| {
        let parent = if at == 1 { String::new() } else { number(at - 1) };
        claude(&number(at), &parent, role(at), &text(&format!("WORD{at}")))
    });
    let linear = (1..6).map(|at| {
        format!(
            "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"{}\",\
             \"content\":[{{\"type\":\"input_text\",\"text\":\"WORD{at}\"}}]}}}}\n",
            role(at)
        )
    });
    let header = r#"{"type":"session_meta","payload":{"id":"s","cwd":"/w"}}"#;
    let files = [tree.collect::<String>(), format!("{header}\n{}", linear.collect::<String>())];
    for file in files {
        let (repo, session) = read(&file);
        let target = Target { session: Some(session.clone()), ..Target::default() };
        let plan = plan_compact(&*repo.snapshot().unwrap(), &target, &Keep::Last(2)).unwrap();
        compact(&repo, &plan, "SUM", &operation()).unwrap();
        assert_eq!(words(&repo, &session), "SUM WORD4 WORD5");
        for scope in [Scope::Session, Scope::Path(end(&repo, &session))] {
            let own = written(&repo, &session, scope, None);
            let (there, session) = read(&own);
            assert_eq!(words(&there, &session), "SUM WORD4 WORD5", "{own}");
        }
    }
}

/// Two calls at once, whose results hang each on its own, and what was said then.
fn parallel() -> String {
    [
        claude("ask", "", "user", &text("ask")),
        claude("one", "ask", "assistant", &call("1")),
        claude("two", "one", "assistant", &call("2")),
        claude("first", "one", "user", &result("1", "a")),
        claude("second", "two", "user", &result("2", "b")),
        claude("done", "second", "assistant", &text("done")),
    ]
    .concat()
}

#[test]
fn results_beside_the_path_are_kept_by_a_compaction() {
    let file = claude("old", "", "user", &text("old"))
        + &parallel().replace(r#""parentUuid":null"#, r#""parentUuid":"old""#);
    let (repo, session) = read(&file);
    let target = Target { session: Some(session.clone()), ..Target::default() };
    let plan = plan_compact(&*repo.snapshot().unwrap(), &target, &Keep::Last(4)).unwrap();
    compact(&repo, &plan, "SUM", &operation()).unwrap();
    let expected = "SUM >1 >2 <2:b <1:a done";
    assert_eq!(words(&repo, &session), expected);
    for to in [None, Some("pi"), Some("codex"), Some("dash")] {
        for scope in [Scope::Session, Scope::Path(end(&repo, &session))] {
            let file = written(&repo, &session, scope, to);
            let (there, session) = read(&file);
            assert_eq!(words(&there, &session), expected, "{to:?}\n{file}");
        }
    }
}

#[test]
fn a_path_is_written_with_the_results_that_hang_beside_it() {
    let (repo, session) = read(&parallel());
    let at = entry(&repo, &session, "done");
    let expected = "ask >1 >2 <2:b <1:a done";
    assert_eq!(words_at(&repo, &session, at), expected);
    for to in [None, Some("claude"), Some("pi"), Some("dash"), Some("codex"), Some("rollouts")] {
        let file = written(&repo, &session, Scope::Path(at), to);
        let (there, session) = read(&file);
        assert_eq!(words(&there, &session), expected, "{to:?}\n{file}");
    }
}

#[test]
fn an_open_call_takes_no_result_of_another_branch() {
    let other = [
        claude("else", "ask", "assistant", &call("1")),
        claude("there", "else", "user", &result("1", "x")),
        claude("open", "ask", "assistant", &call("1")),
        claude("on", "open", "user", &text("on")),
    ];
    let (repo, session) = read(&[claude("ask", "", "user", &text("ask")), other.concat()].concat());
    let at = entry(&repo, &session, "\"on\"");
    assert_eq!(words_at(&repo, &session, at), "ask >1 on");
    for to in [None, Some("pi"), Some("dash"), Some("codex"), Some("rollouts")] {
        let file = written(&repo, &session, Scope::Path(at), to);
        let (there, session) = read(&file);
        assert_eq!(words(&there, &session), "ask >1 on", "{to:?}\n{file}");
    }
}
