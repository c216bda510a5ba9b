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
use crate::store::{Durability, Operation, RefValue, Snapshot};

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
    let parent = parent(&*repo.snapshot()?, options)?;
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
        let meta = metadata(&view, options, &sid, entry, operation.time)?;
        let mut change = Change::create(snapshot, meta, &branch, operation.time)?;
        change.begin_at(&branch, entry)?;
        if view.branch(&branch)? == Some(entry)
            && let Some(node) = view.target(&format!("memory/{branch}"))?
        {
            change.set(&format!("memory/{branch}"), Some(RefValue::Id(node)))?;
        }
        let fields = [
            ("session", Value::from(parent.as_str())),
            ("entry", entry.into()),
            ("reason", options.reason.clone().into()),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
        change.noted("fork", Value::map(fields))?;
        if options.use_it {
            change.use_session()?;
        }
        outcome = Some(ForkOutcome { session: sid.clone(), parent: parent.clone(), entry, branch });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Finds the session to fork: the one that the revision names, else the target.
fn parent(snapshot: &dyn Snapshot, options: &ForkOptions) -> Result<String> {
    let own = options.target.session(snapshot);
    let Some(text) = &options.at else {
        return own;
    };
    if let Ok(own) = &own
        && Origin::find(&View::of(snapshot, own)?, Some(text)).is_ok()
        && !text.contains(':')
    {
        return Ok(own.clone());
    }
    match Revision::parse(text)?.session {
        Some(named) => find_session(snapshot, &named).or(own),
        None => own,
    }
}

fn metadata(
    view: &View<'_>,
    options: &ForkOptions,
    sid: &str,
    entry: Id,
    time: i64,
) -> Result<Session> {
    let parent = view.meta()?;
    Ok(Session {
        sid: sid.to_owned(),
        time,
        name: options.name.clone(),
        cwd: parent.cwd,
        provider: parent.provider,
        model: parent.model,
        status: None,
        dialect: None,
        source: None,
        fork: Some(Fork {
            session: view.id().to_owned(),
            entry: Some(entry),
            reason: options.reason.clone(),
            metadata: options.metadata.clone().unwrap_or(Value::Null),
        }),
        branches: Vec::new(),
        meta: Value::Null,
    })
}
