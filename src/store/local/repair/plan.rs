//! What is to be done about what was found.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::id::Id;
use crate::store::local::fsck::{Finding, Severity};
use crate::store::local::pack::PackFile;
use crate::store::{RefName, RefValue};

use super::aside::{self, Aside};
use super::packs::PackState;
use super::refs::Refs;
use super::report::{Action, LostObject, RefRepair, RepairReport};
use super::survey::Survey;

/// How many digits of an id name what is rescued.
const RESCUED_DIGITS: usize = 16;

/// What is to be done.
pub(super) struct Plan {
    pub(super) refs: Refs,
    /// Whether everything that a manifest names is named anew.
    pub(super) is_full: bool,
    pub(super) format: bool,
    /// Graphs to be made again.
    pub(super) graphs: BTreeSet<PathBuf>,
    pub(super) mirrors: bool,
    pub(super) mark: bool,
    /// What is to be put aside, whatever else is done.
    pub(super) strange: Vec<PathBuf>,
    /// What an earlier repair was about to put aside.
    pub(super) announced: Vec<PathBuf>,
    actions: Vec<Action>,
}

impl Plan {
    /// Works out what is to be done.
    pub(super) fn make(survey: &mut Survey<'_>, findings: &[Finding], time: i64) -> Result<Plan> {
        let mut refs = survey.refs(time)?;
        reach(survey, &refs);
        rescue(survey, &mut refs, time)?;
        let format = survey.layout.format();
        let is = |finding: &Finding, path: &Path| finding.file.as_deref() == Some(path);
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        let mut errors = errors.filter(|finding| !is(finding, &format));
        let unindexed: HashSet<PathBuf> = files(survey, PackState::Unindexed, &[PackFile::Index]);
        let is_full = errors
            .any(|finding| finding.file.as_ref().is_none_or(|file| !unindexed.contains(file)));
        let cruft = survey.packs.iter().any(|found| found.state == PackState::Damaged);
        let named = |names: &[&str]| {
            let found = findings.iter().filter(|finding| names.contains(&finding.what));
            found.filter_map(|finding| finding.file.clone()).collect::<BTreeSet<PathBuf>>()
        };
        let mut graphs = named(&["graph-damaged", "graph-missing"]);
        let dir = survey.layout.pack_dir();
        for found in &survey.packs {
            let path = PackFile::Graph.path(&dir, &found.id);
            let is_kept = found.state != PackState::Damaged;
            match is_kept && (found.needs_graph || graphs.contains(&path)) {
                true => graphs.insert(path),
                false => graphs.remove(&path),
            };
        }
        let mut plan = Plan {
            refs,
            is_full: is_full || cruft || survey.manifest.is_none(),
            format: findings.iter().any(|finding| is(finding, &format)),
            graphs,
            mirrors: findings.iter().any(|finding| finding.what.starts_with("mirror-")),
            mark: findings.iter().any(|finding| finding.what == "mark-damaged"),
            strange: named(&["spare-damaged"]).into_iter().collect(),
            announced: aside::announced(&*survey.disk, &survey.layout),
            actions: Vec::new(),
        };
        plan.strange.extend(survey.loose.iter().map(|bad| bad.path.clone()));
        plan.name_actions(survey);
        Ok(plan)
    }

    /// Says in words what is to be done.
    fn name_actions(&mut self, survey: &Survey<'_>) {
        let mut actions = Vec::new();
        let mut act = |what, file: Option<&Path>, why: &str| {
            actions.push(Action { what, file: file.map(Path::to_owned), why: why.to_owned() });
        };
        let layout = &survey.layout;
        if self.format {
            act("write-format", Some(&layout.format()), "it is written again");
        }
        for found in &survey.packs {
            let index = PackFile::Index.path(&layout.pack_dir(), &found.id);
            match found.state {
                PackState::Whole => {}
                PackState::Unindexed => act("make-index", Some(&index), "it is made again"),
                PackState::Damaged => {
                    let why = "what is whole in it goes into a new pack, the file aside";
                    act("salvage-pack", Some(&found.path), why);
                }
            }
        }
        for segment in survey.segments.iter().filter(|_| self.is_full) {
            let why = match segment.remains.as_ref().map(|remains| remains.damage.is_empty()) {
                Some(true) => "it is sealed into a pack",
                Some(false) => "what is whole in it goes into a new pack, the file aside",
                None => "it is gone",
            };
            act("salvage-journal", Some(&segment.path), why);
        }
        for bad in &survey.loose {
            let why = match bad.holds {
                Some(id) => format!("it holds {id}, and gets that name"),
                None => "it is put aside".to_owned(),
            };
            act("salvage-loose", Some(&bad.path), &why);
        }
        for graph in &self.graphs {
            act("make-graph", Some(graph), "it is made again");
        }
        if self.is_full {
            let why = "a snapshot of all refs is written";
            act("write-refs", survey.snapshot.path.as_deref(), why);
            for log in survey.logs.iter().filter(|log| !log.is_whole) {
                act("write-log", Some(&log.path), "the operations that are whole are kept");
            }
            let why = match survey.manifest {
                Some(_) => "it names what is whole",
                None => "it is made from the files that are there",
            };
            act("write-manifest", Some(&layout.current()), why);
        }
        if self.mirrors || self.is_full {
            act("write-mirrors", None, "mirror files are written where they differ");
        }
        if self.mark {
            act("write-mark", Some(&layout.synced()), "it is written again");
        }
        for path in self.announced.iter().filter(|path| survey.disk.len(path).is_ok()) {
            act("put-aside", Some(path), "a repair that was cut off had mended it");
        }
        self.actions = actions;
    }

