//! Files read into a store, and written again from there: what the tests of the dialects share.

use std::collections::HashMap;

use super::*;
use crate::codec::json;
use crate::object::Entry;
use crate::repo::Repo;
use crate::session::{self, Block, Change, Context};
use crate::store::Durability;

/// A file that was read into a store.
pub(super) struct Told {
    pub(super) source: Source,
    pub(super) steps: Vec<Step>,
    repo: Repo,
    /// The entries on the tree in order, with their bodies.
    entries: Vec<(Id, Option<Id>, Entry)>,
    /// The entries by their ids in the file.
    named: HashMap<String, Id>,
}

/// Reads a file that is called `stem`.
pub(super) fn told(dialect: &dyn Dialect, stem: &str, values: &[Value]) -> Told {
    let repo = Repo::in_memory();
    session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let mut told = Told {
        source: Source { stem: stem.to_owned(), ..Source::default() },
        steps: Vec::new(),
        repo,
        entries: Vec::new(),
        named: HashMap::new(),
    };
    for value in values {
        let step = dialect.read(value, &mut told.source);
        told.source.values += 1;
        told.hang(&step, value);
        told.steps.push(step);
    }
    told
}

/// Reads lines.
pub(super) fn told_lines(dialect: &dyn Dialect, stem: &str, lines: &[&str]) -> Told {
    told(dialect, stem, &values(lines))
}

/// Parses lines.
pub(super) fn values(lines: &[&str]) -> Vec<Value> {
    lines.iter().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

impl Told {
    fn hang(&mut self, step: &Step, value: &Value) {
        let parent = match &step.parent {
            Parent::Beside => return,
            Parent::Root => None,
            Parent::Before => self.entries.last().map(|(id, ..)| *id),
            Parent::Id(parent) => self.named.get(parent).copied(),
        };
        let entry = Entry {
            label: step.label.clone(),
            time: step.time.unwrap_or_default(),
            parents: parent.into_iter().collect(),
            body: value.clone(),
            raw: None,
        };
        let mut id = None;
        let commit = self.repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 1)?;
            id = Some(change.append_entry("main", entry.clone())?);
            change.finish(None)
        });
        commit.unwrap();
        let id = id.unwrap();
        self.named.extend(step.id.clone().map(|name| (name, id)));
        self.entries.push((id, parent, entry));
    }

    fn context_at(&self, at: Id) -> Context {
        session::context(&*self.repo.snapshot().unwrap(), Some("s"), at).unwrap()
    }

    /// Gives what a model is shown at the end of the file.
    pub(super) fn context(&self) -> Context {
        self.context_at(self.entries.last().unwrap().0)
    }

    /// Gives what a model is shown at the entry with this id in the file.
    pub(super) fn context_of(&self, name: &str) -> Context {
        self.context_at(self.named[name])
    }

    /// Gives the words that a model is shown at the end of the file.
    pub(super) fn texts(&self) -> Vec<String> {
        texts(&self.context())
    }

    /// Gives the types of all entries, and those beside the tree in brackets.
    pub(super) fn labels(&self) -> Vec<String> {
        let label = |step: &Step| match step.parent {
            Parent::Beside => format!("({})", step.label),
            _ => step.label.clone(),
        };
        self.steps.iter().map(label).collect()
    }

    /// Gives the steps as a writer is given them.
    pub(super) fn leaving(&self) -> Vec<Leaving> {
        let leaving = self.entries.iter().map(|(id, parent, entry)| {
            let shown = self.context_at(*id).messages.into_iter();
            let parts = shown.filter(|shown| shown.entry == *id).map(|shown| shown.message);
            let message = parts.reduce(|mut whole, part| {
                whole.blocks.extend(part.blocks);
                whole
            });
            let first_kept = session::first_kept(&entry.body).and_then(Value::as_text);
            Leaving {
                id: *id,
                parent: *parent,
                label: entry.label.clone(),
                time: entry.time,
                body: entry.body.clone(),
                message,
                first_kept: first_kept.and_then(|name| self.named.get(name).copied()),
            }
        });
        leaving.collect()
    }

    /// Writes the file in a dialect, and reads that.
    pub(super) fn carried(&self, dialect: &dyn Dialect, session: &Session) -> (Vec<Value>, Told) {
        let mut writer = dialect.writer().unwrap();
        let mut values = writer.begin(session);
        for step in self.leaving() {
            values.extend(writer.step(&step));
        }
        values.extend(writer.end());
        assert!(dialect.recognise(&values));
        let told = told(dialect, "", &values);
        (values, told)
    }
}

