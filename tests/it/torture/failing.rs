//! Every call to the disk fails once, in every way it can fail, in every workload.
//!
//! The step that meets the fault must say so with a clear error, or succeed all the same. What a
//! reader sees then is the state before the step or one that it passes through in a clean run. The
//! step is done again on a new handle where it has not happened, the other steps follow, and at the
//! end the store is what it is after a clean run, also after a power cut.

use std::sync::Arc;

use sapwood::error::Error;
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Store, Transaction};

use super::sight::{Sight, fsck_is_clean, go_on};
use super::workload::{Step, Workload, workloads};
use super::{long, tell};
use crate::sim::{Fault, Policy, SimDisk};
use crate::support::init;

const FAULTS: [Fault; 4] = [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::SyncFails];

/// How many workloads the short form tries.
const SHORT: usize = 4;

/// A disk with a directory for the store to be in.
fn empty_disk(count_reads: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.write("/s/README", "");
    disk.count_reads(count_reads);
    disk
}

/// What is seen after each step of a clean run, that before the first included.
fn clean_run(workload: &Workload, count_reads: bool) -> (u64, Vec<Sight>) {
    let disk = empty_disk(count_reads);
    let mut sights = vec![Sight::default()];
    workload.run(&disk, |_| sights.push(see(&disk))).unwrap();
    (disk.calls(), sights)
}

fn see(disk: &SimDisk) -> Sight {
    // Looking must not count, nor meet the fault.
    Sight::of(&disk.copy()).unwrap().expect("the store is there")
}

fn check_error(error: &Error, context: &str) {
    let is_clear =
        matches!(error, Error::Io { .. } | Error::OutcomeUnknown { .. } | Error::HandleDead { .. });
    assert!(is_clear, "{context}: {error:?}");
}

fn opened(disk: &SimDisk, context: &str) -> Arc<LocalStore> {
    let store = init(disk).or_else(|error| {
        check_error(&error, context);
        init(disk)
    });
    Arc::new(store.unwrap_or_else(|error| panic!("{context}: {error}")))
}

/// Runs all steps on a disk with one fault, and checks each.
fn run(disk: &SimDisk, workload: &Workload, sights: &[Sight], context: &str) {
    let mut store = opened(disk, context);
    for (place, step) in workload.steps.iter().enumerate() {
        let context = || format!("{context}, step {place}, {}", step.name);
        if step.is_fresh {
            drop(store);
            store = opened(disk, &context());
        }
        if let Err(error) = (step.run)(&store) {
            check_error(&error, &context());
            drop(store);
            store = opened(disk, &context());
            again(&store, step, disk, &sights[place..=place + 1], &context());
        }
        let seen = see(disk);
        assert_eq!(seen.refs, sights[place + 1].refs, "{}", context());
        let operations = (seen.operations.len(), sights[place + 1].operations.len());
        assert_eq!(operations.0, operations.1, "{}", context());
    }
}

/// Does a step again that met the fault, unless it has happened all the same.
fn again(store: &Arc<LocalStore>, step: &Step, disk: &SimDisk, sights: &[Sight], context: &str) {
    let seen = see(disk);
    let changes = sights[0] != sights[1];
    if changes && seen.moved() == sights[1].moved() {
        // It stands, but nobody has said that it is durable: an empty transaction does.
        let nothing = store.commit(Durability::Full, &mut |_| Ok(Transaction::default()));
        return nothing.unwrap_or_else(|error| panic!("{context}, then: {error}"));
    }
    (step.run)(store).unwrap_or_else(|error| panic!("{context}, again: {error}"));
}

/// Fails each call of each workload, and gives how often.
fn fail_each_call(
    workload: &Workload,
    count_reads: bool,
    faults: impl Fn(u64) -> Vec<Fault>,
) -> u64 {
    let (calls, sights) = clean_run(workload, count_reads);
    let mut tried = 0;
    for call in 0..calls {
        for fault in faults(call) {
            let context = format!("{}: {fault:?} at call {call} of {calls}", workload.name);
            let disk = empty_disk(count_reads);
            disk.fail_at(call, fault);
            run(&disk, workload, &sights, &context);
            disk.count_reads(false);
            let disk = disk.crash(Policy::LoseUnsynced);
            let seen = see(&disk);
            assert_eq!(Some(&seen.refs), sights.last().map(|last| &last.refs), "{context}");
            go_on(&disk, false).unwrap_or_else(|error| panic!("{context}: {error}"));
            fsck_is_clean(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
            tried += 1;
        }
    }
    tried
}

#[test]
fn any_call_that_fails_is_a_clear_error_and_a_new_handle_goes_on() {
    let mut tried = 0;
    let count = if long() { usize::MAX } else { SHORT };
    for (place, workload) in workloads(0).iter().take(count).enumerate() {
        let number = place as u64;
        let changes = fail_each_call(workload, false, |call| match long() {
            true => FAULTS.to_vec(),
            false if (call + number).is_multiple_of(7) => vec![FAULTS[(call / 7) as usize % 4]],
            false => vec![],
        });
        let reads = fail_each_call(workload, true, |call| match long() {
            true => vec![Fault::Eio],
            false if (call + number).is_multiple_of(41) => vec![Fault::Eio],
            false => vec![],
        });
        tell(format_args!("{}: {changes} faults at changes, {reads} at reads", workload.name));
        tried += changes + reads;
    }
    tell(format_args!("{tried} calls failed; each was a clear error or did no harm"));
}
