//! The profile, The Architect and The Wanderer: memory branches, the transcript never does.

use sapwood::codec::{Value, json};
use sapwood::memory::{Known, MemoryTree, fact_from_text};
use sapwood::object::Fact;
use sapwood::session::{self, View, memory_at};
use sapwood::store::{Durability, Operation};
use sapwood::{Id, Repo};

struct World {
    repo: Repo,
    tree: MemoryTree,
}

fn operation(command: &str) -> Operation {
    Operation { time: 7, actor: "tester".to_owned(), command: command.to_owned() }
}

impl World {
    fn new() -> World {
        let repo = Repo::in_memory();
        session::pin(&repo, Some("s"), Some("root"), 0, "tester").unwrap();
        let tree = MemoryTree::of(&repo, "s").unwrap();
        World { repo, tree }
    }

    /// Says something on the active branch.
    fn say(&self, phase: &str, role: &str, content: &str) -> Id {
        let pin = session::pin(&self.repo, Some("s"), None, 0, "tester").unwrap();
        let body = Value::map([
            ("phase", Value::from(phase)),
            ("role", role.into()),
            ("content", content.into()),
        ]);
        session::append(&self.repo, &pin, vec![body], Durability::Full, 1).unwrap()[0]
    }

    fn commit(&self, branch: &str, facts: &[&str], notes: &[&str]) -> Id {
        let facts: Vec<Fact> = facts.iter().map(|text| fact_from_text(text)).collect();
        let notes: Vec<Value> = notes.iter().map(|note| (*note).into()).collect();
        self.tree.commit(branch, &facts, &notes, &operation("commit")).unwrap()
    }

    fn branch(&self, name: &str, parent: Id, card: &str) {
        let card = json::parse(card.as_bytes()).unwrap();
        self.tree.create_branch(name, Some(parent), card, &operation("branch")).unwrap();
    }

    fn checkout(&self, name: &str) {
        self.tree.checkout(name, &operation("checkout")).unwrap();
    }

    fn facts(&self, branch: &str) -> Vec<String> {
        self.tree.resolve(branch).unwrap().iter().map(Known::sentence).collect()
    }

    fn active(&self) -> String {
        let snapshot = self.repo.snapshot().unwrap();
        View::of(&*snapshot, "s").unwrap().active().unwrap().unwrap()
    }
}

const PROFILE: [&str; 3] = [
    "core values: freedom, creativity",
    "dilemma: stay at job vs. start company",
    "fear: wasting potential",
];

