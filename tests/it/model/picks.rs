//! Steps made of numbers: each verb takes its words from what the model has.

use proptest::prelude::*;

use super::world::{Rev, Said, Turn, Where, World};

/// What can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    New,
    Append,
    Branch,
    DeleteBranch,
    RenameBranch,
    Switch,
    Fork,
    Label,
    Edit,
    Retry,
    Reconfigure,
    Pop,
    Compact,
    Uncompact,
    Merge,
    Rebase,
    CherryPick,
    Reset,
    Undo,
    Redo,
    MemoryCommit,
    MemoryMerge,
    UseSession,
    RenameSession,
    RemoveSession,
    RestoreSession,
    Attach,
}

/// One thing to do, by one of two people.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) verb: Verb,
    pub(super) picks: [u16; 8],
}

/// Any steps.
pub(super) fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let verb = prop_oneof![
        2 => Just(Verb::New),
        24 => Just(Verb::Append),
        5 => Just(Verb::Branch),
        2 => Just(Verb::DeleteBranch),
        2 => Just(Verb::RenameBranch),
        10 => Just(Verb::Switch),
        3 => Just(Verb::Fork),
        4 => Just(Verb::Label),
        3 => Just(Verb::Edit),
        3 => Just(Verb::Retry),
        4 => Just(Verb::Reconfigure),
        4 => Just(Verb::Pop),
        4 => Just(Verb::Compact),
        2 => Just(Verb::Uncompact),
        4 => Just(Verb::Merge),
        4 => Just(Verb::Rebase),
        4 => Just(Verb::CherryPick),
        3 => Just(Verb::Reset),
        9 => Just(Verb::Undo),
        6 => Just(Verb::Redo),
        7 => Just(Verb::MemoryCommit),
        5 => Just(Verb::MemoryMerge),
        2 => Just(Verb::UseSession),
        2 => Just(Verb::RenameSession),
        2 => Just(Verb::RemoveSession),
        2 => Just(Verb::RestoreSession),
        2 => Just(Verb::Attach),
    ];
    let step = (verb, any::<[u16; 8]>()).prop_map(|(verb, picks)| Step { verb, picks });
    proptest::collection::vec(step, 1..=count)
}

const BRANCHES: [&str; 4] = ["kilo", "lima", "mike", "oscar"];
const LABELS: [&str; 3] = ["lisp", "moss", "plum"];
const SESSIONS: [&str; 2] = ["nova", "orca"];
const NOWHERE: &str = "nowhere";

/// Takes words for a step, one number after the other.
pub(super) struct Picker<'a> {
    world: &'a World,
    picks: [u16; 8],
    next: usize,
}

fn one_of<T: Clone>(list: &[T], pick: usize) -> Option<T> {
    (!list.is_empty()).then(|| list[pick % list.len()].clone())
}

impl<'a> Picker<'a> {
    pub(super) fn new(world: &'a World, step: &Step) -> Picker<'a> {
        Picker { world, picks: step.picks, next: 0 }
    }

    /// Gives a number below a limit.
    pub(super) fn pick(&mut self, limit: usize) -> usize {
        let place = self.next % self.picks.len();
        let turns = u32::try_from(self.next / self.picks.len()).unwrap_or(0);
        self.next += 1;
        usize::from(self.picks[place].rotate_right(5 * turns)) % limit
    }

    /// Says yes once in so many times.
    pub(super) fn rarely(&mut self, times: usize) -> bool {
        self.pick(times) == times - 1
    }

    pub(super) fn actor(&mut self) -> &'static str {
        if self.rarely(4) { "bob" } else { "ann" }
    }

    /// Gives a session that is there, mostly.
    pub(super) fn sid(&mut self) -> String {
        let pick = self.pick(64);
        let sids: Vec<String> =
            self.world.sessions.iter().map(|session| session.sid.clone()).collect();
        let found = one_of(&sids, pick).filter(|_| pick != 63);
        found.unwrap_or_else(|| NOWHERE.to_owned())
    }

    /// Gives a session only now and then.
    pub(super) fn session(&mut self) -> Where {
        let session = self.rarely(4).then(|| self.sid());
        Where { session, ..Where::default() }
    }

