//! Merging, rebasing, picking, resetting.

use super::*;
use crate::ops::desk::Desk;
use crate::ops::{
    MemoryCommitOptions, MemoryMergeOptions, cherry_pick, memory_commit, memory_merge, rebase,
    reset,
};
use crate::session::{self, View};

fn forked() -> Desk {
    let desk = Desk::new(&["one", "two"]);
    desk.say("a", "a1");
    desk.say("a", "a2");
    desk.say("main", "three");
    desk
}

fn merged(desk: &Desk, other: &str, summary: Option<&str>) -> Result<MergeOutcome> {
    let options = MergeOptions {
        other: other.to_owned(),
        summary: summary.map(str::to_owned),
        ..MergeOptions::default()
    };
    merge(&desk.repo, &options, &desk.operation("merge"))
}

fn is_refused<T: std::fmt::Debug>(result: Result<T>, why: &str) {
    match result {
        Err(error @ Error::Refused { .. }) => assert!(error.to_string().contains(why), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_merge_has_both_parents_and_its_summary_is_what_a_context_shows() {
    let desk = forked();
    let ends = [desk.end("main").unwrap(), desk.end("a").unwrap()];
    let snapshot = desk.repo.snapshot().unwrap();
    let sides = merge_sides(&*snapshot, &Target::default(), "a").unwrap();
    assert_eq!((sides.ends, sides.theirs.len()), (ends, 2));
    let outcome = merged(&desk, "a", Some("they tried a")).unwrap();
    assert_eq!(desk.repo.entry(&outcome.entry).unwrap().parents, ends);
    let snapshot = desk.repo.snapshot().unwrap();
    let shown = session::context(&*snapshot, Some("s"), outcome.entry).unwrap().messages;
    let shown: Vec<_> = shown.iter().map(|shown| shown.message.text()).collect();
    assert_eq!(shown, ["one", "two", "three", "they tried a"]);
    is_refused(merged(&desk, "a", None), "already up to date");
    is_refused(merged(&desk, "main", None), "already up to date");
    let ahead = MergeOptions {
        target: desk.on("a"),
        other: "main".to_owned(),
        seen: Some(ends),
        ..MergeOptions::default()
    };
    let lost = merge(&desk.repo, &ahead, &desk.operation("merge")).unwrap_err();
    assert!(matches!(lost, Error::RefConflict { .. }), "{lost}");
    assert!(matches!(merged(&desk, "meta", None), Err(Error::WrongKind { .. })));
}

#[test]
fn a_rebase_copies_what_is_new_and_compactions_follow() {
    let desk = forked();
    let kept = desk.end("a").unwrap();
    let target = desk.on("a");
    let spot = target.find(&*desk.repo.snapshot().unwrap()).unwrap();
    let compact = desk.repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, 9)?;
        let body = [("summary", Value::from("so far")), ("firstKept", kept.into())];
        change.append("a", "compaction", Value::map(body), 9)?;
        let fact = crate::memory::fact_from_text("k=v");
        session::remember(&mut change, "a", vec![fact], Vec::new(), Value::Null, 9)?;
        change.finish(None)
    });
    compact.unwrap();
    let said = desk.transcript();
    let outcome = rebase(&desk.repo, &target, "main", &desk.operation("rebase")).unwrap();
    assert_eq!(desk.words("a")[..5], ["one", "two", "three", "a1", "a2"]);
    assert_eq!(outcome.copies.len(), 4);
    let snapshot = desk.repo.snapshot().unwrap();
    let shown = session::context(&*snapshot, None, outcome.now).unwrap().messages;
    let shown: Vec<_> = shown.iter().map(|shown| shown.message.text()).collect();
    assert_eq!(shown, ["so far", "three", "a1", "a2"], "the summary does not speak of three");
    let view = View::of(&*snapshot, "s").unwrap();
    let node = session::memory_of(&view, "a").unwrap().unwrap();
    let fact = &desk.repo.node(&node).unwrap().facts[0];
    assert_eq!((fact.key.as_deref(), fact.source), (Some("k"), Some(outcome.copies[1].1)));
    assert_eq!(desk.transcript()[..said.len()], said);
    assert_eq!(desk.transcript().len(), said.len() + 4);
    let operation = desk.operation("rebase");
    is_refused(rebase(&desk.repo, &target, "main", &operation), "already up to date");
    let behind = rebase(&desk.repo, &desk.on("main"), "a", &desk.operation("rebase")).unwrap();
    assert_eq!((behind.copies.len(), behind.now), (0, outcome.now));
}

