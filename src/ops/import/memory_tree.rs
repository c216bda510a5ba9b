//! Memory trees: directories that are one session each.
//!
//! `folder` reads the files, `plant` says where turns and nodes hang, `grow` makes objects of them;
//! here they land, in one transaction. A directory that was imported before is read again whole:
//! what it had then is in the store, so only what is new is added, and branches that nobody moved
//! go where they are now. What is gone from the directory stays in the transcript.

mod folder;
mod grow;
mod plant;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::codec::Value;
use crate::dialect::memory_tree::MEMORY_TREE;
use crate::disk;
use crate::error::Result;
use crate::id::Id;
use crate::object::{self, Event, Object, Run, Session};
use crate::ops::import::elsewhere::Names;
use crate::ops::import::intake::Intake;
use crate::ops::import::land::Plan;
use crate::ops::import::large::Large;
use crate::ops::import::names::{BRANCH_STEM, clean, free_sid, is_branch_name};
use crate::ops::import::report::Strange;
use crate::ops::import::{ImportChange, ImportNote, Imported, Importer};
use crate::ops::imported::{IMPORT, Record};
use crate::ops::imported_tree::{KnownBranch, TreeRecord, refs_of, state};
use crate::session::{BranchRecord, View, transcript};
use crate::store::{Durability, Operation, RefName, RefValue, Snapshot, Transaction};

use folder::{Contents, Folder};
use grow::{Grown, grow};
use plant::{Planted, plant};

pub(crate) use folder::is_part;
pub(super) use folder::take_trees;

impl Importer<'_> {
    /// Takes in memory trees.
    pub(super) fn trees(&mut self, paths: Vec<PathBuf>) -> Result<()> {
        paths.iter().try_for_each(|path| self.tree(path))
    }

    fn tree(&mut self, path: &Path) -> Result<()> {
        let folder = match Folder::look(path) {
            Ok(folder) => folder,
            Err(error) => return self.fail(path, error),
        };
        let known = self.elsewhere.of_source(&disk::source_text(path));
        let known = known.map(|known| (known.sid.clone(), known.record.clone()));
        self.outcome.bytes += folder.bytes();
        let looks = (folder.bytes(), folder.modified_ms());
        if known.as_ref().is_some_and(|(_, record)| (record.size, record.modified_ms) == looks) {
            self.outcome.unchanged += 1;
            return Ok(());
        }
        let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let large = Large::default();
        let mut intake = Intake::new(self.repo, self.options.dry_run, stem, &large);
        intake.dry_seen = std::mem::take(&mut self.dry_seen);
        let contents = match folder.read(self.options.scrubber.as_deref(), &mut intake) {
            Ok(contents) => contents,
            Err(error) => return self.fail(path, error),
        };
        self.bytes_total += folder.bytes();
        self.outcome.bytes_read += folder.bytes();
        (self.note)(ImportNote::Progress(self.outcome.bytes_read, self.bytes_total));
        let sid = known.as_ref().map(|(sid, _)| sid.clone());
        let (session, change) = match known {
            Some((_, record)) if record.hash == contents.hash => (sid, ImportChange::Unchanged),
            _ => self.take_tree(&folder, &contents, sid, &mut intake)?,
        };
        self.dry_seen = std::mem::take(&mut intake.dry_seen);
        self.tell(&Imported {
            session,
            source: Some(path.to_owned()),
            dialect: MEMORY_TREE,
            change,
            values: (contents.turns.len() + contents.nodes.len()) as u64,
            bytes: folder.bytes(),
            tally: intake.tally,
            odds: intake.odds,
            odd_count: intake.odd_count,
        });
        Ok(())
    }

    /// Makes a session of a memory tree, or brings it up to date.
    fn take_tree(
        &mut self,
        folder: &Folder,
        contents: &Contents,
        sid: Option<String>,
        intake: &mut Intake<'_>,
    ) -> Result<(Option<String>, ImportChange)> {
        let snapshot = self.repo.snapshot()?;
        let old = match &sid {
            Some(sid) => TreeRecord::last(&View::of(&*snapshot, sid)?)?,
            None => None,
        };
        let turns_known = old.as_ref().and_then(|old| old.turns.as_ref());
        let goes_on = match turns_known {
            Some((runs, layout)) => contents.goes_on(&*snapshot, runs, layout)?,
            None => false,
        };
        let hints = old.iter().filter(|_| goes_on).flat_map(|old| old.placed.iter().cloned());
        let hints = hints.collect();
        let planted = plant(contents, &hints, intake);
        let grown = grow(contents, &planted, intake)?;
        intake.flush()?;
        let change = match (&old, turns_known) {
            (None, _) => ImportChange::New,
            (Some(_), Some(_)) if !goes_on => ImportChange::Rewritten,
            (Some(_), _) => ImportChange::Grown,
        };
        if change == ImportChange::Rewritten {
            intake.odd(Strange::Rewritten, 1);
        }
        if self.options.dry_run {
            return Ok((sid, change));
        }
        let landing = Landing { folder, contents, planted, grown, old, operation: self.operation };
        let mut landed = None;
        self.repo.commit(Durability::Relaxed, &mut |snapshot| {
            let (transaction, meta, record) = landing.plan(snapshot, sid.as_deref(), intake)?;
            landed = Some((meta, record));
            Ok(transaction)
        })?;
        let (meta, record) = landed.expect("the plan was called");
        self.elsewhere.learn(&meta, record, Names::Unknown);
        Ok((Some(meta.sid), change))
    }
}

