//! What is done to a store while its disk misbehaves: lists of steps.
//!
//! A step is one call that a program makes. What it acknowledged must be there afterwards, whatever
//! happens; before, it is there as a whole or not at all.

use std::path::Path;
use std::sync::Arc;

use sapwood::error::Result;
use sapwood::object::NewObject;
use sapwood::ops;
use sapwood::repo::read_entry;
use sapwood::store::local::{GcOptions, LocalStore};
use sapwood::store::{Durability, Expected, Operation, RefName, RefUpdate, Store};
use sapwood::{Repo, session};

use super::sight::BACKUP;
use crate::faults::{attachment, commit, large, operation};
use crate::redact::redact_literal;
use crate::sim::SimDisk;
use crate::support::{append, append_with, branch, init, ref_name, target, text_of, update};

/// What is redacted.
const SECRET: &str = "hunter-2-of-the-test";

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

type Run = Box<dyn Fn(&Arc<LocalStore>) -> Result<()> + Send + Sync>;

/// One call.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Whether what it did is durable when it returns.
    pub(crate) is_durable: bool,
    /// Whether it is done on a new handle, as another process would.
    pub(crate) is_fresh: bool,
    pub(crate) run: Run,
}

/// Steps, one after the other.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) steps: Vec<Step>,
}

fn step(
    name: &'static str,
    run: impl Fn(&Arc<LocalStore>) -> Result<()> + Send + Sync + 'static,
) -> Step {
    Step { name, is_durable: true, is_fresh: false, run: Box::new(run) }
}

/// The same on a new handle.
fn fresh(step: Step) -> Step {
    Step { is_fresh: true, ..step }
}

/// Appends a message of some length to a branch.
fn say(name: &'static str, number: usize) -> Step {
    step("append", move |store| append(&**store, name, &words(number)).map(drop))
}

/// Appends, and is acknowledged before it is durable.
fn whisper(name: &'static str, number: usize) -> Step {
    let run = move |store: &Arc<LocalStore>| {
        append_with(&**store, name, &words(number), Durability::Relaxed).map(drop)
    };
    Step { is_durable: false, ..step("append --durability relaxed", run) }
}

fn words(number: usize) -> String {
    format!("message {number} {}", "word ".repeat(number * 29 % 160))
}

fn maintain() -> Step {
    step("maintain", |store| store.maintain())
}

fn seal() -> Step {
    step("seal", |store| store.seal())
}

fn pack_refs() -> Step {
    step("pack-refs", |store| store.pack_refs().map(drop))
}

fn repack() -> Step {
    step("repack", |store| store.repack().map(drop))
}

fn unpack() -> Step {
    step("unpack", |store| store.unpack(None).map(drop))
}

/// Collects garbage: what was set aside before is dropped, or all of it at once.
fn gc(now_ms: i64, at_once: bool) -> Step {
    step("gc", move |store| {
        let prune_ms = if at_once { now_ms } else { now_ms - DAY_MS };
        store.gc(&GcOptions { prune_ms, ..GcOptions::at(now_ms) }).map(drop)
    })
}

/// Takes a branch away: what is on it is garbage, or reached by operations alone.
fn remove_branch(name: &'static str) -> Step {
    step("update-ref -d", move |store| {
        let gone = RefUpdate { name: branch(name), expected: Expected::Any, new: None };
        commit(&**store, Durability::Full, &[], &[gone])
    })
}

/// Commits a large object, an entry that links it, and a ref.
fn attach(seed: u8) -> Step {
    step("attach", move |store| {
        let link = attachment(large(seed).id());
        let refs = [update(ref_name("notes/large"), link.id())];
        commit(&**store, Durability::Full, &[large(seed), link], &refs)
    })
}

/// Writes an object that nothing points to.
fn put(text: &'static str) -> Step {
    step("hash-object", move |store| store.put_alone(&NewObject::blob(text.as_bytes().to_vec())?))
}

fn verb(
    name: &'static str,
    run: impl Fn(&Repo, &Operation) -> Result<()> + Send + Sync + 'static,
) -> Step {
    step(name, move |store| {
        let store: Arc<dyn Store> = Arc::<LocalStore>::clone(store);
        run(&Repo::on(store), &operation(name))
    })
}

fn work() -> ops::Target {
    ops::Target::of(Some("work"))
}

