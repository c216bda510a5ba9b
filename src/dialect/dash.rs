//! Dash: a header, then a tree of flat entries with `id` and `parentId`.
//!
//! A branch point names the branch that goes on from it. A label names another entry. Both are part
//! of the tree, as what agents do is.

mod write;

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Label, Lineage, Parent, Source, Step, Voice, Writer};

/// Dash.
pub(super) struct Dash;

impl Dialect for Dash {
    fn name(&self) -> &'static str {
        "dash"
    }

    fn title(&self) -> &'static str {
        "Dash"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        // Another dialect's file may have the id of one of these; it has what is said one deeper.
        if first.iter().any(|value| value.get("message").is_some()) {
            return false;
        }
        first.iter().any(|value| match text(value, "type") {
            Some("session") => text(value, "id").is_some_and(|id| id.starts_with("sess_")),
            Some("message") => value.get("parentId").is_some() && value.get("role").is_some(),
            Some("branch_point") => value.get("branchName").is_some(),
            Some("agent_action") => value.get("agentId").is_some(),
            _ => false,
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        let when = time(value, "timestamp");
        let label = text(value, "type").unwrap_or("unknown");
        let id = text(value, "id").map(str::to_owned);
        match (label, &id) {
            ("session", _) => {
                begin(value, source);
                return Step::beside(label, when);
            }
            ("branch_point", Some(id)) => {
                let name = text(value, "branchName").map(str::to_owned);
                source.branches.push(Label { name, target: id.clone() });
            }
            ("label", _) => {
                if let Some(target) = either(value, &["targetId", "entryId"]) {
                    let name = text(value, "label").map(str::to_owned);
                    source.labels.push(Label { name, target: target.to_owned() });
                }
            }
            _ => {}
        }
        let parent = match value.get("parentId") {
            Some(Value::Text(parent)) => Parent::Id(parent.clone()),
            Some(_) => Parent::Root,
            None => Parent::Before,
        };
        let voice = match text(value, "role") {
            Some("user") if label == "message" => Voice::Person,
            Some("assistant") if label == "message" => Voice::Model,
            _ => Voice::None,
        };
        Step { label: label.to_owned(), time: when, id, parent, voice }
    }

    fn writer(&self) -> Option<Box<dyn Writer>> {
        Some(Box::<write::Tree>::default())
    }
}

/// Notes what the header says.
fn begin(header: &Value, source: &mut Source) {
    note(&mut source.foreign, text(header, "id"));
    note(&mut source.name, text(header, "name"));
    note(&mut source.cwd, text(header, "cwd"));
    source.time = time(header, "timestamp").or(source.time);
    let version = header.get("version").and_then(Value::as_i64);
    source.version = version.and_then(|version| version.try_into().ok()).unwrap_or(0);
    let parent = either(header, &["forkedFromSessionId", "forkedFrom", "parentSession"]);
    let entry = either(header, &["forkedFromEntryId"]).map(str::to_owned);
    source.lineage = parent.map(|session| Lineage {
        session: session.to_owned(),
        entry,
        reason: None,
        metadata: Value::Null,
    });
}

