//! Sessions that are moved between stores, by bundles and without.

mod bundles;
mod craft;
mod hostile;
mod random;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sapwood::disk::OsDisk;
use sapwood::error::Result;
use sapwood::id::Id;
use sapwood::ops::{
    self, Fate, Goal, LabelOptions, Landed, Selection, SessionChange, SwitchOptions, Target,
    TransferNote, TransferOptions, TransferOutcome,
};
use sapwood::repo::{Place, Repo};
use sapwood::session::{self, Draft, View};
use sapwood::store::local::LocalStore;
use sapwood::store::{Durability, Operation, RefName, RefValue, Snapshot};

use crate::support;

/// A store in which somebody talks.
pub(crate) struct Desk {
    pub(crate) repo: Repo,
    name: &'static str,
    clock: AtomicI64,
}

impl Desk {
    pub(crate) fn new(name: &'static str, begin: i64) -> Desk {
        Desk { repo: Repo::in_memory(), name, clock: AtomicI64::new(begin) }
    }

    pub(crate) fn on_disk(name: &'static str, path: &Path) -> Desk {
        let (store, _) = LocalStore::init(Arc::new(OsDisk), path, support::options()).unwrap();
        Desk { repo: Repo::on(Arc::new(store)), name, clock: AtomicI64::new(1) }
    }

    pub(crate) fn tick(&self) -> i64 {
        self.clock.fetch_add(10, Ordering::Relaxed)
    }

    pub(crate) fn operation(&self, command: &str) -> Operation {
        Operation { time: self.tick(), actor: self.name.to_owned(), command: command.to_owned() }
    }

    pub(crate) fn say(&self, branch: &str, text: &str) -> Id {
        let pin = session::pin(&self.repo, Some("s"), Some(branch), self.tick(), "me").unwrap();
        let body = Draft::message("user", text).body;
        session::append(&self.repo, &pin, vec![body], Durability::Full, self.tick()).unwrap()[0]
    }

    pub(crate) fn label(&self, name: &str, rev: &str) {
        let target = Target::of(Some("s"));
        let at = Some(rev.to_owned());
        let options = LabelOptions { target, name: name.to_owned(), at };
        ops::label(&self.repo, &options, &self.operation("label")).unwrap();
    }

    pub(crate) fn switch(&self, to: &str) {
        let goal = Goal::Revision(to.to_owned());
        let options = SwitchOptions::to(Target::of(Some("s")), goal);
        ops::switch(&self.repo, &options, &self.operation("switch")).unwrap();
    }

    pub(crate) fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.repo.snapshot().unwrap()
    }

    pub(crate) fn all(&self) -> Selection {
        ops::select(&*self.snapshot(), &Place::default(), &[]).unwrap()
    }

    pub(crate) fn options(&self, from: &Desk) -> TransferOptions {
        TransferOptions { from: from.name.to_owned(), ..TransferOptions::default() }
    }

    pub(crate) fn fetch(&self, from: &Desk) -> (TransferOutcome, Vec<Landed>) {
        self.take(from, &self.options(from)).unwrap()
    }

    pub(crate) fn take(
        &self,
        from: &Desk,
        options: &TransferOptions,
    ) -> Result<(TransferOutcome, Vec<Landed>)> {
        let mut landed = Vec::new();
        let parcels = from.all().parcels;
        let snapshot = from.snapshot();
        let operation = self.operation("fetch");
        let outcome =
            ops::transfer(&*snapshot, &self.repo, &parcels, options, &operation, &mut |note| {
                if let TransferNote::Session(session) = note {
                    landed.push(session.clone());
                }
            })?;
        Ok((outcome, landed))
    }

    pub(crate) fn push(&self, to: &Desk) -> Vec<Landed> {
        let options = TransferOptions { refuse_apart: true, ..to.options(self) };
        to.take(self, &options).unwrap().1
    }

    pub(crate) fn refs(&self) -> Vec<(RefName, RefValue)> {
        self.snapshot().references("sessions/").unwrap()
    }

    pub(crate) fn end(&self, branch: &str) -> Option<Id> {
        let snapshot = self.snapshot();
        View::of(&*snapshot, "s").unwrap().branch(branch).unwrap()
    }

    /// Gives all that was said, and checks that nothing was told twice.
    pub(crate) fn transcript(&self) -> Vec<Id> {
        let snapshot = self.snapshot();
        let told = session::transcript(&*snapshot, "s").unwrap();
        let once: HashSet<&Id> = told.iter().collect();
        assert_eq!(once.len(), told.len(), "an entry is told twice");
        let turns = sapwood::walk::turn_count(&*snapshot, "s").unwrap();
        assert!(turns >= told.len() as u64);
        let items = sapwood::walk::transcript_items(&*snapshot, "s").unwrap();
        assert_eq!(items.map(|item| item.unwrap().0).max().unwrap_or(0), turns);
        told
    }
}

