//! Which sessions, and what of them, are handed over.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::session_tree::session_ids;
use crate::repo::{Base, Place, Range, Revision, find_session, resolve};
use crate::session::{Transcript, View};
use crate::store::{NAMED_CLASSES, RefName, RefValue, Snapshot};

/// A session as it is handed over: its refs, without `sessions/<sid>/` before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    /// The session's id.
    pub session: String,
    /// When its metadata was last changed, in milliseconds since 1970, as far as that is known.
    pub meta_time: i64,
    /// `meta`, `HEAD`, `tip`, `events`, `heads/main`, and so on.
    pub refs: BTreeMap<String, RefValue>,
}

/// An object that the receiver must have, and what it was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prerequisite {
    /// The object.
    pub id: Id,
    /// The revision that named it.
    pub name: String,
}

/// What is handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The sessions, each once.
    pub parcels: Vec<Parcel>,
    /// What the receiver must have.
    pub prerequisites: Vec<Prerequisite>,
}

impl Parcel {
    /// Gives every object that a ref points to.
    pub fn roots(&self) -> Vec<Id> {
        let ids = self.refs.values().filter_map(|value| match value {
            RefValue::Id(id) => Some(*id),
            RefValue::Symbolic(_) => None,
        });
        ids.collect::<BTreeSet<Id>>().into_iter().collect()
    }

    /// Gives the object that a ref points to.
    pub(super) fn target(&self, rest: &str) -> Option<Id> {
        match self.refs.get(rest) {
            Some(RefValue::Id(id)) => Some(*id),
            _ => None,
        }
    }

    /// Lists the refs of a class by their names.
    pub(super) fn named(&self, class: &str) -> Vec<(String, Id)> {
        let refs = self.refs.iter().filter_map(|(rest, value)| match value {
            RefValue::Id(id) => {
                let name = rest.strip_prefix(class)?.strip_prefix('/')?;
                Some((name.to_owned(), *id))
            }
            RefValue::Symbolic(_) => None,
        });
        refs.collect()
    }

    /// Gives where its transcript ends; `None` if it comes without one: some branches only.
    pub(super) fn transcript(&self) -> Option<Transcript> {
        let (tip, events) = (self.target("tip"), self.target("events"));
        let is_bare = tip.is_none() && events.is_none() && !self.named("heads").is_empty();
        (!is_bare).then_some(Transcript { tip, events })
    }
}

/// Refuses a parcel with refs that a session does not have, or that leave their place.
pub(in crate::ops) fn check_parcel(parcel: &Parcel) -> Result<()> {
    for (rest, value) in &parcel.refs {
        let name = RefName::of_session(&parcel.session, rest)?;
        let class = rest.split_once('/').map(|(class, _)| class);
        let is_known = match class {
            Some(class) => NAMED_CLASSES.contains(&class),
            None => ["meta", "HEAD", "tip", "events"].contains(&rest.as_str()),
        };
        let is_head = rest == "HEAD";
        let within = |target: &RefName| match target.session() {
            Some((session, rest)) => session == parcel.session && rest.starts_with("heads/"),
            None => false,
        };
        let why = match value {
            _ if !is_known => "a session has no such ref",
            RefValue::Symbolic(target) if !is_head || !within(target) => {
                "it leads away from the session's branches"
            }
            RefValue::Id(_) if is_head => "it must name a branch",
            _ => continue,
        };
        return Err(Error::InvalidName { what: "ref of a session", name: name.to_string(), why });
    }
    match parcel.refs.contains_key("meta") {
        true => Ok(()),
        false => Err(Error::Refused {
            why: format!("session '{}' comes without its metadata", parcel.session),
            hint: "whatever made it left something out",
        }),
    }
}

