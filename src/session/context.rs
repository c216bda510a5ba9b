//! What a model is shown at an entry: the path, read with the rules of each type.
//!
//! | entry type | in the context |
//! | --- | --- |
//! | message | yes; a tool result joins its call, wherever it hangs |
//! | model, thinking, config change | state only |
//! | compaction | the last on the path wins: its summary or history, then from its first kept |
//! | branch summary, stack summary | in place, as a user message, if not empty |
//! | stack pop | its summary, in the place of what it pops |
//! | custom message, bash execution | yes, as a user message |
//! | merge | its summary; the second parent is not walked |
//! | all else | no |
//!
//! The walk goes back from the entry and ends at the first entry that the compaction keeps, so a
//! compacted session costs what is kept of it, not what it ever said.

mod cut;
mod stack;
#[cfg(test)]
mod tests;
mod tools;

use std::ops::ControlFlow;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::Entry;
use crate::repo::{as_kind, read_entry, restored};
use crate::session::message::{Block, Call, Message, codex};
use crate::session::settings::{Search, Settings, Wanted};
use crate::session::view::View;
use crate::store::Snapshot;
use crate::walk;

use cut::{Compaction, Kept, Seen};
use stack::{Stack, place, place_at};

pub use tools::{before_calls, check_answered, unanswered};

/// The fields in which a compaction names the first entry that it keeps.
pub(super) const FIRST_KEPT_KEYS: [&str; 3] =
    ["firstKept", "firstKeptEntryId", "firstKeptEntryUuid"];

/// For how many messages room is made at first.
const SHOWN_USUALLY: usize = 32;

/// What a model is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The messages, oldest first.
    pub messages: Vec<Shown>,
    /// The model in force.
    pub model: Option<String>,
    /// Who serves it.
    pub provider: Option<String>,
    /// How much it is to think.
    pub thinking: Option<String>,
    /// Calls that nothing answered, in order.
    pub dangling: Vec<Dangling>,
    /// What the compaction keeps first, if it is not on the path: then nothing before it is shown.
    pub lost: Option<String>,
}

/// One message of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The entry it is made of.
    pub entry: Id,
    /// The entry's type.
    pub label: String,
    /// The entry's time.
    pub time: i64,
    /// What is shown.
    pub message: Message,
}

/// A call that nothing answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dangling {
    /// The entry that calls.
    pub entry: Id,
    /// The call.
    pub call: Call,
}

/// Builds the context at an entry.
///
/// `session`, if given, is where results of tools are looked for that hang beside the path, and
/// says which model is in force where the path does not.
pub fn context(snapshot: &dyn Snapshot, session: Option<&str>, at: Id) -> Result<Context> {
    let mut reader = Reader::new(snapshot);
    reader.read(at)?;
    let mut context = reader.finish();
    if let Some(session) = session {
        tools::join_strays(snapshot, session, &mut context)?;
        if context.model.is_none() {
            let meta = View::of(snapshot, session)?.stored_meta()?;
            context.model = meta.model;
            context.provider = context.provider.or(meta.provider);
        }
    }
    Ok(context)
}

/// Gives how a compaction names the first entry that it keeps, if it keeps any.
pub fn first_kept(compaction: &Value) -> Option<&Value> {
    let named = FIRST_KEPT_KEYS.iter().find_map(|key| compaction.get(key));
    named.filter(|named| !named.is_null())
}

/// Gives what a compaction behind a path names as the first entry that it keeps, if the path has no
/// such entry.
pub fn lost_by(
    snapshot: &dyn Snapshot,
    compaction: &Value,
    end: Option<Id>,
) -> Result<Option<String>> {
    let mut reader = Reader::new(snapshot);
    reader.compaction = Some(Compaction::of(snapshot, compaction, Vec::new(), 0)?);
    for id in end.into_iter().flat_map(|end| walk::path(snapshot, end)) {
        if reader.compaction.as_ref().is_none_or(|cut| cut.kept.is_none()) {
            break;
        }
        reader.visit(id?)?;
    }
    Ok(reader.finish().lost)
}

/// Reads an entry with its long strings put back.
pub fn restored_entry(snapshot: &dyn Snapshot, id: &Id) -> Result<Entry> {
    let mut entry = read_entry(snapshot, id)?;
    restored(snapshot, &mut entry.body)?;
    Ok(entry)
}

/// Puts long strings back. What links the first entry that a compaction keeps is none: that entry
/// is met on the path, and need not be read to see that it is no text.
fn restored_but_kept(snapshot: &dyn Snapshot, entry: &mut Entry) -> Result<()> {
    let is_kept = |key: &str, value: &Value| {
        FIRST_KEPT_KEYS.contains(&key) && matches!(value, Value::Link(_))
    };
    match &mut entry.body {
        Value::Map(pairs) if entry.label == "compaction" => {
            let mut strings = pairs.iter_mut().filter(|(key, value)| !is_kept(key, value));
            strings.try_for_each(|(_, value)| restored(snapshot, value))
        }
        body => restored(snapshot, body),
    }
}