/// Gives what is known on a branch, sorted.
fn known(desk: &Desk, branch: &str) -> Vec<String> {
    let snapshot = desk.repo.snapshot().unwrap();
    let head = session::memory_of(&View::of(&*snapshot, "s").unwrap(), branch).unwrap();
    let facts = crate::memory::latest(crate::memory::resolve(&*snapshot, head).unwrap());
    let mut facts: Vec<String> = facts.iter().map(|fact| fact.sentence()).collect();
    facts.sort();
    facts
}

fn learn(desk: &Desk, branch: &str, facts: &[&str]) {
    let commit = desk.repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = session::Change::on(snapshot, "s", 9)?;
        for fact in facts {
            let fact = vec![crate::memory::fact_from_text(fact)];
            session::remember(&mut change, branch, fact, Vec::new(), Value::Null, 9)?;
        }
        change.finish(None)
    });
    commit.unwrap();
}

fn merge_memory(desk: &Desk, branch: &str, other: &str) {
    let commit = desk.repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = session::Change::on(snapshot, "s", 9)?;
        let theirs = session::memory_of(change.view(), other)?.unwrap();
        crate::memory::merge_into(&mut change, branch, theirs, 9)?;
        change.finish(None)
    });
    commit.unwrap();
}

#[test]
fn memory_that_came_from_elsewhere_survives_a_rebase() {
    let desk = forked();
    learn(&desk, "main", &["base=new"]);
    desk.branch("b", Some("main~2"));
    learn(&desk, "b", &["w=0", "x=1", "y=2"]);
    // Forward: the branch takes the node of the other; then a commit; then a real merge.
    merge_memory(&desk, "a", "b");
    learn(&desk, "a", &["x=3"]);
    learn(&desk, "b", &["z=4"]);
    merge_memory(&desk, "a", "b");
    assert_eq!(known(&desk, "a"), ["w: 0", "x: 3", "y: 2", "z: 4"]);
    rebase(&desk.repo, &desk.on("a"), "main", &desk.operation("rebase")).unwrap();
    assert_eq!(known(&desk, "a"), ["base: new", "w: 0", "x: 3", "y: 2", "z: 4"]);
    let snapshot = desk.repo.snapshot().unwrap();
    let node = session::memory_of(&View::of(&*snapshot, "s").unwrap(), "a").unwrap().unwrap();
    let of_b = session::memory_of(&View::of(&*snapshot, "s").unwrap(), "b").unwrap();
    assert_eq!(desk.repo.node(&node).unwrap().parents.get(1).copied(), of_b);
}

#[test]
fn a_pick_keeps_content_and_names_its_origin() {
    let desk = forked();
    let range = ["main..a".to_owned()];
    let target = Target::default();
    let outcome = cherry_pick(&desk.repo, &target, &range, &desk.operation("pick")).unwrap();
    assert_eq!(desk.words("main"), ["one", "two", "three", "a1", "a2"]);
    for (original, copy) in &outcome.copies {
        let (was, now) = (desk.repo.entry(original).unwrap(), desk.repo.entry(copy).unwrap());
        assert_eq!((was.time, was.body.get("content")), (now.time, now.body.get("content")));
        assert_eq!(now.body.get("origin"), Some(&Value::Link(*original)));
    }
    let have = ["main~1".to_owned()];
    let again = cherry_pick(&desk.repo, &target, &have, &desk.operation("pick"));
    is_refused(again, "has 'main~1' already");
    let nothing = ["a..a".to_owned()];
    is_refused(cherry_pick(&desk.repo, &target, &nothing, &desk.operation("pick")), "nothing");
    let wrong = ["meta".to_owned()];
    let wrong = cherry_pick(&desk.repo, &target, &wrong, &desk.operation("pick"));
    assert!(matches!(wrong, Err(Error::WrongKind { .. })));
}

#[test]
fn a_picked_compaction_keeps_what_it_did_not_sum_up() {
    let desk = forked();
    let spot = desk.on("a").find(&*desk.repo.snapshot().unwrap()).unwrap();
    let kept = desk.end("a").unwrap();
    let compact = desk.repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, 9)?;
        let body = [("summary", Value::from("so far")), ("firstKept", kept.into())];
        change.append("a", "compaction", Value::map(body), 9)?;
        change.finish(None)
    });
    compact.unwrap();
    let pick = ["a".to_owned()];
    cherry_pick(&desk.repo, &Target::default(), &pick, &desk.operation("pick")).unwrap();
    let end = desk.end("main").unwrap();
    let shown = session::context(&*desk.repo.snapshot().unwrap(), None, end).unwrap().messages;
    let shown: Vec<_> = shown.iter().map(|shown| shown.message.text()).collect();
    assert_eq!(shown, ["so far", "three"]);
}

