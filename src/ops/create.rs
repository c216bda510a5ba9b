//! Making sessions: empty, at an entry of another one, or with what another one hands over.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{Fork, Session};
use crate::ops::Target;
use crate::repo::{Place, Repo, Revision, find_session, resolve};
use crate::session::{self, Change, FIRST_BRANCH, random_id};
use crate::store::{Durability, Operation, RefName, Snapshot};

/// A new session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateOptions {
    /// The session that it comes from; else the store's current one.
    pub target: Target,
    /// What a person calls it.
    pub name: Option<String>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Who serves the model.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Everything else that is to be kept.
    pub meta: Option<Value>,
    /// What it begins with.
    pub begin: Begin,
    /// Whether it becomes the store's current session.
    pub use_it: bool,
}

/// What a session begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// Nothing.
    #[default]
    Empty,
    /// All that was said up to a revision.
    At(String),
    /// A message from the user, which another session handed over.
    Handoff(String),
}

/// A session that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOutcome {
    /// Its id.
    pub session: String,
    /// The session it came from.
    pub parent: Option<String>,
    /// The entry that it begins with, if any.
    pub entry: Option<Id>,
}

/// Makes a session (create_session, SessionTree.create).
pub fn create(
    repo: &Repo,
    options: &CreateOptions,
    operation: &Operation,
) -> Result<CreateOutcome> {
    let sid = random_id()?;
    let parent = parent(&*repo.snapshot()?, options)?;
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let origin = origin(snapshot, options, parent.as_deref())?;
        let fork = parent.as_ref().filter(|_| options.begin != Begin::Empty).map(|parent| Fork {
            session: parent.clone(),
            entry: origin,
            reason: matches!(options.begin, Begin::Handoff(_)).then(|| "handoff".to_owned()),
            metadata: Value::Null,
        });
        let meta = metadata(options, &sid, fork, operation.time);
        let parent = meta.fork.as_ref().map(|fork| fork.session.clone());
        let mut change = Change::create(snapshot, meta, FIRST_BRANCH, operation.time)?;
        let mut entry = None;
        match (&options.begin, origin) {
            (Begin::At(_), Some(origin)) => {
                change.begin_at(FIRST_BRANCH, origin)?;
                let from = parent.clone().map(Value::from);
                let fields = [("session", from.unwrap_or(Value::Null)), ("entry", origin.into())];
                let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
                change.noted("fork", Value::map(fields))?;
                entry = Some(origin);
            }
            (Begin::Handoff(text), _) => {
                let body = Value::map([("role", "user".into()), ("content", text.as_str().into())]);
                entry = Some(change.append(FIRST_BRANCH, "message", body, operation.time)?);
            }
            _ => {}
        }
        if options.use_it {
            change.use_session()?;
        }
        outcome = Some(CreateOutcome { session: sid.clone(), parent, entry });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Finds the session that the new one comes from: the one that the revision names, else the target.
fn parent(snapshot: &dyn Snapshot, options: &CreateOptions) -> Result<Option<String>> {
    if let Begin::At(text) = &options.begin {
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
    }
    options.target.place().session_id(snapshot)
}

/// Finds the entry at which the new session begins, or where the one was that handed over.
fn origin(
    snapshot: &dyn Snapshot,
    options: &CreateOptions,
    parent: Option<&str>,
) -> Result<Option<Id>> {
    match &options.begin {
        Begin::Empty => Ok(None),
        Begin::Handoff(_) => match parent {
            None => Ok(None),
            Some(parent) => {
                let view = session::View::of(snapshot, parent)?;
                let active = view.active()?;
                active.map_or(Ok(None), |branch| view.branch(&branch))
            }
        },
        Begin::At(text) => {
            let id = resolve(snapshot, &options.target.place(), text)?;
            match snapshot.kinds(&[id])?[0] {
                Some(Kind::Entry) => Ok(Some(id)),
                Some(kind) => {
                    Err(Error::WrongKind { id, expected: Kind::Entry.name(), found: kind.name() })
                }
                None => Err(Error::ObjectMissing { id }),
            }
        }
    }
}

fn metadata(options: &CreateOptions, sid: &str, fork: Option<Fork>, time: i64) -> Session {
    Session {
        sid: sid.to_owned(),
        time,
        name: options.name.clone(),
        cwd: options.cwd.clone(),
        provider: options.provider.clone(),
        model: options.model.clone(),
        status: None,
        dialect: None,
        source: None,
        fork,
        branches: Vec::new(),
        meta: options.meta.clone().unwrap_or(Value::Null),
    }
}

/// Says where a person stands: the session, its branch, and what is open there.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The session's id, if there is a current one.
    pub session: Option<String>,
    /// What a person calls it.
    pub name: Option<String>,
    /// The active branch, born or not.
    pub branch: Option<String>,
    /// Where the branch ends.
    pub end: Option<Id>,
    /// How many entries lead there.
    pub entries: u64,
    /// The entry that was written last, on any branch.
    pub tip: Option<Id>,
    /// The head of the memory at the branch.
    pub memory: Option<Id>,
    /// The tool calls at the end of the branch that nothing has answered.
    pub unanswered: Vec<session::Dangling>,
}

