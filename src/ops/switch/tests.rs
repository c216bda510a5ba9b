//! Branches, switches and forks.

use super::*;
use crate::memory;
use crate::ops::desk::Desk;
use crate::ops::{self, ForkOptions, branches, delete_branch, rename_branch};
use crate::store::RefName;

fn new(name: &str, at: Option<&str>) -> Goal {
    let at = at.map(str::to_owned);
    Goal::New(Box::new(BranchOptions { name: name.to_owned(), at, ..BranchOptions::default() }))
}

fn go(desk: &Desk, to: Goal) -> Result<SwitchOutcome> {
    let options = SwitchOptions::to(Target::default(), to);
    switch(&desk.repo, &options, &desk.operation("switch"))
}

#[test]
fn a_branch_keeps_what_is_known_of_it_and_does_not_become_active() {
    let desk = Desk::new(&["one", "two", "three"]);
    let options = BranchOptions {
        name: "The Architect".to_owned(),
        at: Some("main~1".to_owned()),
        description: Some("builds".to_owned()),
        card: Some(Value::map([("optimizes", Value::from("ambition"))])),
        ..BranchOptions::default()
    };
    let made = ops::branch(&desk.repo, &options, &desk.operation("branch")).unwrap();
    assert_eq!(
        (made.end, made.record.parent.as_deref()),
        (Some(desk.transcript()[1]), Some("main"))
    );
    assert_eq!(desk.active(), "main");
    let again = ops::branch(&desk.repo, &options, &desk.operation("branch")).unwrap_err();
    assert!(matches!(again, Error::Exists { .. }), "{again}");
    let snapshot = desk.repo.snapshot().unwrap();
    let list = branches(&*snapshot, "s", false).unwrap();
    let names: Vec<_> = list.iter().map(|info| info.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["The Architect", "main"]);
    assert_eq!((list[0].entries, list[0].own), (2, Some(0)));
    let record = list[0].record.as_ref().unwrap();
    assert_eq!(record.description.as_deref(), Some("builds"));
    assert_eq!(record.card.get("optimizes"), Some(&"ambition".into()));
}

#[test]
fn renaming_and_deleting_leave_an_event_and_spare_the_active_branch() {
    let desk = Desk::new(&["one"]);
    desk.branch("a", None);
    let operation = || desk.operation("x");
    rename_branch(&desk.repo, &Target::default(), Some("a"), "b", &operation()).unwrap();
    assert_eq!(desk.last_event("to").as_deref(), Some("b"));
    assert_eq!((desk.end("a"), desk.end("b")), (None, desk.end("main")));
    rename_branch(&desk.repo, &Target::default(), None, "trunk", &operation()).unwrap();
    assert_eq!(desk.active(), "trunk");
    let taken = rename_branch(&desk.repo, &Target::default(), None, "b", &operation());
    assert!(matches!(taken, Err(Error::Exists { .. })));
    let gone = delete_branch(&desk.repo, &Target::default(), "b", &operation()).unwrap();
    assert_eq!((gone, desk.end("b")), (desk.end("trunk"), None));
    assert_eq!(desk.events()[0].label, "branch_delete");
    for (name, is_active) in [("trunk", true), ("nothing", false)] {
        let refused = delete_branch(&desk.repo, &Target::default(), name, &operation());
        assert_eq!(matches!(refused, Err(Error::Refused { .. })), is_active, "{name}");
        assert!(refused.is_err());
    }
}

#[test]
fn leaves_are_listed_that_no_branch_names() {
    let desk = Desk::new(&["one", "two"]);
    let lost = desk.say("x", "lost");
    ops::reset(&desk.repo, &desk.on("x"), "main", false, &desk.operation("reset")).unwrap();
    let snapshot = desk.repo.snapshot().unwrap();
    let list = branches(&*snapshot, "s", true).unwrap();
    let ends: Vec<_> = list.iter().map(|info| (info.name.as_deref(), info.end)).collect();
    let end = desk.end("main");
    assert_eq!(ends, [(Some("main"), end), (Some("x"), end), (None, Some(lost))]);
}

