//! What a session has of the file it was imported from.
//!
//! An import closes the runs of its values in events of type `import`, whose bodies say how the
//! values stood in the file. A file that grew adds events; one that was rewritten begins anew.

use crate::codec::Value;
use crate::dialect::Layout;
use crate::error::Result;
use crate::id::Id;
use crate::object::{Event, Run};
use crate::repo::{read_event, restored};
use crate::session::View;
use crate::store::Snapshot;
use crate::walk;

/// The event that closes the runs of imported values.
pub(super) const IMPORT: &str = "import";

/// Values of a file, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    /// How they stood.
    pub(super) layout: Layout,
    /// Their entries.
    pub(super) runs: Vec<Run>,
}

impl Stretch {
    /// Makes the event that keeps it.
    pub(super) fn event(&self, time: i64, prior: Option<Id>, next: Option<Id>) -> Event {
        Event {
            label: IMPORT.to_owned(),
            time,
            priors: prior.into_iter().collect(),
            runs: self.runs.clone(),
            links: next.into_iter().collect(),
            body: self.layout.body(),
        }
    }

    /// Lists the entries.
    pub(super) fn entries(&self, snapshot: &dyn Snapshot) -> Result<Vec<Id>> {
        let mut entries = Vec::new();
        for run in &self.runs {
            walk::read_run(snapshot, run, &mut entries)?;
        }
        Ok(entries)
    }
}

/// Lists what a session has of its file, in the file's order; nothing if it was never imported.
pub(super) fn stretches(view: &View<'_>) -> Result<Vec<Stretch>> {
    let mut stretches = Vec::new();
    let mut next = view.target("events")?;
    while let Some(id) = next {
        let mut event = read_event(view.snapshot, &id)?;
        next = event.priors.first().copied();
        if event.label != IMPORT {
            continue;
        }
        restored(view.snapshot, &mut event.body)?;
        let layout = Layout::read(&event.body);
        let is_begin = layout.anew;
        stretches.push(Stretch { layout, runs: event.runs });
        if is_begin {
            break;
        }
    }
    stretches.reverse();
    Ok(stretches)
}

/// Lists what was said in a session since, or without, its import, oldest first.
pub(super) fn added(view: &View<'_>) -> Result<Vec<Id>> {
    let mut runs = Vec::new();
    let mut next = view.target("events")?;
    let last = next.map(|id| read_event(view.snapshot, &id)).transpose()?;
    if let Some(tip) = view.target("tip")? {
        let count = walk::run_count(view.snapshot, &tip, last.as_ref())?;
        runs.extend((count > 0).then_some(Run { tip, count }));
    }
    while let Some(id) = next {
        let event = read_event(view.snapshot, &id)?;
        next = event.priors.first().copied();
        if event.label != IMPORT {
            runs.extend(event.runs.into_iter().rev());
        }
    }
    let mut entries = Vec::new();
    for run in runs.iter().rev() {
        walk::read_run(view.snapshot, run, &mut entries)?;
    }
    Ok(entries)
}

/// What the import notes of a file, in the metadata of its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The session's id in the file.
    pub(super) foreign: Option<String>,
    /// What it is called there.
    pub(super) name: Option<String>,
    /// The bytes up to the end of the last value, and their hash.
    pub(super) bytes: u64,
    pub(super) hash: String,
    /// The file's length, and when it was last changed.
    pub(super) size: u64,
    pub(super) modified_ms: i64,
    /// The branch that follows the file, and where the import left it.
    pub(super) branch: String,
    pub(super) head: Option<Id>,
    /// How many values the session has of the file.
    pub(super) values: u64,
    /// Whether the file is one document, which is never read on.
    pub(super) is_document: bool,
    /// The other branches that the import made: their first entries, and where it left them.
    pub(super) sides: Vec<KnownSide>,
    /// The labels that the import set, and on which entries.
    pub(super) labels: Vec<(String, Id)>,
    /// Ids of parents that are nowhere in the store yet.
    pub(super) orphans: Vec<String>,
    /// Ids of parents in other files, and the entries that they are.
    pub(super) hangs: Vec<Hung>,
    /// The session that it was forked from, and the entry there, by their ids in its file.
    pub(super) lineage: Option<(String, Option<String>)>,
}

/// A branch that the import made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownSide {
    pub(super) name: String,
    /// The first entry that is its own, and which value of the file that is, from 0.
    pub(super) first: Id,
    pub(super) row: u32,
    /// Where the import left it.
    pub(super) head: Id,
}

/// A value of another file that values hang on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hung {
    /// Its id there.
    pub(super) name: String,
    pub(super) entry: Id,
    /// The session that has it.
    pub(super) session: String,
}