/// Says where a person stands.
pub fn status(snapshot: &dyn Snapshot, place: &Place) -> Result<Status> {
    let mut status = Status {
        session: place.session_id(snapshot)?,
        name: None,
        branch: None,
        end: None,
        entries: 0,
        tip: None,
        memory: None,
        unanswered: Vec::new(),
    };
    let Some(session) = &status.session else {
        return Ok(status);
    };
    let view = session::View::of(snapshot, session)?;
    status.name = view.meta()?.name;
    status.branch = view.active()?;
    status.tip = view.target("tip")?;
    let Some(branch) = &status.branch else {
        return Ok(status);
    };
    status.memory = view.target(&format!("memory/{branch}"))?;
    status.end = view.branch(branch)?;
    if let Some(end) = status.end {
        let topology = snapshot.topology(&end)?.ok_or(Error::ObjectMissing { id: end })?;
        status.entries = topology.depth + 1;
        status.unanswered = session::unanswered(snapshot, end)?;
    }
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;
    use crate::session::View;

    fn operation() -> Operation {
        Operation { time: 5, actor: "tester".to_owned(), command: "new".to_owned() }
    }

    fn said(text: &str) -> Value {
        Value::map([("role", Value::from("user")), ("content", text.into())])
    }

    #[test]
    fn a_session_begins_empty_at_an_entry_or_with_a_handoff() {
        let repo = Repo::in_memory();
        let mut options = CreateOptions { use_it: true, ..CreateOptions::default() };
        options.name = Some("first".to_owned());
        let first = create(&repo, &options, &operation()).unwrap();
        assert_eq!((first.parent.as_deref(), first.entry), (None, None));
        let pin = session::pin(&repo, None, None, 0, "tester").unwrap();
        let bodies = vec![said("one"), said("two"), said("three")];
        let ids = session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();

        options = CreateOptions { begin: Begin::At("main~1".to_owned()), ..Default::default() };
        let fork = create(&repo, &options, &operation()).unwrap();
        assert_eq!(fork.parent.as_deref(), Some(first.session.as_str()));
        assert_eq!(fork.entry, Some(ids[1]));
        let snapshot = repo.snapshot().unwrap();
        assert_eq!(session::transcript(&*snapshot, &fork.session).unwrap(), ids[..2]);
        let meta = View::of(&*snapshot, &fork.session).unwrap().meta().unwrap();
        assert_eq!(meta.fork.unwrap().entry, Some(ids[1]));
        let current = Place::default().session_id(&*snapshot).unwrap();
        assert_eq!(current.as_deref(), Some(first.session.as_str()), "it was not to be used");

        options.begin = Begin::Handoff("go on".to_owned());
        let handed = create(&repo, &options, &operation()).unwrap();
        let snapshot = repo.snapshot().unwrap();
        let meta = View::of(&*snapshot, &handed.session).unwrap().meta().unwrap();
        let fork = meta.fork.unwrap();
        assert_eq!((fork.reason.as_deref(), fork.entry), (Some("handoff"), Some(ids[2])));
        assert_eq!(session::transcript(&*snapshot, &handed.session).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_entry_begins_nothing() {
        let repo = Repo::in_memory();
        let mut transaction = repo.transaction();
        let blob = transaction.put(&Object::Blob(b"x".to_vec())).unwrap();
        transaction.commit(Durability::Full).unwrap();
        let options =
            CreateOptions { begin: Begin::At(blob.to_string()), ..CreateOptions::default() };
        let error = create(&repo, &options, &operation()).unwrap_err();
        assert!(matches!(error, Error::WrongKind { .. }), "{error}");
        assert!(repo.snapshot().unwrap().references("").unwrap().is_empty());
    }

    #[test]
    fn the_status_names_open_calls() {
        let repo = Repo::in_memory();
        let empty = status(&*repo.snapshot().unwrap(), &Place::default()).unwrap();
        assert_eq!(empty.session, None);
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let body = crate::codec::json::parse(
            br#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls"}]}"#,
        );
        let ids = session::append(&repo, &pin, vec![body.unwrap()], Durability::Full, 0).unwrap();
        let status = status(&*repo.snapshot().unwrap(), &Place::default()).unwrap();
        assert_eq!((status.end, status.tip, status.entries), (Some(ids[0]), Some(ids[0]), 1));
        assert_eq!(status.unanswered[0].call.name, "ls");
    }
}
