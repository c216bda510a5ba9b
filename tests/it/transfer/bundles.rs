//! Bundles: made, checked, listed, taken in, cut off and taken up again.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sapwood::error::{Error, Result};
use sapwood::id::{Id, Kind};
use sapwood::object::NewObject;
use sapwood::ops::{
    self, BundleHead, Mark, Marks, NoMarks, SessionChange, TransferOptions, TransferOutcome,
    UnbundleOptions,
};
use sapwood::repo::Place;

use super::craft::{self, take_apart};
use super::{Desk, set};

const NAME: &str = "test.bundle";

pub(super) fn bundle_of(desk: &Desk, words: &[&str]) -> Vec<u8> {
    let snapshot = desk.snapshot();
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let selection = ops::select(&*snapshot, &Place::default(), &words).unwrap();
    let mut out = Vec::new();
    let made =
        ops::create_bundle(&*snapshot, &selection, &mut out, Path::new(NAME), 7, &mut |_| {});
    assert_eq!(made.unwrap().bytes, out.len() as u64);
    out
}

pub(super) fn unbundle(desk: &Desk, mut bytes: impl Read) -> Result<TransferOutcome> {
    take(desk, &mut bytes, &mut NoMarks)
}

fn take(desk: &Desk, source: &mut dyn Read, marks: &mut dyn Marks) -> Result<TransferOutcome> {
    let transfer = TransferOptions { from: "bundle".to_owned(), ..TransferOptions::default() };
    let options = UnbundleOptions { transfer, sessions: Vec::new() };
    let operation = desk.operation("unbundle");
    ops::unbundle(&desk.repo, source, Path::new(NAME), &options, marks, &operation, &mut |_| {})
}

pub(super) fn verify(bytes: &[u8]) -> Result<ops::BundleCheck> {
    ops::verify_bundle(&mut &bytes[..], Path::new(NAME), None, &mut |_| {})
}

/// A small session with something of everything.
fn talk() -> Desk {
    let desk = Desk::new("home", 0);
    desk.say("main", "one");
    desk.say("main", &"a string that is long enough ".repeat(50));
    desk.say("idea", "two");
    desk.label("ok", "main");
    desk
}

#[test]
fn a_bundle_comes_back_as_it_was_and_objects_come_after_what_they_link() {
    let home = talk();
    let bytes = bundle_of(&home, &[]);
    let found = verify(&bytes).unwrap();
    assert_eq!(found.bytes, bytes.len() as u64);
    assert_eq!(found.outside, 0);
    let away = Desk::new("away", 5);
    let outcome = unbundle(&away, &bytes[..]).unwrap();
    assert_eq!((outcome.objects, outcome.sessions), (found.objects, 1));
    assert_eq!(away.refs(), home.refs());
    assert_eq!(away.transcript(), home.transcript());
    let again = unbundle(&away, &bytes[..]).unwrap();
    assert_eq!((again.objects, again.shared, again.changed), (0, found.objects, 0));

    let mut seen = std::collections::HashSet::new();
    for (what, payload) in take_apart(&bytes) {
        if what != craft::OBJECTS {
            continue;
        }
        let mut rest = &payload[..];
        while let [kind, a, b, c, d, after @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            let kind = Kind::from_code(*kind).unwrap();
            let object = NewObject::parse(kind, after[..length].to_vec()).unwrap();
            assert!(object.links().iter().all(|link| seen.contains(link)));
            seen.insert(object.id());
            rest = &after[length..];
        }
    }
    assert_eq!(seen.len() as u64, found.objects);
}

#[test]
fn every_flipped_byte_and_every_cut_is_noticed_and_moves_nothing() {
    let bytes = bundle_of(&talk(), &[]);
    let away = Desk::new("away", 5);
    let check = |bad: &[u8], what: &str, place: usize| {
        assert!(verify(bad).is_err(), "{what} {place}");
        assert!(unbundle(&away, bad).is_err(), "{what} {place}");
        assert!(away.refs().is_empty(), "{what} {place}");
    };
    for place in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[place] ^= 1 << (place % 8);
        check(&bad, "flip", place);
        check(&bytes[..place], "cut", place);
    }
    check(&[&bytes[..], b"x"].concat(), "more", bytes.len());
    unbundle(&away, &bytes[..]).unwrap();
    assert!(!away.refs().is_empty());
}

