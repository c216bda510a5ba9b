//! Seeing in the bytes of an entry that it does not say a text, before anything is decoded.
//!
//! What people read is put together from the strings of an entry: some as they are, some as JSON,
//! with words and signs between them (see `session/words.rs`). So a text that is found in it need
//! not stand in the bytes. But a word of it does, if
//!
//! - it is of letters, digits and `_`: what is put between strings is none of these, and JSON
//!   escapes none of them, so the word lies within one string, or within a number, an id, or one of
//!   the words that stand in no entry;
//! - it has a letter that neither numbers nor ids have, and is no part of one of those words;
//! - its begin is not the end of an escape (`\n` and "eed" give "need"): what may be is left out.
//!
//! Arguments of calls may be JSON within a string, which is read and written again. Its escapes are
//! for signs, but for `\u`: an entry with one is decoded.
//!
//! Where case is ignored, the word is looked for in capitals or not, and has no `k` or `s`: the
//! sign for kelvin and the long s are these letters, too.
//!
//! Invariant: what passes may say the text; what does not pass does not.

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{first_parent, possible_links};
use crate::session::Words;
use crate::store::Snapshot;

/// A shorter word is found nearly everywhere.
const WORD_BYTES_MIN: usize = 3;
/// The longest end of an escape: `u` and four digits.
const ESCAPE_BYTES_MAX: usize = 5;

/// What is looked for in bytes.
pub(super) enum Sieve {
    /// A word as it is.
    Exact(Box<Finder<'static>>),
    /// A word in capitals or not.
    AnyCase(Regex),
}

impl Sieve {
    /// Makes a sieve for texts that stand together; `None` if no word of them is sure to stand in
    /// the bytes.
    pub(super) fn of<T: AsRef<str>>(texts: &[T], ignores_case: bool) -> Option<Sieve> {
        // Where case is ignored, two letters have a third form that is not ASCII.
        let has_another = |letter: char| ignores_case && matches!(letter, 'k' | 's');
        let is_outside = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        let words = texts.iter().flat_map(|text| {
            let text = match ignores_case {
                true => text.as_ref().to_ascii_lowercase(),
                false => text.as_ref().to_owned(),
            };
            let runs = text.split(|letter| is_outside(letter) || has_another(letter));
            let words = runs.map(behind_escape).filter(|word| is_telling(word, ignores_case));
            words.map(str::to_owned).collect::<Vec<_>>()
        });
        let longest = words.max_by_key(String::len)?;
        match ignores_case {
            true => {
                let mut pattern = RegexBuilder::new(&longest);
                let pattern = pattern.unicode(false).case_insensitive(true).build();
                pattern.ok().map(Sieve::AnyCase)
            }
            false => Some(Sieve::Exact(Box::new(Finder::new(&longest).into_owned()))),
        }
    }

