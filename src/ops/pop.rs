//! Going back on a branch: it ends earlier again, and says what was tried meanwhile.
//!
//! The branch moves, so its path is what is left; what was abandoned stays in the transcript and is
//! linked from the summary.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Entry;
use crate::ops::{Seen, Target};
use crate::repo::{Place, Repo, resolve};
use crate::session::{self, Block, MESSAGE_LABELS, Message, Shown, restored_entry};
use crate::store::{Durability, Operation, RefValue, Snapshot};
use crate::walk;

/// What a pop would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pop {
    /// The branch and its end.
    pub seen: Seen,
    /// Where it will end, before a summary; `None` if nothing is left.
    pub at: Option<Id>,
    /// The entries that are abandoned, newest first.
    pub abandoned: Vec<Id>,
    /// What the user said first in them, to be edited and said again.
    pub text: Option<String>,
}

/// What a pop did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PopOutcome {
    /// Where the branch ends now.
    pub end: Option<Id>,
    /// The entry with the summary, if there is one.
    pub summary: Option<Id>,
}

/// The kind of summary that a pop leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryKind {
    /// `branch_summary`
    #[default]
    Branch,
    /// `stack_summary`
    Stack,
}

impl SummaryKind {
    /// Gives the type of the entry.
    pub fn label(self) -> &'static str {
        match self {
            SummaryKind::Branch => "branch_summary",
            SummaryKind::Stack => "stack_summary",
        }
    }
}

impl Pop {
    /// Reads the messages that are abandoned, oldest first.
    pub fn messages(&self, snapshot: &dyn Snapshot) -> Result<Vec<Shown>> {
        let mut found = Vec::new();
        for id in self.abandoned.iter().rev() {
            let entry = restored_entry(snapshot, id)?;
            let summary = entry.body.get("summary").and_then(Value::as_text);
            let message = match (Message::read(&entry.label, &entry.body), summary) {
                (Some(message), _) => message,
                (None, Some(summary)) => Message {
                    role: "user".to_owned(),
                    blocks: vec![Block::Text(summary.to_owned())],
                    ..Message::default()
                },
                (None, None) => continue,
            };
            found.push(Shown { entry: *id, label: entry.label, time: entry.time, message });
        }
        Ok(found)
    }
}

/// Says what a pop would do: back to a revision, or to before the last message of the user.
pub fn plan_pop(
    snapshot: &dyn Snapshot,
    target: &Target,
    revision: Option<&str>,
    force: bool,
) -> Result<Pop> {
    let seen = Seen::at(snapshot, target)?;
    let (at, abandoned) = match revision {
        Some(text) => {
            let at = resolve(snapshot, &Place::in_session(seen.session.as_str()), text)?;
            let abandoned = seen.back_to(snapshot, at)?.filter(|path| !path.is_empty());
            let abandoned = abandoned.ok_or_else(|| Error::Refused {
                why: format!("'{text}' does not lie before the end of branch '{}'", seen.branch),
                hint: "'sapwood switch' goes to any place; pop goes back on a branch",
            })?;
            (Some(at), abandoned)
        }
        None => before_last_question(snapshot, &seen)?,
    };
    if !force {
        let mut cuts = std::iter::once(seen.end).chain(at);
        cuts.try_for_each(|cut| session::check_answered(snapshot, cut))?;
    }
    let text = first_question(snapshot, &abandoned)?;
    Ok(Pop { seen, at, abandoned, text })
}

/// Ends a branch earlier, with a summary of what is abandoned if one is given.
pub fn pop(
    repo: &Repo,
    plan: &Pop,
    summary: Option<&str>,
    kind: SummaryKind,
    operation: &Operation,
) -> Result<PopOutcome> {
    let Pop { seen, at, .. } = plan;
    let mut outcome = None;
    repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = seen.change(snapshot, operation.time)?;
        let fields = [
            ("branch", Value::from(seen.branch.as_str())),
            ("from", seen.end.into()),
            ("to", (*at).into()),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
        change.set(&format!("heads/{}", seen.branch), at.map(RefValue::Id))?;
        change.happened("pop", *at, Value::map(fields))?;
        let mut entry = None;
        if let Some(summary) = summary {
            let body =
                Value::map([("summary", Value::from(summary)), ("from", Value::Link(seen.end))]);
            let summary = Entry {
                label: kind.label().to_owned(),
                time: operation.time,
                parents: at.iter().copied().collect(),
                body,
                raw: None,
            };
            entry = Some(change.append_entry(&seen.branch, summary)?);
        }
        outcome = Some(PopOutcome { end: entry.or(*at), summary: entry });
        change.finish(Some(operation.clone()))
    })?;
    Ok(outcome.expect("the plan was called"))
}

/// Finds the place before the last message of the user, and what comes after it, newest first.
fn before_last_question(snapshot: &dyn Snapshot, seen: &Seen) -> Result<(Option<Id>, Vec<Id>)> {
    let mut abandoned = Vec::new();
    for id in walk::path(snapshot, seen.end) {
        let id = id?;
        abandoned.push(id);
        if question(snapshot, &id)?.is_some() {
            let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            return Ok((topology.parents.first().copied(), abandoned));
        }
    }
    Err(Error::Refused {
        why: format!("there is no message of the user on branch '{}'", seen.branch),
        hint: "name the entry to go back to",
    })
}

fn first_question(snapshot: &dyn Snapshot, abandoned: &[Id]) -> Result<Option<String>> {
    for id in abandoned.iter().rev() {
        if let Some(text) = question(snapshot, id)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Gives what the user says in an entry, if a user speaks there.
fn question(snapshot: &dyn Snapshot, id: &Id) -> Result<Option<String>> {
    let topology = snapshot.topology(id)?.ok_or(Error::ObjectMissing { id: *id })?;
    if !MESSAGE_LABELS.contains(&&*topology.label) {
        return Ok(None);
    }
    let entry = restored_entry(snapshot, id)?;
    let message = Message::read(&entry.label, &entry.body);
    Ok(message.filter(Message::is_from_user).map(|message| message.text()))
}