#[test]
fn switching_moves_head_and_the_transcript_says_so() {
    let desk = Desk::new(&["one", "two"]);
    let made = go(&desk, new("a", None)).unwrap();
    assert_eq!((made.branch.as_str(), made.is_new), ("a", true));
    assert_eq!(desk.last_event("phase").as_deref(), Some("switch"));
    desk.say("a", "three");
    desk.switch("main").unwrap();
    let event = desk.events().remove(0);
    assert_eq!((event.label.as_str(), event.links[0]), ("switch", desk.end("main").unwrap()));
    let words = ["from", "to", "phase"].map(|key| desk.last_event(key).unwrap());
    assert_eq!(words, ["a", "main", "backtrack"]);
    assert_eq!(go(&desk, Goal::Previous).unwrap().branch, "a");
    assert_eq!(desk.last_event("phase").as_deref(), Some("switch"), "going on is not going back");
    assert_eq!(go(&desk, Goal::Previous).unwrap().branch, "main");
    let count = desk.events().len();
    desk.switch("main").unwrap();
    assert_eq!(desk.events().len(), count, "nothing happened");
    assert_eq!(desk.transcript().len(), 3);
    desk.switch("a").unwrap();
    go(&desk, new("b", Some("a~1"))).unwrap();
    assert_eq!(desk.last_event("phase").as_deref(), Some("backtrack"));
    desk.say("b", "four");
    desk.switch("main").unwrap();
    desk.switch("b").unwrap();
    assert_eq!(desk.last_event("phase").as_deref(), Some("switch"), "it began where main ends");
}

#[test]
fn the_branch_before_is_found_whatever_was_said_since() {
    let desk = Desk::new(&["one"]);
    assert!(matches!(go(&desk, Goal::Previous), Err(Error::Refused { .. })));
    go(&desk, new("a", None)).unwrap();
    for text in ["two", "three"] {
        desk.say("main", text);
        desk.say("a", text);
    }
    desk.branch("b", None);
    rename_branch(&desk.repo, &Target::default(), Some("a"), "c", &desk.operation("x")).unwrap();
    assert_eq!(go(&desk, Goal::Previous).unwrap().branch, "main");
    assert_eq!(go(&desk, Goal::Previous).unwrap().branch, "c");
}

#[test]
fn a_rename_is_no_switch_to_go_back_from() {
    for (is_born, before) in [(true, "main"), (false, "a")] {
        let desk = Desk::new(&["one"]);
        go(&desk, new("a", None)).unwrap();
        if !is_born {
            go(&desk, Goal::Root).unwrap();
        }
        let old = desk.active();
        rename_branch(&desk.repo, &Target::default(), None, "b", &desk.operation("x")).unwrap();
        desk.branch(&old, Some("main"));
        assert_eq!(go(&desk, Goal::Previous).unwrap().branch, before, "{old} was renamed");
    }
}

#[test]
fn undo_and_redo_are_no_switches_to_go_back_from() {
    let reverse = |desk: &Desk, direction: Direction| {
        let operation = desk.operation(direction.name());
        ops::undo(&desk.repo, &Target::default(), "tester", direction, &operation).unwrap();
    };
    let desk = Desk::new(&["one"]);
    for name in ["a", "b"] {
        desk.branch(name, None);
    }
    desk.switch("a").unwrap();
    desk.switch("b").unwrap();
    reverse(&desk, Direction::Undo);
    assert_eq!(desk.active(), "a");
    assert_eq!(go(&desk, Goal::Previous).unwrap().branch, "main");
    let desk = Desk::new(&["one"]);
    desk.branch("a", None);
    desk.switch("a").unwrap();
    reverse(&desk, Direction::Undo);
    assert!(matches!(go(&desk, Goal::Previous), Err(Error::Refused { .. })));
    reverse(&desk, Direction::Redo);
    assert_eq!(go(&desk, Goal::Previous).unwrap().branch, "main");
}

