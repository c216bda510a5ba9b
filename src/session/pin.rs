//! Fixing, once, which session and branch a program writes to.

use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::id::Id;
use crate::object::Session;
use crate::repo::{Place, Repo, head_branch, named_session};
use crate::session::{BranchRecord, Change, FIRST_BRANCH, View, random_id};
use crate::store::{Durability, Operation, RefName, Snapshot};

/// A session and a branch of it, both by their exact names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    session: String,
    branch: String,
    pub(super) meta: RefName,
    pub(super) head: RefName,
    pub(super) tip: RefName,
    pub(super) events: RefName,
    pub(super) last_end: LastEnd,
}

/// Where a pin's last append ended: a guess at where the branch ends, which is no part of the pin.
#[derive(Debug, Default)]
pub(super) struct LastEnd(Mutex<Option<Id>>);

impl LastEnd {
    pub(super) fn get(&self) -> Option<Id> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, end: Option<Id>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }
}

impl Clone for LastEnd {
    fn clone(&self) -> LastEnd {
        LastEnd(Mutex::new(self.get()))
    }
}

impl PartialEq for LastEnd {
    fn eq(&self, _: &LastEnd) -> bool {
        true
    }
}

impl Eq for LastEnd {}

impl Pin {
    /// Names a session and a branch of it, which need not exist.
    pub fn new(session: String, branch: String) -> Result<Pin> {
        Ok(Pin {
            meta: RefName::of_session(&session, "meta")?,
            head: RefName::of_session(&session, &format!("heads/{branch}"))?,
            tip: RefName::of_session(&session, "tip")?,
            events: RefName::of_session(&session, "events")?,
            last_end: LastEnd::default(),
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
    let new_session = match session {
        Some(session) => session.to_owned(),
        None => random_id()?,
    };
    let find = |snapshot: &dyn Snapshot| {
        let session = current(snapshot, session)?.unwrap_or_else(|| new_session.clone());
        names(snapshot, session, branch)
    };
    let snapshot = repo.snapshot()?;
    let mut pinned = find(&*snapshot)?;
    if is_there(&*snapshot, &pinned)? {
        return Ok(pinned);
    }
    let operation =
        Operation { time: now_ms, actor: actor.to_owned(), command: "append".to_owned() };
    repo.commit(Durability::Full, &mut |snapshot| {
        pinned = find(snapshot)?;
        create(snapshot, &pinned, now_ms)?.finish(Some(operation.clone()))
    })?;
    Ok(pinned)
}

/// Finds the session and the branch that [`pin`] would, if the session is there. Creates nothing.
pub fn find_pin(
    snapshot: &dyn Snapshot,
    session: Option<&str>,
    branch: Option<&str>,
) -> Result<Option<Pin>> {
    let found = current(snapshot, session)?;
    found.map(|session| names(snapshot, session, branch)).transpose()
}

fn current(snapshot: &dyn Snapshot, session: Option<&str>) -> Result<Option<String>> {
    match session {
        Some(session) => named_session(snapshot, session),
        None => Place::default().session_id(snapshot),
    }
}

fn names(snapshot: &dyn Snapshot, session: String, branch: Option<&str>) -> Result<Pin> {
    let active = head_branch(snapshot, &session)?;
    let branch = branch.map(str::to_owned).or(active);
    Pin::new(session, branch.unwrap_or_else(|| FIRST_BRANCH.to_owned()))
}

/// Says whether nothing has to be created before the first entry.
fn is_there(snapshot: &dyn Snapshot, pin: &Pin) -> Result<bool> {
    Ok(snapshot.reference(&pin.meta)?.is_some()
        && snapshot.reference(&RefName::of_session(&pin.session, "HEAD")?)?.is_some()
        && (snapshot.reference(&pin.head)?.is_some() || is_expected(snapshot, pin)?)
        && snapshot.reference(&RefName::head())?.is_some())
}

/// Says whether a branch that is not born is one all the same: the active one, or one on record.
pub(super) fn is_expected(snapshot: &dyn Snapshot, pin: &Pin) -> Result<bool> {
    if head_branch(snapshot, &pin.session)?.as_ref() == Some(&pin.branch) {
        return Ok(true);
    }
    let record = RefName::of_session(&pin.session, &format!("records/{}", pin.branch))?;
    Ok(snapshot.reference(&record)?.is_some())
}

/// Creates what is not there: the session, the branch, the store's HEAD.
fn create<'a>(snapshot: &'a dyn Snapshot, pin: &Pin, now_ms: i64) -> Result<Change<'a>> {
    let mut change = match View::of(snapshot, &pin.session) {
        Ok(_) => Change::on(snapshot, &pin.session, now_ms)?,
        // A branch that is asked for in a new session is its first one, and so the active one.
        Err(_) => {
            let blank = Session::new(&pin.session, now_ms);
            Change::create(snapshot, blank, &pin.branch, now_ms)?
        }
    };
    match head_branch(snapshot, &pin.session)? {
        None => change.use_branch(&pin.branch)?,
        Some(active) if active == pin.branch => {}
        Some(active) => {
            let is_recorded = change.reference(&format!("records/{}", pin.branch))?.is_some();
            if change.branch(&pin.branch)?.is_none() && !is_recorded {
                let record = BranchRecord::at(change.branch(&active)?, Some(active));
                change.create_branch(&pin.branch, &record)?;
            }
        }
    }
    if snapshot.reference(&RefName::head())?.is_none() {
        change.use_session()?;
    }
    Ok(change)
}
