//! Waking another process: a word in a file that all of them map.
//!
//! Who waits for something listens, looks once more whether it has happened, and waits; who made it
//! happen rings. A bell only shortens the wait. It decides nothing: where there is none, or a ring
//! gets lost with the process that should have rung, those who wait look again after a pause.
//!
//! Linux has the system call for it. Elsewhere all bells are silent.

use std::time::Duration;

/// How much longer than a silent bell's pause a ring is waited for.
const PATIENCE: u32 = 20;

/// A bell that several processes hear.
#[derive(Debug, Default)]
pub struct Bell(Option<word::Word>);

/// What was heard of a bell so far.
#[derive(Clone, Copy, Debug)]
pub struct Heard(u32);

impl Bell {
    /// How many bytes of a file two bells take.
    pub(super) const PAIR_BYTES: usize = 8;

    /// Makes the two bells of a mapped file.
    #[cfg(target_os = "linux")]
    pub(super) fn pair(map: memmap2::MmapRaw) -> (Bell, Bell) {
        let (one, other) = word::Word::pair(map);
        (Bell(Some(one)), Bell(Some(other)))
    }

    /// Says whether nobody will ever hear this bell.
    pub fn is_silent(&self) -> bool {
        self.0.is_none()
    }

    /// Tells those who ring that somebody waits. What is waited for must be looked at once more
    /// between this and [`wait`](Bell::wait).
    pub fn listen(&self) -> Heard {
        Heard(self.0.as_ref().map_or(0, word::Word::listen))
    }

    /// Tells those who listen that what they wait for is being done and that the bell will ring
    /// after it. Gives `false` where another has said so and has not rung yet.
    pub fn claim(&self) -> bool {
        self.0.as_ref().is_none_or(word::Word::claim)
    }

    /// Waits until the bell has rung since, or for a pause.
    pub fn wait(&self, heard: Heard, pause: Duration) {
        match &self.0 {
            Some(word) => word.wait(heard.0, pause * PATIENCE),
            None => std::thread::sleep(pause),
        }
    }

    /// Wakes one of those who wait, and says whether there was one. It must
    /// [`listen`](Bell::listen) again for the others.
    pub fn ring_for_one(&self) -> bool {
        self.ring(1)
    }

    /// Wakes all who wait.
    pub fn ring_for_all(&self) {
        self.ring(i32::MAX as u32);
    }

    fn ring(&self, count: u32) -> bool {
        self.0.as_ref().is_some_and(|word| word.ring(count))
    }
}

#[cfg(target_os = "linux")]
mod word {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use memmap2::MmapRaw;
    use rustix::thread::futex;

    /// The bit that says that somebody waits, and the one that says that somebody will ring soon.
    /// The others count the rings.
    const WAITING: u32 = 1;
    const CLAIMED: u32 = 2;
    const RING: u32 = 4;

    /// A word of a mapped file.
    #[derive(Debug)]
    pub(super) struct Word {
        map: Arc<MmapRaw>,
        place: usize,
    }

    impl Word {
        pub(super) fn pair(map: MmapRaw) -> (Word, Word) {
            assert!(map.len() >= super::Bell::PAIR_BYTES, "two words are mapped");
            let map = Arc::new(map);
            (Word { map: Arc::clone(&map), place: 0 }, Word { map, place: size_of::<u32>() })
        }

        #[allow(unsafe_code)]
        fn word(&self) -> &AtomicU32 {
            // SAFETY: the place is within the mapping, which begins with a page and lives as long
            // as `self`, so it is valid and aligned. All processes touch it by atomics alone, and
            // any value is fine. No code of ours shortens the file; a stranger who does so by hand
            // can make a process fault, as with the other mappings.
            unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(self.place).cast()) }
        }

        pub(super) fn listen(&self) -> u32 {
            self.word().fetch_or(WAITING, Ordering::SeqCst) | WAITING
        }

        pub(super) fn claim(&self) -> bool {
            self.word().fetch_or(CLAIMED, Ordering::SeqCst) & CLAIMED == 0
        }

        pub(super) fn wait(&self, heard: u32, at_most: Duration) {
            let Ok(timeout) = at_most.try_into() else { return };
            // Whatever ends it: the caller looks again.
            let _ = futex::wait(self.word(), futex::Flags::empty(), heard, Some(&timeout));
        }

        pub(super) fn ring(&self, count: u32) -> bool {
            let word = self.word();
            let rung = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |heard| {
                let next = heard.wrapping_add(RING) & !(WAITING | CLAIMED);
                (heard & (WAITING | CLAIMED) != 0).then_some(next)
            });
            rung.is_ok_and(|heard| heard & WAITING != 0)
                && futex::wake(word, futex::Flags::empty(), count).is_ok_and(|woken| woken > 0)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod word {
    use std::time::Duration;

    /// There is none.
    #[derive(Debug)]
    pub(super) enum Word {}

    impl Word {
        pub(super) fn listen(&self) -> u32 {
            match *self {}
        }
        pub(super) fn claim(&self) -> bool {
            match *self {}
        }
        pub(super) fn wait(&self, _: u32, _: Duration) {
            match *self {}
        }
        pub(super) fn ring(&self, _: u32) -> bool {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::disk::{Disk as _, OsDisk};

    #[test]
    fn a_ring_ends_the_wait_of_another_mapping() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bells");
        let (here, other) = OsDisk.bells(&path);
        let (there, _) = OsDisk.bells(&path);
        if here.is_silent() {
            return;
        }
        let heard = here.listen();
        other.ring_for_all();
        there.ring_for_one();
        let begun = Instant::now();
        here.wait(heard, Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(60));

        let heard = here.listen();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                there.ring_for_all();
            });
            here.wait(heard, Duration::from_secs(60));
        });
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_claim_stands_until_the_next_ring() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bells");
        let (here, _) = OsDisk.bells(&path);
        let (there, _) = OsDisk.bells(&path);
        if here.is_silent() {
            return;
        }
        assert!(here.claim());
        assert!(!there.claim());
        let heard = there.listen();
        here.ring_for_all();
        there.wait(heard, Duration::from_secs(60));
        assert!(there.claim());
        assert!(!there.ring_for_one());
        assert!(here.claim());
    }

    /// Touching a hole of a full disk kills the process.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_file_of_bells_has_no_hole() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bells");
        let (bell, _) = OsDisk.bells(&path);
        assert!(!bell.is_silent());
        assert!(path.metadata().unwrap().blocks() > 0);
    }
}
