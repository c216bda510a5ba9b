//! Blobs on their way into a pack, held until there are enough to put together what is alike.
//!
//! They are parts of their blocks, so these are held too, and count.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::Known;
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::store::Content;
use crate::store::local::halves;
use crate::store::local::likeness;
use crate::store::local::pack::PackWriter;
use crate::threads::help_scoped;

pub(super) struct Window {
    blobs: Vec<(Id, Content)>,
    bytes: usize,
    bytes_max: usize,
    known: Known,
    /// How many threads may help.
    threads: usize,
}

impl Window {
    pub(super) fn new(bytes_max: usize, threads: usize) -> Window {
        let (blobs, known) = Default::default();
        Window { blobs, bytes: 0, bytes_max, known, threads }
    }

    /// Adds a blob, however much there is.
    pub(super) fn hold(&mut self, id: &Id, content: Content) {
        let is_beside = |(_, last): &(Id, Content)| last.shares_with(&content);
        if !self.blobs.last().is_some_and(is_beside) {
            self.bytes += content.held_bytes();
        }
        self.blobs.push((*id, content));
    }

    /// Adds a blob, and packs all that there are where they are enough.
    pub(super) fn add(&mut self, id: &Id, content: Content, sink: &mut PackWriter) -> Result<()> {
        self.hold(id, content);
        match self.bytes >= self.bytes_max {
            true => self.empty(sink),
            false => Ok(()),
        }
    }

    /// Notes what blobs are like.
    pub(super) fn know(&mut self, known: Known) {
        self.known.extend(known);
    }

    /// Does some work. Meanwhile a thread finds out what blobs are like that are not known, as far
    /// as it gets.
    pub(super) fn know_meanwhile<T>(&mut self, known: &Known, work: impl FnOnce() -> T) -> T {
        if self.threads == 0 || self.blobs.is_empty() {
            return work();
        }
        let (blobs, is_over) = (&self.blobs, AtomicBool::new(false));
        let (found, done) = thread::scope(|scope| {
            let unknown = blobs.iter().filter(|(id, _)| !known.contains_key(id));
            let wanted = unknown.take_while(|_| !is_over.load(Ordering::Relaxed));
            let look = || -> Known {
                wanted.map(|(id, content)| (*id, likeness::sample(content))).collect()
            };
            // Where no thread can be had, it is done later.
            let beside = help_scoped(scope, "sapwood-like", look);
            let done = work();
            is_over.store(true, Ordering::Relaxed);
            let found = beside.map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
            (found.unwrap_or_default(), done)
        });
        self.know(found);
        done
    }

    /// Packs all that there are, what is alike together.
    pub(super) fn empty(&mut self, sink: &mut PackWriter) -> Result<()> {
        let blobs = std::mem::take(&mut self.blobs);
        self.bytes = 0;
        let is_known = blobs.iter().all(|(id, _)| self.known.contains_key(id));
        let threads = if is_known { 0 } else { self.threads };
        let samples = halves::map(&blobs, threads, |(id, content)| match self.known.get(id) {
            Some(_) => likeness::Sample::new(),
            None => likeness::sample(content),
        });
        let sample = |((id, _), found): (&(Id, Content), likeness::Sample)| {
            self.known.get(id).cloned().unwrap_or(found)
        };
        for place in likeness::order(blobs.iter().zip(samples).map(sample)) {
            let (id, content) = &blobs[place];
            sink.add(id, Kind::Blob, content)?;
        }
        for (id, _) in &blobs {
            self.known.remove(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_found_out_meanwhile_is_what_would_be_found_later() {
        let blobs: Vec<Vec<u8>> = (0..20u64)
            .map(|number| (0..300).map(|word| (number * word * word) as u8).collect())
            .collect();
        let mut window = Window::new(usize::MAX, 1);
        for blob in &blobs {
            window.hold(&Id::of(Kind::Blob, blob), blob.clone().into());
        }
        let first = Id::of(Kind::Blob, &blobs[0]);
        let known = Known::from([(first, likeness::Sample::new())]);
        let mut pause = Duration::from_millis(1);
        while window.known.len() < blobs.len() - 1 {
            assert!(pause < Duration::from_secs(60), "nobody looks");
            assert_eq!(window.know_meanwhile(&known, || (std::thread::sleep(pause), 7).1), 7);
            pause *= 2;
        }
        assert!(!window.known.contains_key(&first), "it was known");
        for blob in &blobs[1..] {
            assert_eq!(window.known[&Id::of(Kind::Blob, blob)], likeness::sample(blob));
        }
    }
}
