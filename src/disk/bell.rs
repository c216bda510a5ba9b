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

/// Which ring ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The next one.
    Next,
    /// The one after it: what is being done now is not what is waited for. Who may have to do that
    /// is woken by the next ring, one of all.
    AfterNext,
}

impl Bell {
    /// How many bytes of a file two bells take, with the word that goes with the second.
    pub(super) const PAIR_BYTES: usize = 16;

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

    /// Says up to where what was claimed will reach. It is a hint to those who wait.
    pub fn announce(&self, reach: u64) {
        if let Some(word) = &self.0 {
            word.announce(reach);
        }
    }

    /// Says which ring will be for those who wait for `place`, as far as it is known.
    pub fn until(&self, heard: Heard, place: u64) -> Until {
        match &self.0 {
            Some(word) if word::is_claimed(heard.0) && word.announced() < place => Until::AfterNext,
            _ => Until::Next,
        }
    }

    /// Waits until the bell has rung since, or for a pause.
    pub fn wait(&self, heard: Heard, until: Until, pause: Duration) {
        match &self.0 {
            Some(word) => word.wait(heard.0, until, pause * PATIENCE),
            None => std::thread::sleep(pause),
        }
    }

    /// Wakes one of those who wait. It must [`listen`](Bell::listen) again for the others.
    pub fn ring_for_one(&self) {
        if let Some(word) = &self.0 {
            word.ring_for_one();
        }
    }

    /// Ends what was claimed: wakes all who wait for this ring, and one of those who wait for the
    /// ring after it.
    pub fn ring(&self) {
        if let Some(word) = &self.0 {
            word.ring();
        }
    }

    /// Wakes another who waits for the next ring, unless somebody is at it: who was woken to do it
    /// need not.
    pub fn pass_on(&self) {
        if let Some(word) = &self.0 {
            word.pass_on();
        }
    }
}

#[cfg(target_os = "linux")]
mod word {
    use std::num::NonZeroU32;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use memmap2::MmapRaw;
    use rustix::thread::futex;
    use rustix::time::{ClockId, Timespec, clock_gettime};

    use super::Until;

    /// The bit that says that somebody waits, and the one that says that somebody will ring soon.
    /// The others count the rings.
    const WAITING: u32 = 1;
    const CLAIMED: u32 = 2;
    const RING: u32 = 4;

    /// Where the word is that says how far what was claimed reaches.
    const ANNOUNCED_AT: usize = 8;

    const NO_FLAGS: futex::Flags = futex::Flags::empty();
    const ANY: NonZeroU32 = NonZeroU32::MAX;

    pub(super) fn is_claimed(heard: u32) -> bool {
        heard & CLAIMED != 0
    }

    /// Gives the bit of those who wait for the ring that comes so many rings after the next.
    fn bit(heard: u32, later: u32) -> NonZeroU32 {
        let ring = (heard / RING).wrapping_add(later);
        NonZeroU32::new(1 << (ring % u32::BITS)).expect("one bit is set")
    }

    /// A word of a mapped file.
    #[derive(Debug)]
    pub(super) struct Word {
        map: Arc<MmapRaw>,
        place: usize,
    }

    impl Word {
        pub(super) fn pair(map: MmapRaw) -> (Word, Word) {
            assert!(map.len() >= super::Bell::PAIR_BYTES, "all words are mapped");
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

        #[allow(unsafe_code)]
        fn announcement(&self) -> &AtomicU64 {
            // SAFETY: as above; this place is a multiple of eight.
            unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(ANNOUNCED_AT).cast()) }
        }

        pub(super) fn announce(&self, reach: u64) {
            self.announcement().store(reach, Ordering::Relaxed);
        }

        pub(super) fn announced(&self) -> u64 {
            self.announcement().load(Ordering::Relaxed)
        }

        pub(super) fn listen(&self) -> u32 {
            self.word().fetch_or(WAITING, Ordering::SeqCst) | WAITING
        }

        pub(super) fn claim(&self) -> bool {
            self.word().fetch_or(CLAIMED, Ordering::SeqCst) & CLAIMED == 0
        }

