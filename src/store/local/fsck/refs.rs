//! Refs, their mirror files, and the log of operations.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::store::local::inventory::Missing;
use crate::store::local::lock;
use crate::store::local::manifest::{FileRecord, Manifest};
use crate::store::local::mirror::{self, Mirrors};
use crate::store::local::oplog::OperationLog;
use crate::store::local::packed_refs::PackedRefs;
use crate::store::{RefMove, RefName, RefValue, SYMBOLIC_DEPTH_MAX};

use super::journal::Journal;
use super::{Check, Finding, Severity};

/// Who keeps the lock is behind with mirror files: mostly a few milliseconds, and not longer than
/// this, unless it was stopped.
const MIRRORS_OWED_MAX: Duration = Duration::from_millis(200);
const MIRROR_PAUSE: Duration = Duration::from_millis(5);
/// How deep directories of mirror files are looked into; theirs are `sessions/<sid>/heads`.
const MIRROR_DEPTH_MAX: usize = 8;

/// What the refs are.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) refs: BTreeMap<RefName, RefValue>,
    /// Whether nothing that could move a ref is damaged.
    pub(super) whole: bool,
}

impl Check<'_> {
    /// Works out the refs: the snapshot, and then what the journal says.
    pub(super) fn truth(&mut self, manifest: &Manifest, journal: &Journal) -> Truth {
        let mut truth = Truth { refs: BTreeMap::new(), whole: journal.whole };
        if let Some(record) = &manifest.refs
            && let Err(error) = self.packed_refs(record, &mut truth.refs)
        {
            truth.whole = false;
            self.fault(Severity::Error, "refs-damaged", None, error);
        }
        for (segment, end) in &journal.segments {
            for (name, versions) in &segment.ledger().refs {
                match versions.up_to(*end) {
                    Some(Some(value)) => truth.refs.insert(name.clone(), value.clone()),
                    Some(None) => truth.refs.remove(name),
                    None => None,
                };
            }
        }
        self.refs = truth.refs.len() as u64;
        truth
    }

    fn packed_refs(
        &self,
        record: &FileRecord,
        refs: &mut BTreeMap<RefName, RefValue>,
    ) -> Result<()> {
        let path = self.layout.packed_refs(record.number);
        let packed = PackedRefs::open(&*self.disk, &path, record.bytes)?;
        packed.check()?;
        let mut sorted = true;
        packed.for_each("", &mut |name, value| {
            sorted &= refs.last_key_value().is_none_or(|(last, _)| *last < name);
            refs.insert(name, value);
        })?;
        match sorted {
            true => Ok(()),
            false => Err(Error::corrupt(path, None, "its lines are not in order")),
        }
    }

    /// Checks what every ref points to.
    pub(super) fn ref_targets(&mut self, truth: &Truth) {
        for (name, value) in &truth.refs {
            let fault = match value {
                RefValue::Symbolic(_) if is_endless(&truth.refs, name) => Some((
                    "symbolic-depth",
                    format!("it leads through more than {SYMBOLIC_DEPTH_MAX} symbolic refs"),
                )),
                RefValue::Symbolic(_) => None,
                RefValue::Id(id) if !self.inventory.holds(id) => {
                    Some(("dangling-ref", format!("it points to {id}, which is not in the store")))
                }
                RefValue::Id(id) => match (name.target_kind(), self.inventory.kind(id)) {
                    (Some(expected), Some(found)) if expected != found => Some((
                        "wrong-kind",
                        format!("it points to {id}, of kind {found}, not {expected}"),
                    )),
                    _ => None,
                },
            };
            if let Some((what, why)) = fault {
                let object = match value {
                    RefValue::Id(id) => Some(*id),
                    RefValue::Symbolic(_) => None,
                };
                self.push(Finding {
                    severity: Severity::Error,
                    what,
                    object,
                    file: None,
                    why: format!("ref '{name}': {why}"),
                });
            }
        }
    }

    /// Reports the objects that something speaks of and that are not there.
    ///
    /// What no ref leads to may hang in the air: a repair leaves such objects.
    pub(super) fn missing(&mut self, journal: &Journal, truth: &Truth) {
        self.inventory.reach(truth.refs.values().filter_map(|value| match value {
            RefValue::Id(id) => Some(id),
            RefValue::Symbolic(_) => None,
        }));
        let missing = self.inventory.missing();
        if missing.is_empty() {
            return;
        }
        // A loose object may follow what was committed after the journal was read.
        journal.read_on();
        let arrived = |missing: &Missing| {
            journal.holds_now(&missing.id) || self.disk.len(&self.layout.loose(&missing.id)).is_ok()
        };
        let lost: Vec<Missing> = missing.into_iter().filter(|id| !arrived(id)).collect();
        for Missing { id, linked, in_operation } in lost {
            let named = if self.options.full { linked.len() } else { linked.len().min(1) };
            let others = match linked.len() - named {
                0 => String::new(),
                count => format!(", as {count} others do"),
            };
            for (from, reached) in &linked[..named] {
                let why = format!("it links {id}, which is not in the store{others}");
                self.push(match reached {
                    true => dangling(Severity::Error, "dangling-link", *from, why),
                    false => dangling(Severity::Notice, "hanging-link", *from, why),
                });
            }
            if in_operation {
                let why = "an operation names it, but it is not in the store".to_owned();
                self.push(dangling(Severity::Notice, "dangling-operation", id, why));
            }
        }
    }

    /// Compares the mirror files with the refs.
    ///
    /// One is stale where it is still the same when it is looked at again, and nobody has the lock
    /// who may be about to write it.
    pub(super) fn mirrors(&mut self, journal: &Journal, truth: &Truth) {
        let mirrors = Mirrors::new(self.disk.clone(), self.layout.clone());
        let begun = Instant::now();
        let mut before = None;
        let found = loop {
            let is_held = lock::is_held(&*self.disk, &self.layout.lock());
            let is_late = begun.elapsed() >= MIRRORS_OWED_MAX;
            let found = match self.compare(&mirrors, journal, truth) {
                Ok(found) => found,
                Err(error) => return self.fault(Severity::Warning, "mirror-stale", None, error),
            };
            let is_settled = !is_held && before.as_ref() == Some(&found);
            if found.is_empty() || is_settled || is_late {
                break found;
            }
            if is_held {
                std::thread::sleep(MIRROR_PAUSE);
            }
            before = Some(found);
        };
        found.into_iter().for_each(|finding| self.push(finding));
    }

    /// Compares once. A mirror may also hold what its ref became after the journal was read.
    fn compare(&self, mirrors: &Mirrors, journal: &Journal, truth: &Truth) -> Result<Vec<Finding>> {
        let mut strays = Vec::new();
        self.mirror_files(&self.layout.refs_dir(), 0, &mut strays)?;
        let mut expected: HashSet<PathBuf> = HashSet::new();
        let mut suspects = Vec::new();
        for (name, value) in &truth.refs {
            let (path, text) = mirrors.find(name)?;
            if text.as_deref() != Some(&*mirror::text_of(name, value)) {
                suspects.push((name.clone(), path.clone(), Some(value), text));
            }
            expected.insert(path);
        }
        for name in mirror::absent(&truth.refs) {
            let (path, text) = mirrors.find(&name)?;
            suspects.extend(text.map(|text| (name, path, None, Some(text))));
        }
        journal.read_on();
        let mut later: HashMap<RefName, Vec<Option<String>>> = HashMap::new();
        journal.later_values(&mut |name, values| {
            let text =
                |value: &Option<RefValue>| value.as_ref().map(|value| mirror::text_of(name, value));
            later.insert(name.clone(), values.map(text).collect());
            expected.insert(mirrors.path(name));
        });
        let mut findings = Vec::new();
        for (name, path, value, text) in suspects {
            if later.get(&name).is_some_and(|texts| texts.contains(&text)) {
                continue;
            }
            findings.push(match (text, value) {
                (Some(text), Some(value)) => {
                    let why = format!("it says '{}', the ref is {value}", text.escape_debug());
                    odd_mirror("mirror-stale", path, why)
                }
                (Some(_), None) => {
                    let why = format!("it has a line for '{name}', which is no ref");
                    odd_mirror("mirror-stale", path, why)
                }
                (None, _) => {
                    odd_mirror("mirror-missing", path, format!("ref '{name}' has no file"))
                }
            });
        }
        strays.retain(|path| !expected.contains(path) && !self.layout.is_no_mirror(path));
        for path in strays {
            findings.push(odd_mirror("mirror-stray", path, "no ref has this file"));
        }
        Ok(findings)
    }

    /// Lists the files below a directory of `refs/`.
    pub(super) fn mirror_files(
        &self,
        dir: &Path,
        depth: usize,
        files: &mut Vec<PathBuf>,
    ) -> Result<()> {
        let listed = self.disk.list(dir).map_err(Error::io("list", dir))?;
        for entry in listed {
            let path = dir.join(&entry.name);
            match entry.is_dir && depth < MIRROR_DEPTH_MAX {
                true => self.mirror_files(&path, depth + 1, files)?,
                false => files.push(path),
            }
        }
        Ok(())
    }

    /// Reads all files of operations. `named` says whether the manifest's counts can be believed.
    pub(super) fn logs(&mut self, manifest: &Manifest, named: bool) {
        for record in &manifest.logs {
            let path = self.layout.log(record.file.number);
            let mut count = 0;
            let read =
                OperationLog::open(&*self.disk, &path, record.file.bytes, 1).and_then(|log| {
                    log.check()?;
                    log.for_each(&mut |operation| {
                        count += 1;
                        self.mention_moves(&operation.moves);
                        Ok(ControlFlow::Continue(()))
                    })
                });
            if let Err(error) = read {
                self.fault(Severity::Error, "log-damaged", None, error);
            } else if named && count != record.operations {
                let why = format!("it has {count} operations, expected {}", record.operations);
                self.odd(Severity::Error, "log-damaged", &path, why);
            }
        }
    }

    pub(super) fn mention_moves(&mut self, moves: &[RefMove]) {
        for value in moves.iter().flat_map(|item| [&item.old, &item.new]) {
            if let Some(RefValue::Id(id)) = value {
                self.inventory.mention(id);
            }
        }
    }
}

fn is_endless(refs: &BTreeMap<RefName, RefValue>, name: &RefName) -> bool {
    let mut current = name;
    for _ in 0..=SYMBOLIC_DEPTH_MAX {
        match refs.get(current) {
            Some(RefValue::Symbolic(next)) => current = next,
            _ => return false,
        }
    }
    true
}

fn dangling(severity: Severity, what: &'static str, object: crate::id::Id, why: String) -> Finding {
    Finding { severity, what, object: Some(object), file: None, why }
}

fn odd_mirror(what: &'static str, file: PathBuf, why: impl Into<String>) -> Finding {
    Finding { severity: Severity::Warning, what, object: None, file: Some(file), why: why.into() }
}
