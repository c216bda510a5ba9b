//! Two or three stores, random talk, random moves: nothing is lost, and all agree in the end.

use std::collections::HashSet;

use proptest::prelude::*;
use sapwood::id::Id;
use sapwood::ops::SessionChange;

use super::bundles::{bundle_of, unbundle};
use super::{Desk, set};

/// Something that happens at one of the desks.
#[derive(Clone, Debug)]
enum Step {
    Say(usize, usize),
    Switch(usize, usize),
    Label(usize, usize),
    Fetch(usize, usize),
    Bundle(usize, usize),
    Push(usize, usize),
}

const BRANCHES: [&str; 3] = ["main", "idea", "architect/deeper"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (desk, branch) = (0..3usize, 0..BRANCHES.len());
    let two = (0..3usize, 1..3usize).prop_map(|(one, more)| (one, (one + more) % 3));
    let step = prop_oneof![
        6 => (desk.clone(), branch.clone()).prop_map(|(desk, branch)| Step::Say(desk, branch)),
        1 => (desk.clone(), branch.clone()).prop_map(|(desk, to)| Step::Switch(desk, to)),
        1 => (desk, branch).prop_map(|(desk, name)| Step::Label(desk, name)),
        2 => two.clone().prop_map(|(to, from)| Step::Fetch(to, from)),
        1 => two.clone().prop_map(|(to, from)| Step::Bundle(to, from)),
        1 => two.prop_map(|(from, to)| Step::Push(from, to)),
    ];
    proptest::collection::vec(step, 1..40)
}

fn run(steps: &[Step]) {
    let desks = [Desk::new("a", 1_000), Desk::new("b", 2_003), Desk::new("c", 3_007)];
    let mut said: [HashSet<Id>; 3] = Default::default();
    let first = desks[0].say("main", "begin");
    said.iter_mut().for_each(|said| said.extend([first]));
    for to in 1..3 {
        desks[to].fetch(&desks[0]);
    }
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Say(desk, branch) => {
                let id = desks[desk].say(BRANCHES[branch], &format!("{number}"));
                said[desk].insert(id);
            }
            Step::Switch(desk, to) => {
                if desks[desk].end(BRANCHES[to]).is_some() {
                    desks[desk].switch(BRANCHES[to]);
                }
            }
            Step::Label(desk, name) => desks[desk].label(BRANCHES[name], "main"),
            Step::Fetch(to, from) => {
                desks[to].fetch(&desks[from]);
                let theirs = said[from].clone();
                said[to].extend(theirs);
            }
            Step::Bundle(to, from) => {
                unbundle(&desks[to], &bundle_of(&desks[from], &[])[..]).unwrap();
                let theirs = said[from].clone();
                said[to].extend(theirs);
            }
            Step::Push(from, to) => {
                let landed = desks[from].push(&desks[to]);
                if landed[0].change != SessionChange::Refused {
                    let theirs = said[from].clone();
                    said[to].extend(theirs);
                }
            }
        }
        for (desk, said) in desks.iter().zip(&said) {
            assert_eq!(&set(&desk.transcript()), said, "after {number}: {step:?}");
        }
    }
    // One takes all, and brings it to the others: they agree.
    desks[0].fetch(&desks[1]);
    desks[0].fetch(&desks[2]);
    for to in 1..3 {
        let landed = desks[0].push(&desks[to]);
        assert_ne!(landed[0].change, SessionChange::Refused);
        assert_eq!(desks[to].transcript(), desks[0].transcript());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_all_agree_in_the_end(steps in steps()) {
        run(&steps);
    }
}
