//! A small store with something of everything: the one that is frozen, and that the page on the
//! format is checked with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sapwood::codec::{Value, json};
use sapwood::disk::OsDisk;
use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::object::{Entry, Fact, Node, Object};
use sapwood::repo::Repo;
use sapwood::session::{self, Pin};
use sapwood::store::local::{LocalStore, Options};
use sapwood::store::{Durability, Expected, Operation, RefName, RefUpdate, RefValue, Store};

const TIME: i64 = 1_700_000_000_000;
const SESSION: &str = "s1";
const SEGMENT_BYTES: u64 = 4096;

/// Small segments and no thread: files stay small, and nothing happens by itself.
pub(crate) fn options() -> Options {
    Options {
        lock_timeout: Duration::from_secs(10),
        background: false,
        segment_bytes_min: SEGMENT_BYTES,
        segment_bytes_max: SEGMENT_BYTES,
        ..Options::default()
    }
}

/// A store that is being filled.
struct Sample {
    store: Arc<LocalStore>,
    repo: Repo,
}

/// Writes a store with a pack, a large loose object, refs of all sorts, sealed operations, and one
/// group in its journal.
pub(crate) fn write(path: &Path) -> Result<()> {
    let (store, _) = LocalStore::init(Arc::new(OsDisk), path, options())?;
    let store = Arc::new(store);
    let repo = Repo::on(store.clone());
    let sample = Sample { store, repo };
    let long = "a string that is long enough to become a blob ".repeat(40);
    sample.say(
        "main",
        &[
            r#"{"role":"user","content":"hello"}"#,
            r#"{"role":"assistant","content":"hi","usage":[1,-0,1.5,1e5]}"#,
            &format!(r#"{{"role":"tool","content":"{long}"}}"#),
        ],
    )?;
    // By hand: a branch that is pinned is recorded by an event, which the frozen store has not.
    let begin = sample.repo.resolve("main")?;
    sample.point("sessions/s1/heads/The Architect", Some(begin), "append")?;
    sample.say("The Architect", &[r#"{"role":"user","content":"plan"}"#])?;
    sample.say("main", &[r#"{"role":"user","content":"and now?"}"#])?;
    sample.learn()?;
    let tip = sample.repo.resolve("main")?;
    sample.point("sessions/s1/labels/ok", Some(tip), "label ok main")?;
    sample.point("sessions/s1/labels/gone", Some(tip), "label gone main")?;
    sample.point("sessions/s1/labels/gone", None, "label -d gone")?;
    sample.store.repack()?;
    sample.attach(tip)
}

/// Appends until the journal has a closed segment and several groups in the open one.
pub(crate) fn grow(path: &Path) -> Result<()> {
    let store = Arc::new(LocalStore::open(Arc::new(OsDisk), path, options())?);
    let repo = Repo::on(store.clone());
    let sample = Sample { store, repo };
    for number in 0..12 {
        let text = format!("message {number} {}", "word ".repeat(60));
        sample.say("main", &[&format!(r#"{{"role":"user","content":"{text}"}}"#)])?;
    }
    Ok(())
}

impl Sample {
    fn say(&self, branch: &str, lines: &[&str]) -> Result<()> {
        let pin = self.pin(branch)?;
        for line in lines {
            let body = json::parse(line.as_bytes())?;
            session::append(&self.repo, &pin, vec![body], Durability::Full, TIME)?;
        }
        Ok(())
    }

    fn pin(&self, branch: &str) -> Result<Pin> {
        session::pin(&self.repo, Some(SESSION), Some(branch), TIME, "ada")
    }

    fn learn(&self) -> Result<()> {
        let source = self.repo.resolve("main")?;
        let node = Node {
            parents: vec![],
            branch: "main".to_owned(),
            facts: vec![Fact {
                value: Value::from("it is green"),
                key: Some("colour".to_owned()),
                source: Some(source),
            }],
            notes: vec![],
            card: Value::Null,
            time: TIME,
        };
        let mut transaction = self.repo.transaction();
        let id = transaction.put(&Object::Node(node))?;
        let name = RefName::new("sessions/s1/memory/main")?;
        transaction.update(name, Expected::Missing, Some(RefValue::Id(id)));
        let note = transaction.put(&Object::Blob(b"a note".to_vec()))?;
        let name = RefName::new("notes/First")?;
        transaction.update(name, Expected::Missing, Some(RefValue::Id(note)));
        transaction.commit(Durability::Full)
    }

    fn point(&self, name: &str, target: Option<Id>, command: &str) -> Result<()> {
        let update = RefUpdate {
            name: RefName::new(name)?,
            expected: Expected::Any,
            new: target.map(RefValue::Id),
        };
        self.commit(vec![], vec![update], command)
    }

    /// Stores a large blob, and appends an entry that links it: the one group after the pack.
    fn attach(&self, parent: Id) -> Result<()> {
        let large = "a large attachment, always the same. ".repeat(8_000);
        let blob = self.store.put_blob(&mut large.as_bytes(), large.len() as u64)?;
        let entry = Entry {
            label: "message".to_owned(),
            time: TIME,
            parents: vec![parent],
            body: Value::map([("file", Value::Link(blob))]),
            raw: None,
        };
        let entry = entry.encode()?;
        let update = RefUpdate {
            name: RefName::new("sessions/s1/heads/main")?,
            expected: Expected::Is(RefValue::Id(parent)),
            new: Some(RefValue::Id(entry.id())),
        };
        self.commit(vec![entry], vec![update], "attach")
    }

    fn commit(
        &self,
        objects: Vec<sapwood::object::NewObject>,
        refs: Vec<RefUpdate>,
        command: &str,
    ) -> Result<()> {
        self.store.commit(Durability::Full, &mut |_| {
            Ok(sapwood::store::Transaction {
                objects: objects.clone(),
                refs: refs.clone(),
                operation: Some(Operation {
                    time: TIME,
                    actor: "ada".to_owned(),
                    command: command.to_owned(),
                }),
            })
        })
    }
}