fn either<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| text(value, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::told::tests::{
        check_links, conversation, read, recognised_as, settings, written,
    };
    use crate::object::{Fork, Session};

    const FILE: &str = r#"
{"type":"session","version":1,"id":"sess_abc123","timestamp":"2024-01-01T00:00:00.000Z",
   "cwd":"/project"}
{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2024-01-01T00:00:01.000Z",
   "role":"user","content":"Hello"}
{"type":"message","id":"e5f6g7h8","parentId":"a1b2c3d4","timestamp":"2024-01-01T00:00:02.000Z",
   "role":"assistant","content":"Hi!","metadata":{"model":"kimi-k2.5","provider":"moonshot",
   "cost":0.001,"tokens":150}}
{"type":"branch_point","id":"i9j0k1l2","parentId":"e5f6g7h8",
   "timestamp":"2024-01-01T00:00:03.000Z","branchName":"branch-a"}
{"type":"agent_action","id":"m1","parentId":"i9j0k1l2","timestamp":"2024-01-01T00:00:04.000Z",
   "action":"spawn","agentId":"agent-123"}
{"type":"label","id":"m2","parentId":"m1","timestamp":"2024-01-01T00:00:05.000Z",
   "targetId":"a1b2c3d4","label":"checkpoint-1"}
{"type":"label","id":"m3","parentId":"m2","timestamp":"2024-01-01T00:00:06.000Z",
   "targetId":"a1b2c3d4"}"#;

    #[test]
    fn a_tree_with_branches_and_labels_is_read() {
        assert_eq!(recognised_as(FILE), Some("dash"));
        check_links(&Dash, FILE);
        let (steps, source) = read(&Dash, FILE);
        let hangs = steps.iter().map(|(step, _)| (step.label.as_str(), step.parent.clone()));
        let on = |id: &str| Parent::Id(id.to_owned());
        let expected = [
            ("session", Parent::Beside),
            ("message", Parent::Root),
            ("message", on("a1b2c3d4")),
            ("branch_point", on("e5f6g7h8")),
            ("agent_action", on("i9j0k1l2")),
            ("label", on("m1")),
            ("label", on("m2")),
        ];
        assert!(hangs.eq(expected));
        assert_eq!(steps[2].0.voice, Voice::Model);
        assert_eq!(steps[1].0.time, Some(1_704_067_201_000));
        assert_eq!(source.foreign.as_deref(), Some("sess_abc123"));
        assert_eq!((source.cwd.as_deref(), source.version), (Some("/project"), 1));
        let named = |name: Option<&str>, target: &str| Label {
            name: name.map(str::to_owned),
            target: target.to_owned(),
        };
        assert_eq!(source.branches, [named(Some("branch-a"), "i9j0k1l2")]);
        let labels = [named(Some("checkpoint-1"), "a1b2c3d4"), named(None, "a1b2c3d4")];
        assert_eq!(source.labels, labels);
        assert_eq!(settings(&Dash, FILE).full_model().as_deref(), Some("moonshot/kimi-k2.5"));
    }

    #[test]
    fn a_fork_names_where_it_comes_from() {
        let header = r#"{"type":"session","version":1,"id":"sess_d","timestamp":"","name":"n",
            "forkedFromSessionId":"sess_a","forkedFromEntryId":"a1"}"#;
        let source = read(&Dash, &header.replace('\n', "")).1;
        let lineage = source.lineage.unwrap();
        assert_eq!((lineage.session.as_str(), lineage.entry.as_deref()), ("sess_a", Some("a1")));
        assert_eq!(source.name.as_deref(), Some("n"));
    }

    #[test]
    fn what_is_written_says_the_same_and_hangs_the_same() {
        let mut session = Session::new("s1", 7);
        session.name = Some("mine".to_owned());
        session.fork = Some(Fork {
            session: "root".to_owned(),
            entry: None,
            reason: None,
            metadata: Value::Null,
        });
        let mut steps = conversation();
        // The last hangs on the second; the one before it is left out, and nothing is lost by it.
        let (second, last) = (steps[1].id, steps.len() - 1);
        steps[last].parent = Some(second);
        let text = written(&Dash, &session, &steps);
        assert_eq!(recognised_as(&text), Some("dash"));
        let (read, source) = read(&Dash, &text);
        let said: Vec<_> = read.iter().filter_map(|(_, message)| message.clone()).collect();
        let expected: Vec<_> = steps.iter().filter_map(|step| step.message.clone()).collect();
        assert_eq!(said, expected);
        assert_eq!(source.foreign.as_deref(), Some("sess_s1"));
        assert_eq!(source.name.as_deref(), Some("mine"));
        assert_eq!(source.lineage.unwrap().session, "sess_root");
        let (first, end) = (&read[1].0, &read[read.len() - 1].0);
        assert_eq!(first.parent, Parent::Root);
        let second = read[2].0.id.clone().unwrap();
        assert_eq!(second.len(), 8);
        assert_eq!(
            (read[3].0.parent.clone(), &end.parent),
            (Parent::Id(second.clone()), &Parent::Id(second))
        );
    }
}