fn speak(text: &'static str) -> Step {
    verb("append -m", move |repo, operation| {
        let ground = ops::Ground::find(&*repo.snapshot()?, &work())?;
        let draft = session::Draft::message("user", text);
        ops::append(repo, &ground, &[draft], false, operation).map(drop)
    })
}

fn label(name: &'static str) -> Step {
    verb("label", move |repo, operation| {
        let at = Some("main".to_owned());
        let options = ops::LabelOptions { target: work(), name: name.to_owned(), at };
        ops::label(repo, &options, operation).map(drop)
    })
}

fn branch_off(name: &'static str) -> Step {
    verb("branch", move |repo, operation| {
        let options = ops::BranchOptions {
            target: work(),
            name: name.to_owned(),
            switch: true,
            ..ops::BranchOptions::default()
        };
        ops::branch(repo, &options, operation).map(drop)
    })
}

fn undo() -> Step {
    verb("undo", |repo, operation| {
        ops::undo(repo, &work(), "test", ops::Direction::Undo, operation).map(drop)
    })
}

fn remove_session() -> Step {
    verb("remove", |repo, operation| ops::remove_session(repo, "work", operation).map(drop))
}

/// Says something that must go again.
fn confide(name: &'static str, number: usize) -> Step {
    let text = format!("{} {SECRET}", words(number));
    step("append", move |store| append(&**store, name, &text).map(drop))
}

/// Attaches a secret that is too large for the journal.
fn attach_secret() -> Step {
    step("attach", |store| {
        let blob = NewObject::blob(format!("{SECRET} {}", "large ".repeat(50_000)).into_bytes())?;
        let link = attachment(blob.id());
        let refs = [update(ref_name("notes/secret"), link.id())];
        commit(&**store, Durability::Full, &[blob, link], &refs)
    })
}

fn redact() -> Step {
    step("redact", |store| {
        let outcome = redact_literal(store, SECRET)?;
        assert_eq!(outcome.left, Vec::<String>::new());
        Ok(())
    })
}

/// Forgets what was said in this way, and all that follows.
fn forget(text: &'static str) -> Step {
    step("forget", move |store| {
        let snapshot = store.snapshot()?;
        let mut next = target(&*snapshot, &RefName::of_session("work", "heads/main")?)?;
        while let Some(id) = next {
            if text_of(&*snapshot, &id)? == text {
                let what = ops::ForgetWhat::Entry(id);
                return ops::forget(store, &what, false, &operation("forget"), &|_, _| {})
                    .map(drop);
            }
            next = read_entry(&*snapshot, &id)?.parents.first().copied();
        }
        Ok(())
    })
}

fn backup() -> Step {
    step("backup", |store| store.backup(Path::new(BACKUP), "/s", false, &mut |_, _| {}).map(drop))
}

/// Takes in the frozen bundle.
fn unbundle() -> Step {
    verb("unbundle", |repo, operation| {
        let bytes = include_bytes!("../../../fixtures/bundles/v1.bundle");
        let options = ops::UnbundleOptions::default();
        let (name, marks) = (std::path::Path::new("v1.bundle"), &mut ops::NoMarks);
        ops::unbundle(repo, &mut &bytes[..], name, &options, marks, operation, &mut |_| {})?;
        repo.store().sync()
    })
}

/// Imports a file of so many messages, the longest of which becomes a blob.
fn import(messages: usize) -> Step {
    verb("import", move |repo, operation| {
        let text = file_of(messages).into_bytes();
        let stdin: Box<dyn std::io::Read + Send> = Box::new(std::io::Cursor::new(text));
        let options = ops::ImportOptions::default();
        let found = ops::Found::default();
        ops::import(repo, found, Some(stdin), &options, operation, &mut |_| {})?;
        // Its transactions are relaxed; who imports syncs before saying so.
        repo.store().sync()
    })
}

/// A file of pi.
fn file_of(messages: usize) -> String {
    let time = "2025-11-04T08:00:00.000Z";
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"file\",\"timestamp\":\"{time}\",\
         \"cwd\":\"/w\"}}\n"
    );
    for number in 1..=messages {
        let parent = match number {
            1 => "null".to_owned(),
            _ => format!("\"m{}\"", number - 1),
        };
        let content = if number == 2 { "long ".repeat(300) } else { words(number) };
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"m{number}\",\"parentId\":{parent},\
             \"timestamp\":\"{time}\",\
             \"message\":{{\"role\":\"user\",\"content\":\"{content}\"}}}}\n"
        );
    }
    text
}

