//! Bundles that mean ill: right checksums, and wrong in every other way.

use sapwood::codec::Value;
use sapwood::error::Error;
use sapwood::id::{Id, Kind};
use sapwood::object::{Entry, Event, NewObject, Run, Session};

use super::Desk;
use super::bundles::{unbundle, verify};
use super::craft::{
    Craft, HEAD, LARGE, MORE, OBJECTS, prerequisite, reference, session, symbolic, text,
};

fn entry(parents: Vec<Id>) -> NewObject {
    let body = Value::map([("content", Value::from("hello"))]);
    let entry = Entry { label: "message".to_owned(), time: 1, parents, body, raw: None };
    entry.encode().unwrap()
}

fn meta(sid: &str) -> NewObject {
    Session::new(sid, 1).encode().unwrap()
}

fn bundle(records: &[Vec<u8>], objects: &[&NewObject]) -> Vec<u8> {
    let mut craft = Craft::new();
    craft.payload(HEAD, &records.concat());
    let objects: Vec<(Kind, &[u8])> =
        objects.iter().map(|object| (object.kind(), object.content())).collect();
    craft.objects(&objects).end()
}

/// Takes a bundle in, expects that it is refused, and that nothing is visible of it.
fn refused(bytes: &[u8]) -> Error {
    let desk = Desk::new("victim", 0);
    let error = unbundle(&desk, bytes).unwrap_err();
    assert!(desk.snapshot().references("").unwrap().is_empty(), "{error}");
    error
}

#[test]
fn a_bundle_made_by_hand_is_as_good_as_one_of_ours() {
    let (entry, meta) = (entry(vec![]), meta("s"));
    let records = [
        session("s"),
        reference("meta", &meta.id()),
        reference("heads/main", &entry.id()),
        reference("tip", &entry.id()),
        symbolic("HEAD", "sessions/s/heads/main"),
    ];
    let bytes = bundle(&records, &[&entry, &meta]);
    assert_eq!(verify(&bytes).unwrap().objects, 2);
    let desk = Desk::new("friend", 0);
    unbundle(&desk, &bytes[..]).unwrap();
    assert_eq!(desk.transcript(), [entry.id()]);
}

#[test]
fn refs_with_bad_names_or_out_of_place_are_refused() {
    let (entry, meta) = (entry(vec![]), meta("s"));
    let good = [session("s"), reference("meta", &meta.id())];
    let bad = [
        reference("heads/../../x", &entry.id()),
        reference("heads/", &entry.id()),
        reference("heads/a\0b", &entry.id()),
        reference("elsewhere/x", &entry.id()),
        reference("heads", &entry.id()),
        reference("HEAD", &entry.id()),
        reference("heads/main", &meta.id()),
        reference("attachments/x", &entry.id()),
        reference("meta", &meta.id()),
        symbolic("HEAD", "sessions/other/heads/main"),
        symbolic("HEAD", "HEAD"),
        symbolic("heads/main", "sessions/s/heads/other"),
        symbolic("HEAD", "../../etc"),
        session("s"),
        session("a/b"),
        session(""),
        session(&"x".repeat(3000)),
        prerequisite(&Id::from_bytes([9; 32]), "nothing"),
        vec![9],
        vec![3, 255, 255],
        text("x"),
    ];
    for record in bad {
        let records = [&good[..], std::slice::from_ref(&record)].concat();
        let error = refused(&bundle(&records, &[&entry, &meta]));
        assert!(!error.to_string().is_empty(), "{record:?}");
    }
    refused(&bundle(&[reference("meta", &meta.id())], &[&meta]));
    refused(&bundle(&[session("s")], &[&meta]));
    let mixed = [session("t"), reference("meta", &meta.id())];
    assert!(matches!(refused(&bundle(&mixed, &[&meta])), Error::Refused { .. }));
}

#[test]
fn objects_that_are_missing_out_of_order_or_not_objects_are_refused() {
    let (first, meta) = (entry(vec![]), meta("s"));
    let second = entry(vec![first.id()]);
    let records =
        [session("s"), reference("meta", &meta.id()), reference("heads/main", &second.id())];
    for objects in [vec![&meta], vec![&second, &meta], vec![&meta, &first]] {
        let bytes = bundle(&records, &objects);
        assert!(matches!(refused(&bytes), Error::Dangling { .. }));
        assert!(matches!(verify(&bytes), Err(Error::Dangling { .. })));
    }
    // Later than who links it is too late, but within one frame it can't hurt.
    assert!(verify(&bundle(&records, &[&second, &first, &meta])).is_err());
    for (kind, content) in [(Kind::Entry, &b"no entry"[..]), (Kind::Session, b"\xa0")] {
        let mut craft = Craft::new();
        craft.payload(HEAD, &records.concat());
        refused(&craft.objects(&[(kind, content)]).end());
    }
}

