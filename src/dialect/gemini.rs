//! Gemini CLI: one document with a list of messages, or a header and a message a line.
//!
//! Lines know two more things. `$set` says something new of the session; `$rewindTo` takes back a
//! message and all behind it, so that what follows hangs where that message hung. A message that is
//! told again, as when its tools have answered, takes the place of what it was.
//!
//! What the program says to people (`info`, `error`) is beside the tree. So is a list of messages
//! within a `$set`, which is what the model is shown from then on.

use crate::codec::Value;
use crate::dialect::fields::{note, text, time};
use crate::dialect::{Dialect, Parent, Source, Step, Voice};

/// Gemini CLI.
pub(super) struct Gemini;

/// The ids on a path that may be taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    path: Vec<String>,
    /// The last that was read, on the path or taken back.
    last: Option<String>,
}

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn recognise(&self, first: &[Value]) -> bool {
        first.iter().any(|value| {
            let is_header = text(value, "sessionId").is_some()
                && text(value, "projectHash").is_some()
                && value.get("type").is_none();
            is_header || text(value, "type") == Some("gemini")
        })
    }

    fn read(&self, value: &Value, source: &mut Source) -> Step {
        if let Some(target) = value.get("$rewindTo") {
            source.trail.rewind(target.as_text());
            return Step::beside("rewind", None);
        }
        let Some(kind) = text(value, "type") else {
            header(value.get("$set").unwrap_or(value), source);
            return Step::beside("session", None);
        };
        let time = time(value, "timestamp");
        let voice = match kind {
            "user" => Voice::Person,
            "gemini" => Voice::Model,
            kind => return Step::beside(kind, time),
        };
        note(&mut source.model, text(value, "model"));
        let id = text(value, "id");
        Step {
            label: "message".to_owned(),
            time,
            id: id.map(str::to_owned),
            parent: id.map_or(Parent::Before, |id| source.trail.step(id)),
            voice,
        }
    }
}

impl Trail {
    /// Takes back a message and all behind it; all, if it is not there.
    fn rewind(&mut self, target: Option<&str>) {
        let place = self.path.iter().rposition(|id| Some(id.as_str()) == target);
        self.path.truncate(place.unwrap_or(0));
    }

    /// Gives where the next message hangs.
    fn step(&mut self, id: &str) -> Parent {
        if self.path.last().is_some_and(|last| last == id) {
            self.path.pop();
        }
        let parent = match self.path.last() {
            None => Parent::Root,
            last if last == self.last.as_ref() => Parent::Before,
            Some(last) => Parent::Id(last.clone()),
        };
        self.path.push(id.to_owned());
        self.last = Some(id.to_owned());
        parent
    }
}

/// Notes what a header or a change of it says of the session.
fn header(value: &Value, source: &mut Source) {
    note(&mut source.foreign, text(value, "sessionId"));
    note(&mut source.name, text(value, "summary"));
    let directories = value.get("directories").and_then(Value::as_list).unwrap_or_default();
    note(&mut source.cwd, directories.first().and_then(Value::as_text));
    source.time = source.time.or_else(|| time(value, "startTime"));
}

#[cfg(test)]
mod tests {
    use crate::dialect::tests::{check, source};

    const HEADER: &str = r#"{"sessionId":"s1","projectHash":"h","messages":[],
        "startTime":"2026-01-01T00:00:00Z","directories":["/w"]}"#;

    #[test]
    fn what_is_taken_back_makes_branches() {
        let user = |id: &str| format!(r#"{{"id":"{id}","type":"user","content":"x"}}"#);
        let model = |id: &str| format!(r#"{{"id":"{id}","type":"gemini","content":"y"}}"#);
        check(
            "gemini",
            &[
                (HEADER, "session - beside none"),
                (&user("a"), "message a root person"),
                (r#"{"type":"info","id":"i","content":"update"}"#, "info - beside none"),
                (&model("b"), "message b before model"),
                (&model("b"), "message b on a model"),
                (&user("c"), "message c before person"),
                (r#"{"$set":{"summary":"named"}}"#, "session - beside none"),
                (r#"{"$rewindTo":"c"}"#, "rewind - beside none"),
                (&user("d"), "message d on b person"),
                (&model("e"), "message e before model"),
                (r#"{"$rewindTo":"a"}"#, "rewind - beside none"),
                (&user("f"), "message f root person"),
                (r#"{"$rewindTo":"nowhere"}"#, "rewind - beside none"),
                (&user("g"), "message g root person"),
                (r#"{"type":"user","content":"without an id"}"#, "message - before person"),
            ],
        );
    }

    #[test]
    fn the_header_tells_of_the_session() {
        let named = r#"{"$set":{"summary":"named","startTime":"2027-01-01T00:00:00Z"}}"#;
        let said = r#"{"id":"a","type":"gemini","content":"x","model":"m"}"#;
        let source = source("gemini", &[HEADER, named, said]);
        assert_eq!(source.foreign.as_deref(), Some("s1"));
        assert_eq!((source.cwd.as_deref(), source.name.as_deref()), (Some("/w"), Some("named")));
        assert_eq!((source.model.as_deref(), source.time), (Some("m"), Some(1_767_225_600_000)));
    }
}