impl Record {
    /// Reads the record of a session.
    pub(super) fn of(meta: &Value) -> Option<Record> {
        let import = meta.get("import")?;
        let text = |key: &str| import.get(key).and_then(Value::as_text).map(str::to_owned);
        let number = |key: &str| import.get(key).and_then(Value::as_i64).unwrap_or_default();
        let orphans = import.get("orphans").and_then(Value::as_list).unwrap_or_default();
        let named = |key: &str| {
            let pairs = import.get(key).and_then(Value::as_map).unwrap_or_default().iter();
            pairs.filter_map(|(name, id)| Some((name.to_string(), id.as_link()?))).collect()
        };
        let sides = import.get("sides").and_then(Value::as_map).unwrap_or_default().iter();
        let sides = sides.filter_map(|(name, ends)| match ends.as_list()? {
            [first, head, row] => Some(KnownSide {
                name: name.to_string(),
                first: first.as_link()?,
                head: head.as_link()?,
                row: u32::try_from(row.as_i64()?).ok()?,
            }),
            _ => None,
        });
        let hangs = import.get("hangs").and_then(Value::as_map).unwrap_or_default().iter();
        let hangs = hangs.filter_map(|(name, at)| match at.as_list()? {
            [entry, session] => Some(Hung {
                name: name.to_string(),
                entry: entry.as_link()?,
                session: session.as_text()?.to_owned(),
            }),
            _ => None,
        });
        let lineage = import.get("lineage").and_then(Value::as_list).unwrap_or_default();
        let lineage = match lineage {
            [Value::Text(session)] => Some((session.clone(), None)),
            [Value::Text(session), Value::Text(entry)] => {
                Some((session.clone(), Some(entry.clone())))
            }
            _ => None,
        };
        Some(Record {
            values: u64::try_from(number("values")).unwrap_or_default(),
            is_document: import.get("document").and_then(Value::as_bool) == Some(true),
            sides: sides.collect(),
            labels: named("labels"),
            foreign: text("foreign"),
            name: text("name"),
            bytes: u64::try_from(number("bytes")).unwrap_or_default(),
            hash: text("hash")?,
            size: u64::try_from(number("size")).unwrap_or_default(),
            modified_ms: number("modified"),
            branch: text("branch")?,
            head: import.get("head").and_then(Value::as_link),
            orphans: orphans.iter().filter_map(Value::as_text).map(str::to_owned).collect(),
            hangs: hangs.collect(),
            lineage,
        })
    }

    /// Puts the record into a session's metadata, beside what else is there.
    pub(super) fn put(&self, meta: &mut Value) {
        let orphans: Vec<Value> = self.orphans.iter().map(|id| Value::from(id.as_str())).collect();
        let named = |pairs: &[(String, Id)]| match pairs {
            [] => Value::Null,
            pairs => Value::map(pairs.iter().map(|(name, id)| (name.clone(), Value::Link(*id)))),
        };
        let sides = self.sides.iter().map(|side| {
            let ends = [side.first.into(), side.head.into(), Value::Integer(side.row.into())];
            (side.name.clone(), Value::List(ends.into()))
        });
        let sides = if self.sides.is_empty() { Value::Null } else { Value::map(sides) };
        let hangs = self.hangs.iter().map(|hung| {
            let at = [hung.entry.into(), hung.session.as_str().into()];
            (hung.name.clone(), Value::List(at.into()))
        });
        let hangs = if self.hangs.is_empty() { Value::Null } else { Value::map(hangs) };
        let lineage = self.lineage.as_ref().map_or(Value::Null, |(session, entry)| {
            let words = std::iter::once(session).chain(entry);
            Value::List(words.map(|word| word.as_str().into()).collect())
        });
        let fields = [
            ("foreign", self.foreign.clone().into()),
            ("name", self.name.clone().into()),
            ("bytes", Value::Integer(self.bytes as i64)),
            ("hash", self.hash.as_str().into()),
            ("size", Value::Integer(self.size as i64)),
            ("modified", Value::Integer(self.modified_ms)),
            ("branch", self.branch.as_str().into()),
            ("head", self.head.into()),
            ("orphans", if orphans.is_empty() { Value::Null } else { Value::List(orphans) }),
            ("hangs", hangs),
            ("lineage", lineage),
            ("values", Value::Integer(self.values as i64)),
            ("document", if self.is_document { Value::Bool(true) } else { Value::Null }),
            ("sides", sides),
            ("labels", named(&self.labels)),
        ];
        let record = Value::map(fields.into_iter().filter(|(_, value)| !value.is_null()));
        let mut pairs = match std::mem::take(meta) {
            Value::Map(pairs) => pairs,
            _ => Vec::new(),
        };
        pairs.retain(|(key, _)| key != "import");
        pairs.push(("import".into(), record));
        *meta = Value::Map(pairs);
    }
}