#[test]
fn a_range_needs_what_it_leaves_out_and_says_so() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    home.say("main", "one");
    away.fetch(&home);
    let (two, three) = (home.say("main", "two"), home.say("main", "three"));
    home.say("idea", "elsewhere");
    let bytes = bundle_of(&home, &["s:main~2..s:main"]);
    let head = ops::read_bundle_head(&mut &bytes[..], Path::new(NAME)).unwrap();
    assert_eq!(head.prerequisites[0].name, "s:main~2");
    assert_eq!(head.time, 7);
    let nobody = Desk::new("nobody", 9);
    let error = unbundle(&nobody, &bytes[..]).unwrap_err();
    assert!(matches!(&error, Error::Refused { why, .. } if why.contains("s:main~2")), "{error}");
    let outcome = unbundle(&away, &bytes[..]).unwrap();
    assert_eq!((outcome.objects, outcome.shared), (2, 1), "the metadata is there");
    assert_eq!(away.end("main"), Some(three));
    assert_eq!(away.end("idea"), None);
    assert_eq!(away.transcript()[1..], [two, three]);
    // Away from the branch that grew, an event takes what it said into the transcript.
    away.say("other", "mine");
    let four = home.say("main", "four");
    unbundle(&away, &bundle_of(&home, &["s:main"])[..]).unwrap();
    assert!(set(&away.transcript()).contains(&four));
    assert_eq!(away.end("main"), Some(four));
}

#[test]
fn a_branch_alone_makes_a_session_whose_transcript_is_its_path() {
    let (home, away) = (talk(), Desk::new("away", 5));
    unbundle(&away, &bundle_of(&home, &["s:idea"])[..]).unwrap();
    let mut path = home.repo.path(&home.end("idea").unwrap()).unwrap();
    path.reverse();
    assert_eq!(away.transcript(), path);
    assert_eq!(away.end("main"), None);
    let error = ops::select(&*home.snapshot(), &Place::default(), &["s:main~1".to_owned()]);
    assert!(matches!(error, Err(Error::RevisionUnknown { .. })));
}

/// A pipe that breaks, or simply ends, after so many bytes.
struct Cut<'a>(&'a [u8], usize);

impl Read for Cut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1 == 0 {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        let count = buffer.len().min(self.0.len()).min(self.1).min(5000);
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        self.1 -= count;
        Ok(count)
    }
}

#[derive(Default)]
struct Kept(HashMap<String, String>);

impl Marks for Kept {
    fn load(&mut self, bundle: &str) -> Option<Mark> {
        Mark::parse(self.0.get(bundle)?)
    }

    fn keep(&mut self, mark: &Mark) {
        self.0.insert(mark.bundle.clone(), mark.to_text());
    }

    fn forget(&mut self, bundle: &str) {
        self.0.remove(bundle);
    }
}

#[test]
fn what_was_cut_off_is_taken_up_again_and_not_done_twice() {
    let (home, away) = (Desk::new("home", 0), Desk::new("away", 5));
    for number in 0..120 {
        let noise: Vec<u8> = blake3::hash(&[number]).as_bytes().repeat(4000);
        let text: String = noise.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        home.say("main", &format!("{number} {text}"));
    }
    let large: Vec<u8> = (0..3_000_000u32).flat_map(|n| n.to_le_bytes()).collect();
    let blob = home.repo.store().put_blob(&mut &large[..], large.len() as u64).unwrap();
    let options = ops::AttachOptions {
        target: ops::Target::of(Some("s")),
        name: "large".to_owned(),
        content: ops::Attached::Blob(blob),
        card: None,
    };
    ops::attach(&home.repo, &options, &home.operation("attach")).unwrap();
    let bytes = bundle_of(&home, &[]);
    let mut marks = Kept::default();
    let most = bytes.len() - 200;
    let error = take(&away, &mut Cut(&bytes, most), &mut marks).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(away.refs().is_empty(), "nothing is half visible");
    assert_eq!(marks.0.len(), 1);
    let all = verify(&bytes).unwrap().objects;
    let outcome = take(&away, &mut &bytes[..], &mut marks).unwrap();
    assert!(outcome.objects < all / 4, "{outcome:?} of {all}");
    assert_eq!(away.refs(), home.refs());
    assert!(marks.0.is_empty());

    // A mark whose objects are gone moves nothing, and is forgotten.
    let lost = Desk::new("lost", 9);
    let mut stale = Kept::default();
    take(&Desk::new("x", 1), &mut Cut(&bytes, most), &mut stale).unwrap_err();
    assert!(take(&lost, &mut &bytes[..], &mut stale).is_err());
    assert!(lost.refs().is_empty() && stale.0.is_empty());
    take(&lost, &mut &bytes[..], &mut stale).unwrap();
    assert_eq!(lost.refs(), home.refs());
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bundles/v1.bundle")
}

