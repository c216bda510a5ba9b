//! Names that were made of what is looked for.
//!
//! An import names branches after the first words of what was said there, in small letters with
//! dashes between them, and cuts them and labels off: `vault-kx9-pass` was made of a secret, and
//! nobody who looks for the secret finds it. So what was found is compared with all names.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::error::Result;
use crate::id::Id;
use crate::ops::import::{BRANCH_CHARACTERS_MAX, BRANCH_WORDS_MAX, branch_words, stem_of_one};
use crate::ops::redact::Scrubber;
use crate::session::FIRST_BRANCH;
use crate::store::{NAMED_CLASSES, RefName, Snapshot};

/// What is shorter stands in names by chance.
const MADE_BYTES_MIN: usize = 4;
/// What is shorter counts as whole words alone.
const PART_BYTES_MIN: usize = 8;
/// How much of what was found must be left at the end of a name that was cut off.
const REST_CHARACTERS_MIN: usize = 5;

/// Lists the names of refs, also of those that are no more, that were made of what was found.
pub(super) fn names(snapshot: &dyn Snapshot, scrubber: &Scrubber) -> Result<BTreeSet<String>> {
    let found = scrubber.found();
    let mut spelled: BTreeSet<String> = found.iter().map(|text| branch_words(text)).collect();
    spelled.extend(found);
    spelled.retain(|text| text.len() >= MADE_BYTES_MIN);
    let mut chosen = BTreeSet::new();
    for (name, _) in snapshot.references("")? {
        chosen.extend(chosen_part(&name).map(str::to_owned));
    }
    snapshot.operations(&mut |record| {
        let parts = record.moves.iter().filter_map(|moved| chosen_part(&moved.name));
        chosen.extend(parts.map(str::to_owned));
        Ok(ControlFlow::Continue(()))
    })?;
    chosen.retain(|name| spelled.iter().any(|text| is_made_of(name, text)));
    // What is found as it is needs no help.
    chosen.retain(|name| !scrubber.is_in(name.as_bytes()));
    Ok(chosen)
}

/// Lists the branches among some refs that an import named after one of these entries.
pub(super) fn named_after<'a>(
    snapshot: &dyn Snapshot,
    entries: impl Iterator<Item = &'a Id>,
    refs: impl Iterator<Item = &'a RefName>,
) -> Result<Vec<RefName>> {
    let branch = |name: &'a RefName| name.session()?.1.strip_prefix("heads/");
    let branches: Vec<(&RefName, &str)> =
        refs.filter_map(|name| Some((name, stem(branch(name)?)))).collect();
    if branches.iter().all(|(_, stem)| *stem == FIRST_BRANCH) {
        return Ok(Vec::new());
    }
    let mut said = BTreeSet::new();
    for id in entries {
        said.extend(stem_of_one(snapshot, id)?.map(|name| stem(&name).to_owned()));
    }
    let named = branches.into_iter().filter(|(_, stem)| said.contains(*stem));
    Ok(named.map(|(name, _)| name.clone()).collect())
}

/// Gives a name without the number that tells it from others of the same words.
fn stem(name: &str) -> &str {
    let numbered = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match name.rsplit_once('-') {
        Some((stem, digits)) if numbered(digits) => stem,
        _ => name,
    }
}

/// Gives the part of a name that a person or an import chose, below a session.
fn chosen_part(name: &RefName) -> Option<&str> {
    let mut rest = name.as_str();
    while let Some((class, named)) = rest.split_once('/') {
        if NAMED_CLASSES.contains(&class) {
            return Some(named);
        }
        rest = named;
    }
    None
}

/// Says whether a name holds a text, or as much of it as there was room for.
fn is_made_of(name: &str, text: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let is_held = name.match_indices(text).any(|(at, _)| {
        let (before, behind) = (&name[..at], &name[at + text.len()..]);
        let is_part = is_letter(before.chars().next_back()) || is_letter(behind.chars().next());
        text.len() >= PART_BYTES_MIN || !is_part
    });
    is_held || [name, stem(name)].into_iter().any(|stem| ends_within(stem, text))
}

/// Says whether a name that was cut off ends with the begin of a text.
fn ends_within(name: &str, text: &str) -> bool {
    // Signs at the ends of a name go after it was cut.
    let is_cut = name.chars().count() + 2 >= BRANCH_CHARACTERS_MAX
        || name.split('-').count() >= BRANCH_WORDS_MAX;
    let mut ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    is_cut && ends.any(|end| end >= REST_CHARACTERS_MIN && name.ends_with(&text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_what_they_were_made_of() {
        let made = "zq7-vault-kx9-pass-word-44";
        for name in [
            made,
            "zq7-vault-kx9-pass-word-44-2",
            "the-key-zq7-vault-kx9",
            "the-key-zq7-vault-kx9-3",
            "somewhat-longer-words-stand-before-zq7-v",
        ] {
            assert!(is_made_of(name, made), "{name}");
        }
        for name in ["main", "vault", "zq7", "the-vault-of-kx9-44", "a-b-c-d-zq7"] {
            assert!(!is_made_of(name, made), "{name}");
        }
        assert!(is_made_of("ab-cd", "ab-cd") && is_made_of("so-ab-cd-on", "ab-cd"));
        assert!(!is_made_of("tab-cdrom", "ab-cd"));
    }
}
