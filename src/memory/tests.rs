//! The memory tree, against a model that is a list of nodes and nothing clever.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::codec::{Value, json};
use crate::id::Id;
use crate::object::Fact;
use crate::repo::Repo;
use crate::session::{self, Change, View, memory_at, memory_of};
use crate::store::{Durability, Operation};

fn operation() -> Operation {
    Operation { time: 5, actor: "tester".to_owned(), command: "test".to_owned() }
}

fn tree() -> (Repo, MemoryTree) {
    let repo = Repo::in_memory();
    session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
    let tree = MemoryTree::of(&repo, "s").unwrap();
    (repo, tree)
}

fn commit(tree: &MemoryTree, branch: &str, facts: &[&str]) -> Id {
    let facts: Vec<Fact> = facts.iter().map(|text| fact_from_text(text)).collect();
    tree.commit(branch, &facts, &[], &operation()).unwrap()
}

fn merge_branch(repo: &Repo, branch: &str, theirs: Id) -> (Merge, Id) {
    let mut outcome = None;
    let commit = repo.commit(Durability::Full, &mut |snapshot| {
        let mut change = Change::on(snapshot, "s", 6)?;
        outcome = Some(merge_into(&mut change, branch, theirs, 6)?);
        change.finish(Some(operation()))
    });
    commit.unwrap();
    outcome.unwrap()
}

fn shown(facts: &[Known]) -> Vec<String> {
    let text = |fact: &Known| match &fact.value {
        Value::Text(text) => text.clone(),
        other => json::to_string(other),
    };
    let named = |fact: &Known| match &fact.key {
        Some(key) => format!("{key}={}", text(fact)),
        None => text(fact),
    };
    facts.iter().map(named).collect()
}

#[test]
fn facts_come_root_first_and_the_latest_win_if_asked() {
    let (_, tree) = tree();
    let root = commit(&tree, "main", &["job=baker", "likes tea"]);
    let head = commit(&tree, "main", &["job=pilot", "likes tea", "age=7"]);
    let facts = tree.resolve("main").unwrap();
    assert_eq!(shown(&facts), ["job=baker", "likes tea", "job=pilot", "likes tea", "age=7"]);
    assert_eq!((facts[0].node, facts[2].node), (root, head));
    assert_eq!(shown(&latest(facts)), ["likes tea", "job=pilot", "likes tea", "age=7"]);
}

#[test]
fn long_facts_come_back_whole_and_merge_by_value() {
    let (repo, tree) = tree();
    let long = "word ".repeat(1000);
    let root = commit(&tree, "main", &["root"]);
    tree.create_branch("a", Some(root), Value::Null, &operation()).unwrap();
    commit(&tree, "main", &[&long, &format!("k={long}1")]);
    let theirs = commit(&tree, "a", &[&long, &format!("k={long}2")]);
    let (merge, _) = merge_branch(&repo, "main", theirs);
    let Merge::Node { facts, conflicts } = merge else { panic!("both went on") };
    assert_eq!((facts.len(), conflicts.len()), (1, 1));
    let snapshot = repo.snapshot().unwrap();
    let view = View::of(&*snapshot, "s").unwrap();
    let head = memory_of(&view, "main").unwrap();
    let versions = blame(&*snapshot, head, "k").unwrap();
    let texts: Vec<_> = versions.iter().map(|fact| fact.value.as_text().unwrap()).collect();
    assert_eq!(texts, [format!("{long}1"), format!("{long}2")]);
    assert_eq!(versions[1].node, theirs);
}

