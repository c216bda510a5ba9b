//! A session as a snapshot shows it: its metadata, branches, labels, and where it stands.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::{Event, Session};
use crate::repo::{head_branch, read_event, read_session, restored};
use crate::store::{RefName, RefValue, Snapshot};

/// A session of a snapshot.
#[derive(Clone)]
pub struct View<'a> {
    /// The snapshot.
    pub snapshot: &'a dyn Snapshot,
    session: String,
}

/// What is known of a branch beyond its ref. It stands in the body of the event that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchRecord {
    /// The entry it began at; `None` if it began with nothing.
    pub at: Option<Id>,
    /// The branch it came from.
    pub parent: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Why it was made: `message_edit`, `retry`, `config_change`, or any other word.
    pub reason: Option<String>,
    /// Any more; null if nothing.
    pub metadata: Value,
    /// Its card; null if there is none.
    pub card: Value,
}

impl<'a> View<'a> {
    /// Looks at a session, by its exact id.
    pub fn of(snapshot: &'a dyn Snapshot, session: &str) -> Result<View<'a>> {
        let view = View::unchecked(snapshot, session);
        match view.reference("meta")? {
            Some(_) => Ok(view),
            None => Err(Error::RevisionUnknown {
                revision: session.to_owned(),
                why: "there is no such session".to_owned(),
            }),
        }
    }

    /// Looks at a session that may not exist yet.
    pub(crate) fn unchecked(snapshot: &'a dyn Snapshot, session: &str) -> View<'a> {
        View { snapshot, session: session.to_owned() }
    }

    /// Gives the session's id.
    pub fn id(&self) -> &str {
        &self.session
    }

    /// Names a ref of the session: `meta`, `heads/main`, ….
    pub fn name(&self, rest: &str) -> Result<RefName> {
        RefName::of_session(&self.session, rest)
    }

    /// Reads a ref of the session, not following symbolic ones.
    pub fn reference(&self, rest: &str) -> Result<Option<RefValue>> {
        self.snapshot.reference(&self.name(rest)?)
    }

    /// Gives the object that a ref of the session points to, if it is there.
    pub fn target(&self, rest: &str) -> Result<Option<Id>> {
        match self.reference(rest)? {
            Some(RefValue::Id(id)) => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    /// Reads the metadata, long strings put back.
    pub fn meta(&self) -> Result<Session> {
        let mut meta = self.stored_meta()?;
        restored(self.snapshot, &mut meta.meta)?;
        if let Some(fork) = &mut meta.fork {
            restored(self.snapshot, &mut fork.metadata)?;
        }
        Ok(meta)
    }

    /// Reads the metadata as it is stored.
    pub(super) fn stored_meta(&self) -> Result<Session> {
        let id = self.target("meta")?.ok_or_else(|| Error::RevisionUnknown {
            revision: self.session.clone(),
            why: "the session has no metadata".to_owned(),
        })?;
        read_session(self.snapshot, &id)
    }

    /// Gives the active branch: what the session's HEAD leads to, born or not.
    pub fn active(&self) -> Result<Option<String>> {
        head_branch(self.snapshot, &self.session)
    }

    /// Gives the entry that a branch points to, if it is born.
    pub fn branch(&self, name: &str) -> Result<Option<Id>> {
        self.target(&format!("heads/{name}"))
    }

    /// Gives the entry that a branch points to, if a person's words name one.
    pub fn branch_named(&self, text: &str) -> Result<Option<Id>> {
        match self.name(&format!("heads/{text}")) {
            Ok(_) => self.branch(text),
            Err(_) => Ok(None),
        }
    }

    /// Lists the branches and the entries they point to, sorted by name.
    pub fn branches(&self) -> Result<Vec<(String, Id)>> {
        self.named("heads")
    }

    /// Lists the labels and the entries they point to, sorted by name.
    pub fn labels(&self) -> Result<Vec<(String, Id)>> {
        self.named("labels")
    }

    /// Lists the refs of one class (`heads`, `labels`, `memory`, `attachments`), sorted by name.
    pub fn named(&self, class: &str) -> Result<Vec<(String, Id)>> {
        let prefix = format!("sessions/{}/{class}/", self.session);
        let refs = self.snapshot.references(&prefix)?.into_iter();
        let named = refs.filter_map(|(name, value)| match value {
            RefValue::Id(id) => Some((name.as_str()[prefix.len()..].to_owned(), id)),
            RefValue::Symbolic(_) => None,
        });
        Ok(named.collect())
    }

    /// Reads what is known of a branch beyond its ref.
    pub fn record(&self, branch: &str) -> Result<Option<BranchRecord>> {
        let Some(mut event) = self.record_event(branch)? else {
            return Ok(None);
        };
        restored(self.snapshot, &mut event.body)?;
        Ok(Some(BranchRecord::of(&event)))
    }

    /// Reads where a branch began: the entry, and the branch it came from.
    pub(super) fn origin(&self, branch: &str) -> Result<Option<(Option<Id>, Option<String>)>> {
        // Neither is a string so long that it would be a link.
        let record = self.record_event(branch)?.map(|event| BranchRecord::of(&event));
        Ok(record.map(|record| (record.at, record.parent)))
    }

    fn record_event(&self, branch: &str) -> Result<Option<Event>> {
        let record = self.target(&format!("records/{branch}"))?;
        record.map(|id| read_event(self.snapshot, &id)).transpose()
    }

    /// Finds a name for a new branch: the stem, or the stem and the first number that is free.
    pub fn free_branch(&self, stem: &str) -> Result<String> {
        free_name(stem, &|rest| Ok(self.reference(rest)?.is_some()))
    }
}

/// Finds a name that no branch has, born or not. `is_there` says so of refs of the session.
pub(super) fn free_name(stem: &str, is_there: &dyn Fn(&str) -> Result<bool>) -> Result<String> {
    let mut name = stem.to_owned();
    let mut number = 2;
    while is_there(&format!("heads/{name}"))? || is_there(&format!("records/{name}"))? {
        name = format!("{stem}-{number}");
        number += 1;
    }
    Ok(name)
}

impl BranchRecord {
    /// A record that says only where the branch began.
    pub fn at(at: Option<Id>, parent: Option<String>) -> BranchRecord {
        BranchRecord {
            at,
            parent,
            description: None,
            reason: None,
            metadata: Value::Null,
            card: Value::Null,
        }
    }

    /// Reads the record out of the event that made the branch.
    fn of(event: &Event) -> BranchRecord {
        let text = |key: &str| event.body.get(key).and_then(Value::as_text).map(str::to_owned);
        let value = |key: &str| event.body.get(key).cloned().unwrap_or(Value::Null);
        BranchRecord {
            at: event.body.get("at").and_then(Value::as_link),
            parent: text("parent"),
            description: text("description"),
            reason: text("reason"),
            metadata: value("metadata"),
            card: value("card"),
        }
    }

    /// Makes the body of the event that makes the branch.
    pub(crate) fn body(&self, name: &str) -> Value {
        let fields = [
            ("name", Value::from(name)),
            ("at", self.at.into()),
            ("parent", self.parent.clone().into()),
            ("description", self.description.clone().into()),
            ("reason", self.reason.clone().into()),
            ("metadata", self.metadata.clone()),
            ("card", self.card.clone()),
        ];
        Value::map(fields.into_iter().filter(|(_, value)| !value.is_null()))
    }
}
