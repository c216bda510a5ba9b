//! A repair that is cut off at every call to the disk, and the one that goes on.

use super::oracle::Oracle;
use super::{check, fix};
use crate::faults::{file, long};
use crate::sim::{Fault, Policy, SimDisk};

/// Repairs a copy of a disk that stops at every n-th call, and checks the next repair.
fn cut_off(oracle: &Oracle, damaged: &SimDisk, lost: &super::oracle::Ids, name: &str) {
    let whole = damaged.copy();
    let from = whole.calls();
    fix(&whole).unwrap();
    let calls = whole.calls() - from;
    assert!(calls > 20, "{name}: {calls}");
    let (step, images) = if long() { (1, 50) } else { ((calls / 25).max(1), 2) };
    for call in (0..calls).step_by(step as usize) {
        let random = (0..images).map(|image| Policy::Random(call + image * 1000));
        for policy in [Policy::LoseUnsynced, Policy::KeepAll].into_iter().chain(random) {
            let disk = damaged.copy();
            disk.fail_at(disk.calls() + call, Fault::Crash);
            let cut = fix(&disk);
            assert!(cut.is_err(), "{name}: call {call} is made");
            let context = format!("{name}, cut off at call {call}, {policy:?}");
            check(&disk.crash(policy), oracle, lost, &context);
        }
    }
}

#[test]
fn a_repair_that_is_cut_off_is_taken_up() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let pack = oracle.pack();
    disk.flip(&pack, 200);
    disk.flip(file("current"), 40);
    cut_off(&oracle, &disk, &oracle.hit(&pack, 200..201), "a pack and the manifest");
}

#[test]
fn a_repair_of_the_journal_that_is_cut_off_is_taken_up() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let segment = oracle.segments()[0].clone();
    let bytes = disk.read(&segment);
    let content = bytes.windows(7).position(|part| part == b"third 1").unwrap();
    disk.flip(&segment, content);
    let lost = oracle.hit(&segment, content..content + 1);
    assert_eq!(lost.len(), 1);
    cut_off(&oracle, &disk, &lost, "a content in the journal");
}

#[test]
fn a_disk_that_is_full_or_fails_leaves_all_as_it_was() {
    let oracle = Oracle::new();
    let disk = oracle.disk.copy();
    let pack = oracle.pack();
    disk.flip(&pack, 200);
    let lost = oracle.hit(&pack, 200..201);
    let whole = disk.copy();
    let from = whole.calls();
    fix(&whole).unwrap();
    let calls = whole.calls() - from;
    let step = if long() { 1 } else { (calls / 15).max(1) };
    for call in (0..calls).step_by(step as usize) {
        for fault in [Fault::Enospc, Fault::Eio, Fault::ShortWrite] {
            let failing = disk.copy();
            failing.fail_at(failing.calls() + call, fault);
            // It fails, or did not need that call: what counts is what the next one finds.
            let _ = fix(&failing);
            check(&failing, &oracle, &lost, &format!("call {call} fails with {fault:?}"));
        }
    }
}
