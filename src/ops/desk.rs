//! A session in memory, for the tests of the verbs.

use std::cell::Cell;

use crate::codec::{Value, json};
use crate::id::Id;
use crate::object::Event;
use crate::ops::{BranchOptions, Goal, SwitchOptions, SwitchOutcome, Target};
use crate::repo::Repo;
use crate::session::{self, View};
use crate::store::{Durability, Operation};
use crate::{Result, ops};

/// Says something in a session of a repository, at a time.
pub(super) fn say(repo: &Repo, session: &str, time: i64) {
    let pin = session::pin(repo, Some(session), None, time, "tester").unwrap();
    let bodies = vec![Value::map([("content", Value::from(session))])];
    session::append(repo, &pin, bodies, Durability::Full, time).unwrap();
}

pub(super) struct Desk {
    pub(super) repo: Repo,
    time: Cell<i64>,
}

impl Desk {
    /// Begins session `s`, and says some words on `main`.
    pub(super) fn new(texts: &[&str]) -> Desk {
        let desk = Desk { repo: Repo::in_memory(), time: Cell::new(1000) };
        for text in texts {
            desk.say("main", text);
        }
        desk
    }

    pub(super) fn tick(&self) -> i64 {
        self.time.set(self.time.get() + 1000);
        self.time.get()
    }

    pub(super) fn operation(&self, command: &str) -> Operation {
        self.operation_by("tester", command)
    }

    pub(super) fn operation_by(&self, actor: &str, command: &str) -> Operation {
        Operation { time: self.tick(), actor: actor.to_owned(), command: command.to_owned() }
    }

    /// Appends a message to a branch.
    pub(super) fn say(&self, branch: &str, text: &str) -> Id {
        let body = [("role", Value::from("user")), ("content", Value::from(text))];
        self.append(branch, Value::map(body))
    }

    /// Appends an entry, given as JSON.
    pub(super) fn put(&self, branch: &str, body: &str) -> Id {
        self.append(branch, json::parse(body.as_bytes()).unwrap())
    }

    fn append(&self, branch: &str, body: Value) -> Id {
        let pin = session::pin(&self.repo, Some("s"), Some(branch), 0, "tester").unwrap();
        session::append(&self.repo, &pin, vec![body], Durability::Full, self.tick()).unwrap()[0]
    }

    pub(super) fn branch(&self, name: &str, at: Option<&str>) {
        let at = at.map(str::to_owned);
        let options = BranchOptions { name: name.to_owned(), at, ..BranchOptions::default() };
        ops::branch(&self.repo, &options, &self.operation(&format!("branch {name}"))).unwrap();
    }

    pub(super) fn switch(&self, to: &str) -> Result<SwitchOutcome> {
        let options = SwitchOptions::to(Target::default(), Goal::Revision(to.to_owned()));
        ops::switch(&self.repo, &options, &self.operation(&format!("switch {to}")))
    }

    pub(super) fn on(&self, branch: &str) -> Target {
        Target { branch: Some(branch.to_owned()), ..Target::default() }
    }

    pub(super) fn end(&self, branch: &str) -> Option<Id> {
        let snapshot = self.repo.snapshot().unwrap();
        View::of(&*snapshot, "s").unwrap().branch(branch).unwrap()
    }

    pub(super) fn active(&self) -> String {
        let snapshot = self.repo.snapshot().unwrap();
        View::of(&*snapshot, "s").unwrap().active().unwrap().unwrap()
    }

    /// Gives the words on the path of a branch, oldest first.
    pub(super) fn words(&self, branch: &str) -> Vec<String> {
        let mut path = self.repo.path(&self.end(branch).unwrap()).unwrap();
        path.reverse();
        let text = |id: &Id| {
            let body = self.repo.body(id).unwrap();
            let word = |key: &str| body.get(key).and_then(Value::as_text).map(str::to_owned);
            word("content").or_else(|| word("summary")).unwrap_or_default()
        };
        path.iter().map(text).collect()
    }

    /// Gives everything that was ever said.
    pub(super) fn transcript(&self) -> Vec<Id> {
        session::transcript(&*self.repo.snapshot().unwrap(), "s").unwrap()
    }

    /// Gives the events, newest first.
    pub(super) fn events(&self) -> Vec<Event> {
        let snapshot = self.repo.snapshot().unwrap();
        let mut next = View::of(&*snapshot, "s").unwrap().target("events").unwrap();
        let mut events = Vec::new();
        while let Some(id) = next {
            let event = self.repo.event(&id).unwrap();
            next = event.priors.first().copied();
            events.push(event);
        }
        events
    }

    /// Gives a text of the newest event.
    pub(super) fn last_event(&self, key: &str) -> Option<String> {
        let body = self.events().remove(0).body;
        body.get(key).and_then(Value::as_text).map(str::to_owned)
    }
}