    /// Says what was found, what is to be done, and what is lost.
    pub(super) fn report(&self, survey: &Survey<'_>, findings: Vec<Finding>) -> RepairReport {
        let refs = self.refs.moved.iter().map(|item| RefRepair {
            name: item.name.clone(),
            old: item.old.clone(),
            new: item.new.clone(),
            passed: item.passed.iter().map(|number| survey.lost(*number)).collect(),
        });
        RepairReport {
            findings,
            actions: self.actions.clone(),
            refs: refs.collect(),
            rescued: self.refs.rescued,
            lost: survey.all_lost(),
            objects: survey.inventory.objects(),
            hanging: survey.inventory.hanging(),
            ..RepairReport::default()
        }
    }
}

impl Survey<'_> {
    fn lost(&self, number: u32) -> LostObject {
        let id = self.inventory.id_of(number);
        let known = self.outlines.get(&id);
        LostObject {
            id,
            kind: self.inventory.kind_of(number).or(known.map(|known| known.kind)),
            label: known.and_then(|known| Some(known.label.as_ref()?.to_string())),
            time: known.and_then(|known| known.time),
            is_held: self.inventory.is_held(number),
            linked_by: None,
        }
    }

    /// Lists what something speaks of, or was in a damaged file, and is not there.
    fn all_lost(&self) -> Vec<LostObject> {
        let mut lost = Vec::new();
        let mut seen = HashSet::new();
        for missing in self.inventory.missing() {
            // What only cruft links was lost before, or is of no use.
            let linked = missing.linked.iter().find(|(from, _)| !self.cruft.contains(from));
            let Some(number) = self.inventory.number_of(&missing.id) else {
                continue;
            };
            if linked.is_some() || missing.in_operation {
                let linked_by = linked.map(|(from, _)| *from);
                lost.push(LostObject { linked_by, ..self.lost(number) });
                seen.insert(missing.id);
            }
        }
        for (id, known) in &self.outlines {
            if !self.inventory.holds(id) && seen.insert(*id) {
                lost.push(LostObject {
                    id: *id,
                    kind: Some(known.kind),
                    label: known.label.as_ref().map(ToString::to_string),
                    time: known.time,
                    is_held: false,
                    linked_by: None,
                });
            }
        }
        lost.sort_unstable_by_key(|lost| lost.id);
        lost
    }
}

/// Finds what the refs, and the operations, lead to.
fn reach(survey: &mut Survey<'_>, refs: &Refs) {
    let mut roots: Vec<Id> = refs.values.values().filter_map(id_of).collect();
    let operations = survey.logs.iter().flat_map(|log| &log.operations);
    let logged = operations.flat_map(|operation| &operation.moves);
    let segments = survey.segments.iter().filter_map(|segment| segment.remains.as_ref());
    let groups = segments.flat_map(|remains| &remains.groups);
    let groups = groups.filter(|group| group.operation.is_some());
    let moves = logged.chain(groups.flat_map(|group| &group.moves));
    roots.extend(moves.flat_map(|item| [&item.old, &item.new]).flatten().filter_map(id_of));
    roots.retain(|id| survey.inventory.holds(id));
    survey.inventory.reach(&roots);
}

fn id_of(value: &RefValue) -> Option<Id> {
    match value {
        RefValue::Id(id) => Some(*id),
        RefValue::Symbolic(_) => None,
    }
}

/// Gives refs to what is whole and what nothing leads to any more, where something was lost that
/// may have led to it.
fn rescue(survey: &Survey<'_>, refs: &mut Refs, time: i64) -> Result<()> {
    let is_loss =
        !refs.moved.is_empty() || !survey.knows_all_moves() || !survey.all_lost().is_empty();
    if !is_loss {
        return Ok(());
    }
    let name = Aside::new(survey.disk.clone(), survey.layout.clone(), time).name;
    for number in survey.inventory.tops(true) {
        let id = survey.inventory.id_of(number);
        if !survey.cruft.contains(&id) {
            let name = RefName::new(format!("rescued/{name}/{}", id.short(RESCUED_DIGITS)))?;
            refs.values.insert(name, RefValue::Id(id));
            refs.rescued += 1;
        }
    }
    Ok(())
}

/// Names files of the packs that are in some state.
fn files(survey: &Survey<'_>, state: PackState, files: &[PackFile]) -> HashSet<PathBuf> {
    let dir = survey.layout.pack_dir();
    let packs = survey.packs.iter().filter(|found| found.state == state);
    packs.flat_map(|found| files.iter().map(|file| file.path(&dir, &found.id))).collect()
}
