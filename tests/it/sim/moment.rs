//! A disk as it was before one call, kept while a workload ran on.
//!
//! Running a workload once and taking crash images of each moment costs a clone of the names and a
//! count of references for the bytes; running it again up to each call would cost the square.

use super::crash::Policy;
use super::faults::Random;
use super::files::Files;
use super::{Settings, SimDisk};

/// A disk as it was before one call.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    files: Files,
    random: Random,
}

impl Moment {
    pub(super) fn new(files: Files, random: Random) -> Moment {
        Moment { files, random }
    }

    /// Gives what a crash at this moment leaves.
    pub(crate) fn crash(&self, policy: Policy) -> SimDisk {
        let left = self.files.after_crash(policy);
        SimDisk::with(left, self.random.clone(), Settings::default())
    }
}
