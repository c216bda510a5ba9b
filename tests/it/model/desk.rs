//! The program beside the model: each step is done by both, and both must agree.

use std::collections::HashMap;

use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::object::Fact;
use sapwood::ops::{self, Target};
use sapwood::session::Draft;
use sapwood::store::Operation;
use sapwood::{Error, Repo};

use super::picks::{Picker, Step, Verb};
use super::world::{Outcome, Rev, Said, Where, Why, World};

pub(super) struct Desk {
    pub(super) repo: Repo,
    pub(super) world: World,
    /// The entries' ids, by their places in the world.
    pub(super) ids: Vec<Id>,
    pub(super) places: HashMap<Id, usize>,
}

/// Translating.
impl Desk {
    pub(super) fn new(repo: Repo) -> Desk {
        Desk { repo, world: World::default(), ids: Vec::new(), places: HashMap::new() }
    }

    pub(super) fn text(&self, rev: &Rev) -> String {
        match rev {
            Rev::Entry(entry) => self.ids[*entry].to_string(),
            Rev::Name(name) => name.clone(),
        }
    }

    pub(super) fn text_of(&self, rev: Option<&Rev>) -> Option<String> {
        rev.map(|rev| self.text(rev))
    }

    pub(super) fn target(&self, at: &Where) -> Target {
        Target {
            session: at.session.clone(),
            branch: at.branch.clone(),
            parent: self.text_of(at.parent.as_ref()),
        }
    }

    pub(super) fn operation(&self, actor: &str, step: &Step) -> Operation {
        let command = format!("{:?}", step.verb);
        Operation { time: self.world.now, actor: actor.to_owned(), command }
    }
}

/// What an entry is written as.
pub(super) fn draft(said: &Said) -> Draft {
    let map = |pairs: &[(&str, &str)]| {
        Value::map(pairs.iter().map(|(key, text)| (*key, Value::from(*text))))
    };
    let (label, body) = match said {
        Said::User(text) => ("message", map(&[("role", "user"), ("content", text)])),
        Said::Assistant(text) => ("message", map(&[("role", "assistant"), ("content", text)])),
        Said::Call(call) => {
            let block = map(&[("type", "tool_use"), ("id", call), ("name", "ls")]);
            let content = Value::List(vec![block]);
            ("message", Value::map([("role", Value::from("assistant")), ("content", content)]))
        }
        Said::Answer { call, text } => {
            ("message", map(&[("role", "tool"), ("toolCallId", call), ("content", text)]))
        }
        Said::Aside(text) => ("custom_message", map(&[("content", text)])),
        Said::Quiet { label: "agent_action", text } => {
            ("agent_action", map(&[("action", "spawn"), ("agentId", text)]))
        }
        Said::Quiet { label, text } => (*label, map(&[("note", text)])),
        other => panic!("nobody appends {other:?}"),
    };
    Draft { label: label.to_owned(), body, time: None }
}

pub(super) fn facts(facts: &[(Option<String>, String)]) -> Vec<Fact> {
    let facts = facts.iter();
    facts
        .map(|(key, text)| Fact { value: text.as_str().into(), key: key.clone(), source: None })
        .collect()
}

/// Says why the program refused.
fn why(error: &Error) -> Why {
    match error {
        Error::RevisionUnknown { .. } => Why::Unknown,
        Error::Exists { .. } => Why::Exists,
        Error::Unanswered { .. } => Why::Unanswered,
        Error::Refused { .. } => Why::Refused,
        Error::RefConflict { .. } => Why::Conflict,
        Error::MovedOn { .. } => Why::MovedOn,
        other => panic!("unexpected: {other}"),
    }
}

/// Checks that both did it, or refused for the same reason.
pub(super) fn agree<T, U>(program: &Result<T, Error>, model: &Outcome<U>, what: &str) {
    let program_why = program.as_ref().err().map(why);
    let model_why = model.as_ref().err().copied();
    let message = program.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert_eq!(program_why, model_why, "{what}: the program says '{message}'");
}

/// Doing.
impl Desk {
    /// Does a step, and gives what it was in words.
    pub(super) fn take(&mut self, step: &Step) -> String {
        self.world.now += 1000;
        let world = self.world.clone();
        let mut picker = Picker::new(&world, step);
        match step.verb {
            Verb::Append => self.append(&mut picker, step),
            Verb::New | Verb::Fork => self.begin(&mut picker, step),
            Verb::UseSession | Verb::RenameSession | Verb::RemoveSession | Verb::RestoreSession => {
                self.manage(&mut picker, step)
            }
            Verb::Branch | Verb::DeleteBranch | Verb::RenameBranch | Verb::Label | Verb::Attach => {
                self.name(&mut picker, step)
            }
            Verb::Switch => self.switch(&mut picker, step),
            Verb::Edit | Verb::Retry | Verb::Reconfigure => self.vary(&mut picker, step),
            Verb::Pop | Verb::Compact | Verb::Uncompact => self.shorten(&mut picker, step),
            Verb::Merge | Verb::Rebase | Verb::CherryPick | Verb::Reset => {
                self.rearrange(&mut picker, step)
            }
            Verb::MemoryCommit | Verb::MemoryMerge => self.learn(&mut picker, step),
            Verb::Undo | Verb::Redo => self.reverse(&mut picker, step),
        }
    }

    /// Gives a text that nothing else says.
    pub(super) fn words(&self) -> String {
        format!("t{}", self.world.now / 1000)
    }

    fn append(&mut self, picker: &mut Picker<'_>, step: &Step) -> String {
        let mut at = picker.place();
        if let Some(sid) = picker.new_sid() {
            at.session = Some(sid);
        }
        let count = 1 + usize::from(picker.rarely(4));
        let said: Vec<Said> = (0..count)
            .map(|number| picker.said(&at, &format!("{}.{number}", self.words())))
            .collect();
        let what = format!("append {at:?} {said:?}");
        let drafts: Vec<Draft> = said.iter().map(draft).collect();
        let snapshot = self.repo.snapshot().unwrap();
        let operation = self.operation("ann", step);
        let outcome = ops::Ground::find(&*snapshot, &self.target(&at))
            .and_then(|ground| ops::append(&self.repo, &ground, &drafts, false, &operation));
        let sid = outcome.as_ref().map(|outcome| outcome.session.clone()).unwrap_or_default();
        let mut attempt = self.world.clone();
        let is_logged = attempt.silently(|world| world.append(&at, &said, &sid));
        agree(&outcome, &is_logged, &what);
        if let Ok(is_logged) = is_logged {
            match is_logged {
                true => drop(self.world.operate("ann", |world| world.append(&at, &said, &sid))),
                false => self.world = attempt,
            }
        }
        what
    }
}
