//! Which model is in force at an entry, and what else was set: read from the path backwards.
//!
//! Types are looked at first and bodies only where a type can say something, so a long path costs a
//! walk over its outline.

use crate::codec::Value;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Entry;
use crate::session::context::restored_entry;
use crate::session::message::{MESSAGE_LABELS, Message};
use crate::store::Snapshot;
use crate::walk;

/// The types of entries that say which model is in force, or how it is to work.
const STATE_LABELS: [&str; 4] =
    ["model_change", "thinking_level_change", "config_change", "compaction"];

/// What stands for the model where a program speaks in its place.
pub(crate) const NO_MODEL: &str = "<synthetic>";

/// How many messages are asked which model spoke. Who does not say it in so many never does.
const MESSAGES_ASKED_MAX: usize = 256;

/// What is set at an entry, as far as its path says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The model.
    pub model: Option<String>,
    /// Who serves it.
    pub provider: Option<String>,
    /// How much it is to think.
    pub thinking: Option<String>,
    /// The tools it has.
    pub tools: Option<Value>,
    /// Where it works.
    pub environment: Option<Value>,
}

impl Settings {
    /// Takes what an entry says, by its type and body.
    pub fn said(label: &str, body: &Value) -> Settings {
        let mut said = Settings::default();
        match label {
            "config_change" => {
                let body = body.get("payload").unwrap_or(body);
                let endpoint = body.get("endpoint").unwrap_or(&Value::Null);
                said.model =
                    text(body, &["model", "modelId"]).or_else(|| text(endpoint, &["model"]));
                said.provider = text(body, &["provider"]).or_else(|| text(endpoint, &["provider"]));
                said.thinking = text(body, &["thinking", "thinkingLevel", "effort"]);
                said.tools = value(body, &["tools"]);
                said.environment = value(body, &["environment", "environment_type"]);
            }
            "model_change" | "thinking_level_change" => {
                let body = body.get("data").filter(|data| data.as_map().is_some()).unwrap_or(body);
                said.model = text(body, &["model", "modelId", "newModel"]);
                said.provider = text(body, &["provider"]);
                said.thinking = text(body, &["thinking", "thinkingLevel", "reasoningEffort"]);
            }
            "compaction" => {
                let state = body.get("state").unwrap_or(&Value::Null);
                said.model = text(state, &["model"]);
                said.provider = text(state, &["provider"]);
                said.thinking = text(state, &["thinking"]);
            }
            label => {
                let message = Message::read(label, body);
                said = message.as_ref().map(Settings::said_by).unwrap_or_default();
            }
        }
        said
    }

    /// Takes what a message says: which model spoke.
    fn said_by(message: &Message) -> Settings {
        let is_made_up = message.model.as_deref() == Some(NO_MODEL);
        match message.role == "assistant" && !is_made_up {
            true => Settings {
                model: message.model.clone(),
                provider: message.provider.clone(),
                ..Settings::default()
            },
            false => Settings::default(),
        }
    }

    /// Takes what something older says, where nothing newer said it.
    fn fill(&mut self, older: Settings) {
        if self.model.is_none() {
            // A provider may change alone; it then serves the model that was in force.
            self.provider = self.provider.take().or(older.provider);
            self.model = older.model;
        }
        self.thinking = self.thinking.take().or(older.thinking);
        self.tools = self.tools.take().or(older.tools);
        self.environment = self.environment.take().or(older.environment);
    }

    /// Gives model and provider as people write them: `anthropic/claude-haiku-4`.
    pub fn full_model(&self) -> Option<String> {
        let model = self.model.as_ref()?;
        Some(match &self.provider {
            Some(provider) => format!("{provider}/{model}"),
            None => model.clone(),
        })
    }

    /// Gives model, provider and thinking as a compaction keeps them.
    pub fn state(&self) -> Value {
        let fields =
            [("model", &self.model), ("provider", &self.provider), ("thinking", &self.thinking)];
        let known = fields.into_iter().filter_map(|(key, value)| Some((key, value.clone()?)));
        Value::map(known.map(|(key, value)| (key, Value::from(value))))
    }
}

/// Which settings are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Model and provider.
    pub model: bool,
    /// How much it is to think.
    pub thinking: bool,
    /// The tools.
    pub tools: bool,
    /// Where it works.
    pub environment: bool,
}

impl Wanted {
    /// Drops what is found.
    fn without(self, found: &Settings) -> Wanted {
        Wanted {
            model: self.model && found.model.is_none(),
            thinking: self.thinking && found.thinking.is_none(),
            tools: self.tools && found.tools.is_none(),
            environment: self.environment && found.environment.is_none(),
        }
    }
}

/// A search from an entry backwards: the newest word counts.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) found: Settings,
    wanted: Wanted,
    /// How many messages were asked.
    asked: usize,
}

impl Search {
    pub(super) fn new(wanted: Wanted) -> Search {
        Search { wanted, ..Search::default() }
    }

