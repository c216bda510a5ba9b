//! Memory trees that come in, change, and go out again.

mod damage;
mod export;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::memory;
use crate::ops::{
    self, ImportNote, ImportOptions, ImportOutcome, MemoryCommitOptions, Target, desk::Desk,
};
use crate::repo::Repo;
use crate::session::{self, memory_at, memory_of};

const SID: &str = "memory-tree";

struct Bench {
    repo: Repo,
    dir: tempfile::TempDir,
    /// The memory tree.
    tree: PathBuf,
}

fn operation() -> Operation {
    Operation { time: 9, actor: "tester".to_owned(), command: "import".to_owned() }
}

/// Reads all files below a directory.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let names = crate::disk::list_below(dir).unwrap().into_iter();
    names.map(|name| (name.clone(), fs::read(dir.join(name)).unwrap())).collect()
}

/// Imports all that is at a path, and says what became of each session.
fn import(repo: &Repo, path: &Path, dry_run: bool) -> (ImportOutcome, Vec<Imported>) {
    let found = ops::find_files(&[path.to_owned()]);
    let options = ImportOptions { dry_run, ..ImportOptions::default() };
    let mut sessions = Vec::new();
    let outcome = ops::import(repo, found, None, &options, &operation(), &mut |note| {
        if let ImportNote::Session(imported) = note {
            sessions.push(imported.clone());
        }
    });
    (outcome.unwrap(), sessions)
}

impl Bench {
    /// Copies the fixture, and changes nothing of it.
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let tree = fs::canonicalize(dir.path()).unwrap().join(SID);
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(SID);
        for (name, content) in files(&fixture) {
            let path = tree.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Bench { repo: Repo::in_memory(), dir, tree }
    }

    fn imported() -> Bench {
        let bench = Bench::new();
        bench.import();
        bench
    }

    /// Imports the directory, which gives one session.
    fn import(&self) -> Imported {
        let (_, mut sessions) = import(&self.repo, self.dir.path(), false);
        assert_eq!(sessions.len(), 1);
        sessions.remove(0)
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let path = self.tree.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.tree.join(name), text).unwrap();
    }

    /// Exports the session into a new directory, and reads it.
    fn export(&self) -> (BTreeMap<PathBuf, Vec<u8>>, bool) {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("out");
        let exported = ops::export_memory_tree(&self.repo, SID, &to).unwrap();
        let files = files(&to);
        assert_eq!(exported.files, files.len() as u64);
        (files, exported.is_exact)
    }

    fn check_exact(&self) {
        let (out, is_exact) = self.export();
        assert!(is_exact);
        assert_eq!(out, files(&self.tree));
    }

    fn told(&self) -> Told {
        told(&self.repo, SID)
    }
}

/// What a session says: by branch what is known and what is said, and its active branch.
#[derive(Debug, PartialEq)]
struct Told {
    branches: BTreeMap<String, (Vec<String>, Vec<String>)>,
    active: Option<String>,
}

impl Told {
    fn facts(&self, branch: &str) -> Vec<&str> {
        self.branches[branch].0.iter().map(String::as_str).collect()
    }

    fn said(&self, branch: &str) -> Vec<&str> {
        self.branches[branch].1.iter().map(String::as_str).collect()
    }
}

fn told(repo: &Repo, sid: &str) -> Told {
    let snapshot = repo.snapshot().unwrap();
    let view = View::of(&*snapshot, sid).unwrap();
    let mut branches = BTreeMap::new();
    for (name, end) in view.branches().unwrap() {
        let node = memory_of(&view, &name).unwrap();
        assert_eq!(node, memory_at(&*snapshot, end).unwrap(), "the shortcut of {name}");
        let facts = memory::resolve(&*snapshot, node).unwrap();
        let context = session::context(&*snapshot, Some(sid), end).unwrap();
        let messages = context.messages.iter().map(|shown| &shown.message);
        let messages = messages.map(|it| format!("{}: {:?}", it.role, it.blocks));
        let facts = facts.iter().map(memory::Known::sentence).collect();
        branches.insert(name, (facts, messages.collect()));
    }
    Told { branches, active: view.active().unwrap() }
}

const ROOT: [&str; 2] = ["values: freedom, creativity", "stay at the job, or start a company"];

fn words(said: &[&str]) -> Vec<String> {
    said.iter().map(|line| line.split(": ").next().unwrap().to_owned()).collect()
}

