//! Making sessions: empty, at an entry of another one, or with what another one hands over.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{Fork, Session};
use crate::ops::Target;
use crate::ops::fork;
use crate::ops::origin::{self, Origin};
use crate::repo::{Place, Repo};
use crate::session::{self, Change, FIRST_BRANCH, View, random_id};
use crate::store::{Durability, Operation, Snapshot};

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
    /// Whether to begin at an entry even though a tool call is not answered.
    pub force: bool,
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
    let revision = match &options.begin {
        Begin::At(text) => Some(text.as_str()),
        _ => None,
    };
    let parent = fork::source(&*repo.snapshot()?, &options.target, revision)?;
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let meta = metadata(options, &sid, operation.time);
        let parent = parent.as_deref().filter(|_| options.begin != Begin::Empty);
        let parent = parent.map(|parent| View::of(snapshot, parent)).transpose()?;
        let (mut change, entry) = match &options.begin {
            Begin::Empty => (Change::create(snapshot, meta, FIRST_BRANCH, operation.time)?, None),
            Begin::At(text) => at(snapshot, parent.as_ref(), text, meta, options.force)?,
            Begin::Handoff(text) => handoff(snapshot, parent.as_ref(), text, meta)?,
        };
        if options.use_it {
            change.use_session()?;
        }
        let parent = change.meta()?.fork.as_ref().map(|fork| fork.session.clone());
        outcome = Some(CreateOutcome { session: sid.clone(), parent, entry });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// A session that is planned, and the entry that it begins with.
type Begun<'a> = (Change<'a>, Option<Id>);

/// Begins a session at an entry.
fn at<'a>(
    snapshot: &'a dyn Snapshot,
    parent: Option<&View<'a>>,
    text: &str,
    meta: Session,
    force: bool,
) -> Result<Begun<'a>> {
    let origin = match parent {
        Some(parent) => Some(Origin::find(parent, Some(text))?),
        None => None,
    };
    let entry = match &origin {
        Some(Origin { entry: Some(entry), .. }) => *entry,
        _ => origin::entry(snapshot, &Place::default(), text)?,
    };
    if !force {
        session::check_answered(snapshot, entry)?;
    }
    let change = match parent {
        Some(parent) => {
            let from = origin.and_then(|origin| origin.branch).unwrap_or_default();
            let session = parent.id().to_owned();
            let fork = Fork { session, entry: Some(entry), reason: None, metadata: Value::Null };
            fork::begin(parent, fork, meta, (&from, FIRST_BRANCH))?
        }
        None => {
            let time = meta.time;
            let mut change = Change::create(snapshot, meta, FIRST_BRANCH, time)?;
            change.begin_at(FIRST_BRANCH, entry)?;
            change.noted("fork", Value::map([("entry", entry.into())]))?;
            change
        }
    };
    Ok((change, Some(entry)))
}

/// Begins a session with a message, and says which other one handed over, and where it was.
fn handoff<'a>(
    snapshot: &'a dyn Snapshot,
    parent: Option<&View<'a>>,
    text: &str,
    mut meta: Session,
) -> Result<Begun<'a>> {
    if let Some(parent) = parent {
        let entry = Origin::find(parent, None)?.entry;
        let reason = Some("handoff".to_owned());
        let session = parent.id().to_owned();
        meta.fork = Some(Fork { session, entry, reason, metadata: Value::Null });
    }
    let time = meta.time;
    let mut change = Change::create(snapshot, meta, FIRST_BRANCH, time)?;
    let body = Value::map([("role", "user".into()), ("content", text.into())]);
    let entry = change.append(FIRST_BRANCH, "message", body, time)?;
    Ok((change, Some(entry)))
}

fn metadata(options: &CreateOptions, sid: &str, time: i64) -> Session {
    Session {
        name: options.name.clone(),
        cwd: options.cwd.clone(),
        provider: options.provider.clone(),
        model: options.model.clone(),
        meta: options.meta.clone().unwrap_or(Value::Null),
        ..Session::new(sid, time)
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
    let view = View::of(snapshot, session)?;
    status.name = view.meta()?.name;
    status.branch = view.active()?;
    status.tip = view.target("tip")?;
    let Some(branch) = &status.branch else {
        return Ok(status);
    };
    status.memory = session::memory_near(&view, branch)?;
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
    fn a_session_at_an_entry_has_what_a_fork_has() {
        let repo = Repo::in_memory();
        let mut options = CreateOptions { use_it: true, ..CreateOptions::default() };
        options.model = Some("kimi".to_owned());
        options.cwd = Some("/src".to_owned());
        create(&repo, &options, &operation()).unwrap();
        let pin = session::pin(&repo, None, None, 0, "tester").unwrap();
        session::append(&repo, &pin, vec![said("one")], Durability::Full, 0).unwrap();
        let commit = repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, pin.session(), 5)?;
            let fact = crate::memory::fact_from_text("a=1");
            session::remember(&mut change, "main", vec![fact], Vec::new(), Value::Null, 5)?;
            change.finish(None)
        });
        commit.unwrap();
        options = CreateOptions { begin: Begin::At("main".to_owned()), ..Default::default() };
        let made = create(&repo, &options, &operation()).unwrap();
        let snapshot = repo.snapshot().unwrap();
        let (old, new) = (View::of(&*snapshot, pin.session()), View::of(&*snapshot, &made.session));
        let (old, new) = (old.unwrap(), new.unwrap());
        let meta = new.meta().unwrap();
        assert_eq!((meta.model.as_deref(), meta.cwd.as_deref()), (Some("kimi"), Some("/src")));
        let node = new.target("memory/main").unwrap();
        assert_eq!((node.is_some(), node), (true, old.target("memory/main").unwrap()));
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"ls"}]}"#;
        let call = crate::codec::json::parse(call.as_bytes()).unwrap();
        session::append(&repo, &pin, vec![call], Durability::Full, 0).unwrap();
        let refused = create(&repo, &options, &operation()).unwrap_err();
        assert!(matches!(refused, Error::Unanswered { .. }), "{refused}");
        options.force = true;
        create(&repo, &options, &operation()).unwrap();
    }

    #[test]
    fn the_status_has_the_memory_of_the_path() {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        session::append(&repo, &pin, vec![said("one")], Durability::Full, 0).unwrap();
        let commit = repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 5)?;
            let fact = crate::memory::fact_from_text("a=1");
            session::remember(&mut change, "main", vec![fact], Vec::new(), Value::Null, 5)?;
            change.set("memory/main", None)?;
            change.finish(None)
        });
        commit.unwrap();
        let snapshot = repo.snapshot().unwrap();
        let known = status(&*snapshot, &Place::default()).unwrap().memory;
        assert!(known.is_some());
        let list = crate::ops::branches(&*snapshot, "s", false).unwrap();
        assert_eq!(list[0].memory, known);
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
