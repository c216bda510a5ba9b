//! sapwood through its library: a branch is the main branch of a session of that name.

use std::collections::HashMap;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use sapwood::codec::{Value, json};
use sapwood::disk::OsDisk;
use sapwood::object::{Entry, Fact};
use sapwood::ops::{self, BranchOptions, ContextOptions, ForkOptions, Goal, SwitchOptions, Target};
use sapwood::session::{self, Change, Pin};
use sapwood::store::local::{GcOptions, LocalStore, Options};
use sapwood::store::{Operation, RefName, RefValue, Snapshot, Store as _};
use sapwood::{Durability, Id, Repo, memory};

use crate::Result;
use crate::peer::{Key, Mode, Peer, Visit};

/// How many messages go into one transaction where there are many.
const BATCH: usize = 1000;
const MAIN: &str = "main";
const OTHER: &str = "other";

struct Sapwood {
    store: Arc<LocalStore>,
    repo: Repo,
    durability: Durability,
    care: Care,
    pins: HashMap<String, Pin>,
    /// What is read, until something is written.
    snapshot: Option<Arc<dyn Snapshot>>,
}

/// How much is done to make a store small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// `gc`.
    Usual,
    /// `gc --aggressive`.
    Aggressive,
}

/// Opens a store.
pub fn open(dir: &Path, mode: Mode, care: Care) -> Result<Box<dyn Peer>> {
    let store = open_store(dir, Options::default())?;
    let durability = match mode {
        Mode::Durable => Durability::Full,
        Mode::Relaxed => Durability::Relaxed,
    };
    let repo = Repo::on(store.clone());
    Ok(Box::new(Sapwood { store, repo, durability, care, pins: HashMap::new(), snapshot: None }))
}

/// Opens a store, made where there is none.
pub fn open_store(dir: &Path, options: Options) -> Result<Arc<LocalStore>> {
    let disk = Arc::new(OsDisk);
    let store = match LocalStore::is_at(&OsDisk, dir) {
        true => LocalStore::open(disk, dir, options)?,
        false => LocalStore::init(disk, dir, options)?.0,
    };
    Ok(Arc::new(store))
}

/// What the operations log says.
pub fn operation(command: &str) -> Operation {
    Operation { time: 0, actor: "peers".to_owned(), command: command.to_owned() }
}

impl Sapwood {
    fn pin(&mut self, branch: &str) -> Result<&Pin> {
        if !self.pins.contains_key(branch) {
            let pin = session::pin(&self.repo, Some(branch), Some(MAIN), 0, "peers")?;
            self.pins.insert(branch.to_owned(), pin);
        }
        Ok(&self.pins[branch])
    }

    fn snapshot(&mut self) -> Result<Arc<dyn Snapshot>> {
        if self.snapshot.is_none() {
            self.snapshot = Some(self.repo.snapshot()?);
        }
        Ok(self.snapshot.clone().expect("it was just taken"))
    }

    fn tip(&mut self, branch: &str) -> Result<Id> {
        let name = RefName::of_session(branch, "heads/main")?;
        match self.snapshot()?.reference(&name)? {
            Some(RefValue::Id(tip)) => Ok(tip),
            _ => Err(format!("there is no branch {branch}").into()),
        }
    }
}

impl Peer for Sapwood {
    fn append(&mut self, branch: &str, body: &str) -> Result<()> {
        self.snapshot = None;
        let body = json::parse(body.as_bytes())?;
        self.pin(branch)?;
        let pin = &self.pins[branch];
        session::append(&self.repo, pin, vec![body], self.durability, 0)?;
        Ok(())
    }

    fn fill(&mut self, branch: &str, bodies: &mut dyn Iterator<Item = String>) -> Result<()> {
        self.snapshot = None;
        self.pin(branch)?;
        loop {
            let batch: Vec<String> = bodies.take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let parsed = batch.iter().map(|body| json::parse(body.as_bytes()));
            let parsed = parsed.collect::<sapwood::error::Result<Vec<Value>>>()?;
            session::append(&self.repo, &self.pins[branch], parsed, Durability::Relaxed, 0)?;
        }
        self.sync()
    }

    fn fork(&mut self, branch: &str, name: &str) -> Result<()> {
        self.snapshot = None;
        let options = ForkOptions {
            target: Target::of(Some(branch)),
            name: Some(name.to_owned()),
            ..ForkOptions::default()
        };
        ops::fork(&self.repo, &options, &operation("fork"))?;
        Ok(())
    }

