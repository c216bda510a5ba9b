//! Committing to memory, and merging it.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::memory::{self, Merge};
use crate::object::Fact;
use crate::ops::Target;
use crate::repo::{Place, Repo, resolve};
use crate::session::{View, memory_of, remember};
use crate::store::{Durability, Operation, Snapshot, Transaction};

/// What to commit to memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryCommitOptions {
    /// Where.
    pub target: Target,
    /// What was learned. Those without a source get the one below.
    pub facts: Vec<Fact>,
    /// Remarks.
    pub notes: Vec<String>,
    /// The card; null takes that of the branch.
    pub card: Value,
    /// The revision that the facts were learned from; else the branch's last message.
    pub source: Option<String>,
    /// When it was learned; else now.
    pub time: Option<i64>,
}

/// What was committed to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCommitOutcome {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// The new node.
    pub node: Id,
    /// The entry that links it.
    pub entry: Id,
}

/// Which memory to merge into which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryMergeOptions {
    /// Where to.
    pub target: Target,
    /// What to take: a branch, an entry, or a node.
    pub from: String,
}

/// What became of a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryMergeOutcome {
    /// The session's id.
    pub session: String,
    /// The branch.
    pub branch: String,
    /// The node that is known there now.
    pub node: Id,
    /// What it came to.
    pub merge: Merge,
}

