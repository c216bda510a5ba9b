//! All that can be seen of the program, held against the model.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::memory;
use sapwood::ops::{self, ListOptions, Summaries};
use sapwood::repo::Place;
use sapwood::session::{self, Message, View, restored_entry};
use sapwood::store::{RefName, RefValue, Snapshot};
use sapwood::walk::{self, Item};

use super::desk::Desk;
use super::facts::{Fact, Saying};
use super::world::{Cell, Said, Session, Turn, World};

pub(super) type Refs = Vec<(RefName, RefValue)>;

/// Lists all refs of the store.
pub(super) fn refs(snapshot: &dyn Snapshot) -> Refs {
    snapshot.references("").unwrap()
}

fn operations(snapshot: &dyn Snapshot) -> usize {
    let mut count = 0;
    let visited = snapshot.operations(&mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    });
    visited.unwrap();
    count
}

impl Desk {
    /// Compares everything. `chosen` is the number of an entry that is looked at closely.
    pub(super) fn check(&mut self, chosen: usize) {
        let snapshot = self.repo.snapshot().unwrap();
        let world = self.world.clone();
        for session in &world.sessions {
            self.check_transcript(&*snapshot, session);
        }
        for (place, session) in world.sessions.iter().enumerate() {
            self.check_names(&*snapshot, session);
            self.check_context(&*snapshot, place, session.end());
            let memory = memory_at(&*snapshot, session.end().map(|end| self.ids[end]));
            self.check_memory(&*snapshot, session.end(), memory);
        }
        if !self.ids.is_empty() {
            let entry = chosen % self.ids.len();
            let memory = memory_at(&*snapshot, Some(self.ids[entry]));
            self.check_memory(&*snapshot, Some(entry), memory);
            let owner = world
                .sessions
                .iter()
                .position(|session| session.turns.contains(&Turn::Said(entry)));
            if let Some(place) = owner {
                self.check_context(&*snapshot, place, Some(entry));
            }
        }
        self.check_sessions(&*snapshot);
        assert_eq!(operations(&*snapshot), world.log.len(), "the operations log");
    }

    /// Compares a transcript, and learns the ids of what is new in it.
    fn check_transcript(&mut self, snapshot: &dyn Snapshot, session: &Session) {
        let mut expected = session.turns.iter();
        let mut number = 0;
        for item in walk::transcript_items(snapshot, &session.sid).unwrap() {
            let (turn, item) = item.unwrap();
            if matches!(&item, Item::Event(_, event) if !walk::is_turn(event)) {
                assert_eq!(turn, number, "what is no turn has the number before it");
                continue;
            }
            number += 1;
            assert_eq!(turn, number, "turns are counted");
            match (item, expected.next()) {
                (Item::Entry(id), Some(Turn::Said(entry))) => {
                    self.bind(snapshot, id, *entry);
                }
                (Item::Event(_, event), Some(Turn::Happened { label, from })) => {
                    assert_eq!(event.label, *label);
                    let said = event.body.get("from").and_then(Value::as_text);
                    assert!(*label != "switch" || said == from.as_deref(), "{event:?} {from:?}");
                }
                (item, turn) => panic!("turn {number} is {item:?}, not {turn:?}"),
            }
        }
        assert_eq!(expected.next(), None, "turns are missing");
        assert_eq!(walk::turn_count(snapshot, &session.sid).unwrap(), number);
        let tip = View::of(snapshot, &session.sid).unwrap().target("tip").unwrap();
        assert_eq!(tip.map(|tip| self.places[&tip]), session.tip, "the tip");
    }

    /// Takes an id for that of an entry: the first time it is read, and its parents are compared.
    fn bind(&mut self, snapshot: &dyn Snapshot, id: Id, entry: usize) {
        if let Some(known) = self.places.get(&id) {
            assert_eq!(*known, entry, "{id} is another entry");
            return;
        }
        assert_eq!(self.ids.len(), entry, "{id} is an entry that was known");
        let found = restored_entry(snapshot, &id).unwrap();
        let expected = &self.world.entries[entry];
        let parents: Vec<usize> = found.parents.iter().map(|parent| self.places[parent]).collect();
        assert_eq!(parents, expected.parents, "the parents of {expected:?}");
        assert_eq!(found.time, expected.time, "the time of {expected:?}");
        let origin = found.body.get("origin").and_then(Value::as_link);
        assert_eq!(origin.map(|origin| self.places[&origin]), expected.origin, "{expected:?}");
        let words = words(&found.label, &found.body);
        assert_eq!(words, self.expected_words(&expected.said), "{expected:?}");
        self.ids.push(id);
        self.places.insert(id, entry);
    }

