//! From a revision to an object.
//!
//! Names win over everything but a whole id: the longest part of a revision that names a branch,
//! label or ref is taken for it, and only what follows is read as steps. A branch comes before a
//! label, a label before other refs, refs before the first digits of an id.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};
use crate::repo::place::{Place, find_session};
use crate::repo::read::read_entry;
use crate::repo::revision::{Base, Range, Revision, Step, malformed, unknown};
use crate::store::{self, RefName, RefValue, Snapshot};
use crate::walk;

/// How many candidates an ambiguous prefix lists.
const CANDIDATES_MAX: usize = 10;

/// The types of entries that are messages, which `msg:N` counts.
pub const MESSAGE_LABELS: [&str; 3] = ["message", "user", "assistant"];

/// Both ends of a range, found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedRange {
    /// What is left out with all its ancestors; a single revision leaves out nothing.
    pub hide: Option<Id>,
    /// What is shown with all its ancestors.
    pub show: Id,
}

/// Finds the object that a revision names, seen from a place.
pub fn resolve(snapshot: &dyn Snapshot, place: &Place, text: &str) -> Result<Id> {
    if let Ok(id) = text.parse::<Id>()
        && snapshot.kinds(&[id])?[0].is_some()
    {
        return Ok(id);
    }
    let resolver = Resolver::new(snapshot, place)?;
    if is_head(text) {
        return resolver.target(text, &resolver.head()?);
    }
    if let Some(name) = resolver.find_ref(resolver.session.as_deref(), text)? {
        return resolver.target(text, &name);
    }
    resolver.revision(&Revision::parse(text)?)
}

/// Finds both ends of `A..B`, or the one revision that it is.
pub fn resolve_range(snapshot: &dyn Snapshot, place: &Place, text: &str) -> Result<ResolvedRange> {
    let resolver = Resolver::new(snapshot, place)?;
    if let Some(name) = resolver.find_ref(resolver.session.as_deref(), text)? {
        let show = resolver.target(text, &name)?;
        return Ok(ResolvedRange { hide: None, show });
    }
    let range = Range::parse(text)?;
    let hide = range.hide.as_ref();
    Ok(ResolvedRange {
        hide: hide.map(|hide| resolver.revision(hide)).transpose()?,
        show: resolver.revision(&range.show)?,
    })
}

/// Says whether a name means where somebody is, whatever refs there are.
fn is_head(name: &str) -> bool {
    matches!(name, "@" | "HEAD")
}

struct Resolver<'a> {
    snapshot: &'a dyn Snapshot,
    place: &'a Place,
    /// The current session; `None` if there is none or if it is not known.
    session: Option<String>,
}

/// What a revision's base leads to.
struct Start {
    id: Id,
    /// The ref it was read from, symbolic ones followed.
    name: Option<RefName>,
}