#[test]
fn a_reset_moves_the_branch_and_the_transcript_keeps_all() {
    let desk = forked();
    let said = desk.transcript();
    let target = Target::default();
    reset(&desk.repo, &target, "main~2", false, &desk.operation("reset")).unwrap();
    assert_eq!(desk.words("main"), ["one"]);
    assert_eq!(desk.transcript(), said);
    is_refused(reset(&desk.repo, &target, "main", false, &desk.operation("reset")), "already");
    let missing = reset(&desk.repo, &desk.on("typo"), "main", false, &desk.operation("reset"));
    is_refused(missing, "nothing was said yet on branch 'typo'");
    let more = desk.say("main", "else");
    assert_eq!(desk.transcript().last(), Some(&more));
    assert_eq!(desk.words("main"), ["one", "else"]);
}

#[test]
fn a_rebased_memory_keeps_all_that_was_merged_into_it() {
    let desk = forked();
    let learn = |branch: &str, fact: &str| {
        let facts = vec![crate::memory::fact_from_text(fact)];
        let options = MemoryCommitOptions { target: desk.on(branch), facts, ..Default::default() };
        memory_commit(&desk.repo, &options, &desk.operation("memory commit")).unwrap();
    };
    learn("main", "x=1");
    learn("main", "y=2");
    // Where nothing is known, what the other side knows is taken as it is.
    let options = MemoryMergeOptions { target: desk.on("a"), from: "main".to_owned() };
    memory_merge(&desk.repo, &options, &desk.operation("memory merge")).unwrap();
    desk.branch("base", Some("main~2"));
    desk.say("base", "else");
    rebase(&desk.repo, &desk.on("a"), "base", &desk.operation("rebase")).unwrap();
    let snapshot = desk.repo.snapshot().unwrap();
    let known = session::memory_at(&*snapshot, desk.end("a").unwrap()).unwrap();
    let facts = crate::memory::resolve(&*snapshot, known).unwrap();
    let keys: Vec<_> = facts.into_iter().filter_map(|fact| fact.key).collect();
    assert_eq!(keys, ["x", "y"]);
}

#[test]
fn a_rebased_compaction_keeps_what_only_the_base_has() {
    let cases = [
        (None, "so far/three/a1/a2"),
        (Some("a"), "so far/three/a1/a2"),
        (Some("a~3"), "so far/one/two/three/a1/a2"),
    ];
    for (kept, expected) in cases {
        let desk = forked();
        let kept = kept.map(|kept| desk.repo.resolve(kept).unwrap());
        let compact = desk.repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = session::Change::on(snapshot, "s", 9)?;
            let body = [("summary", Value::from("so far")), ("firstKept", kept.into())];
            change.append("a", "compaction", Value::map(body), 9)?;
            change.finish(None)
        });
        compact.unwrap();
        let rebased = rebase(&desk.repo, &desk.on("a"), "main", &desk.operation("rebase"));
        let snapshot = desk.repo.snapshot().unwrap();
        let context = session::context(&*snapshot, None, rebased.unwrap().now).unwrap();
        let told: Vec<_> = context.messages.iter().map(|shown| shown.message.text()).collect();
        assert_eq!((told.join("/").as_str(), context.lost), (expected, None));
    }
}

#[test]
fn a_merge_picked_onto_what_it_merged_has_one_parent() {
    let desk = forked();
    let ours = desk.end("a").unwrap();
    let entry = merged(&desk, "a", Some("both")).unwrap().entry;
    let pick = |onto: &str| {
        let picked =
            cherry_pick(&desk.repo, &desk.on(onto), &[entry.to_string()], &desk.operation("pick"));
        let copy = picked.unwrap().copies[0].1;
        desk.repo.entry(&copy).unwrap().parents
    };
    desk.branch("b", Some("a~1"));
    let before = desk.end("b").unwrap();
    assert_eq!(pick("b"), [before, ours]);
    assert_eq!(pick("a"), [ours]);
}
