//! Tests of all kinds alike.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;
use crate::codec::{LINK_BYTES_MIN, arbitrary, json};

fn text() -> impl Strategy<Value = String> {
    ".{0,12}"
}

fn texts() -> impl Strategy<Value = [Option<String>; 7]> {
    proptest::array::uniform7(of(text()))
}

fn ids() -> impl Strategy<Value = Vec<Id>> {
    vec(arbitrary::id(), 0..4)
}

fn string_or_link() -> impl Strategy<Value = Value> {
    prop_oneof![text().prop_map(Value::Text), arbitrary::id().prop_map(Value::Link)]
}

fn map_or_null() -> impl Strategy<Value = Value> {
    of(arbitrary::value())
        .prop_map(|value| value.map_or(Value::Null, |value| Value::map([("role", value)])))
}

fn entry() -> impl Strategy<Value = Object> {
    let parts = ("[a-z_]{1,9}", any::<i64>(), ids(), map_or_null(), of(string_or_link()));
    parts.prop_map(|(label, time, parents, body, raw)| {
        Object::Entry(Entry { label, time, parents, body, raw })
    })
}

fn node() -> impl Strategy<Value = Object> {
    let value = prop_oneof![
        string_or_link(),
        arbitrary::value().prop_map(|value| Value::map([("fact", value)]))
    ];
    let fact = (value, of(text()), of(arbitrary::id())).prop_map(|(value, key, source)| Fact {
        value,
        key,
        source,
    });
    let notes = vec(string_or_link(), 0..3);
    let parts = (ids(), text(), vec(fact, 0..4), notes, arbitrary::value(), any::<i64>());
    parts.prop_map(|(parents, branch, facts, notes, card, time)| {
        Object::Node(Node { parents, branch, facts, notes, card, time })
    })
}

fn event() -> impl Strategy<Value = Object> {
    let run = (arbitrary::id(), 0..=i64::MAX as u64).prop_map(|(tip, count)| Run { tip, count });
    let runs = vec(run, 0..30);
    let parts = ("[a-z]{1,9}", any::<i64>(), ids(), runs, ids(), arbitrary::value());
    parts.prop_map(|(label, time, priors, runs, links, body)| {
        Object::Event(Event { label, time, priors, runs, links, body })
    })
}

fn session() -> impl Strategy<Value = Object> {
    let fork = (text(), of(arbitrary::id()), of(text()), arbitrary::value())
        .prop_map(|(session, entry, reason, metadata)| Fork { session, entry, reason, metadata });
    let parts = (".{1,9}", any::<i64>(), texts(), of(fork), arbitrary::value());
    parts.prop_map(|(sid, time, texts, fork, meta)| {
        let [name, cwd, provider, model, status, dialect, source] = texts;
        Object::Session(Session {
            sid,
            time,
            name,
            cwd,
            provider,
            model,
            status,
            dialect,
            source,
            fork,
            meta,
        })
    })
}

fn object() -> impl Strategy<Value = Object> {
    prop_oneof![entry(), node(), event(), session()]
}

fn outline_of(object: &Object) -> Outline {
    let (label, parents, time) = match object {
        Object::Blob(_) => ("", [].as_slice(), 0),
        Object::Entry(entry) => (entry.label.as_str(), entry.parents.as_slice(), entry.time),
        Object::Node(node) => ("", node.parents.as_slice(), node.time),
        Object::Event(event) => (event.label.as_str(), event.priors.as_slice(), event.time),
        Object::Session(session) => ("", [].as_slice(), session.time),
    };
    Outline { label: label.to_owned(), parents: parents.to_vec(), time }
}

