//! An object as it reads when others have gone or have other ids, and what is looked for is
//! replaced.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::{LINK_BYTES_MIN, Value};
use crate::id::Id;
use crate::object::{Entry, Event, Node, Object, Run, Session};
use crate::ops::redact::scrub::Scrubber;
use crate::walk::MOVE;

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has another id.
    Became(Id),
    /// It is gone. Of an entry: the nearest before it on its path that stays, and how many of the
    /// path went with it, itself included.
    Gone { before: Option<Id>, went: u64 },
}

/// What becomes of links in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    /// One to an entry that went leads to the one before it; one to a string that is short now
    /// becomes that string.
    Places,
    /// One to an entry that went goes.
    Named,
    /// As above, and one to a string stays a link.
    Exact,
}

/// What became of objects, and what is replaced in texts.
#[derive(Debug, Default)]
pub(super) struct Mender {
    /// Those that went or have another id.
    pub(super) fates: HashMap<Id, Fate>,
    /// Long strings that are short now, by the ids they had.
    pub(super) short: HashMap<Id, String>,
    /// What is replaced.
    pub(super) scrubber: Option<Arc<Scrubber>>,
}

impl Mender {
    /// Replaces in texts, and knows of nothing that went.
    pub(super) fn scrubbing(scrubber: &Arc<Scrubber>) -> Mender {
        Mender { scrubber: Some(Arc::clone(scrubber)), ..Mender::default() }
    }

    /// Gives where an entry, or what takes its place, is now.
    pub(super) fn entry(&self, id: &Id) -> Option<Id> {
        match self.fates.get(id) {
            None => Some(*id),
            Some(Fate::Became(now)) => Some(*now),
            Some(Fate::Gone { before, .. }) => *before,
        }
    }

    /// Gives the id of an object now, if it is there.
    pub(super) fn id(&self, id: &Id) -> Option<Id> {
        match self.fates.get(id) {
            None => Some(*id),
            Some(Fate::Became(now)) => Some(*now),
            Some(Fate::Gone { .. }) => None,
        }
    }

    /// Gives what is left of a run.
    pub(super) fn run(&self, run: &Run) -> Option<Run> {
        match self.fates.get(&run.tip) {
            None => Some(*run),
            Some(Fate::Became(tip)) => Some(Run { tip: *tip, ..*run }),
            Some(Fate::Gone { before, went }) => {
                let count = run.count.checked_sub(*went).filter(|count| *count > 0)?;
                before.map(|tip| Run { tip, count })
            }
        }
    }

    /// Mends an object, and says whether anything was replaced in it.
    pub(super) fn object(&self, object: &mut Object) -> bool {
        match object {
            Object::Blob(content) => {
                let scrubbed = self.scrubber.as_ref().and_then(|scrubber| scrubber.bytes(content));
                let changed = scrubbed.is_some();
                scrubbed.into_iter().for_each(|scrubbed| *content = scrubbed);
                changed
            }
            Object::Entry(entry) => self.mend_entry(entry),
            Object::Node(node) => self.mend_node(node),
            Object::Event(event) => self.mend_event(event),
            Object::Session(session) => self.mend_session(session),
        }
    }

    fn mend_entry(&self, entry: &mut Entry) -> bool {
        entry.parents = self.all(&entry.parents);
        let mut changed = self.text(&mut entry.label);
        changed |= self.value(&mut entry.body, Links::Places);
        if let Some(raw) = &mut entry.raw {
            changed |= self.value(raw, Links::Places);
        }
        changed
    }

    fn mend_node(&self, node: &mut Node) -> bool {
        node.parents = self.all(&node.parents);
        let mut changed = self.text(&mut node.branch);
        changed |= self.value(&mut node.card, Links::Places);
        for fact in &mut node.facts {
            fact.source = fact.source.and_then(|source| self.id(&source));
            let assigned = fact.key.as_ref().zip(fact.value.as_text());
            if let (Some(scrubber), Some((key, text))) = (&self.scrubber, assigned)
                && let Some(scrubbed) = scrubber.assigned(key, text)
            {
                fact.value = Value::Text(scrubbed);
                changed = true;
            }
            changed |= self.value(&mut fact.value, Links::Places);
            changed |= self.text_if(&mut fact.key);
        }
        for note in &mut node.notes {
            changed |= self.value(note, Links::Places);
        }
        changed
    }

    fn mend_event(&self, event: &mut Event) -> bool {
        event.priors = self.all(&event.priors);
        event.runs = event.runs.iter().filter_map(|run| self.run(run)).collect();
        event.links = event.links.iter().filter_map(|link| self.entry(link)).collect();
        if event.label == MOVE {
            self.spelled(&mut event.body);
        }
        let mut changed = self.text(&mut event.label);
        let links = match event.label.as_str() {
            // What a person named is that or nothing, and what they attached is linked as it is.
            "attach" => Links::Exact,
            "label" => Links::Named,
            _ => Links::Places,
        };
        changed |= self.value(&mut event.body, links);
        changed
    }

