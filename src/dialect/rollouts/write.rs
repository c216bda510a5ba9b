//! Writes lines of rollouts: a header, and nested messages along one path.

use crate::codec::Value;
use crate::dialect::told::{set, spent, told};
use crate::dialect::{Leaving, Writer};
use crate::object::Session;
use crate::time;

/// Writes the lines of a file.
#[derive(Default)]
pub(super) struct Lines;

impl Writer for Lines {
    fn has_tree(&self) -> bool {
        false
    }

    fn has_compaction(&self) -> bool {
        false
    }

    fn begin(&mut self, session: &Session) -> Vec<Value> {
        let known = |text: &Option<String>| text.as_deref().unwrap_or_default().into();
        let mut header = vec![
            ("type", "session".into()),
            ("id", session.sid.as_str().into()),
            ("timestamp", time::format(session.time).into()),
            ("cwd", known(&session.cwd)),
            ("provider", known(&session.provider)),
            ("model", known(&session.model)),
        ];
        if let Some(fork) = &session.fork {
            header.push(("parent_id", fork.session.as_str().into()));
            header.extend(fork.reason.clone().map(|reason| ("branch_reason", reason.into())));
            let metadata = (!fork.metadata.is_null()).then(|| fork.metadata.clone());
            header.extend(metadata.map(|metadata| ("branch_metadata", metadata)));
        }
        vec![Value::map(header)]
    }

    fn step(&mut self, step: &Leaving) -> Vec<Value> {
        let body = match &step.message {
            Some(message) => {
                let message = told(message).into_iter().chain(spent(message));
                ("message", Value::map(message))
            }
            None => {
                let set = set(step);
                let names = [("provider", set.provider), ("model", set.model)];
                let names = names.into_iter().filter_map(|(key, name)| Some((key, name?.into())));
                let endpoint: Vec<(&str, Value)> = names.collect();
                if endpoint.is_empty() {
                    return Vec::new();
                }
                ("endpoint", Value::map(endpoint))
            }
        };
        let kind = if body.0 == "message" { "message" } else { "config_change" };
        let head = [("type", kind.into()), ("timestamp", time::format(step.time).into())];
        vec![Value::map(head.into_iter().chain([body]))]
    }
}