#[test]
fn only_switches_of_the_same_session_are_gone_back_from() {
    let desk = Desk::new(&["one"]);
    desk.branch("a", None);
    desk.branch("b", None);
    desk.switch("a").unwrap();
    desk.switch("b").unwrap();
    ops::remove_session(&desk.repo, "s", &desk.operation("session rm")).unwrap();
    desk.say("main", "another session of this id");
    for name in ["a", "b"] {
        desk.branch(name, None);
    }
    let refused = go(&desk, Goal::Previous);
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    ops::remove_session(&desk.repo, "s", &desk.operation("session rm")).unwrap();
    ops::restore_session(&desk.repo, "s/1", &desk.operation("session restore")).unwrap();
    ops::use_session(&desk.repo, "s", &desk.operation("session use")).unwrap();
    assert_eq!(
        (desk.active(), go(&desk, Goal::Previous).unwrap().branch),
        ("b".into(), "a".into())
    );
}

#[test]
fn every_way_to_another_branch_says_its_phase() {
    let desk = Desk::new(&["one", "two"]);
    let vary = |at: Option<Id>, name: &str| {
        let variation = ops::Variation {
            from: Target::default().find(&*desk.repo.snapshot().unwrap()).unwrap(),
            at,
            drafts: Vec::new(),
            reason: "retry",
            metadata: Value::Null,
            stem: name.to_owned(),
        };
        let way = ops::Way::default();
        ops::vary(&desk.repo, &variation, &way, &desk.operation("retry")).unwrap();
        desk.last_event("phase").unwrap()
    };
    assert_eq!(vary(desk.end("main"), "on"), "switch");
    assert_eq!(vary(Some(desk.transcript()[0]), "back"), "backtrack");
    let memory = memory::MemoryTree::of(&desk.repo, "s").unwrap();
    memory.checkout("main", &desk.operation("checkout")).unwrap();
    assert_eq!(desk.last_event("phase").as_deref(), Some("backtrack"));
    memory.checkout("on", &desk.operation("checkout")).unwrap();
    assert_eq!(desk.last_event("phase").as_deref(), Some("switch"));
}

#[test]
fn a_revision_without_a_branch_gets_one_and_one_with_a_branch_uses_it() {
    let desk = Desk::new(&["one", "two", "three"]);
    let made = desk.switch("main~1").unwrap();
    assert_eq!((made.branch.as_str(), made.is_new), ("main-2", true));
    let end = desk.end("main").unwrap().to_string();
    assert_eq!(desk.switch(&end).unwrap().branch, "main");
    assert_eq!(desk.switch("main~1").unwrap().branch, "main-2");
    let wrong = desk.switch("nothing").unwrap_err();
    assert!(matches!(wrong, Error::RevisionUnknown { .. }), "{wrong}");
    let meta = desk.switch("meta").unwrap_err();
    assert!(matches!(meta, Error::WrongKind { .. }), "{meta}");
}

#[test]
fn the_root_is_a_place_where_a_conversation_begins_anew() {
    let desk = Desk::new(&["one", "two"]);
    let options = SwitchOptions {
        place: Some("selection".to_owned()),
        ..SwitchOptions::to(Target::default(), Goal::Root)
    };
    let made = switch(&desk.repo, &options, &desk.operation("switch --root")).unwrap();
    assert_eq!((made.branch.as_str(), made.entry), ("root", None));
    assert_eq!(desk.last_event("to").as_deref(), Some("selection"));
    desk.say("root", "anew");
    assert_eq!(desk.words("root"), ["anew"]);
    assert_eq!(desk.transcript().len(), 3);
    assert_eq!(desk.switch("main").unwrap().branch, "main");
    assert_eq!(desk.words("main"), ["one", "two"]);
}

#[test]
fn what_was_learned_is_no_place_to_go_on_at() {
    let desk = Desk::new(&["one", "two"]);
    let options = SwitchOptions {
        facts: vec![memory::fact_from_text("idea=startup")],
        ..SwitchOptions::to(Target::default(), Goal::Root)
    };
    let outcome = switch(&desk.repo, &options, &desk.operation("switch --root")).unwrap();
    let event = desk.events().remove(0);
    assert_eq!((event.links, event.body.get("node")), (vec![], Some(&outcome.node.into())));
    desk.say("root", "anew");
    assert_eq!(desk.transcript().len(), 4);
}

