//! A power cut at every call to the disk, and what each may have left.
//!
//! A workload runs once while the disk keeps itself as it is before each call: a moment. Of each
//! moment many images are taken: unsynced writes lost, kept or torn at sectors, each name change
//! lost or kept for itself. What a reader sees in an image must be what a reader could have seen at
//! some moment between the last acknowledgement and this one: nothing acknowledged is lost, nothing
//! is half there. Then a writer goes on, and the check of the whole store finds nothing.
//!
//! Recovery is a workload like the others: it is done on an image while the disk keeps its moments,
//! and the power is cut at each of these again.
//!
//! Images that are the same to the byte, mirror files of refs aside, are checked once and counted
//! as one.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use sapwood::error::Result;
use sapwood::store::{OperationRecord, RefName, RefValue};

use super::sight::{Sight, fsck_is_clean, go_on};
use super::workload::{Workload, workloads};
use super::{long, tell};
use crate::faults::file;
use crate::sim::{Moment, Policy, SimDisk};
use crate::support::{append, open};

/// Moments of a run, and what a killed process leaves for readers to see at each.
struct Recording {
    name: String,
    moments: Vec<Moment>,
    sights: Vec<Option<Sight>>,
    /// The moments by which something was acknowledged, in order.
    acknowledged: Vec<usize>,
    /// What may be seen as well until the first acknowledgement.
    prior: Vec<Option<Sight>>,
}

impl Recording {
    /// Runs something on a disk that keeps its moments. It is given a way to acknowledge.
    fn of(name: String, disk: &SimDisk, run: impl FnOnce(&mut dyn FnMut())) -> Recording {
        let mut acknowledged = Vec::new();
        disk.record();
        run(&mut || acknowledged.push(disk.recorded()));
        let moments = disk.take_moments();
        let sight = |(number, moment): (usize, &Moment)| {
            let seen = Sight::of(&moment.crash(Policy::KeepAll));
            seen.unwrap_or_else(|error| panic!("{name}: killed at call {number}: {error}"))
        };
        let sights = moments.iter().enumerate().map(sight).collect();
        Recording { name, moments, sights, acknowledged, prior: Vec::new() }
    }

    /// Gives the moment of the last acknowledgement before this one.
    fn floor(&self, moment: usize) -> usize {
        let done = self.acknowledged.partition_point(|at| *at <= moment);
        done.checked_sub(1).map_or(0, |last| self.acknowledged[last])
    }

    /// Says whether somebody may see this. The store and its backup are judged apart: who goes on
    /// after a crash vouches for the store, not for a backup that was cut off.
    fn allows(&self, moment: usize, seen: &Option<Sight>) -> bool {
        let since = &self.sights[self.floor(moment)..=moment];
        let early = self.acknowledged.first().is_none_or(|first| moment < *first);
        let prior = || self.prior.iter();
        let mut stores = since.iter().chain(prior().filter(|_| early));
        let mut backups = since.iter().chain(prior());
        stores.any(|sight| store_of(sight) == store_of(seen))
            && backups.any(|sight| backup_of(sight) == backup_of(seen))
    }
}

type Store<'s> = (&'s [(RefName, RefValue)], &'s [OperationRecord]);

fn store_of(sight: &Option<Sight>) -> Option<Store<'_>> {
    sight.as_ref().map(|sight| (sight.refs.as_slice(), sight.operations.as_slice()))
}

fn backup_of(sight: &Option<Sight>) -> Option<&Sight> {
    sight.as_ref()?.backup.as_deref()
}

fn record(workload: &Workload) -> Recording {
    let disk = SimDisk::new(1);
    Recording::of(workload.name.to_owned(), &disk, |acknowledge| {
        let told = |step: &super::workload::Step| {
            if step.is_durable {
                acknowledge();
            }
        };
        workload.run(&disk, told).unwrap();
    })
}

/// What comes after a crash: the store is opened, written to and maintained.
fn record_recovery(name: String, disk: &SimDisk) -> Recording {
    Recording::of(name, disk, |acknowledge| {
        let recovered: Result<()> = (|| {
            let store = open(disk)?;
            append(&store, "recovered", "hello")?;
            acknowledge();
            store.maintain()
        })();
        recovered.unwrap();
    })
}

/// How many images were tried, and which.
#[derive(Default)]
struct Tally {
    tried: AtomicU64,
    distinct: AtomicU64,
    seen: [Mutex<HashSet<u128>>; 16],
}

impl Tally {
    /// Counts an image, and says whether it is one that was not checked before.
    fn is_new(&self, key: [u8; 32]) -> bool {
        self.tried.fetch_add(1, Ordering::Relaxed);
        let short = u128::from_le_bytes(key[..16].try_into().unwrap());
        let shard = &self.seen[usize::from(key[31]) % self.seen.len()];
        let is_new = shard.lock().unwrap().insert(short);
        self.distinct.fetch_add(u64::from(is_new), Ordering::Relaxed);
        is_new
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(
            out,
            "{} crash images, {} of them different",
            load(&self.tried),
            load(&self.distinct)
        )
    }
}

