//! A collection that had too little time, so that those after it take smaller steps.
//!
//! All that is packed anew is one step, so that it gets small. Where there is no time for that, it
//! would be begun again and again. So a note in the cache says since when there was none: while it
//! is there, a run with little time takes each pack by itself, the smallest first, and packs that
//! were written since then are done. A run that has time for everything removes it.
//!
//! The note is not synced, and may be missing or torn: then all is one step again.

use super::Collection;
use crate::disk::{self, OpenMode};
use crate::error::{Error, Result};
use crate::store::local::pack::Pack;

const NOTE: &str = "gc-cut";
const NOTE_BYTES_MAX: u64 = 32;

impl Collection<'_> {
    /// Gives since when there was too little time, if there is little this time too.
    pub(super) fn cut_since(&self) -> Option<i64> {
        self.options.max_time?;
        let path = self.inner.layout.cache_dir().join(NOTE);
        let noted = disk::read_file(&*self.inner.disk, &path, NOTE_BYTES_MAX).ok()?;
        std::str::from_utf8(&noted).ok()?.trim_end().parse().ok()
    }

    /// Notes that there was too little time, or removes such a note.
    pub(super) fn note_cut(&self) {
        let (disk, dir) = (&*self.inner.disk, self.inner.layout.cache_dir());
        let path = dir.join(NOTE);
        // Where it can't be kept, the next run tries to do all at once.
        let _ = match self.report.is_finished {
            true => disk.remove(&path),
            false => {
                let text = format!("{}\n", self.cut_since.unwrap_or(self.options.now_ms));
                disk.create_dir(&dir)
                    .and_then(|()| disk.open(&path, OpenMode::OpenOrCreate))
                    .and_then(|file| {
                        file.set_len(0).and_then(|()| file.write_all_at(text.as_bytes(), 0))
                    })
            }
        };
    }

    /// Says whether a pack was written since there was too little time.
    pub(super) fn is_done(&self, pack: &Pack) -> Result<bool> {
        let Some(since_ms) = self.cut_since else {
            return Ok(false);
        };
        let path = pack.file();
        let modified = self.inner.disk.modified(path).map_err(Error::io("look at", path))?;
        Ok(modified.is_some_and(|at| at >= since_ms))
    }
}