    /// Gives type and text that an entry must have.
    fn expected_words(&self, said: &Said) -> (String, String) {
        let (label, text) = match said {
            Said::User(text) => ("user", text.clone()),
            Said::Assistant(text) => ("assistant", text.clone()),
            Said::Call(call) => ("call", call.clone()),
            Said::Answer { call, text } => ("answer", format!("{call} {text}")),
            Said::Aside(text) => ("custom_message", text.clone()),
            Said::Quiet { label, text } => (*label, text.clone()),
            Said::Config { model, thinking } => {
                ("config_change", format!("{model:?} {thinking:?}"))
            }
            Said::Compaction { summary, kept, .. } => {
                let kept = kept.map(|kept| self.ids[kept].to_string());
                ("compaction", format!("{summary:?} {kept:?}"))
            }
            Said::Summary { text, from, is_stack } => {
                let label = if *is_stack { "stack_summary" } else { "branch_summary" };
                (label, format!("{text} {}", self.ids[*from]))
            }
            Said::Merge(text) => ("merge", text.clone()),
            Said::Memory(_) => ("memory", String::new()),
        };
        (label.to_owned(), text)
    }

    fn check_names(&self, snapshot: &dyn Snapshot, session: &Session) {
        let view = View::of(snapshot, &session.sid).unwrap();
        let place = |id: &Id| Cell::Entry(self.places[id]);
        let mut cells = BTreeMap::new();
        for class in ["heads", "labels"] {
            let named = view.named(class).unwrap().into_iter();
            cells.extend(named.map(|(name, id)| (format!("{class}/{name}"), place(&id))));
        }
        for (name, id) in view.named("attachments").unwrap() {
            let stored = snapshot.get(&id).unwrap().unwrap().content;
            let text = String::from_utf8(stored.to_vec()).unwrap();
            cells.insert(format!("attachments/{name}"), Cell::Text(text));
        }
        let name = view.meta().unwrap().name.unwrap_or_default();
        cells.insert("name".to_owned(), Cell::Text(name));
        cells.insert("active".to_owned(), Cell::Text(view.active().unwrap().unwrap()));
        let mut expected = session.cells.clone();
        expected.retain(|cell, _| !cell.starts_with("records/"));
        assert_eq!(cells, expected, "the names of session {}", session.sid);
        for branch in session.branches() {
            self.check_branch(&view, session, &branch);
        }
        let listed = ops::branches(snapshot, &session.sid, false).unwrap();
        let listed: Vec<String> = listed.into_iter().filter_map(|info| info.name).collect();
        assert_eq!(listed, session.branches());
    }

    fn check_branch(&self, view: &View<'_>, session: &Session, branch: &str) {
        let found = view
            .record(branch)
            .unwrap()
            .map(|record| (record.at.map(|at| self.places[&at]), record.parent, record.reason));
        let expected = session.record(branch).map(|record| {
            let known = &self.world.records[record];
            (known.at, known.parent.clone(), known.reason.map(str::to_owned))
        });
        assert_eq!(found, expected, "the record of {branch}");
        let Some(end) = session.head(branch) else { return };
        let path: Vec<Id> = walk::path(view.snapshot, self.ids[end]).map(Result::unwrap).collect();
        let path: Vec<usize> = path.iter().rev().map(|id| self.places[id]).collect();
        assert_eq!(path, self.world.path(Some(end)), "the path of {branch}");
        let shortcut = session::memory_of(view, branch).unwrap();
        self.check_memory(view.snapshot, Some(end), shortcut);
    }

    fn check_context(&self, snapshot: &dyn Snapshot, place: usize, end: Option<usize>) {
        let Some(end) = end else { return };
        let sid = &self.world.sessions[place].sid;
        let found = session::context(snapshot, Some(sid), self.ids[end]).unwrap();
        let expected = self.world.context(place, end);
        let entries: Vec<usize> =
            found.messages.iter().map(|shown| self.places[&shown.entry]).collect();
        assert_eq!(entries, expected.entries, "the context at {end} in {sid}");
        for shown in &found.messages {
            let (_, text) =
                self.expected_words(&self.world.entries[self.places[&shown.entry]].said);
            let said = shown.message.text();
            assert!(text.contains(&said), "{said:?} is shown for {text:?}");
        }
        let open: Vec<String> = found.dangling.into_iter().map(|open| open.call.id).collect();
        assert_eq!(open, expected.open, "the open calls at {end} in {sid}");
        assert_eq!((found.model, found.thinking), expected.state, "the settings at {end}");
    }

