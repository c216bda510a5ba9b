//! Sessions that go out as memory trees.

use super::*;

#[test]
fn a_session_that_changed_is_exported_by_meaning() {
    let bench = Bench::imported();
    let pin = session::pin(&bench.repo, Some(SID), Some("the-wanderer"), 0, "tester").unwrap();
    let body = Value::map([("role", Value::from("user")), ("content", "One more.".into())]);
    session::append(&bench.repo, &pin, vec![body], Durability::Full, 0).unwrap();
    check_by_meaning(&bench.repo, SID);
    let (out, is_exact) = bench.export();
    assert!(!is_exact);
    for name in ["memory/nodes/architect-2.json", "memory/nodes/root.json", "avatars/wanderer.png"]
    {
        assert!(out.contains_key(Path::new(name)), "{name}");
    }
}

/// Exports a session, imports that, and compares; then exports that again, byte for byte.
fn check_by_meaning(repo: &Repo, sid: &str) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("again");
    assert!(!ops::export_memory_tree(repo, sid, &to).unwrap().is_exact);
    let other = Repo::in_memory();
    let (_, sessions) = import(&other, &to, false);
    assert_eq!(sessions[0].odds, [], "{sid}");
    let again = sessions[0].session.clone().unwrap();
    assert_eq!(told(&other, &again), told(repo, sid));
    let back = dir.path().join("back");
    assert!(ops::export_memory_tree(&other, &again, &back).unwrap().is_exact);
    assert_eq!(files(&to), files(&back));
}

#[test]
fn any_session_can_be_a_memory_tree() {
    let desk = Desk::new(&["one", "two"]);
    let call = r#"{"type":"message","message":{"role":"assistant","model":"m","content":[
        {"type":"thinking","thinking":"hm"},
        {"type":"toolCall","id":"c1","name":"ls","arguments":{"a":1}}]}}"#;
    desk.put("main", call);
    desk.put(
        "main",
        r#"{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[
        {"type":"text","text":"a.png"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#,
    );
    let kept = desk.put("main", r#"{"type":"custom_message","content":"from outside"}"#);
    desk.put(
        "main",
        &format!(r#"{{"type":"compaction","summary":"so far","firstKept":"{kept}"}}"#),
    );
    desk.put("main", r#"{"role":"assistant","content":"hidden","excludeFromContext":true}"#);
    desk.say("main", &"long ".repeat(1000));
    let learn = |branch: &str, fact: &str| {
        let options = MemoryCommitOptions {
            target: Target { branch: Some(branch.to_owned()), ..Target::of(Some("s")) },
            facts: vec![memory::fact_from_text(fact)],
            notes: vec!["noted".to_owned()],
            ..MemoryCommitOptions::default()
        };
        ops::memory_commit(&desk.repo, &options, &operation()).unwrap();
    };
    learn("main", "name=Ann");
    desk.branch("side/of it", None);
    learn("side/of it", "name=Bo");
    learn("side/of it", "plain words");
    learn("main", "name=Cy");
    desk.say("side/of it", "other");
    let merge = ops::MemoryMergeOptions {
        target: Target { branch: Some("main".to_owned()), ..Target::of(Some("s")) },
        from: "side/of it".to_owned(),
    };
    ops::memory_merge(&desk.repo, &merge, &operation()).unwrap();
    desk.branch("bare", Some("main~9"));
    let attach = ops::AttachOptions {
        target: Target::of(Some("s")),
        name: "faces/a.png".to_owned(),
        content: ops::Attached::Bytes(vec![0xff; 2000]),
        card: Some("main".to_owned()),
    };
    ops::attach(&desk.repo, &attach, &operation()).unwrap();
    let before = told(&desk.repo, "s");
    assert!(before.facts("main").iter().any(|fact| fact.contains("in conflict")));
    check_by_meaning(&desk.repo, "s");
}

#[test]
fn an_export_overwrites_nothing_else() {
    let bench = Bench::imported();
    let write = |to: &Path| ops::export_memory_tree(&bench.repo, SID, to);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path()).unwrap();
    write(dir.path()).unwrap();
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    write(dir.path()).unwrap();
    assert_eq!(fs::read(dir.path().join("notes.txt")).unwrap(), b"mine");
    fs::write(dir.path().join("memory/nodes/more.json"), "{}").unwrap();
    assert!(matches!(write(dir.path()), Err(crate::Error::Refused { .. })));
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("session.json"), "{}").unwrap();
    assert!(matches!(write(other.path()), Err(crate::Error::Refused { .. })));
    assert_eq!(files(other.path()).len(), 1);
}
