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

/// What is set at an entry, as far as its path says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The model.
    pub model: Option<String>,
    /// Who serves it; said where the model is said.
    pub provider: Option<String>,
    /// How much it is to think.
    pub thinking: Option<String>,
    /// The tools it has.
    pub tools: Option<Value>,
    /// Where it works.
    pub environment: Option<Value>,
}

impl Settings {
    /// Takes what an entry says.
    fn said(entry: &Entry) -> Settings {
        let body = &entry.body;
        let mut said = Settings::default();
        match entry.label.as_str() {
            "config_change" => {
                let endpoint = body.get("endpoint").unwrap_or(&Value::Null);
                said.model =
                    text(body, &["model", "modelId"]).or_else(|| text(endpoint, &["model"]));
                said.provider = text(body, &["provider"]).or_else(|| text(endpoint, &["provider"]));
                said.thinking = text(body, &["thinking", "thinkingLevel"]);
                said.tools = value(body, &["tools"]);
                said.environment = value(body, &["environment", "environment_type"]);
            }
            "model_change" | "thinking_level_change" => {
                said.model = text(body, &["model", "modelId"]);
                said.provider = text(body, &["provider"]);
                said.thinking = text(body, &["thinking", "thinkingLevel"]);
            }
            "compaction" => {
                let state = body.get("state").unwrap_or(&Value::Null);
                said.model = text(state, &["model"]);
                said.provider = text(state, &["provider"]);
                said.thinking = text(state, &["thinking"]);
            }
            label => {
                let message = Message::read(label, body);
                if let Some(message) = message.filter(|message| message.role == "assistant") {
                    (said.model, said.provider) = (message.model, message.provider);
                }
            }
        }
        said
    }

    /// Takes what something older says, where nothing newer said it.
    fn fill(&mut self, older: Settings) {
        if self.model.is_none() && older.model.is_some() {
            (self.model, self.provider) = (older.model, older.provider);
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

/// Finds what is set at an entry.
pub fn settings(snapshot: &dyn Snapshot, at: Id) -> Result<Settings> {
    let mut settings = Settings::default();
    for id in walk::path(snapshot, at) {
        let id = id?;
        let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        let label = &*topology.label;
        let speaks = settings.model.is_none() && MESSAGE_LABELS.contains(&label);
        if speaks || STATE_LABELS.contains(&label) {
            settings.fill(Settings::said(&restored_entry(snapshot, &id)?));
        }
        let Settings { model, thinking, tools, environment, .. } = &settings;
        if model.is_some() && thinking.is_some() && tools.is_some() && environment.is_some() {
            break;
        }
    }
    Ok(settings)
}

fn text(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| value.get(key)).and_then(Value::as_text).map(str::to_owned)
}

fn value(body: &Value, keys: &[&str]) -> Option<Value> {
    keys.iter().find_map(|key| body.get(key)).filter(|value| !value.is_null()).cloned()
}