fn set(ids: &[Id]) -> HashSet<Id> {
    ids.iter().copied().collect()
}

#[test]
fn a_session_that_is_not_here_comes_as_it_is_and_only_once() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    away.say("main", "one");
    away.say("main", &"a long string ".repeat(200));
    away.say("idea", "two");
    away.label("ok", "main");
    let (outcome, landed) = home.fetch(&away);
    assert_eq!((outcome.sessions, outcome.changed), (1, 1));
    assert_eq!(landed[0].change, SessionChange::New);
    assert_eq!(home.refs(), away.refs());
    assert_eq!(home.transcript(), away.transcript());
    let head = home.repo.reference(&RefName::head()).unwrap();
    assert_eq!(head, away.repo.reference(&RefName::head()).unwrap());
    let (again, landed) = home.fetch(&away);
    assert_eq!((again.objects, again.changed), (0, 0));
    assert_eq!(landed[0].change, SessionChange::Unchanged);

    let more = away.say("main", "three");
    let (outcome, landed) = home.fetch(&away);
    assert_eq!(landed[0].change, SessionChange::Forward);
    assert_eq!(outcome.objects, 2, "the entry, and the event of going back to main");
    assert_eq!(home.refs(), away.refs());
    assert_eq!(home.transcript().last(), Some(&more));
}

#[test]
fn what_went_two_ways_comes_in_beside_ours_and_both_transcripts_are_kept() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    let common = home.say("main", "one");
    away.fetch(&home);
    let (ours, theirs) = (home.say("main", "ours"), away.say("main", "theirs"));
    let dry = TransferOptions { dry_run: true, ..home.options(&away) };
    let before = home.refs();
    let (_, planned) = home.take(&away, &dry).unwrap();
    assert_eq!(home.refs(), before);
    let (_, landed) = home.fetch(&away);
    assert_eq!(planned, landed);
    assert_eq!(landed[0].change, SessionChange::Joined);
    assert_eq!(landed[0].refs[0].fate, Fate::Aside("main@away".to_owned()));
    assert_eq!(home.end("main"), Some(ours));
    assert_eq!(home.end("main@away"), Some(theirs));
    assert_eq!(home.transcript(), [common, ours, theirs]);
    assert_eq!(home.repo.resolve("main@away").unwrap(), theirs);
    assert_eq!(home.fetch(&away).1[0].change, SessionChange::Unchanged);

    // The other side has all of it in ours now, and simply moves on.
    assert_eq!(home.push(&away)[0].change, SessionChange::Forward);
    assert_eq!(away.transcript(), home.transcript());
    assert_eq!(away.end("main"), Some(ours), "as ours knew what theirs was");
    let next = home.say("main", "next");
    assert_eq!(away.fetch(&home).1[0].change, SessionChange::Forward);
    assert_eq!(away.transcript(), [common, ours, theirs, next]);
}

#[test]
fn events_of_both_sides_come_together_in_one_with_two_priors() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    home.say("main", "one");
    home.say("idea", "two");
    away.fetch(&home);
    let shared = [home.say("main", "shared")];
    away.fetch(&home);
    let ours = [home.say("main", "a"), home.say("idea", "b"), home.say("main", "c")];
    let theirs = [away.say("idea", "x"), away.say("main", "y")];
    away.label("theirs", "main");
    away.switch("idea");
    let (all_ours, all_theirs) = (home.transcript(), away.transcript());
    let (_, landed) = home.fetch(&away);
    assert_eq!(landed[0].change, SessionChange::Joined);
    let told = home.transcript();
    let both: HashSet<Id> = set(&all_ours).union(&set(&all_theirs)).copied().collect();
    assert_eq!(set(&told), both);
    assert!(told.starts_with(&all_ours), "ours first, as it was");
    let snapshot = home.snapshot();
    let event = View::of(&*snapshot, "s").unwrap().target("events").unwrap().unwrap();
    let event = home.repo.event(&event).unwrap();
    assert_eq!((event.label.as_str(), event.priors.len()), ("join", 2));
    let since = sapwood::walk::transcript_since(&*snapshot, "s", &shared[0]).unwrap();
    assert_eq!(since.len(), 1 + ours.len() + theirs.len());
    assert!(View::of(&*snapshot, "s").unwrap().target("labels/theirs").unwrap().is_some());

    // Life goes on: what comes after is told after.
    let next = home.say("main", "next");
    assert_eq!(home.transcript().last(), Some(&next));
    assert_eq!(away.fetch(&home).1[0].change, SessionChange::Forward);
    assert_eq!(away.transcript(), home.transcript());
}

