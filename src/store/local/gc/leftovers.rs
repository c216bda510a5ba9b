//! Files that killed processes left: what they were writing, and never finished; and notes how far
//! a bundle was taken in that never came again.
//!
//! Maintenance removes those that stand where only it writes. Others may be written by a process
//! that is alive; so they go when nothing was written to them for a while. What such a note speaks
//! of is garbage by then.

use super::{Collection, YOUNG_MS};
use crate::error::{Error, Result};
use crate::store::local::layout::{BUNDLE_MARK, is_aside};

impl Collection<'_> {
    /// Counts such files, and removes them if that is wanted.
    pub(super) fn sweep_leftovers(&mut self, is_to_remove: bool) -> Result<()> {
        let layout = &self.inner.layout;
        let old_before_ms = self.options.now_ms.saturating_sub(YOUNG_MS);
        for dir in [layout.root().to_owned(), layout.objects_dir(), layout.cache_dir()] {
            let Ok(listed) = self.inner.disk.list_names(&dir) else {
                continue;
            };
            for entry in listed.into_iter().filter(|entry| !entry.is_dir && is_left(&entry.name)) {
                let path = dir.join(entry.name);
                // Where it is gone, or nobody knows how old it is, it stays as it is.
                let modified = self.inner.disk.modified(&path).unwrap_or(None);
                if modified.is_none_or(|at| at >= old_before_ms) {
                    continue;
                }
                if is_to_remove {
                    self.inner.disk.remove(&path).map_err(Error::io("remove", &path))?;
                }
                self.report.leftovers += 1;
            }
        }
        Ok(())
    }
}

fn is_left(name: &str) -> bool {
    is_aside(name) || name.starts_with(BUNDLE_MARK)
}