/// Commits facts, notes and a card to the memory of a branch.
pub fn memory_commit(
    repo: &Repo,
    options: &MemoryCommitOptions,
    operation: &Operation,
) -> Result<MemoryCommitOutcome> {
    if options.facts.is_empty() && options.notes.is_empty() && options.card.is_null() {
        return Err(Error::Refused {
            why: "there is nothing to remember".to_owned(),
            hint: "give a fact, a note or a card: --fact, --note, --card",
        });
    }
    let spot = options.target.find(&*repo.snapshot()?)?;
    let place = Place::in_session(spot.session.as_str());
    let notes: Vec<Value> = options.notes.iter().map(|note| note.as_str().into()).collect();
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = spot.change(snapshot, operation.time)?;
        let source = options.source.as_deref();
        let source = source.map(|text| entry(snapshot, &place, text)).transpose()?;
        let mut facts = options.facts.clone();
        facts.iter_mut().for_each(|fact| fact.source = fact.source.or(source));
        let time = options.time.unwrap_or(operation.time);
        let card = options.card.clone();
        let node = remember(&mut change, &spot.branch, facts, notes.clone(), card, time)?;
        let entry = change.branch(&spot.branch)?.expect("it was just appended to");
        outcome = Some(MemoryCommitOutcome {
            session: spot.session.clone(),
            branch: spot.branch.clone(),
            node,
            entry,
        });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Brings what is known elsewhere to the memory of a branch.
pub fn memory_merge(
    repo: &Repo,
    options: &MemoryMergeOptions,
    operation: &Operation,
) -> Result<MemoryMergeOutcome> {
    let spot = options.target.find(&*repo.snapshot()?)?;
    let place = Place::in_session(spot.session.as_str());
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let theirs = memory::memory_of_revision(snapshot, &place, &options.from)?;
        let theirs = theirs.ok_or_else(|| Error::Refused {
            why: format!("'{}' has no memory to merge", options.from),
            hint: "'sapwood memory branches' shows which branches have one",
        })?;
        let mut change = spot.change(snapshot, operation.time)?;
        let (merge, node) = memory::merge_into(&mut change, &spot.branch, theirs, operation.time)?;
        outcome = Some(MemoryMergeOutcome {
            session: spot.session.clone(),
            branch: spot.branch.clone(),
            node,
            merge,
        });
        match outcome.as_ref().map(|outcome| &outcome.merge) {
            Some(Merge::UpToDate) => Ok(Transaction::default()),
            _ => change.finish(Some(operation.clone())),
        }
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Finds the memory that a revision means, seen from a session; that of its HEAD if there is none.
///
/// For a branch its shortcut is used.
pub fn memory_head(
    snapshot: &dyn Snapshot,
    target: &Target,
    revision: Option<&str>,
) -> Result<Option<Id>> {
    let session = target.session(snapshot)?;
    let view = View::of(snapshot, &session)?;
    let branch = match revision {
        None | Some("HEAD" | "@") => view.active()?,
        Some(text) => view.branch_named(text)?.map(|_| text.to_owned()),
    };
    match (branch, revision) {
        (Some(branch), _) => memory_of(&view, &branch),
        (None, None) => Ok(None),
        (None, Some(text)) => {
            memory::memory_of_revision(snapshot, &Place::in_session(session), text)
        }
    }
}

fn entry(snapshot: &dyn Snapshot, place: &Place, text: &str) -> Result<Id> {
    let id = resolve(snapshot, place, text)?;
    match snapshot.kinds(&[id])?.first().copied().flatten() {
        Some(Kind::Entry) => Ok(id),
        kind => Err(Error::WrongKind {
            id,
            expected: Kind::Entry.name(),
            found: kind.map_or("nothing", Kind::name),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session;

    fn operation() -> Operation {
        Operation { time: 5, actor: "tester".to_owned(), command: "memory".to_owned() }
    }

    fn repo() -> (Repo, Vec<Id>) {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let body = |text: &str| Value::map([("content", Value::from(text))]);
        let bodies = vec![body("one"), body("two")];
        let ids = session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
        (repo, ids)
    }

    fn options(branch: Option<&str>, fact: &str) -> MemoryCommitOptions {
        MemoryCommitOptions {
            target: Target { branch: branch.map(str::to_owned), ..Target::default() },
            facts: vec![memory::fact_from_text(fact)],
            ..MemoryCommitOptions::default()
        }
    }

    #[test]
    fn a_commit_says_where_and_when_it_was_learned() {
        let (repo, ids) = repo();
        let mut first = options(None, "a=1");
        first.source = Some("msg:1".to_owned());
        first.time = Some(77);
        let outcome = memory_commit(&repo, &first, &operation()).unwrap();
        let node = repo.node(&outcome.node).unwrap();
        assert_eq!((node.time, node.facts[0].source), (77, Some(ids[0])));
        assert_eq!(repo.resolve("main").unwrap(), outcome.entry);
        first.source = Some("sessions/s/meta".to_owned());
        assert!(matches!(memory_commit(&repo, &first, &operation()), Err(Error::WrongKind { .. })));
        let nothing = MemoryCommitOptions::default();
        let refused = memory_commit(&repo, &nothing, &operation()).unwrap_err();
        assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    }

    #[test]
    fn a_branch_at_an_old_entry_has_the_memory_of_that_entry() {
        let (repo, ids) = repo();
        memory_commit(&repo, &options(None, "a=1"), &operation()).unwrap();
        let mut old = options(Some("old"), "b=2");
        old.target.parent = Some(ids[1].to_string());
        memory_commit(&repo, &old, &operation()).unwrap();
        let snapshot = repo.snapshot().unwrap();
        let keys = |revision: Option<&str>| {
            let head = memory_head(&*snapshot, &Target::default(), revision).unwrap();
            let facts = memory::resolve(&*snapshot, head).unwrap();
            facts.into_iter().filter_map(|fact| fact.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(Some("old")), ["b"]);
        assert_eq!(keys(Some("main@{0}")), ["a"]);
        assert_eq!(keys(Some("main~1")), Vec::<String>::new());
        assert_eq!(keys(None), ["a"]);
        assert_eq!(keys(Some("main~1")), Vec::<String>::new());
        assert_eq!(keys(Some("memory/main")), ["a"]);
        let raced = memory_commit(&repo, &old, &operation()).unwrap_err();
        assert!(matches!(raced, Error::RefConflict { .. }), "{raced}");
        let merge = MemoryMergeOptions { from: "old".to_owned(), ..MemoryMergeOptions::default() };
        let outcome = memory_merge(&repo, &merge, &operation()).unwrap();
        assert!(matches!(outcome.merge, Merge::Node { .. }));
        let none = MemoryMergeOptions { from: ids[0].to_string(), ..merge };
        let refused = memory_merge(&repo, &none, &operation()).unwrap_err();
        assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    }
}
