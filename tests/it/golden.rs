//! Golden fixtures of the object encodings: what `fixtures/objects/` says stays true forever.
//!
//! An object is three files: `<name>.hex` its content, 32 bytes a line; `<name>.json` what it says;
//! `<name>.id` its kind and id. A refused encoding is one, `refused/<name>.hex`, whose name begins
//! with its kind. `SAPWOOD_BLESS=1` writes them again from the values below.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use sapwood::codec::{DEPTH_MAX, LINK_BYTES_MIN, Value, json};
use sapwood::id::{Id, Kind};
use sapwood::object::{Entry, Event, Fact, Fork, NewObject, Node, Object, Run, Session, lift};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/objects")
}

fn blessing() -> bool {
    std::env::var_os("SAPWOOD_BLESS").is_some_and(|value| value == "1")
}

fn to_hex(bytes: &[u8]) -> String {
    let line =
        |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    bytes.chunks(32).map(line).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Compares a fixture with what it should say, or writes it.
fn check(name: &str, text: &str) {
    let path = folder().join(name);
    if blessing() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(found, text, "{name}");
}

fn body(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

fn id(byte: u8) -> Id {
    Id::from_bytes([byte; 32])
}

fn entries() -> Vec<(&'static str, Entry)> {
    let hello = Entry {
        label: "message".to_owned(),
        time: 1_700_000_000_000,
        parents: vec![],
        body: body(r#"{"role":"user","content":"hello"}"#),
        raw: None,
    };
    let mut long = Value::map([("text", Value::Text("long ".repeat(400)))]);
    lift(&mut long, &mut Vec::new()).unwrap();
    vec![
        (
            "entry-numbers",
            Entry {
                time: -1,
                parents: vec![hello.encode().unwrap().id()],
                body: body(
                    "{\"integers\":[0,23,24,-24,-25,255,256,65536,9223372036854775807,\
                 -9223372036854775808],\"floats\":[0.0,-0.0,1.0,1.5,100000.0,0.1,0.00001,\
                 9007199254740991.0],\"numbers\":[-0,1e5,0.10,1E-7,9223372036854775808,\
                 12345678901234567890123456789012,10000000000000000.0]}",
                ),
                ..hello.clone()
            },
        ),
        (
            "entry-long-string",
            Entry { body: long, raw: Some("{ \"text\": \"…\" }".into()), ..hello.clone() },
        ),
        (
            "entry-merge",
            Entry {
                label: "merge".to_owned(),
                parents: vec![id(0x11), id(0x22)],
                body: Value::Null,
                ..hello.clone()
            },
        ),
        ("entry-hello", hello),
    ]
}

fn node() -> Node {
    let fact =
        |value, key: Option<&str>, source| Fact { value, key: key.map(str::to_owned), source };
    Node {
        parents: vec![id(0x33)],
        branch: "The Architect".to_owned(),
        facts: vec![
            fact("tests run with make check".into(), None, Some(id(0x44))),
            fact(body(r#"{"city":"Basel"}"#), Some("home"), None),
        ],
        notes: vec!["a note".into(), Value::Link(id(0x55))],
        card: body(r#"{"z":1,"a":null}"#),
        time: 1_700_000_000_001,
    }
}

fn event() -> Event {
    let run = |byte, count| Run { tip: id(byte), count };
    Event {
        label: "switch".to_owned(),
        time: 1_700_000_000_002,
        priors: vec![id(0x66)],
        runs: vec![run(0x77, 3), run(0x88, 1)],
        links: vec![id(0x77), id(0x99)],
        body: body(r#"{"from":"main","to":"architect/deeper"}"#),
    }
}

fn session() -> Session {
    let text = |text: &str| Some(text.to_owned());
    Session {
        sid: "0198c0de-0000-7000-8000-000000000001".to_owned(),
        time: 1_700_000_000_003,
        name: text("fix the build"),
        cwd: text("/home/ada/build"),
        provider: text("provider"),
        model: text("model-4"),
        status: text("active"),
        dialect: text("pi"),
        source: text("sessions/1.jsonl"),
        fork: Some(Fork {
            session: "0198c0de-0000-7000-8000-000000000000".to_owned(),
            entry: Some(id(0xaa)),
            reason: text("another way"),
            metadata: Value::List(vec![Value::Link(id(0xbb))]),
        }),
        meta: body(r#"{"theme":"dark"}"#),
    }
}

fn objects() -> Vec<(&'static str, Object)> {
    let bare = Session {
        name: None,
        cwd: None,
        provider: None,
        model: None,
        status: None,
        dialect: None,
        source: None,
        fork: None,
        meta: Value::Null,
        ..session()
    };
    let entries = entries().into_iter().map(|(name, entry)| (name, Object::Entry(entry)));
    let others = [
        ("blob-empty", Object::Blob(vec![])),
        ("blob-text", Object::Blob("hello, wörld\n".into())),
        ("blob-bytes", Object::Blob((0..=255).collect())),
        ("node", Object::Node(node())),
        ("event", Object::Event(event())),
        ("session", Object::Session(session())),
        ("session-bare", Object::Session(bare)),
    ];
    entries.chain(others).collect()
}

#[test]
fn objects_are_encoded_as_ever() {
    for (name, object) in objects() {
        let new = object.encode().unwrap();
        check(&format!("{name}.hex"), &to_hex(new.content()));
        check(&format!("{name}.json"), &(json::pretty(&object.to_value()) + "\n"));
        check(&format!("{name}.id"), &format!("{} {}\n", new.kind(), new.id()));
    }
}

#[test]
fn objects_are_decoded_as_ever() {
    if blessing() {
        return;
    }
    let mut count = 0;
    for file in fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "hex") {
            continue;
        }
        let content = from_hex(&fs::read_to_string(&path).unwrap());
        let named = fs::read_to_string(path.with_extension("id")).unwrap();
        let (kind, id) = named.trim_end().split_once(' ').unwrap();
        let kind: Kind = kind.parse().unwrap();
        let new = NewObject::parse(kind, content.clone()).unwrap();
        assert_eq!(new.id().to_string(), id, "{}", path.display());
        let object = Object::decode(kind, &content).unwrap();
        assert_eq!(object.encode().unwrap(), new, "{}", path.display());
        let text = fs::read_to_string(path.with_extension("json")).unwrap();
        assert_eq!(json::pretty(&object.to_value()) + "\n", text, "{}", path.display());
        count += 1;
    }
    assert!(count >= objects().len(), "only {count} fixtures");
}

/// A valid entry up to its body, whose bytes follow.
fn with_body(body: &[u8]) -> Vec<u8> {
    [b"\xa3dtypeamdtime\x01dbody".as_slice(), body].concat()
}

fn refused() -> Vec<(&'static str, Vec<u8>)> {
    let long = "x".repeat(LINK_BYTES_MIN);
    let deep = [&b"\xa1ak"[..], &[0x81; DEPTH_MAX], &b"\xf6"[..]].concat();
    vec![
        ("entry-integer-not-shortest", with_body(b"\xa1ak\x18\x17")),
        ("entry-length-not-shortest", with_body(b"\xa1ak\x78\x01x")),
        ("entry-float-not-shortest", with_body(b"\xa1ak\xfa\x3f\xc0\x00\x00")),
        ("entry-float-out-of-range", with_body(b"\xa1ak\xfb\x7e\x37\xe4\x3c\x88\x00\x75\x9c")),
        ("entry-float-nan", with_body(b"\xa1ak\xf9\x7e\x00")),
        ("entry-float-infinite", with_body(b"\xa1ak\xf9\x7c\x00")),
        ("entry-integer-over-i64", with_body(b"\xa1ak\x1b\x80\0\0\0\0\0\0\0")),
        ("entry-integer-under-i64", with_body(b"\xa1ak\x3b\x80\0\0\0\0\0\0\0")),
        ("entry-number-is-integer", with_body(b"\xa1ak\x4217")),
        ("entry-number-is-float", with_body(b"\xa1ak\x431.5")),
        ("entry-number-with-space", with_body(b"\xa1ak\x441e5 ")),
        ("entry-number-is-none", with_body(b"\xa1ak\x43abc")),
        ("entry-indefinite-map", with_body(b"\xbfak\x01\xff")),
        ("entry-indefinite-list", with_body(b"\xa1ak\x9f\x01\xff")),
        ("entry-indefinite-text", with_body(b"\xa1ak\x7faxay\xff")),
        ("entry-key-twice", with_body(b"\xa2ak\x01ak\x02")),
        ("entry-key-is-bytes", with_body(b"\xa1\x41k\x01")),
        ("entry-key-is-integer", with_body(b"\xa1\x01\x01")),
        ("entry-tag", with_body(b"\xa1ak\xc1\x01")),
        ("entry-undefined", with_body(b"\xa1ak\xf7")),
        ("entry-not-utf8", with_body(b"\xa1ak\x61\xff")),
        ("entry-body-is-null", with_body(b"\xf6")),
        ("entry-body-is-list", with_body(b"\x80")),
        ("entry-trailing-byte", with_body(b"\xa0\x00")),
        ("entry-cut", with_body(b"\xa1ak")),
        ("entry-nested-too-deep", with_body(&deep)),
        ("entry-nested-far-too-deep", with_body(&[0x81; 1000])),
        ("entry-absurd-length", with_body(b"\xa1ak\x9b\xff\xff\xff\xff\xff\xff\xff\xff")),
        ("entry-absurd-text", with_body(b"\xa1ak\x7b\x7f\xff\xff\xff\xff\xff\xff\xff")),
        ("entry-long-string", with_body(&[b"\xa1ak\x79\x04\x00", long.as_bytes()].concat())),
        ("entry-key-order", b"\xa2dtime\x01dtypeam".to_vec()),
        ("entry-key-unknown", b"\xa3dtypeamdtime\x01aa\x01".to_vec()),
        ("entry-parents-empty", b"\xa3dtypeamdtime\x01gparents\x80".to_vec()),
        ("entry-parent-is-number", b"\xa3dtypeamdtime\x01gparents\x81\x431e5".to_vec()),
        ("entry-type-empty", b"\xa2dtype`dtime\x01".to_vec()),
        ("entry-type-missing", b"\xa1dtime\x01".to_vec()),
        ("entry-empty", Vec::new()),
        ("node-fact-is-integer", b"\xa3dtime\x01fbranchamefacts\x81\xa1evalue\x01".to_vec()),
        ("node-note-is-integer", b"\xa3dtime\x01fbranchamenotes\x81\x01".to_vec()),
        ("event-run-is-list", b"\xa3dtypeamdtime\x01druns\x81\x80".to_vec()),
        ("session-sid-empty", b"\xa2csid`dtime\x01".to_vec()),
        ("session-name-is-null", b"\xa3csidasdtime\x01dname\xf6".to_vec()),
    ]
}

#[test]
fn other_encodings_are_refused_as_ever() {
    for (name, content) in refused() {
        check(&format!("refused/{name}.hex"), &to_hex(&content));
    }
    for file in fs::read_dir(folder().join("refused")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let kind: Kind = name.split('-').next().unwrap().parse().unwrap();
        let content = from_hex(&fs::read_to_string(&path).unwrap());
        assert!(Object::decode(kind, &content).is_err(), "{name} was accepted");
        assert!(NewObject::parse(kind, content).is_err(), "{name} was accepted");
    }
}

/// What the refused fixtures are variations of is accepted.
#[test]
fn the_refused_encodings_are_near_misses() {
    let longest = "x".repeat(LINK_BYTES_MIN - 1);
    let deepest = [&b"\xa1ak"[..], &[0x81; DEPTH_MAX - 1], &b"\xf6"[..]].concat();
    let accepted = [
        with_body(b"\xa1ak\x17"),
        with_body(b"\xa1ak\x1b\x7f\xff\xff\xff\xff\xff\xff\xff"),
        with_body(b"\xa1ak\xf9\x3e\x00"),
        with_body(b"\xa1ak\x431e5"),
        with_body(b"\xa2ak\x01al\x02"),
        with_body(&deepest),
        with_body(&[b"\xa1ak\x79\x03\xff", longest.as_bytes()].concat()),
        b"\xa2dtypeamdtime\x01".to_vec(),
    ];
    for content in accepted {
        Object::decode(Kind::Entry, &content).unwrap();
    }
}

/// The page that describes the encodings.
const PAGE: &str = "docs/FORMAT.md";

#[test]
fn the_page_shows_the_bytes_of_its_example() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(page).unwrap();
    let (_, example) = page.split_once("`fixtures/objects/entry-hello`").unwrap();
    let block = example.split("```").nth(1).unwrap();
    let hex = |line: &'_ str| line.trim_start().split("  ").next().unwrap().to_owned();
    let content = from_hex(&block.lines().map(hex).collect::<String>());
    let fixture = fs::read_to_string(folder().join("entry-hello.hex")).unwrap();
    assert_eq!(to_hex(&content), fixture);
    assert!(example.contains(&Id::of(Kind::Entry, &content).to_string()));
}