/// Finds what these words name: sessions by id, name or the begin of the id; branches and labels,
/// `main` or `s1:main`; and `A..B`, which leaves out all that A has, so the receiver must have it.
/// No words name every session.
pub fn select(snapshot: &dyn Snapshot, place: &Place, words: &[String]) -> Result<Selection> {
    let mut selection = Selection::default();
    let times = meta_times(snapshot)?;
    if words.is_empty() {
        for session in session_ids(snapshot)? {
            let whole = parcel(snapshot, &session, &times)?;
            selection.parcels.push(whole);
        }
        return Ok(selection);
    }
    for word in words {
        match find_session(snapshot, word) {
            Ok(session) => selection.add(parcel(snapshot, &session, &times)?),
            Err(Error::RevisionUnknown { .. }) => {
                selection.add_range(snapshot, place, word, &times)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(selection)
}

type Times = HashMap<String, i64>;

impl Selection {
    fn add(&mut self, parcel: Parcel) {
        match self.parcels.iter_mut().find(|known| known.session == parcel.session) {
            Some(known) if parcel.transcript().is_some() => known.refs.extend(parcel.refs),
            Some(known) => {
                for (rest, value) in parcel.refs {
                    known.refs.entry(rest).or_insert(value);
                }
            }
            None => self.parcels.push(parcel),
        }
    }

    /// Adds a branch or a label, perhaps without what something else has.
    fn add_range(
        &mut self,
        snapshot: &dyn Snapshot,
        place: &Place,
        word: &str,
        times: &Times,
    ) -> Result<()> {
        let range = Range::parse(word)?;
        let place = match &range.show.session {
            Some(session) => Place::in_session(find_session(snapshot, session)?),
            None => place.clone(),
        };
        let session = place.session_id(snapshot)?.ok_or_else(|| Error::RevisionUnknown {
            revision: word.to_owned(),
            why: "no session has this id or name, and none is current".to_owned(),
        })?;
        let view = View::of(snapshot, &session)?;
        let rest = named(&view, &range.show)?;
        let whole = parcel(snapshot, &session, times)?;
        let mut wanted = vec!["meta".to_owned(), rest.clone()];
        if let Some(branch) = rest.strip_prefix("heads/") {
            wanted.extend([format!("memory/{branch}"), format!("records/{branch}")]);
        }
        let mut refs: BTreeMap<String, RefValue> =
            whole.refs.into_iter().filter(|(rest, _)| wanted.contains(rest)).collect();
        if rest.starts_with("heads/") {
            refs.insert("HEAD".to_owned(), RefValue::Symbolic(view.name(&rest)?));
        }
        self.add(Parcel { refs, ..whole });
        if let Some(hide) = &range.hide {
            let place = Place::in_session(session);
            let id = resolve(snapshot, &place, &hide.text)?;
            self.prerequisites.push(Prerequisite { id, name: hide.text.clone() });
        }
        Ok(())
    }
}

/// Finds the branch or label that a revision names.
fn named(view: &View<'_>, revision: &Revision) -> Result<String> {
    let text = revision.text.as_str();
    let text = match &revision.session {
        Some(session) => &text[session.len() + 1..],
        None => text,
    };
    if revision.base == Base::Head
        && revision.steps.is_empty()
        && let Some(active) = view.active()?
    {
        return Ok(format!("heads/{active}"));
    }
    for class in ["heads", "labels"] {
        let rest = format!("{class}/{text}");
        if view.name(&rest).is_ok() && view.target(&rest)?.is_some() {
            return Ok(rest);
        }
    }
    Err(Error::RevisionUnknown {
        revision: revision.text.clone(),
        why: "it names no session, branch or label that could be handed over".to_owned(),
    })
}

/// Gives all of a session.
fn parcel(snapshot: &dyn Snapshot, session: &str, times: &Times) -> Result<Parcel> {
    let prefix = format!("sessions/{session}/");
    let meta_time = times.get(session).copied().unwrap_or_default();
    let refs = snapshot.references(&prefix)?.into_iter();
    let refs = refs.map(|(name, value)| (name.as_str()[prefix.len()..].to_owned(), value));
    Ok(Parcel { session: session.to_owned(), meta_time, refs: refs.collect() })
}

/// Finds when the metadata of each session was last changed.
pub(super) fn meta_times(snapshot: &dyn Snapshot) -> Result<Times> {
    let mut times = Times::new();
    snapshot.operations(&mut |record| {
        for ref_move in &record.moves {
            if let Some((session, "meta")) = ref_move.name.session() {
                times.entry(session.to_owned()).or_insert(record.operation.time);
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(times)
}
