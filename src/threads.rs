//! Threads that help with what another one does, on a processor of their own.
//!
//! A system may leave a new thread on the processor of the one that made it until it balances its
//! load, some milliseconds later: by then what was to be done at once has been done in turn. So
//! whoever makes a helper steps aside once for it to begin, and a helper that finds itself on its
//! maker's processor moves to another. From then on it may run wherever the process may.
//!
//! Not here: threads that mostly wait, for the disk or for others; they need no processor.

use std::io;
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Begins a helper that ends before its scope does.
pub(crate) fn help_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let maker = Processor::current();
    let named = Builder::new().name(name.to_owned());
    let begun = named.spawn_scoped(scope, move || {
        maker.leave();
        work()
    });
    thread::yield_now();
    begun
}

/// Begins a helper that may outlive whoever made it.
pub(crate) fn help<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let maker = Processor::current();
    let begun = Builder::new().name(name.to_owned()).spawn(move || {
        maker.leave();
        work()
    });
    thread::yield_now();
    begun
}

/// A processor.
#[derive(Clone, Copy, Debug)]
struct Processor(#[cfg(target_os = "linux")] usize);

#[cfg(target_os = "linux")]
impl Processor {
    fn current() -> Processor {
        Processor(rustix::thread::sched_getcpu())
    }

    /// Moves this thread elsewhere if it runs here, and there is an elsewhere.
    fn leave(self) {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

        let Processor(number) = self;
        if Processor::current().0 != number || number >= CpuSet::MAX_CPU {
            return;
        }
        let Ok(all) = sched_getaffinity(None) else { return };
        let mut others = all;
        others.unset(number);
        // Without others there is nowhere to go, and to ask for it fails.
        if sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &all);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Processor {
    fn current() -> Processor {
        Processor()
    }

    fn leave(self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_do_their_work_and_say_who_they_are() {
        let name = || thread::current().name().map(str::to_owned);
        assert_eq!(help("one", name).unwrap().join().unwrap().as_deref(), Some("one"));
        let text = "borrowed".to_owned();
        thread::scope(|scope| {
            let helper = help_scoped(scope, "two", || (name(), text.len())).unwrap();
            assert_eq!(helper.join().unwrap(), (Some("two".to_owned()), 8));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_helper_leaves_its_makers_processor_and_may_run_anywhere_afterwards() {
        use rustix::thread::sched_getaffinity;

        let allowed = || {
            let set = sched_getaffinity(None).unwrap();
            (0..rustix::thread::CpuSet::MAX_CPU).filter(|it| set.is_set(*it)).collect::<Vec<_>>()
        };
        let before = allowed();
        let leaves = move || {
            let here = Processor::current();
            here.leave();
            (here.0, Processor::current().0, allowed())
        };
        // It may have been moved back since, but seldom each time.
        let is_elsewhere = (0..20).any(|_| {
            let (from, to, after) = help("leaves", leaves).unwrap().join().unwrap();
            assert_eq!(after, before);
            from != to
        });
        assert!(is_elsewhere || before.len() < 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn maker_and_helper_run_on_two_processors() {
        let begins_elsewhere = |_: &usize| {
            let maker = Processor::current().0;
            let helper = help("begins", || Processor::current().0).unwrap().join().unwrap();
            helper != maker
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let elsewhere = (0..40).filter(begins_elsewhere).count();
        assert!(elsewhere > 20 || processors < 2, "{elsewhere} of 40");
    }
}
