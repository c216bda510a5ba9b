//! Taking back an import.

use super::*;

fn sessions(sandbox: &Sandbox) -> usize {
    sandbox.ok(&["sessions", "--json"]).lines().count()
}

/// Three files, of which the first two hang on the last.
fn imported() -> Sandbox {
    let sandbox = Sandbox::new();
    write(&sandbox.join("in/1.jsonl"), header("one") + &message("a1", Some("c1"), "two"));
    write(&sandbox.join("in/2.jsonl"), header("two") + &message("b1", Some("c1"), "three"));
    write(&sandbox.join("in/3.jsonl"), header("three") + &message("c1", None, "one"));
    assert_eq!(import(&sandbox, &["in"]).len(), 5);
    sandbox
}

#[test]
fn an_import_is_taken_back_whole_and_done_again() {
    let sandbox = imported();
    let refs = || sandbox.ok(&["for-each-ref"]).lines().filter(|it| !it.contains("events")).count();
    let before = refs();
    let out = sandbox.ok(&["undo"]);
    assert!(out.starts_with("undid ") && out.ends_with(": import in (3 sessions)"), "{out}");
    assert_eq!(sessions(&sandbox), 0);
    assert_sound(&sandbox);
    let out = sandbox.ok(&["redo", "--all"]);
    assert!(out.ends_with("(3 sessions)"), "{out}");
    assert_eq!((sessions(&sandbox), refs()), (3, before));
    assert_eq!(said(&sandbox, "1"), ["one", "two"]);
    sandbox.ok(&["undo"]);
    assert_eq!(import(&sandbox, &["in"]).len(), 5);
    assert_eq!(said(&sandbox, "1"), ["one", "two"]);
    assert_sound(&sandbox);
}

#[test]
fn with_a_session_only_its_part_is_taken_back() {
    let sandbox = imported();
    sandbox.ok(&["undo", "-s", "3"]);
    assert_eq!(sessions(&sandbox), 2);
}

#[test]
fn an_import_beside_the_current_session_is_taken_back_with_all() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new"]);
    write(&sandbox.join("in/1.jsonl"), header("one") + &message("a1", None, "one"));
    write(&sandbox.join("in/2.jsonl"), header("two") + &message("b1", None, "two"));
    import(&sandbox, &["in"]);
    let lines = sandbox.ok(&["undo", "--all", "--json"]);
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert_eq!(sessions(&sandbox), 1);
}

#[test]
fn a_session_that_went_on_stays_and_is_told() {
    let sandbox = imported();
    sandbox.append("2", "main", &["more"]);
    let ran = sandbox.run(&["undo"]);
    assert_eq!(ran.code, 4);
    assert!(ran.out.contains("(2 sessions)"), "{}", ran.out);
    assert!(ran.err.contains("session '2' is kept as it is"), "{}", ran.err);
    assert_eq!(sessions(&sandbox), 1);
    assert_sound(&sandbox);
}