#[test]
fn a_directory_is_one_session_with_its_branches_and_memory() {
    let bench = Bench::new();
    let imported = bench.import();
    assert_eq!((imported.session.as_deref(), imported.change), (Some(SID), ImportChange::New));
    assert_eq!((imported.dialect, imported.odd_count), (MEMORY_TREE, 0));
    let told = bench.told();
    assert_eq!(told.active.as_deref(), Some("the-architect"));
    assert_eq!(told.branches.keys().collect::<Vec<_>>(), ["the-architect", "the-wanderer"]);
    assert_eq!(
        told.facts("the-wanderer"),
        [&ROOT[..], &["optimizes: peace", "would miss building"]].concat()
    );
    let architect = [
        "optimizes: ambition",
        r#"{"fact":"has a startup idea","weight":0.5}"#,
        "would miss building",
        "optimizes: ambition, with rests",
    ];
    assert_eq!(told.facts("the-architect"), [&ROOT[..], &architect].concat());
    let roles = |branch: &str| words(&told.said(branch));
    assert_eq!(roles("the-wanderer"), ["interviewer", "user", "future_self", "user"]);
    assert_eq!(roles("the-architect"), ["interviewer", "user", "future_self", "user", "user"]);
    assert!(told.said("the-architect")[4].contains("Can I have both?"));
}

#[test]
fn memory_has_a_log_and_can_be_blamed() {
    let bench = Bench::imported();
    let snapshot = bench.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, SID).unwrap();
    let head = memory_of(&view, "the-architect").unwrap();
    let log = memory::log(&*snapshot, head).unwrap();
    let labels: Vec<&str> = log.iter().map(|(_, node)| node.branch.as_str()).collect();
    assert_eq!(labels, ["The Architect", "The Architect", "root"]);
    assert_eq!((log[0].1.parents.len(), log[0].1.notes[0].as_text()), (2, Some("wants both")));
    let said = |known: &memory::Known| {
        let entry = session::restored_entry(&*snapshot, &known.source.unwrap()).unwrap();
        entry.body.get("turn").and_then(Value::as_i64)
    };
    // A fact that names its turn, one that does not, and one that a merge repeats.
    let cases = [("values", "root", 2), ("optimizes", "The Architect", 8)];
    for (key, label, turn) in cases {
        let blamed = memory::blame(&*snapshot, head, key).unwrap();
        let node = bench.repo.node(&blamed[0].node).unwrap();
        assert_eq!((node.branch.as_str(), said(&blamed[0])), (label, Some(turn)), "{key}");
    }
    let wanderer = memory_of(&view, "the-wanderer").unwrap();
    let blamed = memory::blame(&*snapshot, wanderer, "optimizes").unwrap();
    assert_eq!(said(&blamed[0]), Some(7));
}

#[test]
fn records_metadata_and_pictures_are_there() {
    let bench = Bench::imported();
    let snapshot = bench.repo.snapshot().unwrap();
    let view = View::of(&*snapshot, SID).unwrap();
    let meta = view.meta().unwrap();
    assert_eq!(meta.name.as_deref(), Some("Stay, or start the company?"));
    assert_eq!((meta.status.as_deref(), meta.time), (Some("exploring"), 1_704_067_200_000));
    assert_eq!(meta.meta.get("selectedSelf"), Some(&"architect".into()));
    assert_eq!(meta.source.as_deref(), bench.tree.to_str());
    let record = view.record("the-architect").unwrap().unwrap();
    assert_eq!(record.description.as_deref(), Some("build it"));
    assert_eq!(record.card.get("name"), Some(&"The Architect".into()));
    let other = view.record("the-wanderer").unwrap().unwrap();
    assert!(record.at.is_some() && record.at == other.at, "both leave at the profile");
    for (name, id) in view.named("attachments").unwrap() {
        let content = fs::read(bench.tree.join("avatars").join(&name)).unwrap();
        assert_eq!(bench.repo.get(&id).unwrap(), Object::Blob(content), "{name}");
    }
    assert_eq!(view.named("attachments").unwrap().len(), 2);
    let turns = session::transcript(&*snapshot, SID).unwrap().len();
    assert_eq!(turns, 8 + 4, "turns and commits");
}

#[test]
fn the_directory_comes_back_byte_for_byte() {
    let bench = Bench::imported();
    bench.check_exact();
    let refused =
        ops::export(&bench.repo, SID, ops::Scope::Session, None, &mut Vec::new()).unwrap_err();
    assert!(matches!(refused, crate::Error::Refused { .. }), "{refused}");
}

#[test]
fn an_unchanged_directory_gives_nothing_new() {
    let bench = Bench::imported();
    let snapshot = bench.repo.snapshot().unwrap();
    let before = refs_of(&View::of(&*snapshot, SID).unwrap()).unwrap();
    let (outcome, sessions) = import(&bench.repo, bench.dir.path(), false);
    assert_eq!((outcome.unchanged, sessions.len()), (1, 0));
    // Touched, with the same bytes.
    let text = fs::read(bench.tree.join("session.json")).unwrap();
    let file = fs::File::create(bench.tree.join("session.json")).unwrap();
    std::io::Write::write_all(&mut &file, &text).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1 << 32))
        .unwrap();
    assert_eq!(bench.import().change, ImportChange::Unchanged);
    let snapshot = bench.repo.snapshot().unwrap();
    assert_eq!(refs_of(&View::of(&*snapshot, SID).unwrap()).unwrap(), before);
}

