//! Random mixtures of good lines, bad lines and bytes: what goes in comes out.

use proptest::prelude::*;
use sapwood::Repo;
use sapwood::dialect::Splitter;
use sapwood::ops::{self, Found, ImportNote, ImportOptions, Scope};
use sapwood::store::Operation;

use super::*;

/// Pieces of files, as they are and as they become.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let line = |text: String| Just(text.into_bytes());
    let known = prop_oneof![
        (0..9u8, 0..9u8).prop_map(|(id, parent)| {
            message(&format!("m{id}"), Some(&format!("m{parent}")), "word").into_bytes()
        }),
        (0..9u8).prop_map(|id| message(&format!("m{id}"), None, "begin").into_bytes()),
        line(header("x")),
        line("{\"role\":\"user\",\"content\":\"caf\\u00e9 \u{e9}\"}".to_owned()),
        line(
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"} , {\"role\":\"x\"}]}".to_owned()
        ),
        line("{\"a\": 1e5, \"b\": [1.0, -0, 12345678901234567890123]}".to_owned()),
        line("{\"a\":1,\"a\":2}".to_owned()),
        line(format!("{{\"long\":\"{}\"}}", "z".repeat(1500))),
    ];
    let torn = (known.clone(), any::<prop::sample::Index>()).prop_map(|(mut bytes, at)| {
        bytes.truncate(at.index(bytes.len() + 1));
        bytes
    });
    let blank = prop::sample::select(vec!["\n", "\r\n", " ", "\n\n", "\t", "\u{feff}", ",", "["]);
    prop_oneof![
        6 => known,
        2 => torn,
        4 => blank.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

/// Imports bytes into a store in memory, and gives what comes back; nothing if it is no session.
fn there_and_back(bytes: &[u8]) -> Option<Vec<u8>> {
    let repo = Repo::in_memory();
    let options = ImportOptions { dialect: Some("pi".to_owned()), ..ImportOptions::default() };
    let (actor, command) = ("tester".to_owned(), "import".to_owned());
    let operation = Operation { time: 1, actor, command };
    let stdin = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let mut session = None;
    ops::import(&repo, Found::default(), Some(stdin), &options, &operation, &mut |note| {
        if let ImportNote::Session(imported) = note {
            session.clone_from(&imported.session);
        }
    })
    .unwrap();
    let mut out = Vec::new();
    ops::export(&repo, &session?, Scope::Session, None, &mut out).unwrap();
    Some(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_pieces_of_a_file_are_the_file(
        bytes in file(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let mut splitter = Splitter::default();
        let (mut written, mut taken) = (Vec::new(), 0);
        for end in ends {
            // Whole lines, but for the last stretch.
            let whole = bytes[taken..end].iter().rposition(|byte| *byte == b'\n');
            let end = match whole {
                _ if end == bytes.len() => end,
                Some(at) => taken + at + 1,
                None => continue,
            };
            let split = splitter.lines(&bytes[taken..end], false);
            taken += split.bytes;
            for piece in split.pieces {
                written.extend_from_slice(piece.before.as_bytes());
                match (piece.text, piece.value) {
                    (Some(text), _) => written.extend_from_slice(&text),
                    (None, value) => {
                        json::write_styled(&value.unwrap(), splitter.style.unwrap(), &mut written);
                    }
                }
            }
        }
        let pending = splitter.pending_bytes();
        prop_assert_eq!(&written[..], &bytes[..taken - pending]);
    }

    #[test]
    fn what_goes_in_comes_out(bytes in file()) {
        if let Some(out) = there_and_back(&bytes) {
            prop_assert_eq!(out, bytes);
        }
    }
}

#[test]
fn a_file_may_begin_with_anything() {
    let good = header("x") + &message("a", None, "one");
    for begin in ["\n", "[", "{", "[{\"role\":\"user\"}", "{\"messages\":[", "\u{feff}[", "{}"] {
        for between in ["", "\n"] {
            let bytes = [begin, between, &good].concat();
            assert_eq!(there_and_back(bytes.as_bytes()).unwrap(), bytes.as_bytes(), "{begin}");
        }
    }
}
