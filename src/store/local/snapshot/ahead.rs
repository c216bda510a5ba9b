//! Finding and unpacking ahead of a walk, by whoever has the time.
//!
//! Batches are found one after the other, put into a window, unpacked there in any order, and taken
//! out in their order. A second thread finds and unpacks; the walking thread, which takes them out,
//! does either only where the first batch is not ready. It begins to wait only where nothing else
//! is left to do: where the second thread gets no processor, it does all itself.
//!
//! Not here: the path, and what a batch is made of.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many batches are in the window at the most.
pub(super) const WINDOW: usize = 8;

/// Batches between being found and being visited.
pub(super) struct Window<'u, B> {
    slots: Mutex<Slots<B>>,
    changed: Condvar,
    find: Mutex<Find<'u, B>>,
    unpack: Unpack<'u, B>,
}

/// Finds the next batch; `None` if there is no more.
type Find<'u, B> = &'u mut (dyn FnMut() -> Option<B> + Send);

/// Unpacks a batch; a failure stays in it, for whoever takes it out.
type Unpack<'u, B> = &'u (dyn Fn(&mut B) + Sync);

struct Slots<B> {
    slots: VecDeque<Slot<B>>,
    /// How many were taken out: the number of the first slot.
    taken: usize,
    /// Whether somebody finds the next one.
    finding: bool,
    found_all: bool,
    over: bool,
    /// How many threads wait for a change: waking nobody is a call to the system all the same.
    waiting: usize,
}

enum Slot<B> {
    Packed(B),
    InHand,
    Unpacked(B),
}

/// What there is to do.
enum Task<B> {
    Find,
    /// The number of a batch, and the batch.
    Unpack(usize, B),
    Wait,
}

impl<B> Slots<B> {
    /// Gives the first batch that is not unpacked, and is in nobody's hand.
    fn packed(&mut self) -> Option<Task<B>> {
        let place = self.slots.iter().position(|slot| matches!(slot, Slot::Packed(_)))?;
        match std::mem::replace(&mut self.slots[place], Slot::InHand) {
            Slot::Packed(batch) => Some(Task::Unpack(self.taken + place, batch)),
            _ => None,
        }
    }

    /// Gives the search for the next batch, if nobody has it and there is room.
    fn unfound(&mut self) -> Option<Task<B>> {
        let is_free = !self.finding && !self.found_all && self.slots.len() < WINDOW;
        self.finding |= is_free;
        is_free.then_some(Task::Find)
    }

    fn is_ready(&self) -> bool {
        matches!(self.slots.front(), Some(Slot::Unpacked(_)))
    }
}

impl<'u, B> Window<'u, B> {
    pub(super) fn new(find: Find<'u, B>, unpack: Unpack<'u, B>) -> Window<'u, B> {
        let slots = Slots {
            slots: VecDeque::with_capacity(WINDOW),
            taken: 0,
            finding: false,
            found_all: false,
            over: false,
            waiting: 0,
        };
        Window { slots: Mutex::new(slots), changed: Condvar::new(), find: Mutex::new(find), unpack }
    }

    /// Takes the first batch out, unpacked; `None` if there is no more.
    pub(super) fn take(&self) -> Option<B> {
        let mut slots = self.lock();
        loop {
            if slots.is_ready() {
                let first = slots.slots.pop_front();
                slots.taken += 1;
                // The other thread is woken for a few at once: waking takes as long as unpacking
                // one.
                if slots.waiting > 0 && slots.slots.len() <= WINDOW / 2 && !slots.found_all {
                    self.changed.notify_one();
                }
                return match first {
                    Some(Slot::Unpacked(batch)) => Some(batch),
                    _ => None,
                };
            }
            if slots.found_all && slots.slots.is_empty() {
                return None;
            }
            let task = slots.packed().or_else(|| slots.unfound());
            slots = self.work(slots, task.unwrap_or(Task::Wait));
        }
    }

    /// Finds and unpacks, until it is over.
    pub(super) fn help(&self) {
        let mut slots = self.lock();
        while !slots.over {
            let task = slots.unfound().or_else(|| slots.packed());
            slots = self.work(slots, task.unwrap_or(Task::Wait));
            if slots.waiting > 0 && (slots.is_ready() || slots.found_all) {
                self.changed.notify_one();
            }
        }
    }

    /// Ends the help.
    pub(super) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_one();
    }

    fn work<'w>(
        &'w self,
        mut slots: MutexGuard<'w, Slots<B>>,
        task: Task<B>,
    ) -> MutexGuard<'w, Slots<B>> {
        match task {
            Task::Find => {
                drop(slots);
                let search = Search { window: self };
                let found = self.find.lock().unwrap_or_else(PoisonError::into_inner)();
                search.end(found)
            }
            Task::Unpack(number, batch) => {
                let mut hand = Hand { window: self, number, batch: Some(batch) };
                drop(slots);
                hand.batch.as_mut().map(self.unpack);
                hand.put_back(Slot::Unpacked)
            }
            Task::Wait => {
                slots.waiting += 1;
                slots = self.changed.wait(slots).unwrap_or_else(PoisonError::into_inner);
                slots.waiting -= 1;
                slots
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slots<B>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A search for the next batch. Where that panics no more are found, so that the other thread does
/// not wait for it for ever, nor go on behind a gap.
struct Search<'w, 'u, B> {
    window: &'w Window<'u, B>,
}

impl<'w, B> Search<'w, '_, B> {
    fn end(self, found: Option<B>) -> MutexGuard<'w, Slots<B>> {
        let mut slots = self.window.lock();
        slots.finding = false;
        match found {
            Some(batch) => slots.slots.push_back(Slot::Packed(batch)),
            None => slots.found_all = true,
        }
        std::mem::forget(self);
        slots
    }
}

