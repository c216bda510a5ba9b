//! `expire`: sessions in which nothing was said for long are removed, as `session rm` does it.
//!
//! Each is an operation of its own, so `undo` and `session restore` bring it back until garbage
//! collection. One that somebody wrote to after it was looked at stays.

use std::collections::HashSet;

use crate::error::Result;
use crate::ops::list::{ListOptions, SessionInfo, Summaries, list_sessions};
use crate::ops::manage::{Moved, remove_session_if};
use crate::repo::Repo;
use crate::session::View;
use crate::store::{Operation, RefName, RefValue, Snapshot};

/// Which sessions are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpireOptions {
    /// Those in which something was said after this, in milliseconds since 1970.
    pub older_than: i64,
    /// So many of the latest.
    pub keep_last: usize,
    /// Those that have labels.
    pub keep_labelled: bool,
}

/// Why a session is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is the store's current one.
    Current,
    /// Something was said in it lately.
    Recent,
    /// It is among the latest.
    Last,
    /// It has labels.
    Labelled,
}

/// A session, and whether it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Expiry {
    /// The session.
    pub session: SessionInfo,
    /// Why it is kept; nothing if it is not.
    pub kept: Option<Kept>,
}

/// Says of every session whether it is kept, the latest first.
pub fn plan_expire(
    snapshot: &dyn Snapshot,
    options: &ExpireOptions,
    summaries: &mut Summaries,
) -> Result<Vec<Expiry>> {
    let current = match snapshot.reference(&RefName::head())? {
        Some(RefValue::Symbolic(head)) => head.session().map(|(session, _)| session.to_owned()),
        _ => None,
    };
    let labelled: HashSet<String> = match options.keep_labelled {
        true => labelled(snapshot)?,
        false => HashSet::new(),
    };
    let listing = ListOptions { is_brief: true, ..ListOptions::default() };
    let sessions = list_sessions(snapshot, &listing, summaries)?.into_iter().enumerate();
    let expiries = sessions.map(|(place, session)| {
        let sid = &session.meta.sid;
        let kept = if current.as_ref() == Some(sid) {
            Some(Kept::Current)
        } else if session.updated > options.older_than {
            Some(Kept::Recent)
        } else if place < options.keep_last {
            Some(Kept::Last)
        } else {
            labelled.contains(sid).then_some(Kept::Labelled)
        };
        Expiry { session, kept }
    });
    Ok(expiries.collect())
}

fn labelled(snapshot: &dyn Snapshot) -> Result<HashSet<String>> {
    let refs = snapshot.references("sessions/")?;
    let labels = refs.iter().filter_map(|(name, _)| name.session());
    let labels = labels.filter(|(_, rest)| rest.starts_with("labels/"));
    Ok(labels.map(|(session, _)| session.to_owned()).collect())
}

/// Removes a session that was found to be expired, unless it has changed since.
pub fn expire(
    repo: &Repo,
    looked_at: &dyn Snapshot,
    session: &str,
    operation: &Operation,
) -> Result<Option<Moved>> {
    let ends = |snapshot: &dyn Snapshot| -> Result<_> {
        let view = View::unchecked(snapshot, session);
        let labels = view.labels()?;
        Ok((view.target("meta")?, view.target("tip")?, view.target("events")?, labels))
    };
    let seen = ends(looked_at)?;
    let head = RefName::head();
    let was = looked_at.reference(&head)?;
    remove_session_if(repo, session, operation, &mut |snapshot| {
        Ok(ends(snapshot)? == seen && snapshot.reference(&head)? == was)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::desk::say;
    use crate::ops::{LabelOptions, Target, label, removed_sessions, restore_session};

    fn operation(time: i64) -> Operation {
        Operation { time, actor: "tester".to_owned(), command: "expire".to_owned() }
    }

    fn planned(repo: &Repo, options: &ExpireOptions) -> Vec<(String, Option<Kept>)> {
        let snapshot = repo.snapshot().unwrap();
        let plan = plan_expire(&*snapshot, options, &mut Summaries::default()).unwrap();
        plan.into_iter().map(|expiry| (expiry.session.meta.sid, expiry.kept)).collect()
    }

    #[test]
    fn what_is_current_recent_last_or_labelled_stays() {
        let repo = Repo::in_memory();
        // The first is the current one.
        for (session, time) in [("a", 10), ("b", 20), ("c", 30), ("d", 40), ("e", 50)] {
            say(&repo, session, time);
        }
        let marked = LabelOptions {
            target: Target::of(Some("b")),
            name: "good".to_owned(),
            at: Some("main".to_owned()),
        };
        label(&repo, &marked, &operation(60)).unwrap();
        let options = ExpireOptions { older_than: 45, keep_last: 2, keep_labelled: true };
        let expected = [
            ("e", Some(Kept::Recent)),
            ("d", Some(Kept::Last)),
            ("c", None),
            ("b", Some(Kept::Labelled)),
            ("a", Some(Kept::Current)),
        ];
        assert_eq!(planned(&repo, &options), expected.map(|(sid, kept)| (sid.to_owned(), kept)));
        let all = ExpireOptions { older_than: 100, keep_last: 0, keep_labelled: false };
        let expired = planned(&repo, &all).iter().filter(|(_, kept)| kept.is_none()).count();
        assert_eq!(expired, 4);

        let snapshot = repo.snapshot().unwrap();
        let moved = expire(&repo, &*snapshot, "c", &operation(70)).unwrap().unwrap();
        assert_eq!(moved.to, "deleted/c/1");
        say(&repo, "d", 80);
        assert_eq!(expire(&repo, &*snapshot, "d", &operation(90)).unwrap(), None, "it was used");
        let now = repo.snapshot().unwrap();
        assert_eq!(removed_sessions(&*now).unwrap(), ["c/1"]);
        restore_session(&repo, "c", &operation(100)).unwrap();
        assert_eq!(repo.snapshot().unwrap().references("sessions/c/").unwrap().len(), 4);
    }
}