    fn switch(&mut self, session: &str, to_other: bool) -> Result<()> {
        self.snapshot = None;
        let goal = Goal::Revision(if to_other { OTHER } else { MAIN }.to_owned());
        let options = SwitchOptions::to(Target::of(Some(session)), goal);
        if ops::switch(&self.repo, &options, &operation("switch")).is_err() {
            let target = Target::of(Some(session));
            let made = BranchOptions { target, name: OTHER.to_owned(), ..BranchOptions::default() };
            ops::branch(&self.repo, &made, &operation("branch"))?;
            ops::switch(&self.repo, &options, &operation("switch"))?;
        }
        Ok(())
    }

    fn branches(&mut self) -> Result<usize> {
        Ok(ops::session_ids(&*self.snapshot()?)?.len())
    }

    fn path(&mut self, branch: &str) -> Result<Vec<Key>> {
        let tip = self.tip(branch)?;
        let ids = self.snapshot()?.path(&tip, usize::MAX)?;
        Ok(ids.into_iter().map(|id| *id.as_bytes()).collect())
    }

    fn walk(&mut self, branch: &str, visit: Visit<'_>) -> Result<()> {
        let tip = self.tip(branch)?;
        let mut failure = None;
        self.snapshot()?.read_path(&tip, &mut |_, stored| {
            black_box(Entry::decode(&stored.content)?);
            Ok(match visit(&stored.content) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => ControlFlow::Break(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            })
        })?;
        failure.map_or(Ok(()), Err)
    }

    fn get(&mut self, _: &str, key: &Key) -> Result<usize> {
        let stored = self.snapshot()?.get(&Id::from_bytes(*key))?.ok_or("an object is missing")?;
        Ok(stored.content.len())
    }

    fn maintain(&mut self) -> Result<()> {
        self.snapshot = None;
        let now_ms = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64);
        let options = GcOptions {
            prune_ms: now_ms,
            aggressive: self.care == Care::Aggressive,
            ..GcOptions::at(now_ms)
        };
        self.store.gc(&options)?;
        Ok(())
    }

    /// Closes the open segment and seals all that is closed.
    fn settle(&mut self) -> Result<()> {
        self.store.pack_refs()?;
        Ok(())
    }

    fn import(&mut self, files: &[PathBuf]) -> Result<()> {
        self.snapshot = None;
        let found = ops::find_files(files);
        let options = ops::ImportOptions { keep_going: true, ..ops::ImportOptions::default() };
        ops::import(&self.repo, found, None, &options, &operation("import"), &mut |_| {})?;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.store.sync()?)
    }

    fn compact(&mut self, branch: &str, kept: &[String]) -> Result<()> {
        self.fill(branch, &mut kept.iter().cloned())?;
        let target = Target::of(Some(branch));
        let snapshot = self.snapshot()?;
        let keep = ops::Keep::Last(kept.len());
        let plan = ops::plan_compact(&*snapshot, &target, &keep)?;
        self.snapshot = None;
        ops::compact(&self.repo, &plan, "What came before.", &operation("compact"))?;
        Ok(())
    }

    fn context(&mut self, branch: &str) -> Result<usize> {
        let target = Target::of(Some(branch));
        let options = ContextOptions { target, ..ContextOptions::default() };
        let found = ops::context(&*self.snapshot()?, &options)?;
        Ok(found.context.messages.len())
    }

    fn remember(&mut self, branch: &str, facts: &mut dyn Iterator<Item = String>) -> Result<()> {
        self.fill(branch, &mut std::iter::once(r#"{"type":"message"}"#.to_owned()))?;
        loop {
            let batch: Vec<String> = facts.take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            self.repo.commit(Durability::Relaxed, &mut |snapshot| {
                let mut change = Change::on(snapshot, branch, 0)?;
                for fact in &batch {
                    let value = json::parse(fact.as_bytes())?;
                    let key = value.get("key").and_then(Value::as_text).map(str::to_owned);
                    let fact = Fact { value, key, source: None };
                    session::remember(&mut change, MAIN, vec![fact], vec![], Value::Null, 0)?;
                }
                change.finish(None)
            })?;
        }
        self.sync()
    }

    fn resolve(&mut self, branch: &str) -> Result<usize> {
        let name = RefName::of_session(branch, "memory/main")?;
        let snapshot = self.snapshot()?;
        let head = match snapshot.reference(&name)? {
            Some(RefValue::Id(head)) => Some(head),
            _ => None,
        };
        Ok(memory::latest(memory::resolve(&*snapshot, head)?).len())
    }
}