    fn mend_session(&self, session: &mut Session) -> bool {
        let mut changed = self.text(&mut session.sid);
        let texts = [
            &mut session.name,
            &mut session.cwd,
            &mut session.provider,
            &mut session.model,
            &mut session.status,
            &mut session.dialect,
            &mut session.source,
        ];
        for text in texts {
            changed |= self.text_if(text);
        }
        if let Some(fork) = &mut session.fork {
            fork.entry = fork.entry.and_then(|entry| self.entry(&entry));
            changed |= self.text(&mut fork.session);
            changed |= self.text_if(&mut fork.reason);
            changed |= self.value(&mut fork.metadata, Links::Places);
        }
        changed |= self.value(&mut session.meta, Links::Places);
        changed
    }

    /// Mends ids that stand in a body as text.
    fn spelled(&self, body: &mut Value) {
        let Value::Map(pairs) = body else {
            return;
        };
        for (_, value) in pairs {
            if let Some(id) = value.as_text().and_then(|text| text.parse::<Id>().ok()) {
                *value = Value::from(self.entry(&id).map(|id| id.to_string()));
            }
        }
    }

    fn all(&self, ids: &[Id]) -> Vec<Id> {
        ids.iter().filter_map(|id| self.id(id)).collect()
    }

    fn text(&self, text: &mut String) -> bool {
        self.scrubber.as_ref().is_some_and(|scrubber| scrubber.text(text))
    }

    fn text_if(&self, text: &mut Option<String>) -> bool {
        text.as_mut().is_some_and(|text| self.text(text))
    }

    /// Mends the links of a value, and replaces in its texts.
    fn value(&self, value: &mut Value, how: Links) -> bool {
        self.links(value, how);
        self.scrubber.as_ref().is_some_and(|scrubber| scrubber.value(value))
    }

    fn links(&self, value: &mut Value, how: Links) {
        match value {
            Value::Link(id) => {
                if let Some(text) = self.short.get(id).filter(|_| how != Links::Exact) {
                    *value = Value::Text(text.clone());
                } else if let Some(fate) = self.fates.get(id) {
                    *value = match fate {
                        Fate::Became(now) => Value::Link(*now),
                        Fate::Gone { before: Some(now), .. } if how == Links::Places => {
                            Value::Link(*now)
                        }
                        Fate::Gone { .. } => Value::Null,
                    };
                }
            }
            Value::List(items) => items.iter_mut().for_each(|item| self.links(item, how)),
            Value::Map(pairs) => pairs.iter_mut().for_each(|(_, item)| self.links(item, how)),
            _ => {}
        }
    }

    /// Notes what a blob became: a long string may have become a short one.
    pub(super) fn shortened(&mut self, id: Id, before: &[u8], now: &[u8]) {
        let was_string = before.len() >= LINK_BYTES_MIN && std::str::from_utf8(before).is_ok();
        if was_string && now.len() < LINK_BYTES_MIN {
            self.short.insert(id, String::from_utf8_lossy(now).into_owned());
        }
    }
}

/// Lists what an object links, its parents first, and says how many those are.
pub(super) fn links(object: &Object) -> (Vec<Id>, usize) {
    let mut links = Vec::new();
    let parents = match object {
        Object::Blob(_) => &[][..],
        Object::Entry(entry) => &entry.parents,
        Object::Node(node) => &node.parents,
        Object::Event(event) => &event.priors,
        Object::Session(_) => &[][..],
    };
    links.extend_from_slice(parents);
    match object {
        Object::Blob(_) => {}
        Object::Entry(entry) => {
            entry.body.links(&mut links);
            entry.raw.iter().for_each(|raw| raw.links(&mut links));
        }
        Object::Node(node) => {
            node.card.links(&mut links);
            for fact in &node.facts {
                fact.value.links(&mut links);
                links.extend(fact.source);
            }
            node.notes.iter().for_each(|note| note.links(&mut links));
        }
        Object::Event(event) => {
            links.extend(event.runs.iter().map(|run| run.tip));
            links.extend_from_slice(&event.links);
            event.body.links(&mut links);
            if event.label == MOVE {
                let spelled = event.body.as_map().unwrap_or_default().iter();
                links.extend(spelled.filter_map(|(_, id)| id.as_text()?.parse::<Id>().ok()));
            }
        }
        Object::Session(session) => {
            session.meta.links(&mut links);
            if let Some(fork) = &session.fork {
                links.extend(fork.entry);
                fork.metadata.links(&mut links);
            }
        }
    }
    (links, parents.len())
}
