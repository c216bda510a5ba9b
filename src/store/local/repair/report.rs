//! What a repair says of itself.

use std::path::PathBuf;

use crate::id::{Id, Kind};
use crate::store::local::fsck::Finding;
use crate::store::{RefName, RefValue};

/// What a repair found, did and could not save.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// What was wrong.
    pub findings: Vec<Finding>,
    /// What was done about it, or would be, in its order.
    pub actions: Vec<Action>,
    /// The refs that could not stay where they were.
    pub refs: Vec<RefRepair>,
    /// How many refs were made for what nothing leads to any more.
    pub rescued: usize,
    /// The objects that something speaks of, and that are lost.
    pub lost: Vec<LostObject>,
    /// How many objects there are.
    pub objects: u64,
    /// How many of them were written again, out of damaged files and the journal.
    pub salvaged: u64,
    /// How many of them lead to something that is lost; no ref leads to these.
    pub hanging: u64,
    /// Where damaged files were put.
    pub aside: Option<PathBuf>,
    /// What is still wrong.
    pub remaining: Vec<Finding>,
}

impl RepairReport {
    /// Adds what a further round found and did.
    pub(super) fn add(&mut self, round: RepairReport) {
        self.findings.extend(round.findings);
        self.actions.extend(round.actions);
        self.refs.extend(round.refs);
        self.rescued += round.rescued;
        self.lost.extend(round.lost.into_iter().filter(|lost| !lost.is_held));
        self.lost.sort_unstable_by_key(|lost| lost.id);
        self.lost.dedup_by_key(|lost| lost.id);
        (self.objects, self.hanging) = (round.objects, round.hanging);
    }
}

/// One thing that a repair does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its short name, in kebab-case, which stays as it is.
    pub what: &'static str,
    /// The file it is about.
    pub file: Option<PathBuf>,
    /// What is done, in a sentence.
    pub why: String,
}

/// A ref that could not stay where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefRepair {
    /// The ref.
    pub name: RefName,
    /// What it was, as far as that is known.
    pub old: Option<RefValue>,
    /// What it is; `None` if nothing whole was found for it.
    pub new: Option<RefValue>,
    /// What lies between the two, newest first.
    pub passed: Vec<LostObject>,
}

/// An object that is lost, or that leads to one that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostObject {
    /// Its id.
    pub id: Id,
    /// Its kind, where that is known.
    pub kind: Option<Kind>,
    /// Its type, where that is known from elsewhere.
    pub label: Option<String>,
    /// Its time, in milliseconds since 1970, where that is known from elsewhere.
    pub time: Option<i64>,
    /// Whether it is still there, and hangs in the air.
    pub is_held: bool,
    /// One of the objects that link it.
    pub linked_by: Option<Id>,
}
