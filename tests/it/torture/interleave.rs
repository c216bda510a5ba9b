//! Orders of the steps of two or three processes, up to two preemptions.
//!
//! Each process is a thread with a handle of its own on one simulated disk. Only one runs at a
//! time: until it ends or finds a lock taken, unless the schedule makes it stop before one of its
//! calls to the disk and another go on. The short form tries some of the schedules with one such
//! preemption; the long form tries all of them, and those with two up to a limit. It is the real
//! code of the store that runs, with its real locks; `docs/decisions/` says why this and not a
//! model.
//!
//! After each schedule everything that was acknowledged is there, no reachable object is missing,
//! and the check of the whole store finds nothing. Those who read see the same at any moment.

mod scenarios;
mod schedule;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use scenarios::{Scenario, scenarios};
use schedule::{Plan, Trace, run};

use super::sight::fsck_is_clean;
use super::{long, tell};

/// Runs a scenario under one schedule and checks what is left.
fn try_plan(scenario: &Scenario, plan: &Plan) -> Trace {
    let disk = scenario.disk.copy();
    let trace = run(&disk, &scenario.actors, plan);
    let context = || format!("{}: {plan:?}", scenario.name);
    for (actor, outcome) in scenario.actors.iter().zip(&trace.outcomes) {
        assert!(outcome.is_ok(), "{}: {}: {outcome:?}", context(), actor.name);
    }
    (scenario.check)(&disk).unwrap_or_else(|error| panic!("{}: {error}", context()));
    let checked = std::panic::catch_unwind(|| fsck_is_clean(&disk));
    assert!(matches!(checked, Ok(Ok(()))), "{}", context());
    trace
}

/// Gives all plans with one preemption more, after those that there are.
fn extended(plan: &Plan, trace: &Trace) -> Vec<Plan> {
    let from = plan.last().map_or(0, |(step, _)| step + 1);
    let mut plans = Vec::new();
    for (step, choices) in trace.steps.iter().enumerate().skip(from) {
        for actor in choices {
            plans.push([plan.as_slice(), &[(step, *actor)]].concat());
        }
    }
    plans
}

/// Tries all plans, in as many threads as there are processors, and gives the next longer ones.
fn try_all(scenario: &Scenario, plans: &[Plan], wanted: bool) -> Vec<Plan> {
    let next = AtomicUsize::new(0);
    let longer = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let trace = try_plan(scenario, plan);
                    if wanted {
                        longer.lock().unwrap().extend(extended(plan, &trace));
                    }
                }
            });
        }
    });
    longer.into_inner().unwrap()
}

#[test]
fn no_order_of_steps_loses_anything() {
    let total = AtomicU64::new(0);
    for scenario in scenarios() {
        let first = try_plan(&scenario, &Plan::new());
        let mut plans = extended(&Plan::new(), &first);
        if !long() {
            // A part of them, another one for each scenario.
            let step = (plans.len() / 60).max(1);
            plans = plans.into_iter().skip(scenario.name.len() % step).step_by(step).collect();
        }
        let mut tried = 1 + plans.len() as u64;
        let mut second = try_all(&scenario, &plans, long());
        if long() {
            const SECOND_MAX: usize = 40_000;
            let step = second.len().div_ceil(SECOND_MAX).max(1);
            let all = second.len();
            second = second.into_iter().step_by(step).collect();
            try_all(&scenario, &second, false);
            tried += second.len() as u64;
            tell(format_args!(
                "{}: {} of {all} schedules with two preemptions",
                scenario.name,
                second.len()
            ));
        }
        let steps = first.steps.len();
        tell(format_args!("{}: {steps} steps, {tried} schedules", scenario.name));
        total.fetch_add(tried, Ordering::Relaxed);
    }
    let total = total.into_inner();
    tell(format_args!("{total} schedules; no reachable object was ever missing"));
}