const NEW_NODE: &str = r#"{"id":"wanderer-2","parentId":"wanderer-1","branchLabel":"deeper",
    "facts":["got emotional"],"notes":[],"selfCard":null,"createdAt":1704067500000}"#;

#[test]
fn a_directory_that_grew_adds_only_what_is_new() {
    let bench = Bench::imported();
    let snapshot = bench.repo.snapshot().unwrap();
    let before = session::transcript(&*snapshot, SID).unwrap();
    bench.edit(
        "transcript.json",
        "Can I have both?\"\n  }",
        "Can I have both?\"\n  },\n  {\n    \"turn\": 9,\n    \"self\": \"The Wanderer\",\n    \
         \"role\": \"user\",\n    \"content\": \"And you?\"\n  }",
    );
    bench.write("memory/nodes/wanderer-2.json", NEW_NODE);
    bench.edit("memory/branches.json", "\"wanderer-1\"", "\"wanderer-2\"");
    bench.edit("session.json", "\"HEAD\": \"the-architect\"", "\"HEAD\": \"the-wanderer\"");
    let imported = bench.import();
    assert_eq!((imported.change, imported.odd_count), (ImportChange::Grown, 0));
    let told = bench.told();
    assert_eq!(told.active.as_deref(), Some("the-wanderer"));
    assert_eq!(told.facts("the-wanderer").last(), Some(&"got emotional"));
    assert!(told.said("the-wanderer").last().unwrap().contains("And you?"));
    assert_eq!(told.said("the-architect").len(), 5);
    let snapshot = bench.repo.snapshot().unwrap();
    let after = session::transcript(&*snapshot, SID).unwrap();
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), before.len() + 2, "a turn and a commit");
    bench.check_exact();
}

#[test]
fn what_is_taken_back_stays_in_the_transcript() {
    let bench = Bench::imported();
    bench.edit("transcript.json", "What did it cost?", "Was it worth it?");
    fs::remove_file(bench.tree.join("memory/nodes/architect-2.json")).unwrap();
    bench.edit("memory/branches.json", "architect-2", "architect-1");
    let imported = bench.import();
    assert_eq!(imported.change, ImportChange::Rewritten);
    let told = bench.told();
    assert_eq!(told.facts("the-architect").len(), 4);
    assert!(told.said("the-architect")[3].contains("Was it worth it?"));
    let snapshot = bench.repo.snapshot().unwrap();
    let all = session::transcript(&*snapshot, SID).unwrap().into_iter();
    let all = all.map(|id| session::restored_entry(&*snapshot, &id).unwrap().body);
    let texts: Vec<Value> = all.filter_map(|body| body.get("content").cloned()).collect();
    for text in ["What did it cost?", "Was it worth it?"] {
        assert!(texts.contains(&text.into()), "{text}");
    }
    bench.check_exact();
}

#[test]
fn what_somebody_did_here_is_left_alone() {
    let bench = Bench::imported();
    let options = MemoryCommitOptions {
        target: Target {
            session: Some(SID.to_owned()),
            branch: Some("the-wanderer".to_owned()),
            ..Target::default()
        },
        facts: vec![memory::fact_from_text("mine=1")],
        ..MemoryCommitOptions::default()
    };
    ops::memory_commit(&bench.repo, &options, &operation()).unwrap();
    bench.write("memory/nodes/wanderer-2.json", NEW_NODE);
    bench.edit("memory/branches.json", "\"wanderer-1\"", "\"wanderer-2\"");
    bench.import();
    let told = bench.told();
    assert_eq!(told.facts("the-wanderer").last(), Some(&"mine: 1"));
    assert_eq!(told.facts("the-wanderer-2").last(), Some(&"got emotional"));
    // The next import knows which of them follows the directory.
    bench.edit("memory/nodes/wanderer-2.json", "got emotional", "laughed");
    bench.import();
    let told = bench.told();
    assert_eq!(told.facts("the-wanderer-2").last(), Some(&"laughed"));
    assert_eq!(told.branches.len(), 3);
}

#[test]
fn other_files_in_the_directory_are_files_of_their_own() {
    let bench = Bench::new();
    bench.write("chat.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n");
    let (outcome, sessions) = import(&bench.repo, bench.dir.path(), false);
    let dialects: Vec<&str> = sessions.iter().map(|session| session.dialect).collect();
    assert_eq!((dialects, outcome.unknown), (vec![MEMORY_TREE, "chat"], 0));
    let (_, sessions) = import(&bench.repo, &bench.tree, false);
    assert_eq!(sessions, [], "nothing changed");
}

#[test]
fn a_dry_run_writes_nothing() {
    let bench = Bench::new();
    let (_, sessions) = import(&bench.repo, &bench.tree, true);
    assert_eq!((sessions[0].change, sessions[0].session.clone()), (ImportChange::New, None));
    assert!(sessions[0].tally.entries >= 12);
    assert_eq!(bench.repo.snapshot().unwrap().references("").unwrap(), []);
}
