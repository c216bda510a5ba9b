//! Choosing, renaming, removing and restoring sessions.
//!
//! A removed session is its refs under `deleted/<sid>/<number>/`: nothing is lost until garbage
//! collection finds them too old.

use crate::error::{Error, Result};
use crate::ops::removed::{self, DELETED};
use crate::repo::{Repo, find_session};
use crate::session::{Change, View};
use crate::store::{
    Durability, Expected, Operation, RefName, RefUpdate, RefValue, Snapshot, Transaction,
};

/// A session that was removed or restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its id.
    pub session: String,
    /// Where it was, and where it is: `sessions/s1`, `deleted/s1/1`.
    pub from: String,
    /// Where it is.
    pub to: String,
    /// How many refs were moved.
    pub refs: usize,
    /// Whether it was the store's current session.
    pub was_current: bool,
}

/// Makes a session the store's current one, and gives its id.
pub fn use_session(repo: &Repo, session: &str, operation: &Operation) -> Result<String> {
    let session = find_session(&*repo.snapshot()?, session)?;
    repo.commit(Durability::Full, &mut |snapshot| {
        View::of(snapshot, &session)?;
        let name = RefName::of_session(&session, "HEAD")?;
        let update = RefUpdate {
            name: RefName::head(),
            expected: Expected::Any,
            new: Some(RefValue::Symbolic(name)),
        };
        Ok(Transaction {
            refs: vec![update],
            operation: Some(operation.clone()),
            ..Transaction::default()
        })
    })?;
    Ok(session)
}

/// Gives a session another name, or none, and gives its id and the name it had.
pub fn rename_session(
    repo: &Repo,
    session: &str,
    name: Option<&str>,
    operation: &Operation,
) -> Result<(String, Option<String>)> {
    let session = find_session(&*repo.snapshot()?, session)?;
    let mut was = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, &session, operation.time)?;
        was = std::mem::replace(&mut change.meta()?.name, name.map(str::to_owned));
        change.finish(Some(operation.clone()))
    })?;
    Ok((session, was))
}

/// Says what removing a session would move.
pub fn removal(snapshot: &dyn Snapshot, session: &str) -> Result<Moved> {
    Ok(plan_removal(snapshot, &find_session(snapshot, session)?)?.0)
}

/// Removes a session: all its refs go to `deleted/<sid>/<number>/`.
pub fn remove_session(repo: &Repo, session: &str, operation: &Operation) -> Result<Moved> {
    let session = find_session(&*repo.snapshot()?, session)?;
    commit(repo, operation, &mut |snapshot| plan_removal(snapshot, &session))
}

/// Removes a session, by its id, if the snapshot that this follows is as the caller wants it.
pub(super) fn remove_session_if(
    repo: &Repo,
    session: &str,
    operation: &Operation,
    is_wanted: &mut dyn FnMut(&dyn Snapshot) -> Result<bool>,
) -> Result<Option<Moved>> {
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        if !is_wanted(snapshot)? {
            outcome = None;
            return Ok(Transaction::default());
        }
        let (moved, refs) = plan_removal(snapshot, session)?;
        outcome = Some(moved);
        let operation = Some(operation.clone());
        Ok(Transaction { refs, operation, ..Transaction::default() })
    })?;
    Ok(outcome)
}

/// Brings a removed session back: the last of an id, `s1`, or a certain one, `s1/2`.
pub fn restore_session(repo: &Repo, session: &str, operation: &Operation) -> Result<Moved> {
    commit(repo, operation, &mut |snapshot| plan_restoring(snapshot, session))
}

/// Lists the removed sessions, as [`restore_session`] takes them: `s1/1`.
pub fn removed_sessions(snapshot: &dyn Snapshot) -> Result<Vec<String>> {
    let refs = snapshot.references(&format!("{DELETED}/"))?.into_iter();
    let metas = refs.filter_map(|(name, _)| {
        let rest = name.as_str().strip_prefix(DELETED)?.strip_prefix('/')?;
        rest.strip_suffix("/meta")
            .filter(|place| place.matches('/').count() == 1)
            .map(str::to_owned)
    });
    Ok(metas.collect())
}

type Planned = (Moved, Vec<RefUpdate>);

fn commit(
    repo: &Repo,
    operation: &Operation,
    plan: &mut dyn FnMut(&dyn Snapshot) -> Result<Planned>,
) -> Result<Moved> {
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let (moved, refs) = plan(snapshot)?;
        outcome = Some(moved);
        let operation = Some(operation.clone());
        Ok(Transaction { refs, operation, ..Transaction::default() })
    })?;
    Ok(outcome.expect("the plan was called"))
}

fn plan_removal(snapshot: &dyn Snapshot, session: &str) -> Result<Planned> {
    View::of(snapshot, session)?;
    let to = removed::free_place(snapshot, session)?;
    let (mut moved, mut refs) = plan_move(snapshot, session, removed::home(session), to)?;
    let head = snapshot.reference(&RefName::head())?;
    if let Some(RefValue::Symbolic(target)) = &head
        && target.session().is_some_and(|(current, _)| current == session)
    {
        moved.was_current = true;
        let expected = Expected::Is(RefValue::Symbolic(target.clone()));
        refs.push(RefUpdate { name: RefName::head(), expected, new: None });
    }
    Ok((moved, refs))
}