/// Gives the words of a context: results as `<call:text`, calls as `>call`.
pub(super) fn texts(context: &Context) -> Vec<String> {
    let text = |message: &Message| {
        let calls = message.calls().map(|call| format!(">{}", call.id));
        let answers = message.answers().map(|answer| format!("<{}:{}", answer.call, answer.text));
        let words = Some(message.text()).filter(|text| !text.is_empty());
        words.into_iter().chain(calls).chain(answers).collect::<Vec<_>>().join(" ")
    };
    context.messages.iter().map(|shown| text(&shown.message)).collect()
}

/// Gives what must stay the same when a context is carried to another dialect.
pub(super) fn essence(context: &Context) -> Vec<(String, Vec<Block>, Option<String>)> {
    let messages = context.messages.iter().map(|shown| shown.message.clone());
    messages.map(|message| (message.role, message.blocks, message.model)).collect()
}

fn parse(line: &str) -> Value {
    json::parse(line.as_bytes()).unwrap()
}

/// Reads lines in a dialect, and checks each step: `label id parent voice`.
pub(super) fn check(name: &str, lines: &[(&str, &str)]) {
    let mut source = Source::default();
    for (line, expected) in lines {
        let step = named(name).unwrap().read(&parse(line), &mut source);
        let parent = match &step.parent {
            Parent::Beside => "beside".to_owned(),
            Parent::Root => "root".to_owned(),
            Parent::Before => "before".to_owned(),
            Parent::Id(id) => format!("on {id}"),
        };
        let voice = format!("{:?}", step.voice).to_lowercase();
        let id = step.id.as_deref().unwrap_or("-");
        assert_eq!(format!("{} {id} {parent} {voice}", step.label), *expected, "{line}");
    }
}

/// Reads lines in a dialect, and gives what is known then.
pub(super) fn source(name: &str, lines: &[&str]) -> Source {
    let mut source = Source::default();
    for line in lines {
        named(name).unwrap().read(&parse(line), &mut source);
    }
    source
}

#[test]
fn files_are_told_by_their_first_values() {
    let files: &[(&[&str], Option<&str>)] = &[
        (&[r#"{"type":"session.start","data":{},"id":"a","parentId":null}"#], Some("copilot")),
        (&[r#"{"sessionId":"s","projectHash":"h","messages":[]}"#], Some("gemini")),
        (
            &[
                r#"{"sessionId":"s","projectHash":"h"}"#,
                r#"{"id":"a","type":"user","content":"x"}"#,
            ],
            Some("gemini"),
        ),
        (&[r#"{"info":{"id":"s"},"messages":[]}"#], Some("opencode")),
        (&[r#"{"messages":[]}"#, r#"{"role":"user","content":"x"}"#], Some("chat")),
        (&[r#"{"role":"user","content":"x"}"#], Some("chat")),
        (&[r#"{"role":"assistant","tool_calls":[]}"#], Some("chat")),
        (&[r#"{"messages":[]}"#, r#"{"text":"x"}"#], None),
        (&[r#"{"conversations":[{"from":"human","value":"x"}]}"#], None),
        (&["{}"], None),
        (&["[1]"], None),
        (&[], None),
    ];
    for (lines, expected) in files {
        let first: Vec<Value> = lines.iter().map(|line| parse(line)).collect();
        let found = recognised(&first).map(|dialect| dialect.name());
        assert_eq!(found, *expected, "{lines:?}");
    }
}

#[test]
fn nothing_is_refused() {
    let keys = ["type", "data", "id", "info", "parts", "messages", "$set", "$rewindTo", "role"];
    let odd = ["null", "7", "\"x\"", "[]", "[7]", "{}", "{\"id\":7}"].map(parse);
    let link = Value::Link(Id::from_bytes([7; 32]));
    for dialect in dialects() {
        for key in keys {
            for value in odd.iter().chain([&link]) {
                let value = Value::map([(key, value.clone())]);
                dialect.recognise(std::slice::from_ref(&value));
                dialect.read(&value, &mut Source::default());
                let _ = Message::read("message", &value);
            }
        }
    }
}