impl<'a> Resolver<'a> {
    fn new(snapshot: &'a dyn Snapshot, place: &'a Place) -> Result<Resolver<'a>> {
        let session = match place.session_id(snapshot) {
            Ok(session) => session,
            // Ids and full ref names are found all the same.
            Err(Error::RevisionUnknown { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Resolver { snapshot, place, session })
    }

    fn revision(&self, revision: &Revision) -> Result<Id> {
        let text = &revision.text;
        let mut steps = revision.steps.as_slice();
        let mut start = None;
        let mut ends = revision.step_offsets.clone();
        ends.push(text.len());
        for (taken, end) in ends.into_iter().enumerate().rev() {
            if let Some(name) = self.find_ref(self.session.as_deref(), &text[..end])? {
                start = Some(self.start(text, &name)?);
                steps = &revision.steps[taken..];
                break;
            }
        }
        let start = match (start, &revision.session) {
            (Some(start), _) => start,
            (None, None) => self.base(revision)?,
            (None, Some(session)) => return self.in_session(revision, session),
        };
        self.walk_steps(text, start, steps)
    }

    /// Reads the part behind `<session>:` as that session sees it.
    fn in_session(&self, revision: &Revision, session: &str) -> Result<Id> {
        let text = &revision.text;
        let within = |error| match error {
            Error::RevisionUnknown { why, .. } => unknown(text, why),
            other => other,
        };
        let session = find_session(self.snapshot, session).map_err(|error| match error {
            Error::RevisionUnknown { .. } if matches!(session, "msg" | "turn") => {
                malformed(text, "a number is missing")
            }
            Error::RevisionUnknown { revision, why } => {
                unknown(text, format!("session '{revision}': {why}"))
            }
            other => other,
        })?;
        let skip = text.find(':').map_or(0, |colon| colon + 1);
        let rest = Revision {
            text: text[skip..].to_owned(),
            session: None,
            base: revision.base.clone(),
            steps: revision.steps.clone(),
            step_offsets: revision.step_offsets.iter().map(|at| at - skip).collect(),
        };
        let resolver = Resolver {
            snapshot: self.snapshot,
            place: &Place::in_session(session.as_str()),
            session: Some(session),
        };
        resolver.revision(&rest).map_err(within)
    }

    fn base(&self, revision: &Revision) -> Result<Start> {
        let text = &revision.text;
        let id = match &revision.base {
            Base::Head => return self.start(text, &self.head()?),
            Base::Name(name) => self.prefix(text, name)?,
            Base::Message(number) => self.message(text, *number)?,
            Base::Turn(number) => self.turn(text, *number)?,
            Base::Foreign(foreign) => self.foreign(text, foreign)?,
        };
        Ok(Start { id, name: None })
    }

    /// Finds the ref that a name means: a branch, a label, another ref of the session, any ref.
    fn find_ref(&self, session: Option<&str>, name: &str) -> Result<Option<RefName>> {
        if is_head(name) {
            return Ok(None);
        }
        let mut candidates = Vec::new();
        if let Some(session) = session {
            for class in ["heads/", "labels/", ""] {
                candidates.extend(RefName::of_session(session, &format!("{class}{name}")));
            }
        }
        candidates.extend(RefName::new(name.strip_prefix("refs/").unwrap_or(name)));
        for candidate in candidates {
            if self.snapshot.reference(&candidate)?.is_some() {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    fn current_session(&self) -> Result<String> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        match self.place.session_id(self.snapshot)? {
            Some(session) => Ok(session),
            None => Err(Error::Refused {
                why: "there is no current session".to_owned(),
                hint: "make one with 'sapwood new', or name one with -s",
            }),
        }
    }

    /// Names the session's HEAD, or the store's where there is no session.
    fn head(&self) -> Result<RefName> {
        if self.place.session.is_none() && self.snapshot.reference(&RefName::head())?.is_some() {
            return Ok(RefName::head());
        }
        RefName::of_session(&self.current_session()?, "HEAD")
    }

    fn start(&self, text: &str, name: &RefName) -> Result<Start> {
        match store::resolve(self.snapshot, name)? {
            (name, Some(id)) => Ok(Start { id, name: Some(name) }),
            (name, None) => {
                let why = match name.session().and_then(|(_, rest)| rest.strip_prefix("heads/")) {
                    Some(branch) => format!("nothing was said yet on branch '{branch}'"),
                    None => format!("ref '{name}' points to nothing yet"),
                };
                Err(unknown(text, why))
            }
        }
    }

    fn target(&self, text: &str, name: &RefName) -> Result<Id> {
        Ok(self.start(text, name)?.id)
    }

    fn prefix(&self, text: &str, digits: &str) -> Result<Id> {
        let nothing = || unknown(text, "no branch, label, ref or object has this name");
        if digits.contains("..") {
            return Err(malformed(text, "a range can't stand here"));
        }
        if digits.contains(['~', '^']) {
            return Err(malformed(text, "'~' goes before a number, and '^' before a revision"));
        }
        let prefix: Prefix = digits.parse().map_err(|_| nothing())?;
        let mut found = self.snapshot.with_prefix(&prefix, CANDIDATES_MAX + 1)?;
        match found.len() {
            0 => match digits.parse() {
                Ok(id) => Err(Error::ObjectMissing { id }),
                Err(_) => Err(nothing()),
            },
            1 => Ok(found[0]),
            _ => {
                found.truncate(CANDIDATES_MAX);
                Err(Error::Ambiguous { prefix: digits.to_owned(), candidates: found })
            }
        }
    }

    fn message(&self, text: &str, number: u64) -> Result<Id> {
        let head = self.target(text, &self.head()?)?;
        let depth = self.snapshot.depth(&head)?.ok_or(Error::ObjectMissing { id: head })?;
        let limit = usize::try_from(depth).unwrap_or(usize::MAX).saturating_add(1);
        let mut count = 0;
        for (id, label) in self.snapshot.labels(&head, limit)?.into_iter().rev() {
            count += u64::from(MESSAGE_LABELS.contains(&&*label));
            if count == number {
                return Ok(id);
            }
        }
        Err(unknown(text, there_are(count, "message")))
    }

    fn turn(&self, text: &str, number: u64) -> Result<Id> {
        let session = self.current_session()?;
        let mut items = walk::transcript_items(self.snapshot, &session)?;
        items.skip_turns(number.saturating_sub(1))?;
        for item in items {
            match item? {
                (turn, walk::Item::Entry(id)) if turn == number => return Ok(id),
                (turn, walk::Item::Event(id, event)) if turn == number && walk::is_turn(&event) => {
                    return Ok(id);
                }
                _ => {}
            }
        }
        let count = walk::turn_count(self.snapshot, &session)?;
        Err(unknown(text, there_are(count, "turn")))
    }

    /// Finds the newest entry of the session with a foreign id, the transcript's first.
    fn foreign(&self, text: &str, foreign: &str) -> Result<Id> {
        let session = self.current_session()?;
        let mut seen = HashSet::new();
        let transcript = walk::transcript(self.snapshot, &session)?;
        for id in transcript.into_iter().rev() {
            if seen.insert(id) && self.has_foreign(&id, foreign)? {
                return Ok(id);
            }
        }
        let mut starts = Vec::new();
        for class in ["heads/", "labels/"] {
            let refs = self.snapshot.references(&format!("sessions/{session}/{class}"))?;
            starts.extend(refs.into_iter().filter_map(|(_, value)| match value {
                RefValue::Id(id) => Some(id),
                RefValue::Symbolic(_) => None,
            }));
        }
        for id in walk::ancestors(self.snapshot, &starts, &[])? {
            let id = id?;
            if seen.insert(id) && self.has_foreign(&id, foreign)? {
                return Ok(id);
            }
        }
        let why = format!("no entry of session '{session}' has the id '{foreign}'");
        Err(unknown(text, why))
    }

    fn has_foreign(&self, id: &Id, foreign: &str) -> Result<bool> {
        let body = read_entry(self.snapshot, id)?.body;
        Ok(["id", "uuid"].iter().any(|key| match body.get(key) {
            Some(Value::Text(text)) => text == foreign,
            Some(Value::Link(link)) => *link == Id::of(Kind::Blob, foreign.as_bytes()),
            _ => false,
        }))
    }

    fn walk_steps(&self, text: &str, mut start: Start, steps: &[Step]) -> Result<Id> {
        for step in steps {
            let id = match step {
                Step::Back(count) => self.back(text, start.id, *count)?,
                Step::Before(count) => {
                    let name = start.name.as_ref();
                    let name = name.ok_or_else(|| unknown(text, "'@{' must follow a ref"))?;
                    self.before(text, name, start.id, *count)?
                }
            };
            start = Start { id, name: None };
        }
        Ok(start.id)
    }

    fn back(&self, text: &str, from: Id, count: u64) -> Result<Id> {
        let topology = self.snapshot.topology(&from)?;
        let depth = topology.ok_or(Error::ObjectMissing { id: from })?.depth;
        let steps = usize::try_from(count).ok().filter(|_| count <= depth);
        match steps.and_then(|steps| walk::path(self.snapshot, from).nth(steps)) {
            Some(id) => id,
            None => Err(unknown(text, format!("only {depth} lie before {}", from.short(12)))),
        }
    }

    /// Gives what a ref was before the last `count` operations that moved it.
    fn before(&self, text: &str, name: &RefName, now: Id, count: u64) -> Result<Id> {
        if count == 0 {
            return Ok(now);
        }
        let (mut met, mut oldest) = (0, 1);
        let mut value = None;
        self.snapshot.operations(&mut |record| {
            oldest = record.number;
            if let Some(moved) = record.moves.iter().find(|moved| moved.name == *name) {
                met += 1;
                value = moved.old.clone();
            }
            Ok(if met == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if met < count {
            let plural = if met == 1 { "" } else { "s" };
            let mut why = format!("only {met} operation{plural} moved {}", called(name));
            if oldest > 1 {
                why += "; older ones have expired";
            }
            return Err(unknown(text, why));
        }
        match value {
            Some(RefValue::Id(id)) => Ok(id),
            Some(RefValue::Symbolic(other)) => self.target(text, &other),
            None => Err(unknown(text, format!("{} did not exist then", called(name)))),
        }
    }
}

fn there_are(count: u64, what: &str) -> String {
    match count {
        1 => format!("there is 1 {what}"),
        count => format!("there are {count} {what}s"),
    }
}

/// Calls a ref what people call it.
fn called(name: &RefName) -> String {
    let within = name.session().map_or("", |(_, rest)| rest);
    match (within.strip_prefix("heads/"), within.strip_prefix("labels/")) {
        (Some(branch), _) => format!("branch '{branch}'"),
        (None, Some(label)) => format!("label '{label}'"),
        (None, None) => format!("'{name}'"),
    }
}

#[cfg(test)]
mod tests;
