//! Where somebody is: the session from which names are seen, and how a session is named.

use crate::error::{Error, Result};
use crate::store::{RefName, RefValue, SYMBOLIC_DEPTH_MAX, Snapshot};

/// How many sessions an error about an ambiguous prefix lists.
const CANDIDATES_MAX: usize = 10;

/// Where names are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The session, by its id, name or a unique prefix; else the store's current one.
    pub session: Option<String>,
}

impl Place {
    /// The place within a session.
    pub fn in_session(session: impl Into<String>) -> Place {
        Place { session: Some(session.into()) }
    }

    /// Finds the id of the session, if there is a current one.
    ///
    /// The store's HEAD is a symbolic ref to a session's HEAD.
    pub fn session_id(&self, snapshot: &dyn Snapshot) -> Result<Option<String>> {
        if let Some(session) = &self.session {
            return find_session(snapshot, session).map(Some);
        }
        let head = snapshot.reference(&RefName::head())?;
        let Some(RefValue::Symbolic(target)) = head else {
            return Ok(None);
        };
        Ok(target.session().map(|(session, _)| session.to_owned()))
    }
}

/// Finds a session by its id, its exact name, or a unique prefix of its id.
pub fn find_session(snapshot: &dyn Snapshot, text: &str) -> Result<String> {
    if let Some(session) = named_session(snapshot, text)? {
        return Ok(session);
    }
    let unknown = |why: String| Error::RevisionUnknown { revision: text.to_owned(), why };
    let mut found = Vec::new();
    if !text.is_empty() && !text.contains('/') {
        found = sessions(snapshot, text)?;
    }
    match found.len() {
        0 => Err(unknown("no session has this id or name".to_owned())),
        1 => Ok(found.remove(0)),
        count => Err(ambiguous(text, count, "begin with it", found)),
    }
}

/// Finds a session by its id or its exact name.
pub fn named_session(snapshot: &dyn Snapshot, text: &str) -> Result<Option<String>> {
    if let Ok(name) = RefName::of_session(text, "meta")
        && snapshot.reference(&name)?.is_some()
    {
        return Ok(Some(text.to_owned()));
    }
    let mut found = snapshot.sessions_named(text)?;
    match found.len() {
        0 | 1 => Ok(found.pop()),
        count => Err(ambiguous(text, count, "have this name", found)),
    }
}

fn ambiguous(text: &str, count: usize, how: &'static str, mut candidates: Vec<String>) -> Error {
    candidates.truncate(CANDIDATES_MAX);
    Error::AmbiguousSession { name: text.to_owned(), count, how, candidates }
}

/// Gives the active branch of a session: what its HEAD leads to, born or not.
pub fn head_branch(snapshot: &dyn Snapshot, session: &str) -> Result<Option<String>> {
    let head = RefName::of_session(session, "HEAD")?;
    let mut current = head.clone();
    for _ in 0..=SYMBOLIC_DEPTH_MAX {
        if let Some((owner, rest)) = current.session()
            && owner == session
            && let Some(branch) = rest.strip_prefix("heads/")
        {
            return Ok(Some(branch.to_owned()));
        }
        match snapshot.reference(&current)? {
            Some(RefValue::Symbolic(next)) => current = next,
            _ => return Ok(None),
        }
    }
    Err(Error::SymbolicDepth { name: head.to_string(), depth_max: SYMBOLIC_DEPTH_MAX })
}

/// Lists the ids of the sessions that begin with a prefix.
fn sessions(snapshot: &dyn Snapshot, prefix: &str) -> Result<Vec<String>> {
    let refs = snapshot.references(&format!("sessions/{prefix}"))?;
    let mut found: Vec<String> = Vec::new();
    for (name, _) in refs {
        if let Some((session, _)) = name.session()
            && found.last().is_none_or(|last| last != session)
        {
            found.push(session.to_owned());
        }
    }
    // Sorted names keep a session's refs together, except where an id begins another: `a`, `a-b`.
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
