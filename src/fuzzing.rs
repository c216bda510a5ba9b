//! Every decoder as a fuzz target: a function that takes any bytes and must return.
//!
//! The package in `fuzz/` calls them from cargo-fuzz; the tests here run the same functions over
//! the committed corpora and a fixed number of mutations, on any toolchain. Where a decoder
//! succeeds, what it gave is written again and must come back the same.
//!
//! Not here: the configuration file, which the command line reads; its test does the same.

mod mutate;
#[cfg(test)]
mod tests;

use crate::codec::Value;
use crate::codec::json::{self, Rigour};
use crate::dialect::{self, Layout, Source, Splitter, memory_tree};
use crate::id::{Id, Kind, Prefix};
use crate::object::{NewObject, Object};
use crate::ops::fuzz_bundle;
use crate::repo::{Range, Revision};
use crate::session::Message;
use crate::store::RefName;
use crate::store::local::fuzzing as local;
use crate::time;

pub use mutate::Mutator;

/// One target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its program and of its corpus.
    pub name: &'static str,
    /// Takes any bytes.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "entry", run: |data| object(Kind::Entry, data) },
    Target { name: "node", run: |data| object(Kind::Node, data) },
    Target { name: "event", run: |data| object(Kind::Event, data) },
    Target { name: "session", run: |data| object(Kind::Session, data) },
    Target { name: "json", run: json },
    Target { name: "revision", run: revision },
    Target { name: "dialect", run: dialect },
    Target { name: "group", run: local::group },
    Target { name: "operation", run: local::operation },
    Target { name: "operation_log", run: local::operation_log },
    Target { name: "manifest", run: local::manifest },
    Target { name: "packed_refs", run: local::packed_refs },
    Target { name: "index", run: local::index },
    Target { name: "graph", run: local::graph },
    Target { name: "block", run: local::block },
    Target { name: "loose", run: local::loose },
    Target { name: "segment", run: local::segment },
    Target { name: "pack", run: local::pack },
    Target { name: "bundle", run: fuzz_bundle },
];

/// Runs a target by its name.
///
/// # Panics
/// If there is none, or if the decoder is wrong.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(data);
}

/// An object has one encoding: what was decoded gives the same bytes again.
fn object(kind: Kind, data: &[u8]) {
    let decoded = Object::decode(kind, data);
    let parsed = NewObject::parse(kind, data.to_vec());
    if let Ok(parsed) = parsed {
        let encoded = decoded.expect("parsed").encode().expect("it was encoded before");
        assert_eq!(encoded.content(), data);
        assert_eq!(encoded.id(), parsed.id());
    }
}

/// A value that was read comes back the same when it is written.
fn json(data: &[u8]) {
    if let Ok(value) = json::parse(data) {
        for text in [json::to_string(&value), json::pretty(&value)] {
            let again = json::parse(text.as_bytes()).expect("it was just written");
            assert!(again == value, "{text}");
        }
    }
    if let Ok(text) = std::str::from_utf8(data) {
        for rigour in [Rigour::Strict, Rigour::Lenient] {
            if let Ok((_, end)) = json::parse_first(text, rigour) {
                assert!(text.is_char_boundary(end));
            }
        }
    }
}

/// What people type: revisions, ranges, ids, names of refs, times.
fn revision(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = (Revision::parse(text), Range::parse(text));
    let _ = (text.parse::<Id>(), text.parse::<Prefix>(), text.parse::<Kind>());
    let _ = RefName::new(text);
    if let Some(at) = time::parse(text) {
        let _ = time::parse(&time::format(at));
    }
}

/// A file of any program: it is split, and each dialect reads its values.
fn dialect(data: &[u8]) {
    let mut values: Vec<Value> = Vec::new();
    let cut = data.len() / 2;
    for (parts, is_cut) in [(vec![data], true), (vec![&data[..cut], &data[cut..]], false)] {
        let mut splitter = Splitter::default();
        for part in parts {
            let split = splitter.lines(part, is_cut);
            assert!(split.bytes <= part.len());
            values.extend(split.pieces.into_iter().filter_map(|piece| piece.value));
        }
    }
    if let Some(split) = Splitter::default().document(data) {
        values.extend(split.pieces.into_iter().filter_map(|piece| piece.value));
    }
    if let Some(split) = Splitter::default().list(data, &["messages", "turns"]) {
        values.extend(split.pieces.into_iter().filter_map(|piece| piece.value));
    }
    let _ = dialect::recognised(&values);
    for dialect in dialect::dialects() {
        let mut source = Source::default();
        for value in &values {
            let step = dialect.read(value, &mut source);
            let _ = Message::read(&step.label, value);
        }
    }
    for value in &values {
        let _ = Layout::read(value);
        let _ = memory_tree::read_turn(value);
        let _ = memory_tree::read_node("node", value);
        let _ = memory_tree::read_branches(value);
        let _ = memory_tree::read_session(value, &mut Source::default());
    }
}
