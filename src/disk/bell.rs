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
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    word: u32,
    /// How often those were woken who wait for even rings and for odd ones.
    rounds: [u32; 2],
}

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
    /// How many bytes of a file two bells take, with the words that go with the second.
    pub(super) const PAIR_BYTES: usize = 24;

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
        self.0.as_ref().map(word::Word::listen).unwrap_or_default()
    }

    /// Says whether somebody has [listened](Bell::listen) since it last rang.
    pub fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(word::Word::is_awaited)
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
            Some(word) if word::is_claimed(heard.word) && word.announced() < place => {
                Until::AfterNext
            }
            _ => Until::Next,
        }
    }

    /// Waits until the bell has [rung for one](Bell::ring_for_one) since, or for a pause.
    pub fn wait(&self, heard: Heard, pause: Duration) {
        match &self.0 {
            Some(word) => word.wait(heard, pause * PATIENCE),
            None => std::thread::sleep(pause),
        }
    }

    /// Waits until the bell has [rung](Bell::ring) since, once or twice, or for a pause. Says
    /// whether it was woken before its ring: to see to it, or to [pass that on](Bell::pass_on).
    pub fn wait_until(&self, heard: Heard, until: Until, pause: Duration) -> bool {
        match &self.0 {
            Some(word) => word.wait_until(heard, until, pause * PATIENCE),
            None => {
                std::thread::sleep(pause);
                false
            }
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    use memmap2::MmapRaw;
    use rustix::thread::futex;

    use super::{Heard, Until};

    /// The bit that says that somebody waits, and the one that says that somebody will ring soon.
    /// The others count the rings.
    const WAITING: u32 = 1;
    const CLAIMED: u32 = 2;
    const RING: u32 = 4;

    /// Where the word is that says how far what was claimed reaches, and those that are slept on
    /// by who waits for an even ring and for an odd one.
    const ANNOUNCED_AT: usize = 8;
    const ROUNDS_AT: [usize; 2] = [16, 20];

    pub(super) fn is_claimed(heard: u32) -> bool {
        heard & CLAIMED != 0
    }

    /// Says whether the ring that comes so many rings after the next is odd.
    fn round(heard: u32, later: u32) -> usize {
        ((heard / RING).wrapping_add(later) % 2) as usize
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

        fn word(&self) -> &AtomicU32 {
            self.at(self.place)
        }

        #[allow(unsafe_code)]
        fn at(&self, place: usize) -> &AtomicU32 {
            assert!(place < super::Bell::PAIR_BYTES && place.is_multiple_of(size_of::<u32>()));
            // SAFETY: the place is within the mapping, which begins with a page and lives as long
            // as `self`, so it is valid and aligned. All processes touch it by atomics alone, and
            // any value is fine. No code of ours shortens the file; a stranger who does so by hand
            // can make a process fault, as with the other mappings.
            unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(place).cast()) }
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

        pub(super) fn listen(&self) -> Heard {
            let rounds = ROUNDS_AT.map(|place| self.at(place).load(Ordering::SeqCst));
            let word = self.word().fetch_or(WAITING, Ordering::SeqCst) | WAITING;
            Heard { word, rounds }
        }

        pub(super) fn is_awaited(&self) -> bool {
            self.word().load(Ordering::SeqCst) & WAITING != 0
        }

        pub(super) fn claim(&self) -> bool {
            self.word().fetch_or(CLAIMED, Ordering::SeqCst) & CLAIMED == 0
        }

        pub(super) fn wait(&self, heard: Heard, at_most: Duration) {
            sleep(self.word(), heard.word, at_most);
        }

        pub(super) fn wait_until(&self, heard: Heard, until: Until, at_most: Duration) -> bool {
            let rings = if until == Until::AfterNext { 2 } else { 1 };
            let round = round(heard.word, rings - 1);
            // Where the bit was cleared by who woke nobody, the next ring would wake nobody either.
            if self.word().load(Ordering::SeqCst) & WAITING != 0 {
                sleep(self.at(ROUNDS_AT[round]), heard.rounds[round], at_most);
            }
            let rung = (self.word().load(Ordering::SeqCst) / RING).wrapping_sub(heard.word / RING);
            rung % (u32::MAX / RING + 1) < rings
        }

        pub(super) fn ring_for_one(&self) {
            let heard = self.count_ring(WAITING | CLAIMED);
            if heard.is_some_and(|heard| heard & WAITING != 0) {
                wake(self.word(), 1);
            }
        }

        pub(super) fn ring(&self) {
            let Some(heard) = self.count_ring(CLAIMED) else { return };
            if heard & WAITING == 0 {
                return;
            }
            // Who is about to sleep looks again, whatever it wants to wait for.
            for place in ROUNDS_AT {
                self.at(place).fetch_add(1, Ordering::SeqCst);
            }
            let is_one_covered = wake(self.at(ROUNDS_AT[round(heard, 0)]), i32::MAX as u32);
            let is_one_left = wake(self.at(ROUNDS_AT[round(heard, 1)]), 1);
            if !is_one_covered && !is_one_left {
                // Nobody sleeps. Who is about to looks at the bit once more.
                let rung = heard.wrapping_add(RING) & !CLAIMED;
                let (done, not_done) = (Ordering::SeqCst, Ordering::Relaxed);
                let _ = self.word().compare_exchange(rung, rung & !WAITING, done, not_done);
            }
        }

        pub(super) fn pass_on(&self) {
            let heard = self.word().load(Ordering::SeqCst);
            if !is_claimed(heard) && heard & WAITING != 0 {
                wake(self.at(ROUNDS_AT[round(heard, 0)]), 1);
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
    }

    fn sleep(word: &AtomicU32, value: u32, at_most: Duration) {
        let Ok(timeout) = at_most.try_into() else { return };
        // Whatever ends it: the caller looks again.
        let _ = futex::wait(word, futex::Flags::empty(), value, Some(&timeout));
    }

    fn wake(word: &AtomicU32, count: u32) -> bool {
        futex::wake(word, futex::Flags::empty(), count).is_ok_and(|woken| woken > 0)
    }
}

#[cfg(not(target_os = "linux"))]
mod word {
    use std::time::Duration;

    use super::{Heard, Until};

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
        pub(super) fn listen(&self) -> Heard {
            match *self {}
        }
        pub(super) fn is_awaited(&self) -> bool {
            match *self {}
        }
        pub(super) fn claim(&self) -> bool {
            match *self {}
        }
        pub(super) fn wait(&self, _: Heard, _: Duration) {
            match *self {}
        }
        pub(super) fn wait_until(&self, _: Heard, _: Until, _: Duration) -> bool {
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

    /// Maps both bells of a file twice; `None` where they are silent.
    fn two_mappings() -> Option<([Bell; 2], [Bell; 2])> {
        let dir = tempfile::tempdir().unwrap();
        let bells = || <[Bell; 2]>::from(OsDisk.bells(&dir.path().join("bells")));
        let (here, there) = (bells(), bells());
        (!here[0].is_silent()).then_some((here, there))
    }

    #[test]
    fn a_ring_ends_the_wait_of_another_mapping() {
        let Some(([here, other], [there, _])) = two_mappings() else { return };
        let heard = here.listen();
        other.ring();
        there.ring_for_one();
        let begun = Instant::now();
        here.wait(heard, Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(60));

        let heard = here.listen();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                there.ring_for_one();
            });
            here.wait(heard, Duration::from_secs(60));
        });
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_claim_stands_until_the_next_ring() {
        let Some(([_, here], [_, there])) = two_mappings() else { return };
        assert!(here.claim());
        assert!(!there.claim());
        let heard = there.listen();
        here.ring();
        there.wait_until(heard, Until::Next, Duration::from_secs(60));
        assert!(there.claim());
        there.ring();
        assert!(here.claim());
    }

    #[test]
    fn who_waits_for_more_than_is_announced_waits_for_the_ring_after() {
        let Some(([_, here], [_, there])) = two_mappings() else { return };
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
                scope.spawn(|| {
                    here.wait_until(heard, Until::AfterNext, long);
                });
            }
            std::thread::sleep(Duration::from_millis(20));
            there.ring();
            there.pass_on();
            assert!(there.claim());
            there.ring();
        });
        assert!(begun.elapsed() < long);

        let heard = here.listen();
        there.ring();
        assert!(here.wait_until(heard, Until::AfterNext, long), "it is not its ring");
        assert!(there.claim());
        there.ring();
        assert!(!here.wait_until(heard, Until::AfterNext, long));
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