    /// Gives a place to write.
    pub(super) fn place(&mut self) -> Where {
        let mut at = self.session();
        let chosen = self.world.session(&at).ok().map(|place| &self.world.sessions[place]);
        at.branch = match self.pick(8) {
            0 | 1 => chosen.and_then(|session| one_of(&session.branches(), self.pick(16))),
            2 => Some(self.branch_name()),
            _ => None,
        };
        at.parent = match self.pick(16) {
            0 | 1 => Some(self.rev(&at)),
            2 | 3 => {
                let end = |branch: &Option<String>| match branch {
                    Some(branch) => chosen?.head(branch),
                    None => chosen?.end(),
                };
                end(&at.branch).map(Rev::Entry)
            }
            _ => None,
        };
        at
    }

    pub(super) fn branch_name(&mut self) -> String {
        BRANCHES[self.pick(BRANCHES.len())].to_owned()
    }

    /// Gives a branch that is there, mostly.
    pub(super) fn branch(&mut self, at: &Where) -> String {
        let pick = self.pick(32);
        let place = self.world.session(at).ok().filter(|_| pick != 31);
        let names = place.map(|place| self.world.sessions[place].branches()).unwrap_or_default();
        one_of(&names, pick).unwrap_or_else(|| NOWHERE.to_owned())
    }

    pub(super) fn label_name(&mut self) -> String {
        LABELS[self.pick(LABELS.len())].to_owned()
    }

    /// Gives a revision of a session: an entry, a branch, a label, and rarely nothing.
    pub(super) fn rev(&mut self, at: &Where) -> Rev {
        let Ok(place) = self.world.session(at) else {
            return Rev::Name(NOWHERE.to_owned());
        };
        let session = &self.world.sessions[place];
        let said = session.turns.iter().filter_map(|turn| match turn {
            Turn::Said(entry) => Some(*entry),
            Turn::Happened { .. } => None,
        });
        let said: Vec<usize> = said.collect();
        let kind = self.pick(16);
        let pick = self.pick(usize::MAX);
        let found = match kind {
            0..=5 => one_of(&said, pick).map(Rev::Entry),
            6..=11 => one_of(&session.names("heads"), pick).map(Rev::Name),
            12..=14 => one_of(&session.names("labels"), pick).map(Rev::Name),
            _ => None,
        };
        found.unwrap_or_else(|| Rev::Name(NOWHERE.to_owned()))
    }

    /// Gives a revision only now and then.
    pub(super) fn some_rev(&mut self, at: &Where) -> Option<Rev> {
        (self.pick(2) == 0).then(|| self.rev(at))
    }

    /// Gives the id for a session that an append may create.
    pub(super) fn new_sid(&mut self) -> Option<String> {
        self.rarely(12).then(|| SESSIONS[self.pick(SESSIONS.len())].to_owned())
    }

    /// Gives something to say at the end of a branch: an open call is mostly answered.
    pub(super) fn said(&mut self, at: &Where, text: &str) -> Said {
        let spot = self.world.spot(at).ok();
        let end = spot.and_then(|spot| self.world.sessions[spot.session].head(&spot.branch));
        let open = end.map(|end| self.world.unanswered(end)).unwrap_or_default();
        let call = open.last().and_then(|call| match &self.world.entries[*call].said {
            Said::Call(call) => Some(call.clone()),
            _ => None,
        });
        let text = text.to_owned();
        match (self.pick(12), call) {
            (0..=8, Some(call)) => Said::Answer { call, text },
            (0..=3, _) => Said::User(text),
            (4..=6, _) => Said::Assistant(text),
            (7 | 8, _) => Said::Call(text),
            (9, _) => Said::Aside(text),
            (10, _) => Said::Quiet { label: "custom", text },
            _ => Said::Quiet { label: "agent_action", text },
        }
    }

    /// Gives facts, some with a key.
    pub(super) fn facts(&mut self, text: &str) -> Vec<(Option<String>, String)> {
        let count = 1 + self.pick(2);
        let key = |pick: usize| (pick < 3).then(|| format!("key{pick}"));
        (0..count).map(|number| (key(self.pick(5)), format!("{text}.{number}"))).collect()
    }
}