#[test]
fn absurd_lengths_and_frames_out_of_place_are_refused() {
    let meta = meta("s");
    let head = [session("s"), reference("meta", &meta.id())].concat();
    let whole = || {
        let mut craft = Craft::new();
        craft.payload(HEAD, &head);
        craft.objects(&[(Kind::Session, meta.content())]);
        craft
    };
    let large = |kind: u8, bytes: u64| [&[kind][..], &bytes.to_le_bytes()].concat();
    let object = |length: u32| [&[1u8][..], &length.to_le_bytes(), b"abc"].concat();
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 3).unwrap();
    let mut cases: Vec<Vec<u8>> = vec![
        Craft::new().end(),
        Craft::new().payload(OBJECTS, b"").end(),
        whole().payload(HEAD, &head).end(),
        whole().payload(MORE, b"abc").end(),
        whole().payload(9, b"").end(),
        whole().frame(OBJECTS, 1 << 20, &bomb).end(),
        whole().frame(OBJECTS, u32::MAX as usize, b"").end(),
        whole().frame(OBJECTS, 5, &[0; 2 << 20]).end(),
        whole().frame(OBJECTS, 5, b"not zstd").end(),
        whole().payload(OBJECTS, &object(u32::MAX)).end(),
        whole().payload(OBJECTS, &object(2)).end(),
        whole().payload(LARGE, &large(1, u64::MAX)).end(),
        whole().payload(LARGE, &large(1, 3 << 30)).end(),
        whole().payload(LARGE, &large(7, 3)).payload(MORE, b"abc").end(),
        whole().payload(LARGE, &large(1, 3)).end(),
        whole().payload(LARGE, &large(1, 3)).payload(MORE, b"abcd").end(),
        whole().payload(LARGE, &large(1, 3)).payload(MORE, b"").end(),
        whole().payload(LARGE, &large(1, 3)).payload(MORE, b"ab").end(),
        whole().payload(LARGE, &large(2, 3)).payload(MORE, b"abc").end(),
        whole().payload(LARGE, b"\x01").end(),
    ];
    cases.push(whole().bytes);
    for (place, bytes) in cases.iter().enumerate() {
        let error = refused(bytes);
        assert!(!error.to_string().is_empty(), "{place}");
        assert!(verify(bytes).is_err(), "{place}");
    }
    let other = [&b"SAPWBNDL"[..], &2u32.to_le_bytes(), &[0; 100]].concat();
    assert!(matches!(refused(&other), Error::UnsupportedFormat { .. }));
    assert!(matches!(refused(b"hello, world, hello"), Error::Refused { .. }));
    assert!(matches!(refused(b""), Error::Refused { .. }));
}

#[test]
fn what_would_take_much_memory_to_decode_is_refused_before_it_is() {
    let meta = meta("s");
    let head = [session("s"), reference("meta", &meta.id())].concat();
    let begun = |bytes: usize| {
        let mut craft = Craft::new();
        craft
            .payload(HEAD, &head)
            .payload(LARGE, &[&[2][..], &(bytes as u64).to_le_bytes()].concat());
        craft
    };
    // Nothing of it comes, and nothing is waited for.
    let long = begun((64 << 20) + 1).end();
    let many = [&[0x9a][..], &(5u32 << 20).to_be_bytes(), &vec![0; 5 << 20]].concat();
    let mut craft = begun(many.len());
    for piece in many.chunks(1 << 20) {
        craft.payload(MORE, piece);
    }
    for bytes in [long, craft.end()] {
        assert!(matches!(refused(&bytes), Error::TooLarge { .. }), "{}", refused(&bytes));
        assert!(matches!(verify(&bytes), Err(Error::TooLarge { .. })));
    }
}

#[test]
fn a_transcript_that_can_not_be_read_is_refused() {
    let (first, meta) = (entry(vec![]), meta("s"));
    let event = |runs: Vec<Run>, links: Vec<Id>, priors: Vec<Id>| {
        let (label, body) = ("switch".to_owned(), Value::Null);
        Event { label, time: 1, priors, runs, links, body }.encode().unwrap()
    };
    let run = |count| vec![Run { tip: first.id(), count }];
    let bad = [
        event(run(2), vec![first.id()], vec![]),
        event(vec![Run { tip: meta.id(), count: 1 }], vec![first.id()], vec![]),
        event(run(1), vec![meta.id()], vec![]),
        event(run(1), vec![first.id()], vec![first.id()]),
    ];
    for event in bad {
        let records = [
            session("s"),
            reference("meta", &meta.id()),
            reference("tip", &first.id()),
            reference("events", &event.id()),
        ];
        refused(&bundle(&records, &[&first, &meta, &event]));
    }
}

#[test]
fn what_a_bundle_builds_on_is_shown_without_control_characters() {
    let sandbox = crate::cli::Sandbox::new();
    let name = "main\u{1b}[31m\u{7}\nsessions/s/heads/fake";
    let bytes = bundle(&[prerequisite(&entry(vec![]).id(), name)], &[]);
    std::fs::write(sandbox.join("ill.bundle"), bytes).unwrap();
    for command in ["list", "verify"] {
        let told = sandbox.ok(&["bundle", command, "ill.bundle"]);
        let is_shown = told.contains("main\\u{1b}[31m\\u{7}\\nsessions/s/heads/fake");
        assert!(is_shown && !told.contains(['\u{1b}', '\u{7}']), "{told}");
    }
}

#[test]
fn a_bundle_that_lacks_an_object_is_no_fault_of_who_takes_it_in() {
    let sandbox = crate::cli::Sandbox::with_store();
    let (first, meta) = (entry(vec![]), meta("s"));
    let second = entry(vec![first.id()]);
    let records =
        [session("s"), reference("meta", &meta.id()), reference("heads/main", &second.id())];
    std::fs::write(sandbox.join("ill.bundle"), bundle(&records, &[&second, &meta])).unwrap();
    for command in ["unbundle", "verify"] {
        let told = sandbox.fails(3, &["bundle", command, "ill.bundle"]);
        assert!(
            told.contains("have it made again") && !told.contains("store the object"),
            "{told}"
        );
    }
}