        pub(super) fn wait(&self, heard: u32, until: Until, at_most: Duration) {
            let now = clock_gettime(ClockId::Monotonic);
            let Some(end) =
                Timespec::try_from(at_most).ok().and_then(|at_most| now.checked_add(at_most))
            else {
                return;
            };
            let bit = bit(heard, u32::from(until == Until::AfterNext));
            // Whatever ends it: the caller looks again.
            let _ = futex::wait_bitset(self.word(), NO_FLAGS, heard, Some(&end), bit);
        }

        pub(super) fn ring_for_one(&self) {
            let heard = self.count_ring(WAITING | CLAIMED);
            if heard.is_some_and(|heard| heard & WAITING != 0) {
                self.wake(1, ANY);
            }
        }

        pub(super) fn ring(&self) {
            let Some(heard) = self.count_ring(CLAIMED) else { return };
            if heard & WAITING == 0 {
                return;
            }
            let is_one_covered = self.wake(i32::MAX as u32, bit(heard, 0));
            let is_one_left = self.wake(1, bit(heard, 1));
            if !is_one_covered && !is_one_left {
                // Who has come meanwhile has changed the word.
                let rung = heard.wrapping_add(RING) & !CLAIMED;
                let (done, not_done) = (Ordering::SeqCst, Ordering::Relaxed);
                let _ = self.word().compare_exchange(rung, rung & !WAITING, done, not_done);
            }
        }

        pub(super) fn pass_on(&self) {
            let heard = self.word().load(Ordering::SeqCst);
            if !is_claimed(heard) && heard & WAITING != 0 {
                self.wake(1, bit(heard, 0));
            }
        }

        /// Counts a ring and clears bits, where somebody waits or is at it. Gives what was there.
        fn count_ring(&self, cleared: u32) -> Option<u32> {
            let ring = |heard: u32| {
                let next = heard.wrapping_add(RING) & !cleared;
                (heard & (WAITING | CLAIMED) != 0).then_some(next)
            };
            self.word().fetch_update(Ordering::SeqCst, Ordering::SeqCst, ring).ok()
        }

        fn wake(&self, count: u32, bits: NonZeroU32) -> bool {
            futex::wake_bitset(self.word(), NO_FLAGS, count, bits).is_ok_and(|woken| woken > 0)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod word {
    use std::time::Duration;

    use super::Until;

    /// There is none.
    #[derive(Debug)]
    pub(super) enum Word {}

    pub(super) fn is_claimed(_: u32) -> bool {
        false
    }

    impl Word {
        pub(super) fn announce(&self, _: u64) {
            match *self {}
        }
        pub(super) fn announced(&self) -> u64 {
            match *self {}
        }
        pub(super) fn listen(&self) -> u32 {
            match *self {}
        }
        pub(super) fn claim(&self) -> bool {
            match *self {}
        }
        pub(super) fn wait(&self, _: u32, _: Until, _: Duration) {
            match *self {}
        }
        pub(super) fn ring_for_one(&self) {
            match *self {}
        }
        pub(super) fn ring(&self) {
            match *self {}
        }
        pub(super) fn pass_on(&self) {
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
        other.ring();
        there.ring_for_one();
        let begun = Instant::now();
        here.wait(heard, Until::Next, Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(60));

        let heard = here.listen();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                there.ring();
            });
            here.wait(heard, Until::Next, Duration::from_secs(60));
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
        here.ring();
        there.wait(heard, Until::Next, Duration::from_secs(60));
        assert!(there.claim());
        there.ring_for_one();
        assert!(here.claim());
    }

    #[test]
    fn who_waits_for_more_than_is_announced_waits_for_the_ring_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bells");
        let (_, here) = OsDisk.bells(&path);
        let (_, there) = OsDisk.bells(&path);
        if here.is_silent() {
            return;
        }
        assert_eq!(here.until(here.listen(), 7), Until::Next, "nobody is at it");
        assert!(there.claim());
        there.announce(7);
        assert_eq!(here.until(here.listen(), 7), Until::Next);
        let heard = here.listen();
        assert_eq!(here.until(heard, 8), Until::AfterNext);

        // Each of the three is woken by one of these: the ring, who passes it on, the ring after.
        let long = Duration::from_secs(60);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| here.wait(heard, Until::AfterNext, long));
            }
            std::thread::sleep(Duration::from_millis(20));
            there.ring();
            there.pass_on();
            assert!(there.claim());
            there.ring();
        });
        assert!(begun.elapsed() < long);
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
