//! Unpacking ahead of a walk, by whoever has the time.
//!
//! The walking thread puts batches into a window as it finds them, and takes them out in order. A
//! second thread unpacks what waits in the window. The walking thread waits for it only where
//! nothing else is left to unpack: where the second thread gets no processor, it does all itself.
//!
//! Not here: finding the path, and what a batch is made of.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many batches are in the window at the most.
pub(super) const WINDOW: usize = 8;

/// Batches between being found and being visited.
pub(super) struct Window<'u, B> {
    slots: Mutex<Slots<B>>,
    changed: Condvar,
    unpack: Unpack<'u, B>,
}

/// Unpacks a batch; a failure stays in it, for whoever takes it out.
type Unpack<'u, B> = &'u (dyn Fn(&mut B) + Sync);

struct Slots<B> {
    slots: VecDeque<Slot<B>>,
    /// How many were taken out: the number of the first slot.
    taken: usize,
    over: bool,
    /// How many threads wait for a change: waking nobody is a call to the system all the same.
    waiting: usize,
}

enum Slot<B> {
    Packed(B),
    InHand,
    Unpacked(B),
}

impl<B> Slots<B> {
    fn packed(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot, Slot::Packed(_))).count()
    }
}

impl<'u, B> Window<'u, B> {
    pub(super) fn new(unpack: Unpack<'u, B>) -> Window<'u, B> {
        let slots = VecDeque::with_capacity(WINDOW);
        let slots = Slots { slots, taken: 0, over: false, waiting: 0 };
        Window { slots: Mutex::new(slots), changed: Condvar::new(), unpack }
    }

    /// Adds a batch, and says whether the window is full.
    pub(super) fn add(&self, batch: B) -> bool {
        let mut slots = self.lock();
        slots.slots.push_back(Slot::Packed(batch));
        // The other thread is woken for a few at once: waking takes as long as unpacking one.
        if slots.waiting > 0 && slots.packed() > WINDOW / 2 {
            self.changed.notify_one();
        }
        slots.slots.len() >= WINDOW
    }

    /// Takes the first batch out, unpacked; `None` if there is none.
    pub(super) fn take(&self) -> Option<B> {
        let mut slots = self.lock();
        loop {
            match slots.slots.front()? {
                Slot::Unpacked(_) => {
                    slots.taken += 1;
                    return match slots.slots.pop_front() {
                        Some(Slot::Unpacked(batch)) => Some(batch),
                        _ => None,
                    };
                }
                _ => slots = self.unpack_one(slots),
            }
        }
    }

    /// Unpacks what others add, until it is over.
    pub(super) fn help(&self) {
        let mut slots = self.lock();
        while !slots.over {
            slots = self.unpack_one(slots);
            if slots.waiting > 0 && matches!(slots.slots.front(), Some(Slot::Unpacked(_))) {
                self.changed.notify_one();
            }
        }
    }

    /// Ends the help.
    pub(super) fn end(&self) {
        self.lock().over = true;
        self.changed.notify_one();
    }

    /// Unpacks the first batch that waits for it, or waits for a change if there is none.
    fn unpack_one<'w>(&'w self, mut slots: MutexGuard<'w, Slots<B>>) -> MutexGuard<'w, Slots<B>> {
        let next = slots.slots.iter().position(|slot| matches!(slot, Slot::Packed(_)));
        let Some(place) = next else {
            slots.waiting += 1;
            slots = self.changed.wait(slots).unwrap_or_else(PoisonError::into_inner);
            slots.waiting -= 1;
            return slots;
        };
        let Slot::Packed(batch) = std::mem::replace(&mut slots.slots[place], Slot::InHand) else {
            return slots;
        };
        let mut hand = Hand { window: self, number: slots.taken + place, batch: Some(batch) };
        drop(slots);
        hand.batch.as_mut().map(self.unpack);
        hand.put_back(Slot::Unpacked)
    }

    fn lock(&self) -> MutexGuard<'_, Slots<B>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
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
            let window = Window::new(&unpack);
            let mut out = Vec::new();
            std::thread::scope(|scope| {
                if helped {
                    scope.spawn(|| window.help());
                }
                let _ends = EndsHelp(&window);
                for number in 0..2000 {
                    if window.add((number, 0)) {
                        out.extend(window.take());
                    }
                }
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
        let window = Window::new(&unpack);
        std::thread::scope(|scope| {
            scope.spawn(|| window.help());
            let _ends = EndsHelp(&window);
            // Taken out to the last one again and again, so that both come to wait for the other.
            for number in 0..200 {
                if window.add(number) {
                    while window.take().is_some() {}
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
        let window = Window::new(&unpack);
        std::thread::scope(|scope| {
            let help = scope.spawn(|| window.help());
            assert!((0..WINDOW).map(|number| window.add(number)).last().unwrap_or(false));
            begins.recv().unwrap();
            let out: Vec<usize> = std::iter::from_fn(|| window.take()).collect();
            assert_eq!(out, (100..100 + WINDOW).collect::<Vec<_>>());
            assert!(help.join().is_err());
        });
    }
}