#[test]
fn a_merge_takes_what_one_side_changed_and_cites_what_both_did() {
    let (repo, tree) = tree();
    let root = commit(&tree, "main", &["a=1", "b=1", "c=1", "same"]);
    tree.create_branch("side", Some(root), Value::Null, &operation()).unwrap();
    let side = commit(&tree, "side", &["b=2", "c=3", "d=4", "same", "new", "b=5"]);
    let main = commit(&tree, "main", &["a=9", "c=2"]);
    let (merge, node) = merge_branch(&repo, "main", side);
    let Merge::Node { facts, conflicts } = merge else { panic!("both went on") };
    let keys: Vec<_> = facts.iter().map(|fact| fact.key.as_deref()).collect();
    assert_eq!(keys, [Some("c"), Some("d"), None, Some("b")]);
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].ours.node, conflicts[0].theirs.node), (main, side));
    let snapshot = repo.snapshot().unwrap();
    let of = |key: &str| blame(&*snapshot, Some(node), key).unwrap();
    assert_eq!(of("b").iter().map(|fact| fact.node).collect::<Vec<_>>(), [side]);
    assert_eq!(shown(&of("c")), ["c=2", "c=3"]);
    assert_eq!(of("a")[0].node, main);
    assert_eq!(of("new")[0].node, side);
    assert_eq!(of("nothing"), []);
    // Later commits settle it, and then it is no conflict for anybody who merges.
    commit(&tree, "main", &["c=7"]);
    assert_eq!(shown(&blame(&*repo.snapshot().unwrap(), None, "c").unwrap()), Vec::<String>::new());
    let head = tree.branches().unwrap().into_iter().find(|branch| branch.name == "main").unwrap();
    let snapshot = repo.snapshot().unwrap();
    assert_eq!(shown(&blame(&*snapshot, head.head, "c").unwrap()), ["c=7"]);
    assert_eq!(
        merge_branch(&repo, "side", head.head.unwrap()).0,
        Merge::Forward(head.head.unwrap())
    );
    assert_eq!(merge_branch(&repo, "side", side).0, Merge::UpToDate);
    assert_eq!(tree.resolve("side").unwrap(), tree.resolve("main").unwrap());
}