#[test]
fn the_frozen_bundle_is_read_as_ever() {
    if std::env::var_os("SAPWOOD_BLESS").is_some_and(|value| value == "1") {
        let home = talk();
        let large = vec![b'x'; 300_000];
        let blob = home.repo.store().put_blob(&mut &large[..], 300_000).unwrap();
        let options = ops::AttachOptions {
            target: ops::Target::of(Some("s")),
            name: "large".to_owned(),
            content: ops::Attached::Blob(blob),
            card: None,
        };
        ops::attach(&home.repo, &options, &home.operation("attach")).unwrap();
        std::fs::create_dir_all(fixture().parent().unwrap()).unwrap();
        std::fs::write(fixture(), bundle_of(&home, &[])).unwrap();
    }
    let bytes = std::fs::read(fixture()).unwrap();
    let found = verify(&bytes).unwrap();
    let BundleHead { time, parcels, prerequisites } = found.head;
    assert_eq!((time, parcels.len(), prerequisites.len()), (7, 1, 0));
    let away = Desk::new("away", 5);
    assert_eq!(unbundle(&away, &bytes[..]).unwrap().changed, 1);
    assert_eq!(away.transcript().len(), 3);
    let frames: Vec<u8> = take_apart(&bytes).iter().map(|(what, _)| *what).collect();
    let expected = [craft::HEAD, craft::OBJECTS, craft::LARGE, craft::MORE];
    assert!(expected.iter().all(|what| frames.contains(what)));
    let listed: Vec<(&String, String)> =
        parcels[0].refs.iter().map(|(name, value)| (name, value.to_string())).collect();
    assert!(listed.iter().any(|(name, _)| *name == "attachments/large"));
    let large = away.repo.resolve("attachments/large").unwrap();
    let read: Id = Id::of(Kind::Blob, &vec![b'x'; 300_000]);
    assert_eq!(large, read);
}

#[test]
fn a_dry_run_reads_everything_and_writes_nothing() {
    let bytes = bundle_of(&talk(), &[]);
    let away = Desk::new("away", 5);
    let transfer = TransferOptions { dry_run: true, ..TransferOptions::default() };
    let options = UnbundleOptions { transfer, sessions: vec!["s".to_owned()] };
    let operation = away.operation("unbundle");
    let mut changes = Vec::new();
    let outcome = ops::unbundle(
        &away.repo,
        &mut &bytes[..],
        Path::new(NAME),
        &options,
        &mut NoMarks,
        &operation,
        &mut |note| {
            if let ops::TransferNote::Session(landed) = note {
                changes.push(landed.change);
            }
        },
    );
    assert_eq!((outcome.unwrap().sessions, changes), (1, vec![SessionChange::New]));
    assert!(away.refs().is_empty());
}

#[test]
fn the_page_on_the_format_is_right_about_the_frozen_bundle() {
    let page = crate::format::page::Page::load();
    let bytes = std::fs::read(fixture()).unwrap();
    let begin = page.layout("Begin of a bundle");
    begin.check_literal(&bytes, "magic");
    assert_eq!((begin.bytes(), begin.number(&bytes, "version")), (16, 1));
    let (frame, end) = (page.layout("Frame of a bundle"), page.layout("End of a bundle"));
    let mut chain = blake3::hash(&bytes[..begin.bytes()]);
    let (mut at, mut frames) = (begin.bytes(), 0);
    loop {
        let head = &bytes[at..at + frame.bytes()];
        let stored = frame.number(head, "stored") as usize;
        let body = &bytes[at + frame.bytes()..][..stored];
        let before = frame.before(head, "checksum");
        chain = blake3::hash(&[chain.as_bytes(), before, body].concat());
        assert_eq!(frame.get(head, "checksum"), chain.as_bytes());
        if frame.number(head, "type") == u64::from(craft::END) {
            assert_eq!(end.bytes(), stored);
            assert_eq!(end.number(body, "frames"), frames);
            assert_eq!(end.get(body, "all"), blake3::hash(&bytes[..at]).as_bytes());
            assert_eq!(bytes.len() - at, 104, "as the page says");
            assert_eq!(end.number(body, "objects"), verify(&bytes).unwrap().objects);
            return;
        }
        frames += 1;
        at += frame.bytes() + stored;
    }
}