impl<B> Drop for Search<'_, '_, B> {
    fn drop(&mut self) {
        self.window.lock().found_all = true;
        self.window.changed.notify_one();
    }
}

/// A batch that is being unpacked. Where that panics it is put back as it was, so that the other
/// thread does not wait for it for ever.
struct Hand<'w, 'u, B> {
    window: &'w Window<'u, B>,
    number: usize,
    batch: Option<B>,
}

impl<'w, B> Hand<'w, '_, B> {
    fn put_back(&mut self, slot: fn(B) -> Slot<B>) -> MutexGuard<'w, Slots<B>> {
        let mut slots = self.window.lock();
        if let Some(batch) = self.batch.take() {
            // What is in hand is not taken out: it is still there, however many went before it.
            let place = self.number - slots.taken;
            slots.slots[place] = slot(batch);
        }
        slots
    }
}

impl<B> Drop for Hand<'_, '_, B> {
    fn drop(&mut self) {
        if self.batch.is_some() {
            drop(self.put_back(Slot::Packed));
            self.window.changed.notify_one();
        }
    }
}

/// Ends the help when it goes, also where the walk panics.
pub(super) struct EndsHelp<'w, 'u, B>(pub(super) &'w Window<'u, B>);

impl<B> Drop for EndsHelp<'_, '_, B> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_come_out_unpacked_once_and_in_order() {
        let unpack = |batch: &mut (usize, usize)| {
            batch.1 += 1;
            if batch.0.is_multiple_of(7) {
                std::thread::yield_now();
            }
        };
        for helped in [false, true] {
            let mut numbers = (0..2000).map(|number| (number, 0));
            let mut find = || numbers.next();
            let window = Window::new(&mut find, &unpack);
            let mut out = Vec::new();
            std::thread::scope(|scope| {
                if helped {
                    scope.spawn(|| window.help());
                }
                let _ends = EndsHelp(&window);
                out.extend(std::iter::from_fn(|| window.take()));
            });
            assert_eq!(out, (0..2000).map(|number| (number, 1)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_helper_that_waited_helps_again() {
        let walk = std::thread::current().id();
        let helped = AtomicUsize::new(0);
        let unpack = |_: &mut usize| {
            std::thread::sleep(Duration::from_millis(1));
            helped.fetch_add((std::thread::current().id() != walk).into(), Ordering::Relaxed);
        };
        let mut numbers = 0..200;
        let mut find = || numbers.next();
        let window = Window::new(&mut find, &unpack);
        std::thread::scope(|scope| {
            scope.spawn(|| window.help());
            let _ends = EndsHelp(&window);
            while let Some(number) = window.take() {
                // Slow and quick by turns, so that both come to wait for the other.
                if number.is_multiple_of(20) {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        });
        assert!(helped.into_inner() > 20);
    }

    #[test]
    fn what_a_helper_panicked_over_is_unpacked_by_the_walk() {
        let walk = std::thread::current().id();
        let (begun, begins) = std::sync::mpsc::channel();
        let unpack = |batch: &mut usize| {
            if std::thread::current().id() != walk {
                begun.send(()).unwrap();
                panic!("as the test wants it");
            }
            *batch += 100;
        };
        let mut numbers = 0..WINDOW;
        let mut find = || numbers.next();
        let window = Window::new(&mut find, &unpack);
        std::thread::scope(|scope| {
            let help = scope.spawn(|| window.help());
            begins.recv().unwrap();
            let out: Vec<usize> = std::iter::from_fn(|| window.take()).collect();
            assert_eq!(out, (100..100 + WINDOW).collect::<Vec<_>>());
            assert!(help.join().is_err());
        });
    }

    #[test]
    fn a_search_that_panicked_finds_no_more() {
        for helped in [false, true] {
            let mut numbers = 0..3 * WINDOW;
            let mut find = || {
                let number = numbers.next();
                assert!(number != Some(WINDOW), "as the test wants it");
                number
            };
            let window = Window::new(&mut find, &|_: &mut usize| {});
            let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                std::thread::scope(|scope| {
                    if helped {
                        scope.spawn(|| window.help());
                    }
                    let _ends = EndsHelp(&window);
                    while let Some(number) = window.take() {
                        assert!(number < WINDOW);
                    }
                });
            }));
            assert!(walked.is_err());
        }
    }
}