    /// Says whether an entry may say the text.
    pub(super) fn passes(&self, snapshot: &dyn Snapshot, id: &Id) -> Result<bool> {
        let entry = snapshot.read_among(id)?.ok_or(Error::ObjectMissing { id: *id })?;
        if entry.kind != Kind::Entry || self.finds(&entry.content) {
            return Ok(true);
        }
        let parent = first_parent(entry.kind, &entry.content)?;
        for link in possible_links(&entry.content).filter(|link| Some(*link) != parent) {
            let passes = match snapshot.read_among(&link)? {
                Some(blob) if blob.kind == Kind::Blob => self.finds(&blob.content),
                Some(_) => false,
                // Perhaps a text that looks like a link; who decodes it will know.
                None => true,
            };
            if passes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Says whether bytes may be those of what says the text.
    pub(super) fn finds(&self, bytes: &[u8]) -> bool {
        let has_word = match self {
            Sieve::Exact(word) => word.find(bytes).is_some(),
            Sieve::AnyCase(word) => word.is_match(bytes),
        };
        has_word || has_escape(bytes)
    }
}

/// Says whether a `\u` stands in bytes.
fn has_escape(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', bytes).any(|at| bytes.get(at + 1) == Some(&b'u'))
}

/// Leaves out of a word what may be the end of an escape in JSON.
fn behind_escape(word: &str) -> &str {
    let ends_one = |bytes: usize| match word.as_bytes().get(..bytes) {
        Some([b'b' | b'f' | b'n' | b'r' | b't']) => true,
        // Where the word ends, the escape may go on.
        Some([b'u', digits @ ..]) if bytes == ESCAPE_BYTES_MAX || bytes == word.len() => {
            digits.iter().all(u8::is_ascii_hexdigit)
        }
        Some(digits) if bytes < ESCAPE_BYTES_MAX => digits.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    };
    let left_out = (1..=ESCAPE_BYTES_MAX).rev().find(|bytes| ends_one(*bytes));
    &word[left_out.unwrap_or(0)..]
}

/// Says whether a word that is read must stand in an entry.
fn is_telling(word: &str, ignores_case: bool) -> bool {
    let is_part = |fixed: &str| match ignores_case {
        true => fixed.to_ascii_lowercase().contains(word),
        false => fixed.contains(word),
    };
    word.len() >= WORD_BYTES_MIN
        && !word.bytes().all(|letter| letter.is_ascii_hexdigit())
        && !Words::FIXED.iter().any(|fixed| is_part(fixed))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::{Value, json};
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;

    fn word(text: &str, ignores_case: bool) -> Option<String> {
        Some(match Sieve::of(&[text], ignores_case)? {
            Sieve::Exact(word) => String::from_utf8(word.needle().to_vec()).unwrap(),
            Sieve::AnyCase(word) => word.as_str().to_owned(),
        })
    }

    #[test]
    fn a_word_is_taken_that_stands_in_the_bytes() {
        for (text, expected) in [
            ("module_17.rs", Some("module_17")),
            ("panicked at", Some("panicked")),
            ("needle", Some("eedle")),
            ("u001bneed", Some("need")),
            ("u001xneed", Some("u001xneed")),
            ("b12 is", None),
            ("deadbeef", None),
            ("-1.5e10", None),
            ("thinking", None),
            ("\"isError\":true", Some("isError")),
            ("ünter", Some("ter")),
            ("\\u00", None),
            ("", None),
        ] {
            assert_eq!(word(text, false).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("Module_17.rs", Some("module_17")),
            ("TASKED", None),
            ("Needle", Some("eedle")),
            ("MIMEType", None),
            ("panicked at", Some("panic")),
        ] {
            assert_eq!(word(text, true).as_deref(), expected, "{text}");
        }
    }

    fn strings() -> impl Strategy<Value = String> {
        prop_oneof![
            "[abnrtuz_01 \n\t\"\\\\\u{1b}ü]{0,12}",
            r#"\{"(zap|cmd)":"[a-z]{0,3}(\\n|\\u007a|\\")?[az]{0,4}"\}"#,
            "[az \n]{1024,1100}",
        ]
    }

    fn bodies() -> impl Strategy<Value = Value> {
        let shapes = prop_oneof![
            Just(r#"{"role":"assistant","content":S,"reasoning":S}"#),
            Just(r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":S},S]}"#),
            Just(r#"{"role":"user","content":[S,{"type":"image","data":S},{"odd":[S,7,1.5e9]}]}"#),
            Just(r#"{"content":[{"type":"tool_use","id":"c","name":S,"input":{"k":S}}]}"#),
            Just(r#"{"content":[{"type":"tool_use","id":"c","name":"n","input":S}]}"#),
            Just(r#"{"tool_calls":[{"id":"c","function":{"name":S,"arguments":S}}]}"#),
            Just(r#"{"type":"function_call","name":S,"arguments":S,"call_id":"c"}"#),
            Just(r#"{"type":"web_search_call","id":"w","result":S,"action":{"query":S}}"#),
            Just(r#"{"type":"function_call_output","call_id":"c","output":{"content":S}}"#),
            Just(r#"{"command":S,"output":S}"#),
            Just(r#"{"type":"gemini","content":S,"thoughts":[{"subject":S,"description":S}]}"#),
            Just(r#"{"info":{"role":"user"},"parts":[{"type":"text","text":S},{"type":S}]}"#),
            Just(r#"{"type":"user.message","data":{"content":S,"attachments":[{"a":S}]}}"#),
            Just(r#"{"type":"model_change","model":S,"n":-12,"t":true,"deep":{"x":[S]}}"#),
            Just(r#"{"type":"compaction","summary":S}"#),
            Just(r#"{"type":"compaction","payload":{"replacement_history":[{"content":S}]}}"#),
        ];
        (shapes, proptest::collection::vec(strings(), 3)).prop_map(|(shape, strings)| {
            let mut parts = shape.split('S');
            let mut text = parts.next().unwrap_or_default().to_owned();
            for (part, string) in parts.zip(strings.iter().cycle()) {
                text += &json::to_string(&Value::from(string.as_str()));
                text += part;
            }
            json::parse(text.as_bytes()).unwrap()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Whatever stretch of what an entry says is looked for, the entry passes.
        #[test]
        fn what_says_a_text_passes(body in bodies(), from in 0..1200usize, letters in 1..16usize) {
            let repo = Repo::in_memory();
            let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
            let id = session::append(&repo, &pin, vec![body], Durability::Full, 0).unwrap()[0];
            let snapshot = repo.snapshot().unwrap();
            let said = crate::ops::log::Logged::read(&*snapshot, id).unwrap().words.text;
            let count = said.chars().count().max(1);
            for from in [from % count, from % 16 % count] {
                let text: String = said.chars().skip(from).take(letters).collect();
                for (text, ignores_case) in [
                    (text.clone(), false),
                    (text.to_uppercase(), true),
                    (text.to_lowercase(), true),
                ] {
                    if let Some(sieve) = Sieve::of(&[&text], ignores_case) {
                        let passes = sieve.passes(&*snapshot, &id).unwrap();
                        prop_assert!(passes, "{:?} in {:?}", text, said);
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_say_it_is_held_back() {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let long = "hay ".repeat(500);
        let bodies = ["hay", &long, "pins", &format!("{long} pins")];
        let bodies = bodies.map(|text| Value::map([("content", Value::from(text))]));
        let ids = session::append(&repo, &pin, bodies.to_vec(), Durability::Full, 0).unwrap();
        let snapshot = repo.snapshot().unwrap();
        let sieve = Sieve::of(&["pins"], false).unwrap();
        let passed: Vec<bool> =
            ids.iter().map(|id| sieve.passes(&*snapshot, id).unwrap()).collect();
        assert_eq!(passed, [false, false, true, true]);
    }
}
