//! Work on a list that two threads share.

use std::panic::resume_unwind;
use std::thread;

use crate::threads::help_scoped;

/// Lists that are shorter are not worth a thread.
const ITEMS_MIN: usize = 4;

/// Gives what becomes of each item, in order: with `threads`, this thread and another take one item
/// after the other.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if threads == 0 || items.len() < ITEMS_MIN {
        return items.iter().map(work).collect();
    }
    // Neighbours are of about one length, so every other item is about half of the work.
    let every_other =
        |first: usize| -> Vec<R> { items.iter().skip(first).step_by(2).map(&work).collect() };
    let (even, odd) = thread::scope(|scope| {
        let beside = help_scoped(scope, "sapwood-half", || every_other(1));
        let here = every_other(0);
        // Where no thread can be had, this one does it all.
        let join = |it: thread::ScopedJoinHandle<'_, Vec<R>>| {
            it.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        (here, beside.map_or_else(|_| every_other(1), join))
    });
    let mut odd = odd.into_iter();
    even.into_iter().flat_map(|one| [Some(one), odd.next()]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_items_come_back_in_order() {
        for count in 0..20 {
            let items: Vec<usize> = (0..count).collect();
            for threads in [0, 1, 2] {
                let doubled: Vec<usize> = (0..count).map(|item| item * 2).collect();
                assert_eq!(map(&items, threads, |item| item * 2), doubled, "{count} {threads}");
            }
        }
    }
}