    /// Says whether an entry of this type is to be read, which then counts as asked.
    pub(super) fn asks(&mut self, label: &str) -> bool {
        let can_ask = self.wanted.model && self.asked < MESSAGES_ASKED_MAX;
        let speaks = can_ask && MESSAGE_LABELS.contains(&label);
        self.asked += usize::from(speaks);
        !self.is_over() && (speaks || STATE_LABELS.contains(&label))
    }

    /// Takes what the next older entry says.
    pub(super) fn learn(&mut self, entry: &Entry) {
        if self.is_over() {
            return;
        }
        self.fill(Settings::said(&entry.label, &entry.body));
        let state = entry.body.get("state").filter(|state| !state.is_null());
        if entry.label == "compaction" && state.is_some() {
            // It has what was known before it.
            (self.wanted.model, self.wanted.thinking) = (false, false);
        }
    }

    /// Takes what the next older entry says, which is a message.
    pub(super) fn learn_of(&mut self, message: &Message) {
        if self.wanted.model {
            self.fill(Settings::said_by(message));
        }
    }

    fn fill(&mut self, older: Settings) {
        self.found.fill(older);
        self.wanted = self.wanted.without(&self.found);
    }

    /// Says whether all is known that is wanted.
    pub(super) fn is_over(&self) -> bool {
        self.wanted == Wanted::default()
    }
}

/// Finds what is set at an entry. The walk ends where all that is wanted is known.
pub fn settings(snapshot: &dyn Snapshot, at: Id, wanted: Wanted) -> Result<Settings> {
    let mut search = Search::new(wanted);
    for id in walk::path(snapshot, at) {
        let id = id?;
        let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        if search.asks(&topology.label) {
            search.learn(&restored_entry(snapshot, &id)?);
        }
        if search.is_over() {
            break;
        }
    }
    Ok(search.found)
}

fn text(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| value.get(key)).and_then(Value::as_text).map(str::to_owned)
}

fn value(body: &Value, keys: &[&str]) -> Option<Value> {
    keys.iter().find_map(|key| body.get(key)).filter(|value| !value.is_null()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;

    const ALL: Wanted = Wanted { model: true, thinking: true, tools: true, environment: true };

    fn at_end(lines: &[&str], wanted: Wanted) -> Settings {
        let repo = Repo::in_memory();
        let pin = session::pin(&repo, Some("s"), None, 0, "tester").unwrap();
        let bodies = lines.iter().map(|line| json::parse(line.as_bytes()).unwrap()).collect();
        let ids = session::append(&repo, &pin, bodies, Durability::Full, 0).unwrap();
        settings(&*repo.snapshot().unwrap(), *ids.last().unwrap(), wanted).unwrap()
    }

    #[test]
    fn the_newest_word_counts() {
        let lines = [
            r#"{"type":"config_change","endpoint":{"model":"a","provider":"p"},
               "environment_type":"coding"}"#,
            r#"{"type":"thinking_level_change","thinkingLevel":"low"}"#,
            r#"{"role":"assistant","content":"x","metadata":{"model":"b","provider":"q"}}"#,
            r#"{"role":"user","content":"y","model":"of nobody"}"#,
            r#"{"type":"config_change","tools":["ls"],"thinking":"high"}"#,
        ];
        let found = at_end(&lines, ALL);
        assert_eq!(found.full_model().as_deref(), Some("q/b"));
        assert_eq!(found.thinking.as_deref(), Some("high"));
        assert_eq!(found.tools, Some(vec![Value::from("ls")].into()));
        assert_eq!(found.environment, Some("coding".into()));
        assert_eq!(at_end(&lines[..2], ALL).full_model().as_deref(), Some("p/a"));
        let alone = [lines[0], r#"{"type":"config_change","provider":"q"}"#];
        assert_eq!(at_end(&alone, ALL).full_model().as_deref(), Some("q/a"));
        let codex = r#"{"type":"config_change","payload":{"model":"c","effort":"xhigh"}}"#;
        let found = at_end(&[lines[0], codex], ALL);
        assert_eq!(
            (found.full_model().as_deref(), found.thinking.as_deref()),
            (Some("c"), Some("xhigh"))
        );
        let none = at_end(&lines, Wanted { thinking: true, ..Wanted::default() });
        assert_eq!(none.model, None, "nobody asked");
    }

    #[test]
    fn a_change_may_stand_under_its_data() {
        let change = r#"{"type":"model_change","data":{"newModel":"m","reasoningEffort":"high"}}"#;
        let found = at_end(&[change], ALL);
        let expected = (Some("m"), Some("high"));
        assert_eq!((found.model.as_deref(), found.thinking.as_deref()), expected);
    }

    #[test]
    fn a_compaction_tells_what_was_before_it() {
        let lines = [
            r#"{"type":"model_change","modelId":"hidden"}"#,
            r#"{"type":"compaction","summary":"s","state":{"thinking":"low"}}"#,
            r#"{"role":"user","content":"y"}"#,
        ];
        let found = at_end(&lines, Wanted { model: true, thinking: true, ..Wanted::default() });
        assert_eq!((found.model, found.thinking.as_deref()), (None, Some("low")));
    }
}
