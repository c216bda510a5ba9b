//! Steps on their way out: what a writer of any dialect is given of an entry.

use std::collections::HashMap;
use std::rc::Rc;

use crate::codec::Value;
use crate::dialect::Leaving;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::session::{
    Block, Context, Message, Settings, first_kept, restored_entry, shown_message, summaries,
};
use crate::store::Snapshot;

/// The fields in which programs keep an entry's id.
const ID_KEYS: [&str; 2] = ["id", "uuid"];

/// Makes steps of entries; a parent must come before its children.
#[derive(Default)]
pub(super) struct Departure {
    /// Entries by the ids that they have in the programs they came from.
    named: HashMap<String, Id>,
    /// The model in force behind each entry.
    models: HashMap<Id, Rc<Model>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    name: Option<String>,
    provider: Option<String>,
}

impl Departure {
    /// Makes a step of an entry.
    pub(super) fn step(&mut self, snapshot: &dyn Snapshot, id: &Id) -> Result<Leaving> {
        let entry = restored_entry(snapshot, id)?;
        let parent = entry.parents.first().copied();
        let named = ID_KEYS.iter().find_map(|key| entry.body.get(key)?.as_text());
        if let Some(name) = named {
            self.named.insert(name.to_owned(), *id);
        }
        let model = self.model(parent, &Settings::said(&entry.label, &entry.body));
        self.models.insert(*id, Rc::clone(&model));
        let mut message = match entry.label.as_str() {
            "compaction" => joined(summaries(&entry.body)),
            _ => shown_message(&entry),
        };
        if let Some(message) = &mut message {
            // What is said and called comes before what tools answer to it.
            message.blocks.sort_by_key(|block| matches!(block, Block::Result(_)));
        }
        if let Some(message) = message.as_mut().filter(|message| message.role == "assistant") {
            message.model = message.model.take().or_else(|| model.name.clone());
            message.provider = message.provider.take().or_else(|| model.provider.clone());
        }
        let first_kept = match entry.label.as_str() {
            "compaction" => self.first_kept(&entry.body),
            _ => None,
        };
        let (label, time, body) = (entry.label, entry.time, entry.body);
        Ok(Leaving { id: *id, parent, label, time, body, message, first_kept })
    }

    /// Gives the model in force behind an entry that says this.
    fn model(&self, parent: Option<Id>, said: &Settings) -> Rc<Model> {
        let before = parent.and_then(|parent| self.models.get(&parent).cloned());
        let before = before.unwrap_or_default();
        if said.model.is_none() && said.provider.is_none() {
            return before;
        }
        let provider = match &said.model {
            Some(_) => said.provider.clone(),
            None => said.provider.clone().or_else(|| before.provider.clone()),
        };
        Rc::new(Model { name: said.model.clone().or_else(|| before.name.clone()), provider })
    }

    fn first_kept(&self, body: &Value) -> Option<Id> {
        match first_kept(body)? {
            Value::Link(id) => Some(*id),
            Value::Text(name) => name.parse().ok().or_else(|| self.named.get(name).copied()),
            _ => None,
        }
    }
}

/// Makes one message of several.
fn joined(messages: Vec<Message>) -> Option<Message> {
    let mut messages = messages.into_iter();
    let mut first = messages.next()?;
    for message in messages {
        first.blocks.push(Block::Text(format!("{}: {}", message.role, message.text())));
    }
    Some(first)
}

/// Makes steps of what a model is shown, one after the other.
pub(super) fn shown_steps(context: Context) -> Vec<Leaving> {
    let mut parent = None;
    let mut steps = Vec::with_capacity(context.messages.len());
    for (place, shown) in context.messages.into_iter().enumerate() {
        let mut message = shown.message;
        if message.role == "assistant" && message.model.is_none() {
            message.model.clone_from(&context.model);
            message.provider.clone_from(&context.provider);
        }
        // Several messages can come of one entry.
        let id = Id::of(Kind::Blob, &[shown.entry.as_bytes(), &place.to_le_bytes()[..]].concat());
        steps.push(Leaving {
            id,
            parent,
            label: "message".to_owned(),
            time: shown.time,
            body: Value::Null,
            message: Some(message),
            first_kept: None,
        });
        parent = Some(id);
    }
    steps
}
