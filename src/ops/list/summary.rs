//! What a path says in short, remembered by the id of its end.
//!
//! A path is fixed by the id of its end, so what is remembered of it is true for ever and never
//! goes stale: a longer path is what is known of its begin and the few entries after it. Whoever
//! keeps the bytes ([`Summaries::encode`]) loses nothing by losing them. Bytes that are damaged, or
//! of another version, are as good as none.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::{Entry, Session};
use crate::repo::read_session;
use crate::session::{MESSAGE_LABELS, Message, restored_entry};
use crate::store::Snapshot;

const MAGIC: &[u8; 8] = b"SAPWSUM2";
const CHECKSUM_BYTES: usize = 32;

/// How many characters of the first message are kept.
const WORDS_CHARACTERS_MAX: usize = 80;

/// Every so many entries of a path its summary is remembered, so that a fork of a long path does
/// not read all of it again.
const MILESTONE: u64 = 1024;

/// How many messages are looked at for the first words, where not all are read.
const BRIEF_MESSAGES_MAX: usize = 16;

/// What a path says in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The time of its last entry.
    pub time: i64,
    /// How many messages it has.
    pub messages: u64,
    /// What they cost, as far as is known.
    pub cost: Option<f64>,
    /// The first words of the first message of a user.
    pub words: String,
}

/// What is known of paths and sessions, by their ids.
#[derive(Clone, Debug, Default)]
pub struct Summaries {
    paths: HashMap<Id, Known>,
    sessions: HashMap<Id, Session>,
    used: HashSet<Id>,
    /// How many objects had to be read.
    learned: u64,
}

#[derive(Clone, Debug)]
struct Known {
    summary: Summary,
    is_milestone: bool,
    /// The milestone before it on its path.
    before: Option<Id>,
}

impl Summaries {
    /// Says how many objects had to be read because nothing was known of them.
    pub fn learned(&self) -> u64 {
        self.learned
    }

    /// Reads a session's metadata, as it is stored.
    pub(super) fn session(&mut self, snapshot: &dyn Snapshot, id: &Id) -> Result<Session> {
        self.used.insert(*id);
        if let Some(known) = self.sessions.get(id) {
            return Ok(known.clone());
        }
        let session = read_session(snapshot, id)?;
        self.learned += 1;
        self.sessions.insert(*id, session.clone());
        Ok(session)
    }

    /// Sums up the path to an entry.
    pub(super) fn of(&mut self, snapshot: &dyn Snapshot, end: &Id) -> Result<Summary> {
        self.used.insert(*end);
        if let Some(known) = self.paths.get(end) {
            return Ok(known.summary.clone());
        }
        let mut depth = snapshot.topology(end)?.ok_or(Error::ObjectMissing { id: *end })?.depth;
        let mut base = Summary::default();
        let mut milestone = None;
        let mut steps = Vec::new();
        let paths = &self.paths;
        snapshot.read_path(end, &mut |id, stored| {
            if let Some(known) = paths.get(id) {
                base = known.summary.clone();
                milestone = if known.is_milestone { Some(*id) } else { known.before };
                return Ok(ControlFlow::Break(()));
            }
            if stored.kind != Kind::Entry {
                return Err(Error::WrongKind {
                    id: *id,
                    expected: Kind::Entry.name(),
                    found: stored.kind.name(),
                });
            }
            steps.push((*id, depth, Step::read(&stored.content)?));
            depth = depth.saturating_sub(1);
            Ok(ControlFlow::Continue(()))
        })?;
        self.learned += steps.len() as u64;
        for (id, depth, step) in steps.into_iter().rev() {
            step.add_to(&mut base);
            if base.words.is_empty() && step.is_from_user {
                base.words = words(snapshot, &id)?;
            }
            let is_milestone = depth.is_multiple_of(MILESTONE) && depth > 0;
            if is_milestone || id == *end {
                let known = Known { summary: base.clone(), is_milestone, before: milestone };
                self.paths.insert(id, known);
            }
            if is_milestone {
                milestone = Some(id);
            }
        }
        Ok(base)
    }

    /// Sums up the path to an entry by the types of its entries, without what they cost.
    pub(super) fn brief(&self, snapshot: &dyn Snapshot, end: &Id) -> Result<Summary> {
        if let Some(known) = self.paths.get(end) {
            return Ok(Summary { cost: None, ..known.summary.clone() });
        }
        let time = snapshot.topology(end)?.ok_or(Error::ObjectMissing { id: *end })?.time;
        let mut path = snapshot.labels(end, usize::MAX)?;
        path.retain(|(_, label)| MESSAGE_LABELS.contains(&&**label));
        let mut summary = Summary { time, messages: path.len() as u64, ..Summary::default() };
        for (id, _) in path.iter().rev().take(BRIEF_MESSAGES_MAX) {
            let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
            if Step::read(&stored.content)?.is_from_user {
                summary.words = words(snapshot, id)?;
                break;
            }
        }
        Ok(summary)
    }

    /// Forgets what no session needs any more.
    pub(super) fn keep_used(&mut self) {
        let mut used = std::mem::take(&mut self.used);
        let mut open: Vec<Id> = used.iter().copied().collect();
        while let Some(id) = open.pop() {
            let before = self.paths.get(&id).and_then(|known| known.before);
            open.extend(before.filter(|before| used.insert(*before)));
        }
        self.paths.retain(|id, _| used.contains(id));
        self.sessions.retain(|id, _| used.contains(id));
    }
}

