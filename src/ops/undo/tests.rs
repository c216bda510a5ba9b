//! Undo and redo, of everything that moves refs.

mod gone;

use super::*;
use crate::ops::desk::Desk;
use crate::ops::{self, BranchOptions, ForkOptions, LabelOptions};
use crate::session::View;
use crate::walk;

fn undo_by(desk: &Desk, actor: &str) -> Result<UndoOutcome> {
    let operation = desk.operation_by(actor, "undo");
    undo(&desk.repo, &Target::default(), actor, Direction::Undo, &operation)
}

fn back(desk: &Desk) -> Result<String> {
    undo_by(desk, "tester").map(|outcome| outcome.command)
}

fn again(desk: &Desk) -> Result<String> {
    let operation = desk.operation("redo");
    let outcome = undo(&desk.repo, &Target::default(), "tester", Direction::Redo, &operation);
    outcome.map(|outcome| outcome.command)
}

/// Lists all refs of the store but those that only go forward.
fn refs(desk: &Desk) -> Vec<(String, String)> {
    let refs = desk.repo.snapshot().unwrap().references("").unwrap();
    let refs = refs.into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
    refs.filter(|(name, _)| !name.ends_with("/events") && !name.ends_with("/tip")).collect()
}

fn label(desk: &Desk, name: &str, at: Option<&str>) {
    let options = LabelOptions {
        name: name.to_owned(),
        at: at.map(str::to_owned),
        ..LabelOptions::default()
    };
    ops::label(&desk.repo, &options, &desk.operation(&format!("label {name}"))).unwrap();
}

#[test]
fn all_verbs_are_taken_back_one_by_one_and_done_again() {
    let desk = Desk::new(&["one", "two", "three"]);
    desk.say("side", "four");
    let mut states = vec![refs(&desk)];
    let target = Target::default();
    let steps: Vec<Box<dyn Fn()>> = vec![
        Box::new(|| desk.branch("a", Some("main~1"))),
        Box::new(|| drop(desk.switch("a").unwrap())),
        Box::new(|| label(&desk, "ok", Some("main"))),
        Box::new(|| label(&desk, "ok", Some("main~2"))),
        Box::new(|| label(&desk, "ok", None)),
        Box::new(|| {
            let operation = desk.operation("branch -m side other");
            ops::rename_branch(&desk.repo, &target, Some("side"), "other", &operation).unwrap();
        }),
        Box::new(|| {
            let revisions = ["other".to_owned()];
            let operation = desk.operation("cherry-pick other");
            ops::cherry_pick(&desk.repo, &target, &revisions, &operation).unwrap();
        }),
        Box::new(|| {
            ops::rebase(&desk.repo, &target, "main", &desk.operation("rebase main")).unwrap();
        }),
        Box::new(|| {
            let operation = desk.operation("reset main~2");
            ops::reset(&desk.repo, &target, "main~2", false, &operation).unwrap();
        }),
        Box::new(|| {
            let options = ops::MergeOptions { other: "other".to_owned(), ..Default::default() };
            ops::merge(&desk.repo, &options, &desk.operation("merge other")).unwrap();
        }),
        Box::new(|| {
            let operation = desk.operation("branch -d other");
            ops::delete_branch(&desk.repo, &target, "other", &operation).unwrap();
        }),
    ];
    for step in &steps {
        step();
        states.push(refs(&desk));
    }
    let mut said = desk.transcript();
    for state in states.iter().rev().skip(1) {
        back(&desk).unwrap();
        assert_eq!(refs(&desk), *state);
        assert_eq!(desk.transcript(), said);
    }
    assert!(matches!(back(&desk), Err(Error::MovedOn { .. })), "the session itself has words");
    for state in &states[1..] {
        again(&desk).unwrap();
        assert_eq!(refs(&desk), *state);
    }
    assert!(matches!(again(&desk), Err(Error::Refused { .. })), "nothing is left");
    back(&desk).unwrap();
    let head = desk.active();
    said.push(desk.say(&head, "on we go"));
    assert_eq!(desk.transcript(), said);
}