/// A memory tree on its way into the store.
struct Landing<'a> {
    folder: &'a Folder,
    contents: &'a Contents,
    planted: Planted,
    grown: Grown,
    /// What the last import left.
    old: Option<TreeRecord>,
    operation: &'a Operation,
}

impl Landing<'_> {
    fn plan(
        &self,
        snapshot: &dyn Snapshot,
        sid: Option<&str>,
        intake: &Intake<'_>,
    ) -> Result<(Transaction, Session, Record)> {
        let id = match sid {
            Some(sid) => sid.to_owned(),
            None => free_sid(snapshot, intake, None)?,
        };
        let view = View::unchecked(snapshot, &id);
        let mut plan = Plan::on(view.clone(), self.operation.time)?;
        let names = self.names(&mut plan)?;
        let active = self.planted.active.and_then(|at| names[at].clone());
        let head = self.planted.active.and_then(|at| self.tip(at));
        let head = head.or_else(|| (0..names.len()).find_map(|at| self.tip(at)));
        plan.leave(head)?;
        let branches = self.branches(&mut plan, &names, head)?;
        self.avatars(&mut plan)?;
        plan.refs.extend(head.map(|head| ("tip".to_owned(), RefValue::Id(head))));
        let was_active = self.old.as_ref().and_then(|old| old.active.clone());
        if let Some(active) = &active
            && (sid.is_none() || view.active()? == was_active)
        {
            let name = view.name(&format!("heads/{active}"))?;
            plan.refs.insert("HEAD".to_owned(), RefValue::Symbolic(name));
        }
        let record = self.record(intake, head, active.clone());
        let meta = self.meta(&view, sid, &id, intake, &record)?;
        let runs = self.new_runs(&view, sid)?;
        let placed = self.planted.placed.iter().zip(&self.contents.nodes);
        let placed = placed.filter_map(|(at, node)| Some((node.id.clone(), (*at)?.1 as u64)));
        let tree = TreeRecord {
            turns: self.contents.layout.clone().map(|layout| (self.turn_runs(), layout)),
            files: self.contents.files.clone(),
            branches,
            placed: placed.collect(),
            active,
            state: self.state(&plan, &meta)?,
        };
        let event = Event {
            label: IMPORT.to_owned(),
            time: self.grown.time,
            priors: plan.events.into_iter().collect(),
            runs,
            links: head.into_iter().collect(),
            body: tree.body(),
        };
        plan.events = Some(plan.put(Object::Event(event))?);
        let transaction = plan.finish(&meta, self.operation)?;
        Ok((transaction, meta, record))
    }

    fn tip(&self, branch: usize) -> Option<Id> {
        self.planted.branches[branch].tip.map(|step| self.grown.steps[step])
    }

    /// Finds a name for each branch: the one it has, unless somebody moved it since. None for one
    /// that is not needed.
    fn names(&self, plan: &mut Plan<'_>) -> Result<Vec<Option<String>>> {
        let known = self.old.iter().flat_map(|old| &old.branches);
        let known: HashMap<&str, &KnownBranch> =
            known.map(|branch| (branch.foreign.as_str(), branch)).collect();
        let mut taken: HashSet<String> = HashSet::new();
        let mut names = Vec::new();
        for planned in &self.planted.branches {
            if planned.is_made_up && planned.tip.is_none() {
                names.push(None);
                continue;
            }
            let foreign = planned.branch.name.as_str();
            let known = known.get(foreign);
            let is_ours = |known: &KnownBranch| -> Result<bool> {
                Ok(plan.view.branch(&known.name)? == Some(known.head))
            };
            let name = match known {
                Some(known) if is_ours(known)? => known.name.clone(),
                _ => {
                    let stem = if is_branch_name(foreign) {
                        foreign.to_owned()
                    } else {
                        clean(foreign, usize::MAX, BRANCH_STEM)
                    };
                    let stem = Some(stem).filter(|stem| is_branch_name(stem));
                    let stem = stem.unwrap_or_else(|| BRANCH_STEM.to_owned());
                    let mut name = plan.free_branch(&stem, "")?;
                    while taken.contains(&name) {
                        name = plan.free_branch(&format!("{name}-2"), "")?;
                    }
                    name
                }
            };
            taken.insert(name.clone());
            names.push(Some(name));
        }
        Ok(names)
    }

    /// Moves the branches, and records what is known of them.
    fn branches(
        &self,
        plan: &mut Plan<'_>,
        names: &[Option<String>],
        head: Option<Id>,
    ) -> Result<Vec<KnownBranch>> {
        let ours: HashMap<&str, &String> = self
            .planted
            .branches
            .iter()
            .zip(names)
            .filter_map(|(planned, name)| Some((planned.branch.name.as_str(), name.as_ref()?)))
            .collect();
        let mut branches = Vec::new();
        for (at, (planned, name)) in self.planted.branches.iter().zip(names).enumerate() {
            let Some(name) = name else {
                continue;
            };
            let told = &planned.branch;
            let parent = told.parent.as_deref();
            let own_card = planned.memory.map(|node| self.contents.nodes[node].card.clone());
            let record = BranchRecord {
                at: planned.at.map(|step| self.grown.steps[step]),
                parent: parent.map(|parent| ours.get(parent).map_or(parent, |it| it).to_owned()),
                description: told.description.clone(),
                reason: told.reason.clone(),
                metadata: told.metadata.clone(),
                card: match &told.card {
                    Value::Null => own_card.unwrap_or_default(),
                    card => card.clone(),
                },
            };
            if !planned.is_made_up && plan.view.record(name)?.as_ref() != Some(&record) {
                plan.record(name, &record, head, self.grown.time)?;
            }
            let Some(tip) = self.tip(at) else {
                continue;
            };
            plan.refs.insert(format!("heads/{name}"), RefValue::Id(tip));
            let shortcut = format!("memory/{name}");
            match planned.memory {
                Some(node) => {
                    drop(plan.refs.insert(shortcut, RefValue::Id(self.grown.nodes[node])));
                }
                None => plan.drops.push(shortcut),
            }
            let (foreign, name) = (told.name.clone(), name.clone());
            branches.push(KnownBranch { foreign, name, head: tip });
        }
        Ok(branches)
    }

    /// Attaches the pictures; one that somebody replaced stays.
    fn avatars(&self, plan: &mut Plan<'_>) -> Result<()> {
        let old = self.old.iter().flat_map(|old| &old.files);
        let old: HashSet<Id> = old.map(|(_, id)| *id).collect();
        for (name, id) in self.contents.avatars() {
            let rest = format!("attachments/{name}");
            if RefName::of_session("s", &rest).is_err() {
                continue;
            }
            if plan.view.target(&rest)?.is_none_or(|now| old.contains(&now)) {
                plan.refs.insert(rest, RefValue::Id(id));
            }
        }
        Ok(())
    }

    fn record(&self, intake: &Intake<'_>, head: Option<Id>, active: Option<String>) -> Record {
        Record {
            foreign: intake.source.foreign.clone(),
            name: intake.source.name.clone(),
            bytes: self.folder.bytes(),
            hash: self.contents.hash.clone(),
            size: self.folder.bytes(),
            modified_ms: self.folder.modified_ms(),
            branch: active.unwrap_or_default(),
            head,
            ..Record::default()
        }
    }

    /// Makes the session's metadata; what a person changed stays.
    fn meta(
        &self,
        view: &View<'_>,
        sid: Option<&str>,
        id: &str,
        intake: &Intake<'_>,
        record: &Record,
    ) -> Result<Session> {
        let source = &intake.source;
        let (mut meta, old_name) = match sid {
            Some(_) => {
                let meta = view.meta()?;
                let name = Record::of(&meta.meta).and_then(|old| old.name);
                (meta, name)
            }
            None => (Session::new(id, source.time.unwrap_or(self.operation.time)), None),
        };
        if meta.name == old_name {
            meta.name.clone_from(&source.name);
        }
        meta.cwd = source.cwd.clone().or(meta.cwd);
        meta.provider = source.provider.clone().or(meta.provider);
        meta.model = source.model.clone().or(meta.model);
        meta.status = self.contents.session.status.clone().or(meta.status);
        meta.dialect = Some(MEMORY_TREE.to_owned());
        meta.source = Some(disk::source_text(&self.folder.path));
        let mut pairs = match std::mem::take(&mut meta.meta) {
            Value::Map(pairs) => pairs,
            _ => Vec::new(),
        };
        for (key, value) in &self.contents.session.rest {
            pairs.retain(|(known, _)| known != key);
            pairs.push((key.clone(), value.clone()));
        }
        meta.meta = Value::Map(pairs);
        record.put(&mut meta.meta);
        Ok(meta)
    }

    /// Makes runs of the entries that the transcript does not have.
    fn new_runs(&self, view: &View<'_>, sid: Option<&str>) -> Result<Vec<Run>> {
        let mut known: HashSet<Id> = match sid {
            Some(sid) => transcript(view.snapshot, sid)?.into_iter().collect(),
            None => HashSet::new(),
        };
        let steps = 0..self.planted.steps.len();
        let fresh: Vec<usize> =
            steps.filter(|step| known.insert(self.grown.steps[*step])).collect();
        Ok(self.runs(&fresh))
    }

    /// Makes runs of the turns, in the order of their file.
    fn turn_runs(&self) -> Vec<Run> {
        let steps = 0..self.planted.steps.len();
        let turns: Vec<usize> =
            steps.filter(|step| self.planted.steps[*step].turn.is_some()).collect();
        self.runs(&turns)
    }

    fn runs(&self, steps: &[usize]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut before = None;
        for step in steps {
            let tip = self.grown.steps[*step];
            let follows = before.is_some() && self.planted.steps[*step].parent == before;
            match runs.last_mut() {
                Some(run) if follows => *run = Run { tip, count: run.count + 1 },
                _ => runs.push(Run { tip, count: 1 }),
            }
            before = Some(*step);
        }
        runs
    }

    /// Sums up the refs that the session will have.
    fn state(&self, plan: &Plan<'_>, meta: &Session) -> Result<String> {
        let mut refs: BTreeMap<String, RefValue> = refs_of(&plan.view)?.into_iter().collect();
        refs.extend(plan.refs.clone());
        refs.retain(|rest, _| !plan.drops.contains(rest));
        let meta = object::encode_lifted(Object::Session(meta.clone()), &mut Vec::new())?;
        refs.insert("meta".to_owned(), RefValue::Id(meta));
        Ok(state(&refs))
    }
}