#[cfg(test)]
impl Summaries {
    /// Counts the paths that are known.
    pub(super) fn path_count(&self) -> usize {
        self.paths.len()
    }
}

/// What one entry adds to the summary of its path.
struct Step {
    time: i64,
    is_message: bool,
    is_from_user: bool,
    cost: Option<f64>,
}

impl Step {
    fn read(content: &[u8]) -> Result<Step> {
        let entry = Entry::decode(content)?;
        let message = Message::read(&entry.label, &entry.body);
        Ok(Step {
            time: entry.time,
            is_message: message.is_some(),
            is_from_user: message.as_ref().is_some_and(Message::is_from_user),
            cost: message.and_then(|message| message.usage.cost),
        })
    }

    fn add_to(&self, summary: &mut Summary) {
        summary.time = self.time;
        summary.messages += u64::from(self.is_message);
        if let Some(cost) = self.cost {
            summary.cost = Some(summary.cost.unwrap_or(0.0) + cost);
        }
    }
}

/// Gives the first words of a message, on one line.
fn words(snapshot: &dyn Snapshot, id: &Id) -> Result<String> {
    let entry = restored_entry(snapshot, id)?;
    let text = Message::read(&entry.label, &entry.body).map(|message| message.text());
    let text = text.unwrap_or_default();
    let mut words = String::new();
    let mut count = 0;
    for word in text.split(|sign: char| sign.is_whitespace() || sign.is_control()) {
        if word.is_empty() {
            continue;
        }
        if count > 0 {
            words.push(' ');
            count += 1;
        }
        for sign in word.chars() {
            if count == WORDS_CHARACTERS_MAX {
                return Ok(words);
            }
            words.push(sign);
            count += 1;
        }
    }
    Ok(words)
}

/// As bytes: magic, checksum, then records: a letter, an id, the length of the rest, the rest.
impl Summaries {
    /// Writes all that is known.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        for (id, session) in &self.sessions {
            record(&mut body, b's', id, &session.encode()?.content);
        }
        for (id, known) in &self.paths {
            let letter = if known.is_milestone { b'm' } else { b'p' };
            let summary = &known.summary;
            let mut rest = Vec::with_capacity(58 + summary.words.len());
            rest.push(u8::from(known.before.is_some()));
            rest.extend(known.before.iter().flat_map(|id| *id.as_bytes()));
            rest.extend(summary.time.to_le_bytes());
            rest.extend(summary.messages.to_le_bytes());
            rest.push(u8::from(summary.cost.is_some()));
            rest.extend(summary.cost.unwrap_or(0.0).to_le_bytes());
            rest.extend(summary.words.as_bytes());
            record(&mut body, letter, id, &rest);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(blake3::hash(&body).as_bytes());
        bytes.extend(body);
        Ok(bytes)
    }

    /// Reads what [`encode`](Summaries::encode) wrote; from anything else nothing.
    pub fn decode(bytes: &[u8]) -> Summaries {
        let body = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_at_checked(CHECKSUM_BYTES));
        match body {
            Some((checksum, body)) if blake3::hash(body).as_bytes() == checksum => {
                read_records(body).unwrap_or_default()
            }
            _ => Summaries::default(),
        }
    }
}

fn record(body: &mut Vec<u8>, letter: u8, id: &Id, rest: &[u8]) {
    body.push(letter);
    body.extend(id.as_bytes());
    body.extend((rest.len() as u64).to_le_bytes());
    body.extend(rest);
}

/// What the two records of a session take together, or a little more.
const RECORD_BYTES_LIKELY: usize = 300;

fn read_records(mut body: &[u8]) -> Option<Summaries> {
    let mut found = Summaries::default();
    // A session and the path of its active branch take some hundred bytes each.
    let likely = body.len() / RECORD_BYTES_LIKELY;
    found.sessions.reserve(likely);
    found.paths.reserve(likely);
    while let Some((letter, rest)) = body.split_first() {
        let (id, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (content, rest) = rest.split_at_checked(length)?;
        body = rest;
        let id = Id::from_bytes(*id);
        match letter {
            b's' => drop(found.sessions.insert(id, Session::decode(content).ok()?)),
            b'p' | b'm' => {
                let known = read_known(content, *letter == b'm')?;
                found.paths.insert(id, known);
            }
            _ => return None,
        }
    }
    Some(found)
}

fn read_known(content: &[u8], is_milestone: bool) -> Option<Known> {
    let (has_before, content) = content.split_first()?;
    if *has_before == 0 {
        return Some(Known { summary: read_summary(content)?, is_milestone, before: None });
    }
    let (before, content) = content.split_first_chunk()?;
    let before = Some(Id::from_bytes(*before));
    Some(Known { summary: read_summary(content)?, is_milestone, before })
}

fn read_summary(content: &[u8]) -> Option<Summary> {
    let (time, rest) = content.split_first_chunk()?;
    let (messages, rest) = rest.split_first_chunk()?;
    let (has_cost, rest) = rest.split_first()?;
    let (cost, words) = rest.split_first_chunk()?;
    Some(Summary {
        time: i64::from_le_bytes(*time),
        messages: u64::from_le_bytes(*messages),
        cost: (*has_cost == 1).then(|| f64::from_le_bytes(*cost)),
        words: std::str::from_utf8(words).ok()?.to_owned(),
    })
}