#[test]
fn what_moved_on_is_named_and_nothing_changes() {
    let desk = Desk::new(&["one"]);
    desk.branch("a", None);
    desk.say("a", "two");
    let before = refs(&desk);
    let refused = back(&desk).unwrap_err().to_string();
    assert!(refused.contains("branch 'a' has moved on since, to "), "{refused}");
    assert!(refused.contains("(branch a)"), "{refused}");
    assert_eq!(refs(&desk), before);
}

#[test]
fn everybody_takes_back_their_own() {
    let desk = Desk::new(&["one"]);
    let make = |actor: &str, name: &str| {
        let options = BranchOptions { name: name.to_owned(), ..BranchOptions::default() };
        let operation = desk.operation_by(actor, &format!("branch {name}"));
        ops::branch(&desk.repo, &options, &operation).unwrap();
    };
    make("ann", "a");
    make("ben", "b");
    make("ann", "c");
    assert_eq!(undo_by(&desk, "ben").unwrap().command, "branch b");
    assert_eq!(undo_by(&desk, "ann").unwrap().command, "branch c");
    assert_eq!(undo_by(&desk, "ann").unwrap().command, "branch a");
    assert!(matches!(undo_by(&desk, "ben"), Err(Error::Refused { .. })));
    let event = desk.events().remove(0);
    assert_eq!(
        (event.label.as_str(), event.body.get("command")),
        ("undo", Some(&"branch a".into()))
    );
}

#[test]
fn a_new_operation_ends_what_can_be_redone() {
    let desk = Desk::new(&["one"]);
    desk.branch("a", None);
    back(&desk).unwrap();
    desk.branch("b", None);
    assert!(matches!(again(&desk), Err(Error::Refused { .. })));
    assert_eq!(back(&desk).unwrap(), "branch b");
    assert!(matches!(back(&desk), Err(Error::MovedOn { .. })));
}

#[test]
fn a_fork_goes_and_comes_back() {
    let desk = Desk::new(&["one", "two"]);
    let options = ForkOptions { use_it: true, ..ForkOptions::default() };
    let before = refs(&desk);
    let made = ops::fork(&desk.repo, &options, &desk.operation("fork")).unwrap();
    let after = refs(&desk);
    assert_eq!(back(&desk).unwrap(), "fork");
    let kept: Vec<_> =
        refs(&desk).into_iter().filter(|(name, _)| !name.starts_with("deleted/")).collect();
    assert_eq!(kept, before);
    assert_eq!(again(&desk).unwrap(), "fork");
    assert_eq!(refs(&desk), after);
    let snapshot = desk.repo.snapshot().unwrap();
    let told = walk::transcript(&*snapshot, &made.session).unwrap();
    assert_eq!(told, desk.transcript());
}

#[test]
fn a_deleted_session_comes_back_with_all_it_said() {
    let desk = Desk::new(&["one", "two"]);
    desk.branch("a", None);
    back(&desk).unwrap();
    let (before, said) = (refs(&desk), desk.transcript());
    for named in [None, Some("s".to_owned())] {
        ops::remove_session(&desk.repo, "s", &desk.operation("session rm s")).unwrap();
        assert!(View::of(&*desk.repo.snapshot().unwrap(), "s").is_err());
        let target = Target { session: named, ..Target::default() };
        let operation = desk.operation("undo");
        let outcome = undo(&desk.repo, &target, "tester", Direction::Undo, &operation).unwrap();
        assert_eq!(
            (outcome.command.as_str(), outcome.branch.as_deref()),
            ("session rm s", Some("main"))
        );
        assert_eq!((refs(&desk), desk.transcript()), (before.clone(), said.clone()));
        assert_eq!(desk.events()[0].label, "undo");
    }
    assert_eq!(again(&desk).unwrap(), "session rm s");
    assert!(View::of(&*desk.repo.snapshot().unwrap(), "s").is_err());
    assert_eq!(back(&desk).unwrap(), "session rm s");
    let more = desk.say("main", "three");
    assert_eq!(desk.transcript(), [said[0], said[1], more]);
}