/// Says whether a file holds truth; mirror files of refs do not.
fn is_truth(path: &Path) -> bool {
    !path.starts_with(file("refs/sessions")) && !path.starts_with(file("refs/other"))
}

/// Takes an image of a moment and checks all that must hold; `None` if it was checked before.
fn try_image(
    tally: &Tally,
    recording: &Recording,
    moment: usize,
    policy: Policy,
) -> Option<SimDisk> {
    let image = recording.moments[moment].crash(policy);
    let key = image.fingerprint(is_truth);
    // The same bytes may be allowed at one moment and a loss at another.
    let seen = Sight::of(&image);
    let context = || {
        let Recording { name, moments, .. } = recording;
        format!("{name}: cut at call {moment} of {}, {policy:?}", moments.len() - 1)
    };
    let seen = seen.unwrap_or_else(|error| panic!("{}: {error}", context()));
    assert!(recording.allows(moment, &seen), "{}: {seen:#?}", context());
    if !tally.is_new(key) {
        return None;
    }
    let checked = image.copy();
    let maintain = key[0].is_multiple_of(8);
    let failed = std::panic::catch_unwind(|| {
        fsck_if_any(&checked, &seen)?;
        go_on(&checked, maintain)?;
        fsck_is_clean(&checked)
    });
    match failed {
        Ok(Ok(())) => {}
        Ok(Err(error)) => panic!("{}: {error}", context()),
        Err(_) => panic!("{}: see above", context()),
    }
    Some(image)
}

/// Checks an image as it is, before anybody writes to it.
fn fsck_if_any(image: &SimDisk, seen: &Option<Sight>) -> Result<()> {
    match seen {
        Some(_) => fsck_is_clean(image),
        None => Ok(()),
    }
}

/// How many images are taken.
#[derive(Clone, Copy)]
struct Plan {
    /// Random images of each moment.
    random: u64,
    /// The recovery of every so many images is a workload itself.
    recovery_step: usize,
    /// Random images of each moment of a recovery.
    recovery_random: u64,
}

fn policies(moment: usize, random: u64) -> Vec<Policy> {
    let mut policies = vec![Policy::LoseUnsynced, Policy::KeepAll];
    policies.extend((0..random).map(|number| Policy::Random(moment as u64 * 1_000 + number)));
    policies
}

/// Tries all images of one moment, and those of the recoveries from some of them.
fn try_moment(tally: &Tally, recording: &Recording, moment: usize, plan: Plan) {
    for (number, policy) in policies(moment, plan.random).into_iter().enumerate() {
        let Some(image) = try_image(tally, recording, moment, policy) else {
            continue;
        };
        let due = (moment + number).is_multiple_of(plan.recovery_step);
        let Some(seen) = Sight::of(&image).unwrap().filter(|_| due) else {
            continue;
        };
        let name = format!("{}, {policy:?} at call {moment}, recovery", recording.name);
        let mut again = record_recovery(name, &image);
        again.prior = vec![Some(seen)];
        if policy == Policy::KeepAll {
            // What was seen after a kill need not be durable.
            again.prior = recording.sights[recording.floor(moment)..=moment].to_vec();
        }
        for second in 0..again.moments.len() {
            for policy in policies(moment + second, plan.recovery_random) {
                try_image(tally, &again, second, policy);
            }
        }
    }
}

/// Tries the images of all moments of all workloads, in as many threads as there are processors,
/// and all of it once more, a little different, until there were as many images as are wanted.
fn torture(wanted: u64, plan: Plan) -> Tally {
    let tally = Tally::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let is_enough = |round| round > 0 && tally.tried.load(Ordering::Relaxed) >= wanted;
    for round in (0..).take_while(|round| !is_enough(*round)) {
        for workload in workloads(round).iter().take_while(|_| !is_enough(round)) {
            let begun = Instant::now();
            let recording = record(workload);
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        loop {
                            let moment = next.fetch_add(1, Ordering::Relaxed);
                            if moment >= recording.moments.len() {
                                break;
                            }
                            try_moment(&tally, &recording, moment, plan);
                        }
                    });
                }
            });
            let calls = recording.moments.len() - 1;
            let seconds = begun.elapsed().as_secs_f64();
            tell(format_args!(
                "{} {round}: {calls} calls, {seconds:.1} s; {tally} so far",
                workload.name
            ));
        }
    }
    tally
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_acknowledged() {
    let plan = match long() {
        true => Plan { random: 6, recovery_step: 3, recovery_random: 3 },
        false => Plan { random: 1, recovery_step: 97, recovery_random: 0 },
    };
    let tally = torture(if long() { 1_000_000 } else { 0 }, plan);
    tell(format_args!("{tally}; nothing acknowledged was lost"));
}
