//! Whether a collection would gain something, as far as can be told at a glance.

use super::pack::is_tidy;
use crate::error::{Error, Result};
use crate::store::local::LocalStore;

/// Loose files are counted in one directory of this many: ids are spread evenly.
const FANS: u64 = 256;
const SAMPLED_FAN: &str = "17";

/// From how much on a collection is due; zero is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcThresholds {
    /// Objects that are not packed for good.
    pub objects: u64,
    /// Packs that are not tidy.
    pub packs: u64,
    /// Loose files, about.
    pub loose: u64,
    /// Cruft that was set aside up to this time is to be dropped.
    pub prune_ms: i64,
}

/// Why a collection is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcDue {
    /// So many objects are not packed for good.
    Objects(u64),
    /// So many packs are not tidy.
    Packs(u64),
    /// There are about so many loose files.
    Loose(u64),
    /// So many objects that were set aside are old enough to be dropped.
    Cruft(u64),
}

impl LocalStore {
    /// Says whether a collection is due, and why. Looks at the manifest and one directory.
    pub fn gc_due(&self, thresholds: &GcThresholds) -> Result<Option<GcDue>> {
        let state = self.inner.refresh()?;
        let cruft = state.manifest.cruft.iter();
        let old = cruft.filter(|record| record.since_ms <= thresholds.prune_ms);
        let objects: u64 = old.map(|record| record.pack.objects).sum();
        if objects > 0 {
            return Ok(Some(GcDue::Cruft(objects)));
        }
        let is_over = |found: u64, limit: u64| limit > 0 && found >= limit;
        let (mut packs, mut objects) = (0, 0);
        for pack in &state.packs {
            if !is_tidy(pack)? {
                packs += 1;
                objects += u64::from(pack.len());
            }
        }
        if is_over(packs, thresholds.packs) {
            return Ok(Some(GcDue::Packs(packs)));
        }
        if is_over(objects, thresholds.objects) {
            return Ok(Some(GcDue::Objects(objects)));
        }
        let dir = self.inner.layout.loose_dir(SAMPLED_FAN);
        let sampled = match self.inner.disk.list(&dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            listed => listed.map_err(Error::io("list", dir))?.len() as u64,
        };
        let loose = sampled * FANS;
        Ok(is_over(loose, thresholds.loose).then_some(GcDue::Loose(loose)))
    }
}
