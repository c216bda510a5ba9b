//! A session tree: approach-a and approach-b, a branch at an old entry, a fork, a comparison.

use std::cell::Cell;

use sapwood::codec::json;
use sapwood::id::Id;
use sapwood::ops::{
    self, BranchOptions, CompareOptions, ForkOptions, Goal, Metric, SwitchOptions, Target,
};
use sapwood::session::{self, View};
use sapwood::store::{Durability, Operation};
use sapwood::{Place, Repo};

/// The document's `SessionTree`, in the words of this library.
struct Tree {
    repo: Repo,
    time: Cell<i64>,
}

impl Tree {
    fn operation(&self) -> Operation {
        self.time.set(self.time.get() + 1000);
        let (time, actor) = (self.time.get(), "dash".to_owned());
        Operation { time, actor, command: "step".to_owned() }
    }

    fn append_message(&self, role: &str, content: &str, metadata: &str) -> Id {
        let body =
            format!(r#"{{"role":"{role}","content":"{content}","metadata":{{{metadata}}}}}"#);
        let pin = session::pin(&self.repo, None, None, 0, "dash").unwrap();
        let body = json::parse(body.as_bytes()).unwrap();
        let time = self.operation().time;
        session::append(&self.repo, &pin, vec![body], Durability::Full, time).unwrap()[0]
    }

    /// Makes a branch and goes there, as the document does.
    fn create_branch(&self, name: &str, description: &str, at: Option<Id>) {
        let options = BranchOptions {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            at: at.map(|id| id.to_string()),
            switch: true,
            ..BranchOptions::default()
        };
        ops::branch(&self.repo, &options, &self.operation()).unwrap();
    }

    fn switch_branch(&self, name: &str) {
        let options = SwitchOptions::to(Target::default(), Goal::Revision(name.to_owned()));
        ops::switch(&self.repo, &options, &self.operation()).unwrap();
    }

    /// Gives the words from the root to the leaf.
    fn branch(&self) -> Vec<String> {
        let mut path = self.repo.path(&self.repo.resolve("HEAD").unwrap()).unwrap();
        path.reverse();
        let text = |id: &Id| self.repo.body(id).unwrap().get("content").unwrap().clone();
        path.iter().map(|id| text(id).as_text().unwrap().to_owned()).collect()
    }
}

#[test]
fn approaches_are_branched_forked_and_compared() {
    let tree = Tree { repo: Repo::in_memory(), time: Cell::new(0) };
    let hello = tree.append_message("user", "Hello", "");
    let hi = r#""model":"kimi-k2.5","provider":"moonshot","cost":0.001,"tokens":150"#;
    tree.append_message("assistant", "Hi there!", hi);
    tree.append_message("user", "How do I optimize this?", "");
    let asked = tree.append_message("assistant", "I have several approaches...", "");

    tree.create_branch("approach-a", "Using algorithm optimization", None);
    tree.append_message("assistant", "Approach A: Use memoization", r#""cost":0.02"#);
    for text in ["How?", "Like this", "And then?"] {
        tree.append_message("user", text, "");
    }
    tree.append_message("assistant", "Done", r#""cost":0.03"#);
    tree.switch_branch("main");
    assert_eq!(tree.repo.resolve("HEAD").unwrap(), asked);
    tree.create_branch("approach-b", "Using data structure changes", None);
    tree.append_message("assistant", "Approach B: Use a Map", r#""cost":0.03"#);
    tree.append_message("user", "And then?", "");
    tree.append_message("assistant", "Done", "");
    assert_eq!(tree.branch()[4], "Approach B: Use a Map");

    let snapshot = tree.repo.snapshot().unwrap();
    let options = CompareOptions {
        branches: vec!["approach-a".to_owned(), "approach-b".to_owned()],
        by: Metric::Cost,
        ..CompareOptions::default()
    };
    let comparison = ops::compare(&*snapshot, &options).unwrap();
    let totals: Vec<_> = comparison
        .branches
        .iter()
        .map(|totals| (&*totals.name, totals.entries, totals.cost))
        .collect();
    assert_eq!(totals, [("approach-a", 5, Some(0.05)), ("approach-b", 3, Some(0.03))]);
    assert_eq!(comparison.best, [1], "approach-b: lowest cost by default");
    let cost = &comparison.differences[0];
    assert_eq!((cost.metric.name().as_str(), cost.diff), ("cost", Some(-0.02)));
    assert_eq!(cost.percent, Some(-40.0));

    tree.create_branch("alternative", "Try different approach", Some(hello));
    tree.append_message("assistant", "Something else", "");
    assert_eq!(tree.branch(), ["Hello", "Something else"]);
    tree.switch_branch("approach-a");
    assert_eq!(tree.branch().len(), 9);
    let snapshot = tree.repo.snapshot().unwrap();
    let session = Target::default().session(&*snapshot).unwrap();
    let list = ops::branches(&*snapshot, &session, false).unwrap();
    let names: Vec<_> = list.iter().filter_map(|info| info.name.as_deref()).collect();
    assert_eq!(names, ["alternative", "approach-a", "approach-b", "main"]);
    let record = list[1].record.as_ref().unwrap();
    assert_eq!(record.description.as_deref(), Some("Using algorithm optimization"));

    let options = ForkOptions {
        at: Some(asked.to_string()),
        name: Some("forked-session-name".to_owned()),
        ..ForkOptions::default()
    };
    let forked = ops::fork(&tree.repo, &options, &tree.operation()).unwrap();
    assert_eq!(forked.entry, asked);
    let snapshot = tree.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, &forked.session).unwrap();
    assert_eq!(view.branches().unwrap().len(), 1, "only the path from the root to the entry");
    let end = tree.repo.resolve_at(&Place::in_session("forked-session-name"), "@").unwrap();
    assert_eq!(end, asked);
    let said = session::transcript(&*snapshot, &forked.session).unwrap();
    assert_eq!(said, session::transcript(&*snapshot, &session).unwrap()[..4]);
}
