//! Which packs take the place of which.

use std::collections::{HashMap, HashSet};

use crate::id::Id;
use crate::store::local::manifest::Manifest;
use crate::store::local::pack::PackInfo;
use crate::store::local::rewrite;

/// Packs that were written anew.
#[derive(Debug, Default)]
pub(super) struct Repacked {
    /// By the id of the pack before; nothing where all of it went.
    replaced: HashMap<Id, Option<PackInfo>>,
    /// Packs of what takes the place of objects that went.
    pub(super) added: Vec<PackInfo>,
    /// What was left out.
    pub(super) left_out: HashSet<Id>,
}

impl Repacked {
    /// Notes what takes the place of a pack.
    pub(super) fn replace(&mut self, before: Id, after: Option<PackInfo>) {
        self.replaced.insert(before, after);
    }

    /// Puts the new packs where the old ones were, and the added ones behind them.
    pub(super) fn apply(&self, manifest: &mut Manifest) {
        for (before, after) in &self.replaced {
            rewrite::replace(manifest, before, *after);
        }
        manifest.packs.extend(&self.added);
    }
}