#[test]
fn of_two_removed_sessions_the_right_one_comes_back() {
    let desk = Desk::new(&["one"]);
    let first = refs(&desk);
    ops::remove_session(&desk.repo, "s", &desk.operation_by("ann", "session rm s")).unwrap();
    desk.say("main", "another");
    ops::remove_session(&desk.repo, "s", &desk.operation_by("ben", "session rm s")).unwrap();
    let target = Target::of(Some("s"));
    let operation = desk.operation_by("ann", "undo");
    undo(&desk.repo, &target, "ann", Direction::Undo, &operation).unwrap();
    let now: Vec<_> =
        refs(&desk).into_iter().filter(|(name, _)| !name.starts_with("deleted/")).collect();
    assert_eq!(now, first);
    assert_eq!(ops::removed_sessions(&*desk.repo.snapshot().unwrap()).unwrap(), ["s/2"]);
}

#[test]
fn metadata_is_taken_back_field_by_field() {
    let desk = Desk::new(&["one"]);
    let set = |command: &str, edit: &dyn Fn(&mut crate::object::Session)| {
        let operation = desk.operation(command);
        let commit = desk.repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", operation.time)?;
            edit(change.meta()?);
            change.noted("rename", Value::Null)?;
            change.finish(Some(operation.clone()))
        });
        commit.unwrap();
    };
    let meta = || View::of(&*desk.repo.snapshot().unwrap(), "s").unwrap().meta().unwrap();
    set("rename", &|meta| meta.name = Some("first".to_owned()));
    let other = desk.operation_by("other", "status");
    let commit = desk.repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, "s", other.time)?;
        change.meta()?.status = Some("done".to_owned());
        change.meta()?.meta = Value::map([("n", Value::Integer(1))]);
        change.finish(Some(other.clone()))
    });
    commit.unwrap();
    assert_eq!(back(&desk).unwrap(), "rename");
    assert_eq!((meta().name, meta().status.as_deref()), (None, Some("done")));
    again(&desk).unwrap();
    assert_eq!(meta().name.as_deref(), Some("first"));
    assert_eq!(undo_by(&desk, "other").unwrap().command, "status");
    assert_eq!((meta().status, meta().meta), (None, Value::Null));
}

/// Does one of many things, if it is allowed, and says whether it moved anything.
fn step(desk: &Desk, verb: u8, one: u8, other: u8) -> bool {
    let name = |number: u8| ["main", "a", "b"][usize::from(number % 3)];
    let back = format!("{}~{}", name(one), other % 3);
    let before = refs(desk);
    let (repo, target, operation) = (&desk.repo, desk.on(name(one)), desk.operation("step"));
    let options = |at: &str| BranchOptions {
        name: name(other).to_owned(),
        at: Some(at.to_owned()),
        ..BranchOptions::default()
    };
    let done = match verb {
        0 => ops::branch(repo, &options(&back), &operation).is_ok(),
        1 => desk.switch(name(one)).is_ok(),
        2 => ops::reset(repo, &target, &back, false, &operation).is_ok(),
        3 => ops::delete_branch(repo, &Target::default(), name(one), &operation).is_ok(),
        4 => {
            let (from, to) = (Some(name(one)), name(other));
            ops::rename_branch(repo, &Target::default(), from, to, &operation).is_ok()
        }
        5 => ops::rebase(repo, &target, name(other), &operation).is_ok(),
        6 => {
            let other = name(other).to_owned();
            let options = ops::MergeOptions { target, other, ..Default::default() };
            ops::merge(repo, &options, &operation).is_ok()
        }
        _ => ops::cherry_pick(repo, &target, &[name(other).to_owned()], &operation).is_ok(),
    };
    assert!(done || refs(desk) == before, "what is refused changes nothing");
    refs(desk) != before
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    #[test]
    fn any_steps_are_taken_back_and_done_again(
        steps in proptest::collection::vec((0u8..8, 0u8..3, 0u8..3), 1..16),
    ) {
        let desk = Desk::new(&["one", "two", "three", "four"]);
        let mut states = vec![refs(&desk)];
        for (verb, one, other) in steps {
            if step(&desk, verb, one, other) {
                states.push(refs(&desk));
            }
        }
        let said = desk.transcript();
        for state in states.iter().rev().skip(1) {
            back(&desk).unwrap();
            proptest::prop_assert_eq!(&refs(&desk), state);
        }
        for state in &states[1..] {
            again(&desk).unwrap();
            proptest::prop_assert_eq!(&refs(&desk), state);
        }
        proptest::prop_assert_eq!(desk.transcript(), said);
    }
}