fn plan_restoring(snapshot: &dyn Snapshot, name: &str) -> Result<Planned> {
    let (session, wanted) = match name.split_once('/') {
        Some((session, number)) => (session, Some(number)),
        None => (name, None),
    };
    let numbers = removed::numbers(snapshot, session)?;
    let is_wanted = |number: &&u64| wanted.is_none_or(|wanted| wanted == number.to_string());
    let number = numbers.iter().rev().find(is_wanted).ok_or_else(|| Error::Refused {
        why: format!("there is no removed session '{name}'"),
        hint: "'sapwood for-each-ref deleted' lists what was removed",
    })?;
    let to = removed::home(session);
    if !snapshot.references(&format!("{to}/"))?.is_empty() {
        return Err(Error::Exists { what: "session", name: session.to_owned(), at: to });
    }
    plan_move(snapshot, session, removed::place(session, *number), to)
}

fn plan_move(snapshot: &dyn Snapshot, session: &str, from: String, to: String) -> Result<Planned> {
    let refs = removed::relocate(snapshot, &from, &to, Vec::new())?;
    let session = session.to_owned();
    let moved = Moved { session, from, to, refs: refs.len() / 2, was_current: false };
    Ok((moved, refs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Value;
    use crate::repo::Place;
    use crate::session;

    fn operation() -> Operation {
        Operation { time: 5, actor: "tester".to_owned(), command: "x".to_owned() }
    }

    fn two() -> Repo {
        let repo = Repo::in_memory();
        for sid in ["s1", "s2"] {
            let pin = session::pin(&repo, Some(sid), None, 0, "tester").unwrap();
            let bodies = vec![Value::map([("content", Value::from(sid))])];
            session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
        }
        repo
    }

    #[test]
    fn a_session_is_removed_twice_and_both_come_back() {
        let repo = two();
        let before = repo.snapshot().unwrap().references("sessions/s1/").unwrap();
        let planned = removal(&*repo.snapshot().unwrap(), "s1").unwrap();
        let moved = remove_session(&repo, "s1", &operation()).unwrap();
        assert_eq!(planned, moved);
        assert!(moved.was_current);
        assert_eq!((moved.to.as_str(), moved.refs), ("deleted/s1/1", before.len()));
        let snapshot = repo.snapshot().unwrap();
        assert!(snapshot.references("sessions/s1/").unwrap().is_empty());
        assert_eq!(Place::default().session_id(&*snapshot).unwrap(), None);
        assert_eq!(removed_sessions(&*snapshot).unwrap(), ["s1/1"]);
        session::pin(&repo, Some("s1"), None, 0, "tester").unwrap();
        let error = restore_session(&repo, "s1", &operation()).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error}");
        let second = repo.snapshot().unwrap().references("sessions/s1/").unwrap();
        let again = remove_session(&repo, "s1", &operation()).unwrap();
        assert_eq!(again.to, "deleted/s1/2");
        restore_session(&repo, "s1", &operation()).unwrap();
        let now = || repo.snapshot().unwrap().references("sessions/s1/").unwrap();
        assert_eq!(now(), second, "the last that was removed");
        remove_session(&repo, "s1", &operation()).unwrap();
        restore_session(&repo, "s1/1", &operation()).unwrap();
        assert_eq!(now(), before);
        for name in ["none", "s1/1", "s1/x", "s1/2/meta", ""] {
            let error = restore_session(&repo, name, &operation()).unwrap_err();
            assert!(matches!(error, Error::Refused { .. }), "{error}");
        }
    }

    #[test]
    fn an_id_may_look_like_a_number_of_removals() {
        let repo = Repo::in_memory();
        for sid in ["a", "a~2"] {
            session::pin(&repo, Some(sid), None, 0, "tester").unwrap();
        }
        let before = repo.snapshot().unwrap().references("").unwrap();
        remove_session(&repo, "a~2", &operation()).unwrap();
        assert_eq!(restore_session(&repo, "a~2", &operation()).unwrap().session, "a~2");
        assert_eq!(repo.snapshot().unwrap().references("").unwrap(), before);
    }

    #[test]
    fn sessions_are_chosen_and_renamed() {
        let repo = two();
        assert_eq!(use_session(&repo, "s2", &operation()).unwrap(), "s2");
        let current = Place::default().session_id(&*repo.snapshot().unwrap()).unwrap();
        assert_eq!(current.as_deref(), Some("s2"));
        rename_session(&repo, "s2", Some("second"), &operation()).unwrap();
        let (session, was) = rename_session(&repo, "second", None, &operation()).unwrap();
        assert_eq!((session.as_str(), was.as_deref()), ("s2", Some("second")));
        assert!(use_session(&repo, "second", &operation()).is_err());
    }
}