#[test]
fn memories_differ_by_key_or_by_value() {
    let (repo, tree) = tree();
    let one = commit(&tree, "main", &["a=1", "b=1", "x", "y"]);
    let two = commit(&tree, "main", &["a=2", "z"]);
    let snapshot = repo.snapshot().unwrap();
    let found = diff(&*snapshot, Some(one), Some(two)).unwrap();
    let [Difference::Changed(was, now), Difference::Added(added)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(shown(&[was.clone(), now.clone(), added.clone()]), ["a=1", "a=2", "z"]);
    assert_eq!(diff(&*snapshot, Some(one), Some(one)).unwrap(), []);
    assert_eq!(diff(&*snapshot, Some(two), None).unwrap().len(), 5);
}

#[test]
fn what_is_not_there_is_refused() {
    let (repo, tree) = tree();
    let node = commit(&tree, "main", &["a"]);
    assert!(tree.checkout("nowhere", &operation()).is_err());
    assert!(tree.create_branch("main", Some(node), Value::Null, &operation()).is_err());
    let entry = repo.resolve("main").unwrap();
    assert!(tree.create_branch("x", Some(entry), Value::Null, &operation()).is_err());
    assert!(MemoryTree::of(&repo, "nobody").is_err());
    let number = Fact { value: Value::Integer(1), key: None, source: None };
    assert!(tree.commit("main", &[number], &[], &operation()).is_err());
    assert_eq!(tree.branches().unwrap().len(), 1);
}

/// A fact of the model: its key, and what it says.
type ModelFact = (Option<char>, String);

/// Everything the model knows: nodes by number, and the head of each branch.
#[derive(Default)]
struct Model {
    nodes: Vec<(Vec<usize>, Vec<ModelFact>)>,
    heads: BTreeMap<usize, usize>,
}

impl Model {
    fn facts(&self, node: Option<usize>) -> Vec<ModelFact> {
        let Some(node) = node else { return Vec::new() };
        let (parents, own) = &self.nodes[node];
        let mut facts = self.facts(parents.first().copied());
        facts.extend(own.iter().cloned());
        facts
    }

    fn value(&self, node: usize, key: char) -> Option<String> {
        let facts = self.facts(Some(node)).into_iter().rev();
        facts.filter(|fact| fact.0 == Some(key)).map(|fact| fact.1).next()
    }

    fn ancestors(&self, node: usize) -> Vec<usize> {
        let mut found = vec![node];
        for parent in &self.nodes[node].0 {
            found.extend(self.ancestors(*parent));
        }
        found
    }

    fn bases(&self, one: usize, other: usize) -> Vec<usize> {
        let (one, other) = (self.ancestors(one), self.ancestors(other));
        let common: Vec<usize> = one.into_iter().filter(|node| other.contains(node)).collect();
        let is_best = |node: &usize| {
            !common.iter().any(|found| found != node && self.ancestors(*found).contains(node))
        };
        let mut best: Vec<usize> = common.iter().copied().filter(is_best).collect();
        best.sort_unstable();
        best.dedup();
        best
    }

    /// Merges, and gives the facts of the new node; a conflict begins with `!`.
    fn merge(&self, ours: usize, theirs: usize) -> Vec<ModelFact> {
        let bases = self.bases(ours, theirs);
        let is_base = |key, value: &Option<String>| {
            bases.iter().any(|base| value.is_some() && self.value(*base, key) == *value)
        };
        let (our_facts, their_facts) = (self.facts(Some(ours)), self.facts(Some(theirs)));
        let mut added: Vec<ModelFact> = Vec::new();
        for (place, fact) in their_facts.iter().enumerate() {
            match fact.0 {
                None if our_facts.contains(fact) || added.contains(fact) => {}
                None => added.push(fact.clone()),
                Some(key) => {
                    let is_last = !their_facts[place + 1..].iter().any(|later| later.0 == fact.0);
                    let (our, their) = (self.value(ours, key), Some(fact.1.clone()));
                    if !is_last || is_base(key, &their) || our == their {
                        continue;
                    }
                    let conflict = our.is_some() && !is_base(key, &our);
                    let text = if conflict { format!("!{place}") } else { fact.1.clone() };
                    added.push((Some(key), text));
                }
            }
        }
        added
    }
}

/// Gives facts as the model has them: a conflict is only that.
fn plain(facts: &[Known]) -> Vec<(Option<char>, bool, String)> {
    let plain = facts.iter().map(|fact| {
        let key = fact.key.as_ref().and_then(|key| key.chars().next());
        let text = fact.value.as_text().map(str::to_owned);
        (key, text.is_none(), text.unwrap_or_default())
    });
    plain.collect()
}

fn model_plain(facts: &[ModelFact]) -> Vec<(Option<char>, bool, String)> {
    let plain = facts.iter().map(|(key, text)| match text.strip_prefix('!') {
        Some(_) => (*key, true, String::new()),
        None => (*key, false, text.clone()),
    });
    plain.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn resolving_and_merging_agree_with_the_model(
        steps in prop::collection::vec(
            (0usize..5, 0usize..4, 0usize..4, 0usize..4, 0usize..3),
            1..30,
        ),
    ) {
        let (repo, tree) = tree();
        let mut model = Model::default();
        let mut ids: Vec<Id> = Vec::new();
        for (what, branch, other, key, value) in steps {
            let name = ["main", "b1", "b2", "b3"][branch];
            let other_head = model.heads.get(&other).copied();
            match (what, model.heads.get(&branch).copied(), other_head) {
                (0 | 1, head, _) if head.is_some() || branch == 0 => {
                    let key = ['a', 'b', 'c'].get(key).copied();
                    let text = key.map_or(format!("v{value}"), |key| format!("{key}=v{value}"));
                    ids.push(commit(&tree, name, &[&text]));
                    let fact = (key, format!("v{value}"));
                    model.nodes.push((head.into_iter().collect(), vec![fact]));
                    model.heads.insert(branch, model.nodes.len() - 1);
                }
                (2, None, Some(node)) if branch != 0 => {
                    tree.create_branch(name, Some(ids[node]), Value::Null, &operation()).unwrap();
                    model.heads.insert(branch, node);
                }
                (3 | 4, Some(ours), Some(theirs)) => {
                    let bases = model.bases(ours, theirs);
                    let (merge, node) = merge_branch(&repo, name, ids[theirs]);
                    if bases == [theirs] {
                        prop_assert_eq!(merge, Merge::UpToDate);
                    } else if bases == [ours] {
                        prop_assert_eq!(merge, Merge::Forward(ids[theirs]));
                        model.heads.insert(branch, theirs);
                    } else {
                        let mut facts = model.merge(ours, theirs);
                        let Merge::Node { facts: found, .. } = merge else {
                            panic!("both went on");
                        };
                        // The model says where conflicts are; the store gives them a name.
                        prop_assert_eq!(facts.len(), found.len());
                        for (fact, found) in facts.iter_mut().zip(&found) {
                            if fact.1.starts_with('!') {
                                fact.1 = format!("!{}", json::to_string(&found.value));
                            }
                        }
                        model.nodes.push((vec![ours, theirs], facts));
                        model.heads.insert(branch, model.nodes.len() - 1);
                        ids.push(node);
                    }
                }
                _ => {}
            }
            for branch in tree.branches().unwrap() {
                let place = ["main", "b1", "b2", "b3"].iter().position(|name| *name == branch.name);
                let head = model.heads[&place.unwrap()];
                prop_assert_eq!(branch.head, Some(ids[head]));
                let facts = tree.resolve(&branch.name).unwrap();
                prop_assert_eq!(plain(&facts), model_plain(&model.facts(Some(head))));
            }
        }
        let snapshot = repo.snapshot().unwrap();
        let view = View::of(&*snapshot, "s").unwrap();
        for (name, end) in view.branches().unwrap() {
            let walked = memory_at(&*snapshot, end).unwrap();
            prop_assert_eq!(memory_of(&view, &name).unwrap(), walked);
        }
    }
}
