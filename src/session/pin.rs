//! Fixing, once, which session and branch a program writes to.

use crate::error::Result;
use crate::object::{NewObject, Session};
use crate::repo::{Place, Repo, head_branch, named_session};
use crate::session::{FIRST_BRANCH, random_id};
use crate::store::{
    self, Durability, Expected, Operation, RefName, RefUpdate, RefValue, Snapshot, Transaction,
};

/// A session and a branch of it, both by their exact names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    session: String,
    branch: String,
    pub(super) head: RefName,
    pub(super) tip: RefName,
    pub(super) events: RefName,
}

impl Pin {
    /// Names a session and a branch of it, which need not exist.
    pub fn new(session: String, branch: String) -> Result<Pin> {
        Ok(Pin {
            head: RefName::of_session(&session, &format!("heads/{branch}"))?,
            tip: RefName::of_session(&session, "tip")?,
            events: RefName::of_session(&session, "events")?,
            session,
            branch,
        })
    }

    /// Gives the session's id.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Gives the branch's name, without `heads/`.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Gives the branch's ref.
    pub fn head(&self) -> &RefName {
        &self.head
    }
}

/// Finds the session and the branch to write to, and creates what is not there.
///
/// What is not given is the current one. A session is given by its id or its exact name; an unknown
/// one is created with that id. A new branch begins at the session's active entry, and with nothing
/// only where there is none. The store's HEAD is set where there is none.
pub fn pin(
    repo: &Repo,
    session: Option<&str>,
    branch: Option<&str>,
    now_ms: i64,
    actor: &str,
) -> Result<Pin> {
    let request = Request {
        session,
        branch,
        new_session: match session {
            Some(session) => session.to_owned(),
            None => random_id()?,
        },
        now_ms,
    };
    let (found, changes) = request.settle(&*repo.snapshot()?)?;
    if changes.refs.is_empty() {
        return Ok(found);
    }
    let mut pinned = found;
    repo.commit(Durability::Full, &mut |snapshot| {
        let (found, mut changes) = request.settle(snapshot)?;
        pinned = found;
        if !changes.refs.is_empty() {
            changes.operation = Some(Operation {
                time: now_ms,
                actor: actor.to_owned(),
                command: "append".to_owned(),
            });
        }
        Ok(changes)
    })?;
    Ok(pinned)
}

struct Request<'a> {
    session: Option<&'a str>,
    branch: Option<&'a str>,
    /// The id for a session that has to be created.
    new_session: String,
    now_ms: i64,
}

impl Request<'_> {
    /// Finds the pin, and what has to change for it to exist.
    fn settle(&self, snapshot: &dyn Snapshot) -> Result<(Pin, Transaction)> {
        let current = match self.session {
            Some(session) => named_session(snapshot, session)?,
            None => Place::default().session_id(snapshot)?,
        };
        let mut changes = Transaction::default();
        let session = current.unwrap_or_else(|| self.new_session.clone());
        let active = head_branch(snapshot, &session)?;
        let branch = match (self.branch, &active) {
            (Some(branch), _) => branch.to_owned(),
            (None, Some(active)) => active.clone(),
            (None, None) => FIRST_BRANCH.to_owned(),
        };
        let pin = Pin::new(session, branch)?;
        let meta = RefName::of_session(&pin.session, "meta")?;
        if snapshot.reference(&meta)?.is_none() {
            let meta = self.metadata(&pin.session)?;
            create(&mut changes, &pin, "meta", RefValue::Id(meta.id))?;
            changes.objects.push(meta);
        }
        let session_head = RefName::of_session(&pin.session, "HEAD")?;
        if snapshot.reference(&session_head)?.is_none() {
            // A branch that is asked for in a new session is its first one, and so the active one.
            create(&mut changes, &pin, "HEAD", RefValue::Symbolic(pin.head.clone()))?;
        } else if snapshot.reference(&pin.head)?.is_none()
            && let (_, Some(entry)) = store::resolve(snapshot, &session_head)?
        {
            let rest = format!("heads/{}", pin.branch);
            create(&mut changes, &pin, &rest, RefValue::Id(entry))?;
        }
        if snapshot.reference(&RefName::head())?.is_none() {
            changes.refs.push(RefUpdate {
                name: RefName::head(),
                expected: Expected::Missing,
                new: Some(RefValue::Symbolic(session_head)),
            });
        }
        Ok((pin, changes))
    }

    fn metadata(&self, sid: &str) -> Result<NewObject> {
        Session::new(sid.to_owned(), self.now_ms).encode()
    }
}

fn create(changes: &mut Transaction, pin: &Pin, rest: &str, value: RefValue) -> Result<()> {
    changes.refs.push(RefUpdate {
        name: RefName::of_session(&pin.session, rest)?,
        expected: Expected::Missing,
        new: Some(value),
    });
    Ok(())
}