#[test]
fn a_transcript_without_a_tip_goes_on_anywhere_and_counts_nothing_twice() {
    let desk = Desk::new(&["one", "two"]);
    go(&desk, Goal::Root).unwrap();
    desk.say("main", "three");
    assert_eq!((desk.transcript().len(), desk.events()[0].label.as_str()), (3, "move"));
    let desk = Desk::new(&["one"]);
    desk.branch("side", None);
    let plan = ops::plan_pop(&*desk.repo.snapshot().unwrap(), &Target::default(), None, false);
    ops::pop(&desk.repo, &plan.unwrap(), None, Default::default(), &desk.operation("pop")).unwrap();
    assert_eq!(desk.end("main"), None);
    desk.say("side", "two");
    assert_eq!(desk.transcript().len(), 2);
}

#[test]
fn what_was_learned_stays_on_the_branch_left() {
    let desk = Desk::new(&["one"]);
    desk.branch("other", None);
    let options = SwitchOptions {
        facts: vec![memory::fact_from_text("idea=startup")],
        notes: vec!["resonated".to_owned()],
        ..SwitchOptions::to(Target::default(), Goal::Revision("other".to_owned()))
    };
    let outcome = switch(&desk.repo, &options, &desk.operation("switch")).unwrap();
    let node = desk.repo.node(&outcome.node.unwrap()).unwrap();
    assert_eq!((node.branch.as_str(), node.facts[0].key.as_deref()), ("main", Some("idea")));
    assert_eq!(node.facts[0].source, Some(desk.transcript()[0]));
    let snapshot = desk.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, "s").unwrap();
    assert_eq!(session::memory_of(&view, "main").unwrap(), outcome.node);
    assert_eq!(session::memory_of(&view, "other").unwrap(), None);
    let stale = SwitchOptions {
        seen: Some(desk.transcript()[0]),
        ..SwitchOptions::to(Target::default(), Goal::Revision("main".to_owned()))
    };
    desk.say("other", "somebody was faster");
    let lost = switch(&desk.repo, &stale, &desk.operation("switch")).unwrap_err();
    assert!(matches!(lost, Error::RefConflict { .. }), "{lost}");
}

#[test]
fn a_branch_made_at_the_end_that_is_left_knows_what_was_learned_there() {
    for at in [None, Some("main"), Some("HEAD"), Some("s:main")] {
        let desk = Desk::new(&["one"]);
        let options = SwitchOptions {
            facts: vec![memory::fact_from_text("idea=startup")],
            ..SwitchOptions::to(Target::default(), new("on", at))
        };
        let outcome = switch(&desk.repo, &options, &desk.operation("switch -c")).unwrap();
        assert_eq!(desk.last_event("phase").as_deref(), Some("switch"), "{at:?}");
        assert_eq!(desk.end("on"), desk.end("main"));
        let snapshot = desk.repo.snapshot().unwrap();
        let view = View::of(&*snapshot, "s").unwrap();
        assert_eq!(session::memory_of(&view, "on").unwrap(), outcome.node);
    }
}

#[test]
fn nothing_is_cut_at_an_open_tool_call_unless_forced() {
    let desk = Desk::new(&["one"]);
    desk.branch("other", None);
    desk.put(
        "main",
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}}]}"#,
    );
    assert!(matches!(desk.switch("other"), Err(Error::Unanswered { .. })));
    let snapshot = desk.repo.snapshot().unwrap();
    let on =
        |branch: Option<&str>| Target { branch: branch.map(str::to_owned), ..Target::default() };
    let is_open = |refused: Error| matches!(refused, Error::Unanswered { .. });
    for target in [on(None), on(Some("main"))] {
        let plan = |force| ops::plan_pop(&*snapshot, &target, None, force);
        assert!(is_open(plan(false).unwrap_err()) && plan(true).is_ok());
        let plan = |force| ops::edit(&*snapshot, &target, "msg:1", "two", force);
        assert!(is_open(plan(false).unwrap_err()) && plan(true).is_ok());
        let plan = |force| ops::retry(&*snapshot, &target, "msg:1", force);
        assert!(is_open(plan(false).unwrap_err()) && plan(true).is_ok());
    }
    assert!(ops::edit(&*snapshot, &on(Some("other")), "msg:1", "two", false).is_ok());
    let mut fork = ForkOptions::default();
    let refused = ops::fork(&desk.repo, &fork, &desk.operation("fork"));
    assert!(matches!(refused, Err(Error::Unanswered { .. })));
    fork.force = true;
    ops::fork(&desk.repo, &fork, &desk.operation("fork")).unwrap();
    let options = SwitchOptions {
        force: true,
        ..SwitchOptions::to(Target::default(), Goal::Revision("other".to_owned()))
    };
    switch(&desk.repo, &options, &desk.operation("switch")).unwrap();
    desk.switch("main").unwrap();
}