/// Tells the document's picture up to both sub-branches, and gives the root and the world.
fn told() -> (World, Id, Vec<Id>) {
    let world = World::new();
    let mut said = vec![
        world.say("interview", "interviewer", "What do you value?"),
        world.say("interview", "user", "Freedom, and making things."),
    ];
    let root = world.commit("root", &PROFILE, &[]);
    world.branch("the-architect", root, r#"{"name":"The Architect"}"#);
    world.branch("the-wanderer", root, r#"{"name":"The Wanderer"}"#);
    world.checkout("the-architect");
    said.push(world.say("conversation", "future_self", "I built what you dreamt of."));
    let architect = world.commit(
        "the-architect",
        &["optimizes=ambition", "user has a startup idea"],
        &["user resonated with \"build legacy\""],
    );
    world.branch("the-architect/deeper-conversation", architect, "null");
    world.checkout("the-architect/deeper-conversation");
    said.push(world.say("conversation", "user", "What if I'm not good enough?"));
    world.commit(
        "the-architect/deeper-conversation",
        &["user admitted fear of failure", "key moment: \"what if I'm not good enough\""],
        &[],
    );
    (world, root, said)
}

#[test]
fn root_facts_come_first_and_branches_keep_to_themselves() {
    let (world, root, _) = told();
    world.checkout("the-wanderer");
    world.commit("the-wanderer", &["optimizes=peace", "user mentioned traveling alone"], &[]);
    assert_eq!(world.facts("root"), PROFILE);
    let architect = ["optimizes: ambition", "user has a startup idea"];
    let wanderer = ["optimizes: peace", "user mentioned traveling alone"];
    let deeper = ["user admitted fear of failure", "key moment: \"what if I'm not good enough\""];
    assert_eq!(world.facts("the-architect"), [&PROFILE[..], &architect].concat());
    assert_eq!(world.facts("the-wanderer"), [&PROFILE[..], &wanderer].concat());
    assert_eq!(
        world.facts("the-architect/deeper-conversation"),
        [&PROFILE[..], &architect, &deeper].concat()
    );
    // The document's own walk, over parentId: root facts first, and each cites its node.
    let facts = world.tree.resolve("the-wanderer").unwrap();
    let mut walked: Vec<String> = Vec::new();
    let heads = world.tree.branches().unwrap();
    let mut next = heads.iter().find(|branch| branch.name == "the-wanderer").unwrap().head;
    while let Some(id) = next {
        let node = world.repo.node(&id).unwrap();
        let own = node.facts.iter();
        let own = own.map(|fact| sapwood::memory::sentence(fact.key.as_deref(), &fact.value));
        walked = own.chain(walked).collect();
        next = node.parents.first().copied();
    }
    assert_eq!(walked, world.facts("the-wanderer"));
    assert!(facts[..3].iter().all(|fact| fact.node == root));
}

#[test]
fn nodes_and_branches_have_what_the_document_gives_them() {
    let (world, root, said) = told();
    let branches = world.tree.branches().unwrap();
    let names: Vec<_> =
        branches.iter().map(|branch| (branch.name.as_str(), branch.parent.as_deref())).collect();
    let expected = [
        ("root", None),
        ("the-architect", Some("root")),
        ("the-architect/deeper-conversation", Some("the-architect")),
        ("the-wanderer", Some("root")),
    ];
    assert_eq!(names, expected);
    assert!(branches[2].is_active);
    let node = world.repo.node(&root).unwrap();
    assert_eq!((node.parents.len(), node.card), (0, Value::Null));
    assert_eq!(node.facts[0].source, Some(said[1]), "learned from the last answer");
    let node = world.repo.node(&branches[1].head.unwrap()).unwrap();
    assert_eq!(node.parents, [root]);
    assert_eq!(node.branch, "the-architect");
    assert_eq!(node.card.get("name"), Some(&"The Architect".into()));
    assert_eq!(node.notes, [Value::from("user resonated with \"build legacy\"")]);
    assert_eq!(branches[3].head, Some(root), "a branch is a pointer to the latest node");
    let deeper = world.repo.node(&branches[2].head.unwrap()).unwrap();
    assert_eq!(deeper.card.get("name"), Some(&"The Architect".into()), "the same self");
}

#[test]
fn backtracking_takes_five_steps_and_loses_nothing() {
    let (world, _, mut said) = told();
    let before = world.facts("the-architect/deeper-conversation");
    // 1. The current branch's head is updated with the latest facts.
    world.commit("the-architect/deeper-conversation", &["wants to think it over"], &[]);
    // 2. HEAD moves to the other branch.
    world.checkout("the-wanderer");
    assert_eq!(world.active(), "the-wanderer");
    // 3. The memory is that of the new branch's path.
    assert_eq!(world.facts(&world.active()), PROFILE);
    said.push(world.say("conversation", "future_self", "I let go of it all."));
    // 4. The transcript records the backtrack, and nothing is deleted.
    let snapshot = world.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, "s").unwrap();
    let event = world.repo.event(&view.target("events").unwrap().unwrap()).unwrap();
    assert_eq!(event.label, "switch");
    let place = |key: &str| event.body.get(key).and_then(Value::as_text);
    assert_eq!(place("from"), Some("the-architect/deeper-conversation"));
    assert_eq!(place("to"), Some("the-wanderer"));
    let transcript = session::transcript(&*snapshot, "s").unwrap();
    let messages: Vec<Id> = transcript
        .into_iter()
        .filter(|id| world.repo.entry(id).unwrap().label == "message")
        .collect();
    assert_eq!(messages, said, "every exchange of all branches, in order");
    // 5. The previous branch is whole: one can return to it at any time.
    world.checkout("the-architect/deeper-conversation");
    let after = world.facts(&world.active());
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.last().unwrap(), "wants to think it over");
}

#[test]
fn every_entry_has_the_memory_of_its_own_moment() {
    let (world, root, said) = told();
    let snapshot = world.repo.snapshot().unwrap();
    assert_eq!(memory_at(&*snapshot, said[1]).unwrap(), None);
    assert_eq!(memory_at(&*snapshot, said[2]).unwrap(), Some(root));
    // A branch that begins at an old entry, whoever makes it, knows what was known there.
    let pin = session::pin(&world.repo, Some("s"), Some("the-wanderer"), 0, "tester").unwrap();
    let body = Value::map([("content", Value::from("hello"))]);
    session::append(&world.repo, &pin, vec![body], Durability::Full, 1).unwrap();
    assert_eq!(world.facts("the-wanderer"), PROFILE);
    world.commit("the-wanderer", &["left"], &[]);
    assert_eq!(world.facts("the-wanderer").len(), 4);
    assert_eq!(world.facts("root"), PROFILE);
}
