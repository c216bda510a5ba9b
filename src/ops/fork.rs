//! Forking: a new session that begins where another one is. It shares every object, so it costs the
//! same at any depth.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{Fork, Session};
use crate::ops::Target;
use crate::ops::origin::Origin;
use crate::repo::{Repo, Revision, find_session};
use crate::session::{self, Change, FIRST_BRANCH, View, random_id};
use crate::store::{Durability, Operation, RefName, RefValue, Snapshot};

/// A fork.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkOptions {
    /// The session to fork.
    pub target: Target,
    /// The revision at which; else the end of the active branch.
    pub at: Option<String>,
    /// What to call the new session.
    pub name: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Any more.
    pub metadata: Option<Value>,
    /// Whether the new session becomes the store's current one.
    pub use_it: bool,
    /// Whether to fork even though a tool call is not answered.
    pub force: bool,
}

/// A session that was forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkOutcome {
    /// The new session's id.
    pub session: String,
    /// The session it came from.
    pub parent: String,
    /// The entry at which.
    pub entry: Id,
    /// The branch that it begins with.
    pub branch: String,
}

/// Makes a session whose first words are a path of another (forkSession, branch_session).
pub fn fork(repo: &Repo, options: &ForkOptions, operation: &Operation) -> Result<ForkOutcome> {
    let sid = random_id()?;
    let parent = match source(&*repo.snapshot()?, &options.target, options.at.as_deref())? {
        Some(parent) => parent,
        None => options.target.session(&*repo.snapshot()?)?,
    };
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let view = View::of(snapshot, &parent)?;
        let origin = Origin::find(&view, options.at.as_deref())?;
        let entry = origin.entry.ok_or_else(|| Error::Refused {
            why: "nothing was said yet in the session".to_owned(),
            hint: "append a message first, or make a session with 'sapwood new'",
        })?;
        if !options.force {
            session::check_answered(snapshot, entry)?;
        }
        let branch = origin.branch.unwrap_or_else(|| FIRST_BRANCH.to_owned());
        let fork = Fork {
            session: parent.clone(),
            entry: Some(entry),
            reason: options.reason.clone(),
            metadata: options.metadata.clone().unwrap_or(Value::Null),
        };
        let meta = Session { name: options.name.clone(), ..Session::new(&sid, operation.time) };
        let mut change = begin(&view, fork, meta, (&branch, &branch))?;
        if options.use_it {
            change.use_session()?;
        }
        outcome = Some(ForkOutcome { session: sid.clone(), parent: parent.clone(), entry, branch });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Plans a session that begins at an entry of another: with that one's directory and model where it
/// has none of its own, with what is known there, and with an event that says where it came from.
///
/// The branches are the one that it comes from and its own first one.
pub(super) fn begin<'a>(
    parent: &View<'a>,
    fork: Fork,
    mut meta: Session,
    (from, branch): (&str, &str),
) -> Result<Change<'a>> {
    let theirs = parent.meta()?;
    meta.cwd = meta.cwd.or(theirs.cwd);
    meta.provider = meta.provider.or(theirs.provider);
    meta.model = meta.model.or(theirs.model);
    let fields = [
        ("session", Value::from(fork.session.as_str())),
        ("entry", fork.entry.into()),
        ("reason", fork.reason.clone().into()),
    ];
    let entry = fork.entry;
    meta.fork = Some(fork);
    let time = meta.time;
    let mut change = Change::create(parent.snapshot, meta, branch, time)?;
    if let Some(entry) = entry {
        change.begin_at(branch, entry)?;
        let shortcut = parent.target(&format!("memory/{from}"))?;
        if parent.branch(from)? == Some(entry) && shortcut.is_some() {
            change.set(&format!("memory/{branch}"), shortcut.map(RefValue::Id))?;
        }
    }
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    change.noted("fork", Value::map(fields))?;
    Ok(change)
}

/// Finds the session that a revision is about: the one it names, else the target's, if any.
pub(super) fn source(
    snapshot: &dyn Snapshot,
    target: &Target,
    revision: Option<&str>,
) -> Result<Option<String>> {
    let Some(text) = revision else {
        return target.place().session_id(snapshot);
    };
    let full = RefName::new(text.strip_prefix("refs/").unwrap_or(text));
    if let Ok(name) = &full
        && let Some((session, _)) = name.session()
    {
        return Ok(Some(session.to_owned()));
    }
    if let Some(named) = Revision::parse(text)?.session
        && let Ok(session) = find_session(snapshot, &named)
    {
        return Ok(Some(session));
    }
    target.place().session_id(snapshot)
}