#[test]
fn a_fork_shares_the_path_and_says_where_it_came_from() {
    let desk = Desk::new(&["one", "two", "three"]);
    desk.say("a", "four");
    let options = ForkOptions {
        at: Some("main~1".to_owned()),
        name: Some("forked".to_owned()),
        reason: Some("to see".to_owned()),
        metadata: Some(Value::map([("n", Value::Integer(1))])),
        use_it: true,
        ..ForkOptions::default()
    };
    let made = ops::fork(&desk.repo, &options, &desk.operation("fork main~1")).unwrap();
    let said = desk.transcript();
    assert_eq!((made.entry, made.branch.as_str()), (said[1], "main"));
    let snapshot = desk.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, &made.session).unwrap();
    let meta = view.meta().unwrap();
    let fork = meta.fork.unwrap();
    assert_eq!((meta.name.as_deref(), fork.session.as_str()), (Some("forked"), "s"));
    assert_eq!((fork.entry, fork.reason.as_deref()), (Some(said[1]), Some("to see")));
    assert_eq!(session::transcript(&*snapshot, &made.session).unwrap(), said[..2]);
    assert_eq!(desk.repo.resolve("HEAD").unwrap(), said[1]);
    let pin = session::pin(&desk.repo, None, None, 0, "tester").unwrap();
    let body = Value::map([("content", Value::from("own"))]);
    let own = session::append(&desk.repo, &pin, vec![body], Durability::Full, 0).unwrap();
    let snapshot = desk.repo.snapshot().unwrap();
    let told = session::transcript(&*snapshot, &made.session).unwrap();
    assert_eq!(told, [said[0], said[1], own[0]]);
    assert_eq!(desk.transcript(), said, "the parent does not notice");
    let again = ForkOptions { at: Some("s:a".to_owned()), ..ForkOptions::default() };
    let made = ops::fork(&desk.repo, &again, &desk.operation("fork s:a")).unwrap();
    assert_eq!((made.parent.as_str(), made.entry, made.branch.as_str()), ("s", said[3], "a"));
    assert!(desk.repo.reference(&RefName::head()).unwrap().is_some());
}

#[test]
fn what_is_learned_on_the_way_to_the_root_does_not_hide_what_is_said_there() {
    let desk = Desk::new(&["one"]);
    let facts = vec![Fact { value: "a".into(), key: None, source: None }];
    let options = SwitchOptions { facts, ..SwitchOptions::to(Target::default(), Goal::Root) };
    let outcome = switch(&desk.repo, &options, &desk.operation("switch root")).unwrap();
    desk.say(&outcome.branch, "two");
    let transcript = desk.transcript();
    assert_eq!((transcript.len(), transcript.last().copied()), (3, desk.end("root")));
}

#[test]
fn facts_said_first_on_a_branch_do_not_take_its_name() {
    let desk = Desk::new(&["one", "two"]);
    go(&desk, Goal::Root).unwrap();
    let stayed = go(&desk, Goal::Root).unwrap();
    assert_eq!((stayed.branch.as_str(), stayed.is_new), ("root", false), "one is there");
    let facts = vec![Fact { value: "a".into(), key: None, source: None }];
    let to = Goal::Revision("main~1".to_owned());
    let options = SwitchOptions { facts, ..SwitchOptions::to(Target::default(), to) };
    let outcome = switch(&desk.repo, &options, &desk.operation("switch")).unwrap();
    assert_eq!((outcome.branch.as_str(), desk.active().as_str()), ("root-2", "root-2"));
    assert_eq!(desk.words("root-2"), ["one"]);
}