proptest! {
    #[test]
    fn objects_come_back(object in object()) {
        let new = object.encode().unwrap();
        prop_assert_eq!(&Object::decode(new.kind, &new.content).unwrap(), &object);
        prop_assert_eq!(&NewObject::parse(new.kind, new.content.to_vec()).unwrap(), &new);
        prop_assert_eq!(outline(new.kind, &new.content).unwrap(), outline_of(&object));
        let parent = first_parent(new.kind, &new.content).unwrap();
        prop_assert_eq!(parent, outline_of(&object).parents.first().copied());
        prop_assert_eq!(parent, new.parent);
        prop_assert!(new.content[0] & 0xc0 == 0x80, "no UTF-8 text begins so");
        let mut links = Vec::new();
        object.to_value().links(&mut links);
        prop_assert!(links.iter().all(|link| new.links.contains(link)));
        prop_assert!(new.links.iter().all(|link| links.contains(link)));
        links.sort_unstable();
        links.dedup();
        prop_assert_eq!(new.links.len(), links.len());
        let possible: Vec<Id> = possible_links(&new.content).collect();
        prop_assert!(new.links.iter().all(|link| possible.contains(link)));
    }

    #[test]
    fn a_changed_byte_gives_another_object_or_none(
        object in object(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let new = object.encode().unwrap();
        let mut content = new.content.to_vec();
        let place = place.index(content.len());
        content[place] = byte;
        let _ = outline(new.kind, &content);
        let _ = first_parent(new.kind, &content);
        if let Ok(decoded) = Object::decode(new.kind, &content) {
            prop_assert_eq!(decoded.encode().unwrap().content.to_vec(), content);
        }
    }

    #[test]
    fn a_cut_or_longer_object_is_refused(object in object(), cut in any::<prop::sample::Index>()) {
        let new = object.encode().unwrap();
        let shorter = &new.content[..cut.index(new.content.len())];
        prop_assert!(Object::decode(new.kind, shorter).is_err());
        let _ = outline(new.kind, shorter);
        let mut longer = new.content.to_vec();
        longer.push(0xf6);
        prop_assert!(Object::decode(new.kind, &longer).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..80)) {
        for kind in Kind::ALL {
            let _ = Object::decode(kind, &bytes);
            let _ = outline(kind, &bytes);
        }
    }

    #[test]
    fn numbers_keep_their_text_on_disk(
        whole in "-?(0|[1-9][0-9]{0,40})",
        fraction in "(\\.[0-9]{1,30})?",
        exponent in "([eE][+-]?[0-9]{1,4})?",
    ) {
        let text = format!("{{\"n\":{whole}{fraction}{exponent}}}");
        let entry = Entry {
            body: json::parse(text.as_bytes()).unwrap(),
            ..plain_entry()
        };
        let decoded = Entry::decode(&entry.encode().unwrap().content).unwrap();
        prop_assert_eq!(json::to_string(&decoded.body), text);
    }

    #[test]
    fn what_was_lifted_is_restored(value in arbitrary::value_with_long_strings()) {
        let (mut lifted, mut blobs) = (value.clone(), Vec::new());
        lift(&mut lifted, &mut blobs).unwrap();
        prop_assert_eq!(lifted.fault(), None);
        let mut links = Vec::new();
        lifted.links(&mut links);
        prop_assert_eq!(blobs.iter().map(|blob| blob.id).collect::<Vec<_>>(), links);
        let by_id: HashMap<Id, Vec<u8>> =
            blobs.into_iter().map(|blob| (blob.id, blob.content.to_vec())).collect();
        restore(&mut lifted, &mut |id| Ok(by_id[id].clone())).unwrap();
        prop_assert_eq!(lifted, value);
    }
}

fn plain_entry() -> Entry {
    Entry {
        label: "message".to_owned(),
        time: 1,
        parents: Vec::new(),
        body: Value::Null,
        raw: None,
    }
}

#[test]
fn links_that_no_string_was_lifted_into_stay() {
    let contents = [b"short".to_vec(), vec![0xff; 2 * LINK_BYTES_MIN]];
    for content in contents {
        let mut value = Value::Link(Id::of(Kind::Blob, &content));
        let before = value.clone();
        restore(&mut value, &mut |_| Ok(content.clone())).unwrap();
        assert_eq!(value, before);
    }
}

#[test]
fn links_are_listed_once_in_order() {
    let id = |byte| Id::from_bytes([byte; 32]);
    let entry = Entry {
        parents: vec![id(9), id(1)],
        body: Value::map([("a", Value::Link(id(5))), ("b", Value::Link(id(9)))]),
        raw: Some(Value::Link(id(2))),
        ..plain_entry()
    };
    assert_eq!(entry.encode().unwrap().links, [id(9), id(1), id(5), id(2)]);
    let many: Vec<Id> = (0..200u8).rev().chain(0..200).map(id).collect();
    let entry = Entry { parents: many.clone(), ..plain_entry() };
    assert_eq!(entry.encode().unwrap().links, many[..200]);
}

#[test]
fn what_breaks_a_bound_is_not_encoded() {
    let long = Value::Text("x".repeat(LINK_BYTES_MIN));
    let body = |value: Value| Entry { body: Value::map([("k", value)]), ..plain_entry() };
    let labelled = |label: &str| Entry { label: label.to_owned(), ..plain_entry() };
    let parents = |count| Entry { parents: vec![Id::from_bytes([7; 32]); count], ..plain_entry() };
    let raw = |value| Entry { raw: Some(value), ..plain_entry() };
    let entries = [
        body(long.clone()),
        raw(long),
        raw(Value::Null),
        labelled(""),
        labelled("a\nb"),
        labelled(&"x".repeat(LABEL_BYTES_MAX + 1)),
        parents(PARENTS_MAX + 1),
        Entry { body: Value::Bool(true), ..plain_entry() },
    ];
    for entry in entries {
        assert!(entry.encode().is_err());
        let content = cbor::encode(&entry.record());
        assert!(Entry::decode(&content).is_err());
    }
    labelled(&"x".repeat(LABEL_BYTES_MAX)).encode().unwrap();
    parents(PARENTS_MAX).encode().unwrap();
}

#[test]
fn what_is_wrong_first_is_what_is_told() {
    let told = |kind: Kind, content: &[u8]| Object::decode(kind, content).unwrap_err().to_string();
    let cases: [(Kind, &[u8], &str); 6] = [
        (Kind::Entry, b"\xa1dtime\x01", "type must be a string, in its place"),
        (Kind::Entry, b"\xa2dtypeamdtimeax", "in time: expected an integer"),
        (
            Kind::Entry,
            b"\xa3dtypeamdtime\x01gparents\x9b\0\0\0\xff\0\0\0\0",
            "in parents: it ends too early",
        ),
        (
            Kind::Node,
            b"\xa4dtime\x01fbranchabefacts\x81\xa2evalueavcodd\x01enotes\x01",
            "the field \"odd\" is not in its place",
        ),
        (Kind::Node, b"\xa2dtime\x01ebrnchab", "branch must be a string, in its place"),
        (
            Kind::Event,
            b"\xa3dtypeamdtime\x01druns\x81\xa2ctipX 01234567890123456789012345678901ecount\x20",
            "a run has a negative count",
        ),
    ];
    for (kind, content, why) in cases {
        let found = told(kind, content);
        assert!(found.ends_with(why), "{found}");
    }
}
