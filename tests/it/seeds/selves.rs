//! Future selves: the Architect and the Wanderer, and going back from one to the other.

use std::cell::Cell;

use sapwood::codec::{Value, json};
use sapwood::object::Event;
use sapwood::ops::{self, BranchOptions, Goal, LabelOptions, SwitchOptions, Target};
use sapwood::session::{self, View};
use sapwood::store::{Durability, Operation};
use sapwood::{Repo, memory};

struct Story {
    repo: Repo,
    time: Cell<i64>,
}

impl Story {
    fn operation(&self) -> Operation {
        self.time.set(self.time.get() + 1000);
        let (time, actor) = (self.time.get(), "app".to_owned());
        Operation { time, actor, command: "step".to_owned() }
    }

    fn say(&self, role: &str, content: &str) {
        let body = format!(r#"{{"role":"{role}","content":"{content}"}}"#);
        let pin = session::pin(&self.repo, Some("s"), None, 0, "app").unwrap();
        let body = json::parse(body.as_bytes()).unwrap();
        let time = self.operation().time;
        session::append(&self.repo, &pin, vec![body], Durability::Full, time).unwrap();
    }

    /// Chooses a self: makes its branch where the interview ended, and goes there.
    fn choose(&self, name: &str, optimizes: &str) {
        let new = BranchOptions {
            name: name.to_owned(),
            at: Some("selection".to_owned()),
            card: Some(Value::map([("optimizes", Value::from(optimizes))])),
            ..BranchOptions::default()
        };
        let options = SwitchOptions::to(Target::default(), Goal::New(Box::new(new)));
        ops::switch(&self.repo, &options, &self.operation()).unwrap();
    }

    /// Goes elsewhere, after what was learned is kept.
    fn backtrack(&self, to: &str, fact: &str, note: &str) {
        let options = SwitchOptions {
            facts: vec![memory::fact_from_text(fact)],
            notes: vec![note.to_owned()],
            ..SwitchOptions::to(Target::default(), Goal::Revision(to.to_owned()))
        };
        ops::switch(&self.repo, &options, &self.operation()).unwrap();
    }

    /// Gives the switches, oldest first: where from, where to, and the phase.
    fn switches(&self) -> Vec<[String; 3]> {
        let snapshot = self.repo.snapshot().unwrap();
        let mut next = View::of(&*snapshot, "s").unwrap().target("events").unwrap();
        let mut found = Vec::new();
        while let Some(id) = next {
            let event: Event = self.repo.event(&id).unwrap();
            if event.label == "switch" {
                found.push(["from", "to", "phase"].map(|key| {
                    event.body.get(key).and_then(Value::as_text).unwrap_or_default().to_owned()
                }));
            }
            next = event.priors.first().copied();
        }
        found.reverse();
        found
    }

    /// Gives the facts that are known on a branch, the root's first.
    fn facts(&self, branch: &str) -> Vec<String> {
        let snapshot = self.repo.snapshot().unwrap();
        let view = View::of(&*snapshot, "s").unwrap();
        let mut next = session::memory_of(&view, branch).unwrap();
        let mut facts = Vec::new();
        while let Some(id) = next {
            let node = self.repo.node(&id).unwrap();
            let said = node.facts.iter().map(|fact| fact.value.as_text().unwrap().to_owned());
            facts.splice(0..0, said);
            next = node.parents.first().copied();
        }
        facts
    }
}

#[test]
fn the_architect_is_left_for_the_wanderer_and_nothing_is_lost() {
    let story = Story { repo: Repo::in_memory(), time: Cell::new(0) };
    story.say("interviewer", "What do you fear?");
    story.say("user", "Wasting potential");
    let repo = &story.repo;
    let learn = repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = session::Change::on(snapshot, "s", 1)?;
        let fact = memory::fact_from_text("fear: wasting potential");
        session::remember(&mut change, "main", vec![fact], Vec::new(), Value::Null, 1)?;
        change.finish(None)
    });
    learn.unwrap();
    let label = LabelOptions {
        name: "selection".to_owned(),
        at: Some("HEAD".to_owned()),
        ..LabelOptions::default()
    };
    ops::label(repo, &label, &story.operation()).unwrap();

    story.choose("The Architect", "ambition");
    story.say("future_self", "We built a legacy");
    story.backtrack("selection", "user has a startup idea", "resonated with build legacy");
    story.choose("The Wanderer", "peace");
    story.say("future_self", "Let go of control");
    story.backtrack("The Architect", "user mentioned traveling alone", "pushed back");
    story.say("future_self", "Welcome back");

    let expected = [
        ["main", "The Architect", "switch"],
        ["The Architect", "selection", "backtrack"],
        ["main", "The Wanderer", "switch"],
        ["The Wanderer", "The Architect", "backtrack"],
    ];
    assert_eq!(story.switches(), expected);
    let (root, own) = ("fear: wasting potential", "user has a startup idea");
    assert_eq!(story.facts("The Architect"), [root, own]);
    assert_eq!(story.facts("The Wanderer"), [root, "user mentioned traveling alone"]);
    assert_eq!(story.facts("main"), [root]);
    let snapshot = repo.snapshot().unwrap();
    let list = ops::branches(&*snapshot, "s", false).unwrap();
    let parents: Vec<_> = list
        .iter()
        .map(|info| {
            let record = info.record.as_ref();
            (info.name.as_deref().unwrap(), record.and_then(|record| record.parent.as_deref()))
        })
        .collect();
    let expected =
        [("The Architect", Some("main")), ("The Wanderer", Some("main")), ("main", None)];
    assert_eq!(parents, expected);
    let node = repo.node(&list[0].memory.unwrap()).unwrap();
    assert_eq!(node.card.get("optimizes"), Some(&"ambition".into()));
    let said = session::transcript(&*snapshot, "s").unwrap();
    assert_eq!(said.len(), 8, "five messages, three commits of memory");
}
