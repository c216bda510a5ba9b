//! What a session has of the memory tree it was imported from.
//!
//! The event that closes the runs of an import says how the directory was: its files, which are
//! blobs, and where the turns of its transcript are. The next import goes on from it, and an export
//! writes the directory again, as long as the session's refs are as the import left them.

use std::collections::BTreeMap;

use crate::codec::Value;
use crate::dialect::Layout;
use crate::error::Result;
use crate::id::Id;
use crate::object::Run;
use crate::ops::imported::IMPORT;
use crate::repo::{read_event, restored};
use crate::session::View;
use crate::store::RefValue;

/// The directory, as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TreeRecord {
    /// The entries of the transcript's turns, in the file's order, and how they stood; `None` if
    /// the transcript is among the files, or there is none.
    pub(super) turns: Option<(Vec<Run>, Layout)>,
    /// The other files, by their paths in the directory.
    pub(super) files: Vec<(String, Id)>,
    /// The branches.
    pub(super) branches: Vec<KnownBranch>,
    /// How many turns came before each node was placed, by the node's id.
    pub(super) placed: Vec<(String, u64)>,
    /// The branch that was made the active one.
    pub(super) active: Option<String>,
    /// What the session's refs were then.
    pub(super) state: String,
}

/// A branch that follows one of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownBranch {
    /// Its name there.
    pub(super) foreign: String,
    /// Its name here.
    pub(super) name: String,
    /// Where the import left it.
    pub(super) head: Id,
}

impl TreeRecord {
    /// Finds the record of the last import of a session.
    pub(super) fn last(view: &View<'_>) -> Result<Option<TreeRecord>> {
        let mut next = view.target("events")?;
        while let Some(id) = next {
            let event = read_event(view.snapshot, &id)?;
            if event.label == IMPORT && event.body.get("tree").is_some() {
                return TreeRecord::read(view, event.body).map(Some);
            }
            next = event.priors.first().copied();
        }
        Ok(None)
    }

    fn read(view: &View<'_>, body: Value) -> Result<TreeRecord> {
        let (mut tree, mut layout) = (Value::Null, Vec::new());
        for (key, value) in body.as_map().unwrap_or_default() {
            match &**key {
                "tree" => tree = value.clone(),
                _ => layout.push((key.clone(), value.clone())),
            }
        }
        // Only these: the links to files are to stay links.
        let mut layout = Value::Map(layout);
        restored(view.snapshot, &mut layout)?;
        let rows = |key: &str| {
            let rows = tree.get(key).and_then(Value::as_list).unwrap_or_default().iter();
            rows.map(|row| row.as_list().unwrap_or_default())
        };
        let text = |key: &str| tree.get(key).and_then(Value::as_text).map(str::to_owned);
        let count = |value: &Value| value.as_i64().and_then(|count| u64::try_from(count).ok());
        let runs = rows("turns").filter_map(|row| match row {
            [Value::Link(tip), number] => Some(Run { tip: *tip, count: count(number)? }),
            _ => None,
        });
        let files = rows("files").filter_map(|row| match row {
            [Value::Text(path), Value::Link(id)] => Some((path.clone(), *id)),
            _ => None,
        });
        let branches = rows("branches").filter_map(|row| match row {
            [Value::Text(foreign), Value::Text(name), Value::Link(head)] => {
                Some(KnownBranch { foreign: foreign.clone(), name: name.clone(), head: *head })
            }
            _ => None,
        });
        let placed = rows("placed").filter_map(|row| match row {
            [Value::Text(node), number] => Some((node.clone(), count(number)?)),
            _ => None,
        });
        Ok(TreeRecord {
            turns: tree.get("turns").map(|_| (runs.collect(), Layout::read(&layout))),
            files: files.collect(),
            branches: branches.collect(),
            placed: placed.collect(),
            active: text("active"),
            state: text("state").unwrap_or_default(),
        })
    }

    /// Makes the body of the event.
    pub(super) fn body(&self) -> Value {
        let number = |count: u64| Value::Integer(i64::try_from(count).unwrap_or(i64::MAX));
        let list = |rows: Vec<Vec<Value>>| Value::List(rows.into_iter().map(Value::List).collect());
        let files = self.files.iter().map(|(path, id)| vec![path.as_str().into(), (*id).into()]);
        let branches = self.branches.iter().map(|branch| {
            vec![branch.foreign.as_str().into(), branch.name.as_str().into(), branch.head.into()]
        });
        let placed = self.placed.iter().map(|(id, count)| vec![id.as_str().into(), number(*count)]);
        let mut tree = vec![
            ("files", list(files.collect())),
            ("branches", list(branches.collect())),
            ("placed", list(placed.collect())),
            ("active", self.active.clone().into()),
            ("state", self.state.as_str().into()),
        ];
        let mut pairs = Vec::new();
        if let Some((runs, layout)) = &self.turns {
            let runs = runs.iter().map(|run| vec![run.tip.into(), number(run.count)]);
            tree.push(("turns", list(runs.collect())));
            pairs = match layout.body() {
                Value::Map(pairs) => pairs,
                _ => Vec::new(),
            };
        }
        pairs.push(("tree".into(), Value::map(tree)));
        Value::Map(pairs)
    }
}

/// Sums up a session's refs, all but its events.
pub(super) fn state(refs: &BTreeMap<String, RefValue>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (rest, value) in refs.iter().filter(|(rest, _)| *rest != "events") {
        hasher.update(format!("{rest}\n{value}\n").as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Lists a session's refs, by their names within it.
pub(super) fn refs_of(view: &View<'_>) -> Result<Vec<(String, RefValue)>> {
    let prefix = format!("sessions/{}/", view.id());
    let refs = view.snapshot.references(&prefix)?.into_iter();
    Ok(refs.map(|(name, value)| (name.as_str()[prefix.len()..].to_owned(), value)).collect())
}