#[test]
fn a_push_to_what_went_another_way_is_refused_unless_forced() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    home.say("main", "one");
    assert_eq!(home.push(&away)[0].change, SessionChange::New);
    let (ours, theirs) = (home.say("main", "ours"), away.say("main", "theirs"));
    let before = away.refs();
    assert_eq!(home.push(&away)[0].change, SessionChange::Refused);
    assert_eq!(away.refs(), before);
    let options = TransferOptions { refuse_apart: true, force: true, ..away.options(&home) };
    let (_, landed) = away.take(&home, &options).unwrap();
    assert_eq!(landed[0].change, SessionChange::Joined);
    assert_eq!(away.end("main"), Some(ours));
    assert!(set(&away.transcript()).contains(&theirs), "nothing is lost");
}

#[test]
fn the_metadata_that_was_changed_last_wins_and_deleted_branches_stay_deleted() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 100));
    home.say("main", "one");
    home.say("idea", "two");
    away.fetch(&home);
    ops::rename_session(&away.repo, "s", Some("theirs"), &away.operation("rename")).unwrap();
    home.fetch(&away);
    let name = |desk: &Desk| View::of(&*desk.snapshot(), "s").unwrap().meta().unwrap().name;
    assert_eq!(name(&home).as_deref(), Some("theirs"));
    home.clock.store(5_000, Ordering::Relaxed);
    ops::rename_session(&home.repo, "s", Some("ours"), &home.operation("rename")).unwrap();
    home.fetch(&away);
    assert_eq!(name(&home).as_deref(), Some("ours"));

    home.switch("main");
    let target = Target::of(Some("s"));
    ops::delete_branch(&home.repo, &target, "idea", &home.operation("delete")).unwrap();
    home.fetch(&away);
    assert_eq!(home.end("idea"), None, "ours knows of theirs, and deleted it");
    assert!(away.end("idea").is_some());
}

#[test]
fn labels_and_attachments_that_differ_stay_and_theirs_come_beside() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    home.say("main", "one");
    away.fetch(&home);
    away.say("main", "two");
    home.label("here", "main");
    away.label("here", "main");
    let (_, landed) = home.fetch(&away);
    let fates: Vec<&str> = landed[0].refs.iter().map(|told| told.name.as_str()).collect();
    assert_eq!(fates, ["heads/main", "labels/here"]);
    assert_eq!(landed[0].refs[1].fate, Fate::Aside("here@away".to_owned()));
    let snapshot = home.snapshot();
    let view = View::of(&*snapshot, "s").unwrap();
    let (ours, theirs) = (view.target("labels/here"), view.target("labels/here@away"));
    assert_ne!(ours.unwrap(), theirs.unwrap());
}

#[test]
fn stores_on_disk_and_in_memory_are_moved_between_alike() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Desk::on_disk("disk", &folder.path().join("a"));
    let (memory, other) = (Desk::new("memory", 0), Desk::on_disk("b", &folder.path().join("b")));
    disk.say("main", "one");
    let large = vec![7u8; 700_000];
    let blob = disk.repo.store().put_blob(&mut large.as_slice(), 700_000).unwrap();
    let options = ops::AttachOptions {
        target: Target::of(Some("s")),
        name: "large".to_owned(),
        content: ops::Attached::Blob(blob),
        card: None,
    };
    ops::attach(&disk.repo, &options, &disk.operation("attach")).unwrap();
    memory.fetch(&disk);
    other.fetch(&memory);
    assert_eq!(other.refs(), disk.refs());
    let found = other.snapshot().get(&blob).unwrap().unwrap();
    assert_eq!(&*found.content, large.as_slice());
    drop(other);
    let report = sapwood::store::local::fsck(
        Arc::new(OsDisk),
        &folder.path().join("b"),
        &sapwood::store::local::FsckOptions::default(),
    );
    assert!(
        report
            .unwrap()
            .findings
            .iter()
            .all(|finding| { finding.severity != sapwood::store::local::Severity::Error })
    );
}