/// Reads a path backwards.
struct Reader<'a> {
    snapshot: &'a dyn Snapshot,
    /// Newest first.
    shown: Vec<Shown>,
    /// The newest compaction, once it is met.
    compaction: Option<Compaction>,
    stack: Stack,
    settings: Search,
}

impl<'a> Reader<'a> {
    fn new(snapshot: &'a dyn Snapshot) -> Reader<'a> {
        let wanted = Wanted { model: true, thinking: true, ..Wanted::default() };
        Reader {
            snapshot,
            shown: Vec::with_capacity(SHOWN_USUALLY),
            compaction: None,
            stack: Stack::default(),
            settings: Search::new(wanted),
        }
    }

    /// Reads the path back from an entry: all together while everything is shown, then entry by
    /// entry, as few as are needed.
    fn read(&mut self, at: Id) -> Result<()> {
        let rest = self.read_shown(at)?;
        for id in rest.into_iter().flat_map(|rest| walk::path(self.snapshot, rest)) {
            if !self.visit(id?)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the path back from an entry while everything is shown, and gives the first that is
    /// not, if more is to be known.
    fn read_shown(&mut self, at: Id) -> Result<Option<Id>> {
        let snapshot = self.snapshot;
        let (mut rest, mut end_depth, mut steps) = (None, None, 0);
        snapshot.read_path(&at, &mut |id, stored| {
            if !self.is_open() {
                rest = Some(*id);
                return Ok(ControlFlow::Break(()));
            }
            let mut entry = Entry::decode(&as_kind(id, stored, Kind::Entry)?.content)?;
            // How deep the entries lie is looked up once, where it matters.
            let mut depth = 0;
            if self.asks_depth(&entry.label) {
                self.place_kept()?;
                let end = match end_depth {
                    Some(end) => end,
                    None => snapshot.depth(&at)?.ok_or(Error::ObjectMissing { id: at })?,
                };
                depth = u64::saturating_sub(*end_depth.insert(end), steps);
            }
            if !self.is_open() || self.stack.hides(place_at(depth)) {
                rest = Some(*id);
                return Ok(ControlFlow::Break(()));
            }
            restored_but_kept(snapshot, &mut entry)?;
            self.take(*id, depth, entry)?;
            steps += 1;
            Ok(match self.is_over() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(rest)
    }

    /// Says whether older entries are shown.
    fn is_open(&self) -> bool {
        self.compaction.as_ref().is_none_or(|cut| cut.kept.is_some())
    }

    /// Says whether older entries have nothing to say.
    fn is_over(&self) -> bool {
        !self.is_open() && self.settings.is_over()
    }

    /// Says whether it matters how deep an entry of a type lies.
    fn asks_depth(&self, label: &str) -> bool {
        let asks = self.compaction.as_ref().is_some_and(|cut| cut.asks_depth(label));
        asks || self.stack.is_popped()
    }

    /// Looks up how deep the first entry lies that is kept. Where it is missing, none is.
    fn place_kept(&mut self) -> Result<()> {
        if let Some(cut) = &mut self.compaction
            && !cut.place(self.snapshot)?
        {
            self.shown.truncate(cut.newer);
        }
        Ok(())
    }

    /// Reads one entry, and says whether to go on.
    fn visit(&mut self, id: Id) -> Result<bool> {
        self.place_kept()?;
        let topology = self.snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        if self.is_over() {
            return Ok(false);
        }
        let is_open = self.is_open();
        // What was popped is gone, but what it had replaced does not come back.
        let is_cut = matches!(&*topology.label, "compaction" | "stack_pop");
        let is_shown = is_open && (is_cut || !self.stack.hides(place_at(topology.depth)));
        if is_shown || self.settings.asks(&topology.label) {
            let entry = restored_entry(self.snapshot, &id)?;
            match is_shown {
                true => self.take(id, topology.depth, entry)?,
                false => self.settings.learn(&entry),
            }
        }
        Ok(true)
    }

    /// Learns from an entry, and shows it if it is kept.
    fn take(&mut self, id: Id, depth: u64, entry: Entry) -> Result<()> {
        let message = Message::read(&entry.label, &entry.body);
        match &message {
            Some(message) => self.settings.learn_of(message),
            None => self.settings.learn(&entry),
        }
        match self.compaction.as_mut().map_or(Seen::Kept, |cut| cut.see(&id, depth, &entry.body)) {
            Seen::Kept => self.show(id, entry, message),
            Seen::Dropped => Ok(()),
            Seen::Lost(newer) => {
                self.shown.truncate(newer);
                Ok(())
            }
        }
    }

    /// Shows an entry as its type demands; `message` is what it holds, if it is one.
    fn show(&mut self, id: Id, entry: Entry, message: Option<Message>) -> Result<()> {
        let message = match entry.label.as_str() {
            "compaction" => {
                if self.compaction.is_none() {
                    let summary = summaries(&entry.body).into_iter();
                    let summary = summary.map(|message| shown(id, &entry, message)).collect();
                    let newer = self.shown.len();
                    let cut = Compaction::of(self.snapshot, &entry.body, summary, newer)?;
                    self.compaction = Some(cut);
                }
                None
            }
            "stack_pop" => self.pop(id, &entry).filter(|_| !is_left_out(&entry.body)),
            _ => shown_of(&entry, message),
        };
        let parts = message.map(Message::apart).unwrap_or_default();
        self.shown.extend(parts.into_iter().rev().map(|part| shown(id, &entry, part)));
        Ok(())
    }

    /// Hides what an entry pops, and gives its summary unless a newer one speaks of the same.
    fn pop(&mut self, id: Id, entry: &Entry) -> Option<Message> {
        let said = |key: &str| said_by_user(entry.body.get(key)?.as_text()?);
        let back_to = place(&entry.body, "backToIndex").unwrap_or(u64::MAX);
        let is_summed_up = self.compaction.as_ref().is_some_and(|cut| match cut.kept {
            Some(Kept::Place(first)) => back_to < first,
            _ => false,
        });
        let is_lower = self.stack.pop(back_to);
        let summary = said("summary").filter(|_| is_lower && !is_summed_up);
        if let Some(before) = said("prePopSummary") {
            // It went back behind a compaction, and says anew what was before.
            let newer = self.shown.len();
            let before = vec![shown(id, entry, before)];
            let cut = Compaction::keeping(None, before, newer);
            self.compaction.get_or_insert(cut).kept = None;
        }
        summary
    }

    fn finish(mut self) -> Context {
        let mut lost = None;
        if let Some(cut) = self.compaction {
            lost = cut.lost;
            let missing = cut.kept.and_then(|kept| match kept {
                Kept::Id(id, _) => Some(id.to_string()),
                Kept::Foreign(id) => Some(id),
                Kept::Place(_) => None,
            });
            if missing.is_some() {
                // The whole path was read, and it was not there.
                self.shown.truncate(cut.newer);
                lost = missing;
            }
            self.shown.extend(cut.summary.into_iter().rev());
        }
        self.shown.reverse();
        let messages = self.shown;
        let dangling = tools::dangling(&messages);
        let Settings { model, provider, thinking, .. } = self.settings.found;
        Context { messages, model, provider, thinking, dangling, lost }
    }
}

/// Gives what a model is shown of an entry that does not compact, its long strings put back.
pub fn shown_message(entry: &Entry) -> Option<Message> {
    shown_of(entry, Message::read(&entry.label, &entry.body))
}

/// Does as [`shown_message`] where the message was read, if the entry is one.
fn shown_of(entry: &Entry, message: Option<Message>) -> Option<Message> {
    let said = |key: &str| {
        let inner = || entry.body.get("message")?.get(key);
        let found = entry.body.get(key).or_else(inner);
        found.and_then(Value::as_text).unwrap_or_default()
    };
    let message = match entry.label.as_str() {
        "branch_summary" | "stack_summary" | "merge" | "stack_pop" => said_by_user(said("summary")),
        "custom_message" | "bash_execution" => {
            let message = Message::of(&entry.label, &entry.body);
            Some(Message { role: "user".to_owned(), ..message })
        }
        _ => message,
    };
    message.filter(|_| !is_left_out(&entry.body))
}

fn shown(id: Id, entry: &Entry, message: Message) -> Shown {
    Shown { entry: id, label: entry.label.clone(), time: entry.time, message }
}

/// Gives what a compaction puts in the place of what was before it: a summary, or a whole history.
pub fn summaries(body: &Value) -> Vec<Message> {
    let inner = || body.get("message")?.get("summary");
    let told = body.get("summary").or_else(inner).or_else(|| body.get("payload")?.get("message"));
    let summary = || match told.and_then(Value::as_text) {
        Some(summary) => said_by_user(summary),
        // Claude Code says it in the message behind the boundary.
        None if body.get("subtype").is_some() => None,
        None => said_by_user(&Message::of("compaction", body).text()),
    };
    codex::replacement(body).unwrap_or_else(|| summary().into_iter().collect())
}

/// Gives the id that an entry had in the program that it came from.
fn foreign_id(body: &Value) -> Option<&str> {
    ["id", "uuid"].iter().find_map(|key| body.get(key)?.as_text())
}

/// Makes a message of a text in the user's name, unless it is empty.
fn said_by_user(text: &str) -> Option<Message> {
    if text.chars().all(char::is_whitespace) {
        return None;
    }
    let blocks = vec![Block::Text(text.to_owned())];
    Some(Message { role: "user".to_owned(), blocks, ..Message::default() })
}

/// Says whether a program does not show its message to a model: a command that a person ran for
/// themselves, or an error told in the model's name.
pub fn is_left_out(body: &Value) -> bool {
    let payload = body.get("message").unwrap_or(body);
    let is_true = |flag: Option<&Value>| flag.and_then(Value::as_bool) == Some(true);
    is_true(payload.get("excludeFromContext")) || is_true(body.get("isApiErrorMessage"))
}
