//! The difference of two paths: where they part, what each has since, how their messages differ.

use similar::{Algorithm, ChangeTag, TextDiff};

use crate::codec::{Key, Value};
use crate::error::Result;
use crate::id::Id;
use crate::object::Entry;
use crate::ops::part::{fork_point, since};
use crate::ops::{Target, origin};
use crate::repo::Place;
use crate::session::{Message, Wanted, Words, restored_entry, settings};
use crate::store::Snapshot;

/// Texts this much alike are compared word by word; others are shown whole.
const LIKENESS_MIN: f32 = 0.5;

/// How long texts may be that are compared word by word, in bytes.
const WORDS_BYTES_MAX: usize = 256 << 10;

/// Two paths and how they differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The last entry that both share.
    pub fork_point: Option<Id>,
    /// The two sides.
    pub sides: [DiffSide; 2],
    /// Messages at the same place after the fork point, as long as the same one speaks.
    pub pairs: Vec<DiffPair>,
}

/// One side of a difference.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffSide {
    /// Where it ends.
    pub end: Id,
    /// What it has since the fork point, oldest first.
    pub own: Vec<DiffItem>,
    /// The model in force at its end.
    pub model: Option<String>,
    /// Who serves it.
    pub provider: Option<String>,
    /// How much it is to think.
    pub thinking: Option<String>,
}

/// One entry of a side.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffItem {
    /// The entry.
    pub id: Id,
    /// Its type.
    pub label: String,
    /// Who speaks, if it is a message.
    pub role: Option<String>,
    /// What is said: a message's words, a summary, or other fields.
    pub text: String,
    /// What a change of the configuration sets, field by field.
    pub config: Vec<(Key, Value)>,
}

/// Two messages at the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffPair {
    /// The places in the two sides.
    pub places: (usize, usize),
    /// The words, where the texts are alike enough; empty otherwise.
    pub words: Vec<(DiffWords, String)>,
}

/// What became of some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffWords {
    /// Both sides have them.
    Both,
    /// Only the first side has them.
    First,
    /// Only the second side has them.
    Second,
}

/// Compares the paths to two revisions.
pub fn diff(snapshot: &dyn Snapshot, target: &Target, one: &str, other: &str) -> Result<Diff> {
    let session = target.session(snapshot)?;
    let place = Place::in_session(session.as_str());
    let ends = [origin::entry(snapshot, &place, one)?, origin::entry(snapshot, &place, other)?];
    let fork_point = fork_point(snapshot, &ends)?;
    let sides = [side(snapshot, ends[0], fork_point)?, side(snapshot, ends[1], fork_point)?];
    let pairs = pairs(&sides);
    Ok(Diff { fork_point, sides, pairs })
}

fn side(snapshot: &dyn Snapshot, end: Id, point: Option<Id>) -> Result<DiffSide> {
    let mut own = Vec::new();
    for id in since(snapshot, end, point)? {
        own.push(item(id, restored_entry(snapshot, &id)?));
    }
    let wanted = Wanted { model: true, thinking: true, ..Wanted::default() };
    let state = settings(snapshot, end, wanted)?;
    Ok(DiffSide {
        end,
        own,
        model: state.model,
        provider: state.provider,
        thinking: state.thinking,
    })
}

fn item(id: Id, entry: Entry) -> DiffItem {
    let message = Message::read(&entry.label, &entry.body);
    let is_config = entry.label.ends_with("_change");
    let words = Words::read(&entry.label, &entry.body).text;
    let config = entry.body.as_map().filter(|_| is_config).unwrap_or_default();
    let config = config.iter().filter(|(key, _)| !matches!(&**key, "type" | "timestamp" | "id"));
    DiffItem {
        id,
        role: message.as_ref().map(|message| message.role.clone()),
        text: match message {
            Some(message) => message.text(),
            None if is_config => String::new(),
            None => words,
        },
        config: config.cloned().collect(),
        label: entry.label,
    }
}

/// Pairs the messages that stand at the same place, until another one speaks.
fn pairs(sides: &[DiffSide; 2]) -> Vec<DiffPair> {
    let messages = |side: &DiffSide| -> Vec<usize> {
        let own = side.own.iter().enumerate();
        own.filter(|(_, item)| item.role.is_some()).map(|(at, _)| at).collect()
    };
    let both = messages(&sides[0]).into_iter().zip(messages(&sides[1]));
    let items = both.map(|places| (places, &sides[0].own[places.0], &sides[1].own[places.1]));
    let items = items.take_while(|(_, one, other)| one.role == other.role);
    items
        .map(|(places, one, other)| DiffPair { places, words: words(&one.text, &other.text) })
        .collect()
}

/// Compares two texts word by word, if they are alike.
fn words(one: &str, other: &str) -> Vec<(DiffWords, String)> {
    if one.len().max(other.len()) > WORDS_BYTES_MAX {
        return Vec::new();
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_words(one, other);
    if diff.ratio() < LIKENESS_MIN {
        return Vec::new();
    }
    let mut words: Vec<(DiffWords, String)> = Vec::new();
    for part in diff.iter_all_changes() {
        let change = match part.tag() {
            ChangeTag::Equal => DiffWords::Both,
            ChangeTag::Delete => DiffWords::First,
            ChangeTag::Insert => DiffWords::Second,
        };
        match words.last_mut() {
            Some((last, text)) if *last == change => text.push_str(part.value()),
            _ => words.push((change, part.value().to_owned())),
        }
    }
    words
}
