//! Random sequences of all verbs, done by the program and by a simple model of lists. After each
//! step everything that can be seen must be the same, and a step that was refused must have changed
//! nothing. The environment variable `SAPWOOD_TORTURE` makes the runs long.

mod check;
mod context;
mod desk;
mod facts;
mod picks;
mod places;
mod talk;
mod undo;
mod verbs;
mod world;

use std::path::Path;
use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};
use sapwood::Repo;
use sapwood::disk::OsDisk;
use sapwood::store::local::{FsckOptions, Severity, fsck};

use crate::faults::long;
use crate::support::options;
use check::refs;
use desk::Desk;
use picks::{Step, steps};

/// Takes one step, and compares everything.
fn take(desk: &mut Desk, step: &Step, told: &mut Vec<String>) {
    let before = refs(&*desk.repo.snapshot().unwrap());
    let log = desk.world.log.len();
    let turns: usize = desk.world.sessions.iter().map(|session| session.turns.len()).sum();
    told.push(desk.take(step));
    let is_same = log == desk.world.log.len()
        && turns == desk.world.sessions.iter().map(|session| session.turns.len()).sum::<usize>();
    if is_same {
        assert_eq!(refs(&*desk.repo.snapshot().unwrap()), before, "it did nothing");
    }
    desk.check(usize::from(step.picks[7]));
}

/// Runs steps; tells what was done if anything differs.
#[allow(clippy::print_stderr, reason = "a failed run must say what led to it")]
fn run(desk: &mut Desk, steps: &[Step], between: &mut dyn FnMut(&mut Desk, usize)) {
    let mut told = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            take(desk, step, &mut told);
            between(desk, number);
        }));
        if let Err(panic) = outcome {
            eprintln!("{:?} failed after:\n{}", step.verb, told.join("\n"));
            std::panic::resume_unwind(panic);
        }
    }
}

fn runner(cases: u32) -> TestRunner {
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 1024, ..Config::default() };
    TestRunner::new(config)
}

#[test]
fn the_program_does_what_the_model_does() {
    let (cases, count) = if long() { (2000, 80) } else { (64, 40) };
    let checked = runner(cases).run(&steps(count), |steps| {
        run(&mut Desk::new(Repo::in_memory()), &steps, &mut |_, _| {});
        Ok(())
    });
    checked.unwrap();
}

#[test]
fn and_so_it_does_on_a_disk_opened_again_and_again() {
    let (cases, count) = if long() { (100, 80) } else { (4, 30) };
    let checked = runner(cases).run(&(steps(count), 1..9usize), |(steps, often)| {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join(".sapwood");
        let mut desk = Desk::new(Repo::init(&root, options()).unwrap());
        run(&mut desk, &steps, &mut |desk, number| {
            if number % often == 0 {
                desk.repo = Repo::in_memory();
                desk.repo = Repo::open(&root, options()).unwrap();
                desk.check(number);
            }
        });
        drop(desk);
        check_files(&root);
        Ok(())
    });
    checked.unwrap();
}

fn check_files(root: &Path) {
    let report = fsck(Arc::new(OsDisk), root, &FsckOptions::default()).unwrap();
    for finding in report.findings {
        assert!(finding.severity == Severity::Notice, "{finding:?}");
    }
}