/// All workloads, or those that `SAPWOOD_WORKLOADS` names with commas between; the number makes
/// them a little different each time.
pub(crate) fn workloads(number: usize) -> Vec<Workload> {
    let at = |place: usize| number * 7 + place;
    let appends = (0..9).map(|place| match (number + place) % 5 {
        1 => whisper("main", at(place)),
        3 => fresh(say("other", at(place))),
        _ => say("main", at(place)),
    });
    let mut merging: Vec<Step> = Vec::new();
    for place in 0..9 {
        merging.extend([say("main", at(place)), pack_refs()]);
    }
    merging.extend([fresh(maintain()), say("main", at(9)), maintain()]);
    let seed = number as u8;
    let list = [
        ("append", appends.collect()),
        ("rotate", (0..24).map(|place| say("main", at(place) * 3)).chain([maintain()]).collect()),
        ("large", vec![say("main", at(0)), attach(seed), put("alone"), say("main", 1), maintain()]),
        ("merge", merging),
        (
            "repack",
            vec![say("main", at(0)), pack_refs(), put("alone"), say("other", at(1)), seal()]
                .into_iter()
                .chain([repack(), fresh(say("main", at(2))), repack(), maintain()])
                .collect(),
        ),
        (
            "gc",
            vec![say("main", at(0)), say("gone", at(1)), put("alone"), attach(seed)]
                .into_iter()
                .chain([remove_branch("gone"), gc(10 * DAY_MS, false), say("main", at(2))])
                .chain([fresh(say("gone", at(1))), put("alone"), gc(20 * DAY_MS, false)])
                .chain([remove_branch("gone"), gc(30 * DAY_MS, true), fresh(say("main", 3))])
                .collect(),
        ),
        ("unpack", vec![say("main", at(0)), label_ref(), pack_refs(), unpack(), repack()]),
        ("import", vec![import(3 + number % 3), fresh(import(5 + number % 3)), pack_refs()]),
        ("unbundle", vec![say("main", at(0)), unbundle(), pack_refs(), fresh(unbundle())]),
        (
            "verbs",
            vec![speak("one"), speak("two"), label("here"), undo(), branch_off("idea")]
                .into_iter()
                .chain([pack_refs(), speak("three"), fresh(remove_session()), undo(), maintain()])
                .collect(),
        ),
        (
            "redact",
            vec![say("main", at(0)), confide("main", at(1)), say("other", at(2)), attach_secret()]
                .into_iter()
                .chain([pack_refs(), confide("other", at(3)), redact(), say("main", at(4))])
                .chain([fresh(confide("main", at(5))), seal(), redact(), maintain()])
                .collect(),
        ),
        (
            "forget",
            vec![speak("one"), speak("two"), label("here"), branch_off("idea"), speak("three")]
                .into_iter()
                .chain([forget("two"), speak("four"), seal(), fresh(forget("one")), maintain()])
                .collect(),
        ),
        (
            "backup",
            vec![say("main", at(0)), attach(seed), backup(), say("main", at(1)), pack_refs()]
                .into_iter()
                .chain([fresh(backup()), say("other", at(2)), repack(), backup()])
                .chain([confide("main", at(3)), redact(), fresh(backup())])
                .collect(),
        ),
    ];
    let named = std::env::var("SAPWOOD_WORKLOADS").ok();
    let is_named =
        |name: &str| named.as_ref().is_none_or(|all| all.split(',').any(|one| one == name));
    list.into_iter()
        .filter(|(name, _)| is_named(name))
        .map(|(name, steps)| Workload { name, steps })
        .collect()
}

/// Moves a ref by an operation.
fn label_ref() -> Step {
    step("update-ref", |store| {
        let entry = crate::support::message("labelled", vec![]);
        store.commit(Durability::Full, &mut |_| {
            Ok(sapwood::store::Transaction {
                refs: vec![update(ref_name("notes/label"), entry.id())],
                objects: vec![entry.clone()],
                operation: Some(operation("update-ref")),
            })
        })
    })
}

impl Workload {
    /// Runs all steps on a disk; `told` is called before the first and after each.
    pub(crate) fn run(&self, disk: &SimDisk, mut told: impl FnMut(&Step)) -> Result<()> {
        let mut store = Arc::new(init(disk)?);
        for step in &self.steps {
            if step.is_fresh {
                // What a handle does at its end comes before what the next one does.
                drop(store);
                store = Arc::new(init(disk)?);
            }
            (step.run)(&store)?;
            told(step);
        }
        Ok(())
    }
}
