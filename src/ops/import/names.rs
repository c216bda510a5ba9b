//! Names for sessions and branches that an import makes.

use std::path::Path;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::import::intake::Intake;
use crate::ops::import::tree::{Side, name_hash};
use crate::repo::{read_session, restored};
use crate::session::{Message, check_name, restored_entry};
use crate::store::{RefName, RefValue, Snapshot};

/// How many words and characters of an entry name a branch.
pub(crate) const BRANCH_WORDS_MAX: usize = 5;
pub(crate) const BRANCH_CHARACTERS_MAX: usize = 40;

/// What the name of a branch or session is made of where there are no words.
pub(super) const BRANCH_STEM: &str = "branch";
const SESSION_STEM: &str = "session";

/// Says that another process has imported the file meanwhile.
pub(super) fn overtaken(sid: &str) -> Error {
    Error::RefConflict {
        name: format!("sessions/{sid}/meta"),
        expected: "what it was when its file was read".to_owned(),
        found: "another import of the same file".to_owned(),
    }
}

/// Gives the name that the file gives to a branch, if it names a value of it.
pub(super) fn given_name(intake: &Intake<'_>, side: &Side) -> Option<String> {
    let given = intake.source.branches.iter().find(|label| {
        let row = intake.tree.named(name_hash(&label.target));
        row.is_some_and(|row| intake.tree.is_between(side.first, side.tip, row))
    })?;
    let name = clean(given.name.as_deref()?, usize::MAX, BRANCH_STEM);
    Some(name).filter(|name| is_branch_name(name))
}

/// Names a branch after the first of some entries that says something.
pub(super) fn stem_of(snapshot: &dyn Snapshot, entries: &[Id]) -> Result<String> {
    for id in entries {
        if let Some(stem) = stem_of_one(snapshot, id)? {
            return Ok(stem);
        }
    }
    Ok(BRANCH_STEM.to_owned())
}

/// Gives the name that an entry gives to a branch, if it says something.
pub(crate) fn stem_of_one(snapshot: &dyn Snapshot, id: &Id) -> Result<Option<String>> {
    let mut entry = restored_entry(snapshot, id)?;
    restored(snapshot, &mut entry.body)?;
    let message = Message::read(&entry.label, &entry.body);
    let text = message.map(|message| message.text()).unwrap_or_default();
    let stem = clean(&branch_words(&text), BRANCH_CHARACTERS_MAX, "");
    Ok(Some(stem).filter(|stem| is_branch_name(stem)))
}

/// Gives the first words of a text as they stand in the name of a branch.
pub(crate) fn branch_words(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(BRANCH_WORDS_MAX);
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

pub(super) fn is_branch_name(name: &str) -> bool {
    check_name("branch", name).is_ok() && RefName::of_session("s", &format!("heads/{name}")).is_ok()
}

/// Makes a name of a text: one line, no blanks at its ends, nothing that a ref may not have.
pub(super) fn clean(text: &str, characters_max: usize, empty: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        letter if letter.is_control() => ' ',
        letter => letter,
    });
    let cut: String = letters.take(characters_max).collect();
    let mut name = cut.trim_matches([' ', '-', '.', '/']).replace("@{", "@");
    for (bad, good) in [("..", "."), ("//", "/"), ("/.", "/"), (".lock/", "/")] {
        while name.contains(bad) {
            name = name.replace(bad, good);
        }
    }
    while let Some(stem) = name.strip_suffix(".lock") {
        name = stem.trim_end_matches(['.', '/', '-', ' ']).to_owned();
    }
    if name.is_empty() { empty.to_owned() } else { name }
}

/// Finds an id for a new session: the one it has in its file, if the file or its directory is
/// named after it, else the file's name.
pub(super) fn free_sid(
    snapshot: &dyn Snapshot,
    intake: &Intake<'_>,
    path: Option<&str>,
) -> Result<String> {
    let source = &intake.source;
    let foreign = source.foreign.as_deref().filter(|id| !id.is_empty());
    let above = path.and_then(|path| Path::new(path).parent()?.file_name()?.to_str());
    let is_named = foreign.is_some_and(|id| {
        source.stem.is_empty()
            || source.stem.ends_with(id)
            || (source.agent.is_none() && above.is_some_and(|name| name == id))
    });
    let stem = match foreign {
        Some(id) if is_named => id,
        _ if source.stem.is_empty() => SESSION_STEM,
        _ => &source.stem,
    };
    let stem = clean(&stem.replace(['/', ':', ' '], "-"), 100, SESSION_STEM);
    let mut sid = stem.clone();
    let mut number = 2;
    while let Some(meta) = snapshot.reference(&RefName::of_session(&sid, "meta")?)? {
        if let (RefValue::Id(id), Some(path)) = (&meta, path)
            && read_session(snapshot, id)?.source.as_deref() == Some(path)
        {
            return Err(overtaken(&sid));
        }
        sid = format!("{stem}-{number}");
        number += 1;
        if number > 1_000_000 {
            return Err(Error::InvalidName {
                what: "session id",
                name: stem,
                why: "a million sessions are called so",
            });
        }
    }
    Ok(sid)
}
