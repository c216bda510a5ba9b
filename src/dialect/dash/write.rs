//! Writes lines of Dash: a header, and a tree of flat entries.
//!
//! What Dash has no entry for is left out, and what hangs on it hangs on what was before it.

use crate::codec::Value;
use crate::dialect::told::{spent, told};
use crate::dialect::trail::{ShortIds, Trail};
use crate::dialect::{Leaving, Writer};
use crate::object::Session;
use crate::time;

/// The fields of the entries that are no messages, by their type.
const ENTRIES: [(&str, &[&str]); 2] = [
    ("branch_point", &["branchName", "description"]),
    ("agent_action", &["action", "agentId", "data"]),
];

/// Writes the lines of a file.
#[derive(Default)]
pub(super) struct Tree {
    trail: Trail,
    given: ShortIds,
}

impl Writer for Tree {
    fn has_tree(&self) -> bool {
        true
    }

    fn has_compaction(&self) -> bool {
        false
    }

    fn begin(&mut self, session: &Session) -> Vec<Value> {
        let mut header = vec![
            ("type", "session".into()),
            ("version", Value::Integer(1)),
            ("id", own_id(&session.sid)),
            ("timestamp", time::format(session.time).into()),
            ("cwd", session.cwd.as_deref().unwrap_or_default().into()),
        ];
        header.extend(session.name.clone().map(|name| ("name", name.into())));
        let fork = session.fork.as_ref();
        header.extend(fork.map(|fork| ("forkedFromSessionId", own_id(&fork.session))));
        vec![Value::map(header)]
    }

    fn known(&mut self, step: &Leaving, id: Option<&str>) {
        let ids: Vec<String> = id.into_iter().map(str::to_owned).collect();
        self.trail.note(step, &ids);
    }

    fn step(&mut self, step: &Leaving) -> Vec<Value> {
        let (kind, fields) = match &step.message {
            Some(message) => {
                let mut spent = spent(message);
                let usage = spent.iter().find(|(key, _)| *key == "usage").map(|(_, usage)| usage);
                let sums = [("tokens", "totalTokens"), ("cost", "cost")]
                    .map(|(key, sum)| usage.and_then(|usage| Some((key, usage.get(sum)?.clone()))));
                spent.extend(sums.into_iter().flatten());
                let metadata = (!spent.is_empty()).then(|| ("metadata", Value::map(spent)));
                ("message", told(message).into_iter().chain(metadata).collect::<Vec<_>>())
            }
            None => {
                let Some((kind, keys)) = ENTRIES.iter().find(|(kind, _)| *kind == step.label)
                else {
                    self.trail.note(step, &[]);
                    return Vec::new();
                };
                let fields =
                    keys.iter().filter_map(|key| Some((*key, step.body.get(key)?.clone())));
                (*kind, fields.collect())
            }
        };
        let id = self.given.give(step.id);
        let parent = self.trail.hangs_on(step).map_or(Value::Null, Value::from);
        self.trail.note(step, std::slice::from_ref(&id));
        let head = [
            ("type", kind.into()),
            ("id", id.into()),
            ("parentId", parent),
            ("timestamp", time::format(step.time).into()),
        ];
        vec![Value::map(head.into_iter().chain(fields))]
    }
}

/// Gives the id of a session as Dash writes it.
fn own_id(session: &str) -> Value {
    match session.starts_with("sess_") {
        true => session.into(),
        false => format!("sess_{session}").into(),
    }
}
