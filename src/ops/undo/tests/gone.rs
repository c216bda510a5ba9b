//! Undo where a branch or a session would go, or has gone.

use super::*;
use crate::ops::{CreateOptions, MemoryCommitOptions};
use crate::repo::Place;
use crate::session::Draft;

fn create(desk: &Desk, use_it: bool) -> String {
    let options = CreateOptions { use_it, ..CreateOptions::default() };
    ops::create(&desk.repo, &options, &desk.operation("new")).unwrap().session
}

fn current(desk: &Desk) -> Option<String> {
    Place::default().session_id(&*desk.repo.snapshot().unwrap()).unwrap()
}

fn undo_in(desk: &Desk, session: &str, actor: &str) -> Result<UndoOutcome> {
    let target = Target::of(Some(session));
    let operation = desk.operation_by(actor, "undo");
    undo(&desk.repo, &target, actor, Direction::Undo, &operation)
}

#[test]
fn the_first_words_on_the_active_branch_are_taken_back() {
    let desk = Desk::new(&["one"]);
    let session = create(&desk, true);
    let ground = ops::Ground::find(&*desk.repo.snapshot().unwrap(), &Target::default()).unwrap();
    let draft = Draft::message("user", "hello");
    ops::append(&desk.repo, &ground, &[draft], false, &desk.operation("append")).unwrap();
    assert_eq!(back(&desk).unwrap(), "append");
    let snapshot = desk.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, &session).unwrap();
    assert_eq!(
        (view.active().unwrap().as_deref(), view.branch("main").unwrap()),
        (Some("main"), None)
    );
    assert_eq!(walk::transcript(&*snapshot, &session).unwrap().len(), 1);
    assert_eq!(again(&desk).unwrap(), "append");
    assert!(desk.repo.resolve("main").is_ok());
}

#[test]
fn head_never_leads_to_a_session_that_is_gone() {
    let desk = Desk::new(&["one"]);
    let made = create(&desk, false);
    let by_other = desk.operation_by("other", "session use");
    ops::use_session(&desk.repo, &made, &by_other).unwrap();
    undo_in(&desk, &made, "tester").unwrap();
    assert_eq!(current(&desk), None);

    ops::use_session(&desk.repo, "s", &desk.operation("session use")).unwrap();
    let second = create(&desk, true);
    ops::remove_session(&desk.repo, "s", &desk.operation_by("other", "session rm")).unwrap();
    undo_in(&desk, &second, "tester").unwrap();
    assert_eq!(current(&desk), None);

    ops::restore_session(&desk.repo, "s", &desk.operation_by("other", "restore")).unwrap();
    ops::use_session(&desk.repo, "s", &desk.operation_by("other", "session use")).unwrap();
    let third = create(&desk, false);
    ops::use_session(&desk.repo, &third, &desk.operation("session use")).unwrap();
    ops::remove_session(&desk.repo, "s", &desk.operation_by("other", "session rm")).unwrap();
    let refused = undo_in(&desk, &third, "tester").unwrap_err();
    assert!(refused.to_string().contains("is removed"), "{refused}");
    assert_eq!(current(&desk), Some(third));
}

#[test]
fn a_lost_shortcut_to_memory_is_not_in_the_way() {
    let desk = Desk::new(&["one"]);
    let facts = vec![crate::memory::fact_from_text("a=1")];
    let options = MemoryCommitOptions { facts, ..MemoryCommitOptions::default() };
    ops::memory_commit(&desk.repo, &options, &desk.operation("memory commit")).unwrap();
    let learned = desk.end("main").unwrap().to_string();
    desk.say("main", "two");
    let by_other = desk.operation_by("other", "reset");
    ops::reset(&desk.repo, &Target::default(), &learned, false, &by_other).unwrap();
    assert_eq!(back(&desk).unwrap(), "memory commit");
    assert_eq!(desk.words("main"), ["one"]);
}

#[test]
fn a_removed_session_that_got_another_name_since_has_moved_on() {
    let desk = Desk::new(&["one"]);
    let by_other = || desk.operation_by("other", "session");
    ops::remove_session(&desk.repo, "s", &desk.operation("session rm")).unwrap();
    ops::restore_session(&desk.repo, "s", &by_other()).unwrap();
    ops::rename_session(&desk.repo, "s", Some("second"), &by_other()).unwrap();
    ops::remove_session(&desk.repo, "s", &by_other()).unwrap();
    let refused = undo_in(&desk, "s", "tester").unwrap_err();
    assert!(matches!(refused, Error::MovedOn { .. }), "{refused}");
    ops::restore_session(&desk.repo, "s", &by_other()).unwrap();
    ops::rename_session(&desk.repo, "s", None, &by_other()).unwrap();
    ops::remove_session(&desk.repo, "s", &by_other()).unwrap();
    undo_in(&desk, "s", "tester").unwrap();
    assert_eq!(desk.words("main"), ["one"]);
}
