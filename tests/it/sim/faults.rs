//! What goes wrong, and at which call.
//!
//! Calls that change or sync something are numbered from zero over the whole disk; reads only if
//! asked. A fault is used up when it strikes, and waits for a call that it can strike: a short
//! write for a write, a failing sync for a sync. A crash stays.

use std::fmt;
use std::io;
use std::path::Path;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Opens a file in a mode that may make it.
    Create,
    /// Writes to a file.
    Write,
    /// Changes a file's length.
    SetLen,
    /// Syncs a file.
    SyncData,
    /// Syncs a directory.
    SyncDir,
    /// Renames a file; the path is the new one.
    Rename,
    /// Removes a file.
    Remove,
    /// Makes a directory.
    CreateDir,
    /// Opens an existing file.
    Open,
    /// Reads, maps, measures or lists.
    Read,
}

impl Op {
    pub(super) fn is_read(self) -> bool {
        matches!(self, Op::Open | Op::Read)
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The machine stops: this call and all later ones fail. A write may get a part of the way.
    Crash,
    /// The call fails with EIO, a sync as with `SyncFails`.
    Eio,
    /// A call that is no read fails with ENOSPC; a sync of a file forgets what was to be written.
    Enospc,
    /// A write takes fewer bytes than it was given.
    ShortWrite,
    /// A sync fails with EIO; one of a file forgets what was to be written.
    SyncFails,
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Fault::Crash => io::Error::other(Crashed),
            Fault::Eio | Fault::SyncFails | Fault::ShortWrite => io::Error::from_raw_os_error(5),
            Fault::Enospc => io::Error::from_raw_os_error(28),
        }
    }

    fn strikes(self, op: Op) -> bool {
        match self {
            Fault::Crash | Fault::Eio => true,
            Fault::Enospc => !op.is_read(),
            Fault::ShortWrite => op == Op::Write,
            Fault::SyncFails => matches!(op, Op::SyncData | Op::SyncDir),
        }
    }

    /// Says whether the call itself must see the fault because it does more than fail.
    fn has_effect(self, op: Op) -> bool {
        match op {
            Op::Write => matches!(self, Fault::Crash | Fault::ShortWrite),
            Op::SyncData => self != Fault::Crash,
            _ => false,
        }
    }
}

/// The error of every call on a disk that has crashed.
#[derive(Debug)]
struct Crashed;

impl fmt::Display for Crashed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the simulated machine has crashed")
    }
}

impl std::error::Error for Crashed {}

/// Says whether an error comes from a crash of the simulated machine.
pub(crate) fn is_crash(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Crashed>())
}

type Predicate = Box<dyn FnMut(Op, &Path) -> bool + Send>;

/// The faults to come and the calls so far.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) calls: u64,
    pub(super) count_reads: bool,
    pub(super) crashed: bool,
    at: Vec<(u64, Fault)>,
    when: Vec<(Predicate, Fault)>,
}

impl Faults {
    pub(super) fn add_at(&mut self, call: u64, fault: Fault) {
        self.at.push((call, fault));
    }

    pub(super) fn add_when(&mut self, predicate: Predicate, fault: Fault) {
        self.when.push((predicate, fault));
    }

    /// Fails if the machine has crashed.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.crashed {
            return Err(Fault::Crash.error());
        }
        Ok(())
    }

    /// Begins a call: fails it, or gives the fault that it must act out itself.
    pub(super) fn begin(&mut self, op: Op, path: &Path) -> io::Result<Option<Fault>> {
        self.check()?;
        let Some(fault) = self.next(op, path) else {
            return Ok(None);
        };
        self.crashed = fault == Fault::Crash;
        if fault.has_effect(op) {
            return Ok(Some(fault));
        }
        Err(fault.error())
    }

    fn next(&mut self, op: Op, path: &Path) -> Option<Fault> {
        if !op.is_read() || self.count_reads {
            let call = self.calls;
            self.calls += 1;
            let due = |(at, fault): &(u64, Fault)| *at <= call && fault.strikes(op);
            if let Some(found) = self.at.iter().position(due) {
                return Some(self.at.remove(found).1);
            }
        }
        let found = self
            .when
            .iter_mut()
            .position(|(predicate, fault)| fault.strikes(op) && predicate(op, path))?;
        Some(self.when.remove(found).1)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Faults({} calls, crashed: {})", self.calls, self.crashed)
    }
}

/// A small generator of numbers that look random (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Gives a number less than `limit`, which is not zero.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