    fn check_memory(&self, snapshot: &dyn Snapshot, end: Option<usize>, head: Option<Id>) {
        let found = memory::resolve(snapshot, head).unwrap().into_iter();
        let source = |id: &Id| self.places[id];
        let found: Vec<_> = found
            .map(|fact| {
                (fact.key.clone(), self.saying(&fact.value), fact.source.as_ref().map(source))
            })
            .collect();
        let expected = self.world.facts(self.world.known(end)).into_iter();
        let expected: Vec<_> = expected.map(|(fact, _)| plain(fact)).collect();
        assert_eq!(found, expected, "the memory at {end:?}");
    }

    /// Gives the versions of a fact: their texts, and the messages they came from.
    fn saying(&self, value: &Value) -> Vec<(String, Option<usize>)> {
        if let Some(text) = value.as_text() {
            return vec![(text.to_owned(), None)];
        }
        let versions = value.get("conflict").and_then(Value::as_list).unwrap();
        let version = |version: &Value| {
            let text = version.get("value").and_then(Value::as_text).unwrap().to_owned();
            let source = version.get("source").and_then(Value::as_link);
            (text, source.map(|source| self.places[&source]))
        };
        versions.iter().map(version).collect()
    }

    fn check_sessions(&self, snapshot: &dyn Snapshot) {
        let world: &World = &self.world;
        let listed =
            ops::list_sessions(snapshot, &ListOptions::default(), &mut Summaries::default());
        let mut listed: Vec<_> = listed
            .unwrap()
            .into_iter()
            .map(|info| {
                let end = info.end.map(|end| self.places[&end]);
                let fork = info.meta.fork;
                let parent =
                    fork.map(|fork| (fork.session, fork.entry.map(|entry| self.places[&entry])));
                (info.meta.sid, info.branch, end, parent)
            })
            .collect();
        listed.sort();
        let expected = world.sessions.iter().map(|session| {
            (session.sid.clone(), Some(session.active()), session.end(), session.parent.clone())
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort();
        assert_eq!(listed, expected, "the sessions");
        let status = ops::status(snapshot, &Place::default()).unwrap();
        assert_eq!(status.session, world.current, "the current session");
        let Some(place) = world.current.as_ref().and_then(|sid| world.place(sid)) else { return };
        let end = world.sessions[place].end();
        assert_eq!(status.end.map(|end| self.places[&end]), end);
        let open: Vec<usize> =
            status.unanswered.iter().map(|open| self.places[&open.entry]).collect();
        let expected = end.map(|end| world.unanswered(end)).unwrap_or_default();
        assert_eq!(open, expected, "the unanswered calls");
        let mut removed = ops::removed_sessions(snapshot).unwrap();
        removed.sort();
        let gone = world.removed.iter();
        let gone = gone.map(|(number, session)| format!("{}/{number}", session.sid));
        let mut gone: Vec<String> = gone.collect();
        gone.sort();
        assert_eq!(removed, gone, "the removed sessions");
    }
}

fn memory_at(snapshot: &dyn Snapshot, entry: Option<Id>) -> Option<Id> {
    entry.and_then(|entry| session::memory_at(snapshot, entry).unwrap())
}

/// Gives key, versions and source of a fact.
type Plain = (Option<String>, Vec<(String, Option<usize>)>, Option<usize>);

fn plain(fact: Fact) -> Plain {
    let versions = match fact.saying {
        Saying::Text(text) => vec![(text, None)],
        Saying::Conflict(versions) => {
            versions.into_iter().map(|(text, _, source)| (text, source)).collect()
        }
    };
    (fact.key, versions, fact.source)
}

/// Gives the type and the text of an entry.
fn words(label: &str, body: &Value) -> (String, String) {
    let text = |key: &str| body.get(key).and_then(Value::as_text).map(str::to_owned);
    let link = |key: &str| body.get(key).and_then(Value::as_link).map(|id| id.to_string());
    let plain = |key: &str| text(key).unwrap_or_default();
    if let Some(message) = Message::read(label, body) {
        if let Some(call) = message.calls().next() {
            return ("call".to_owned(), call.id.clone());
        }
        if let Some(answer) = message.answers().next() {
            return ("answer".to_owned(), format!("{} {}", answer.call, answer.text));
        }
        return (message.role.clone(), message.text());
    }
    let words = match label {
        "custom_message" => plain("content"),
        "agent_action" => plain("agentId"),
        "custom" => plain("note"),
        "config_change" => format!("{:?} {:?}", text("model"), text("thinking")),
        "compaction" => format!("{:?} {:?}", text("summary"), link("firstKept")),
        "branch_summary" | "stack_summary" => {
            format!("{} {}", plain("summary"), link("from").unwrap_or_default())
        }
        "merge" => plain("summary"),
        _ => String::new(),
    };
    (label.to_owned(), words)
}
