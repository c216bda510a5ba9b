//! Writing pi's files, version 3.
//!
//! | step | entry |
//! | --- | --- |
//! | message of a person or a model | message; each result of a tool is a message of its own |
//! | message in another role, custom message | custom message |
//! | bash execution | message, if it says the command |
//! | compaction; a summary of any other kind | compaction; branch summary |
//! | model, thinking, config change | what it says of model and thinking |
//! | label, if its target was written | label |
//! | custom, agent action, branch point | custom, which no model is shown |
//! | all else | left out |

use std::collections::HashMap;

use crate::codec::Value;
use crate::dialect::fields::{is_true, text};
use crate::dialect::parts::{Part, parts, signature};
use crate::dialect::trail::{ShortIds, Trail, derived};
use crate::dialect::{Leaving, Writer};
use crate::id::{Id, Kind};
use crate::object::Session;
use crate::session::{Answer, Block, Image, Message, Settings};
use crate::time;

/// What stands where pi wants a name that nobody knows.
const UNKNOWN: &str = "unknown";

/// Writes a file.
#[derive(Default)]
pub(super) struct PiWriter {
    trail: Trail,
    given: ShortIds,
    /// The ids that steps had in the file they came from, and those they have now.
    renamed: HashMap<String, String>,
    /// The tools that were called, by the ids of the calls.
    tools: HashMap<String, String>,
    /// Who serves the model, as far as is known.
    provider: Option<String>,
    /// Compactions whose summary is the message behind them, and the first entry they keep.
    cuts: HashMap<Id, Option<String>>,
}

/// The type of an entry, and its own fields.
type Fields = (&'static str, Vec<(&'static str, Value)>);

impl Writer for PiWriter {
    fn has_tree(&self) -> bool {
        true
    }

    fn has_compaction(&self) -> bool {
        true
    }

    fn begin(&mut self, session: &Session) -> Vec<Value> {
        self.provider = session.provider.clone();
        let mut header = vec![
            ("type", Value::from("session")),
            ("version", 3.into()),
            ("id", session.sid.as_str().into()),
            ("timestamp", time::format(session.time).into()),
            ("cwd", session.cwd.as_deref().unwrap_or_default().into()),
        ];
        if let Some(fork) = &session.fork {
            header.push(("parentSession", fork.session.as_str().into()));
        }
        let mut values = vec![Value::map(header)];
        if let Some(name) = &session.name {
            let id = self.given.give(Id::of(Kind::Session, session.sid.as_bytes()));
            let fields = vec![("name", Value::from(name.as_str()))];
            values.push(entry("session_info", &id, None, session.time, fields));
        }
        values
    }

    fn known(&mut self, step: &Leaving, id: Option<&str>) {
        let ids: Vec<String> = id.into_iter().map(str::to_owned).collect();
        self.trail.note(step, &ids);
    }

    fn step(&mut self, step: &Leaving) -> Vec<Value> {
        let cut = self.cut(step);
        let entries = match &cut {
            Some(_) if step.label == "compaction" && step.message.is_none() => Vec::new(),
            Some(_) => self.behind_cut(step),
            None => self.entries(step),
        };
        if let Some(first) = cut.as_ref().filter(|_| entries.is_empty()) {
            self.cuts.insert(step.id, first.clone());
        }
        let mut parent = self.trail.hangs_on(step).map(str::to_owned);
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        for (place, (kind, mut fields)) in entries.into_iter().enumerate() {
            let id = self.given.give(match place {
                0 => step.id,
                place => derived(&step.id, &place.to_le_bytes()),
            });
            if kind == "compaction" {
                // One that keeps nothing keeps from itself on.
                let first = cut.clone().flatten().unwrap_or_else(|| id.clone());
                fields.push(("firstKeptEntryId", first.into()));
            }
            values.push(entry(kind, &id, parent.as_deref(), step.time, fields));
            parent = Some(id.clone());
            ids.push(id);
        }
        self.trail.note(step, &ids);
        let foreign = text(&step.body, "id").or_else(|| text(&step.body, "uuid"));
        if let (Some(foreign), Some(id)) = (foreign, ids.first()) {
            self.renamed.insert(foreign.to_owned(), id.clone());
        }
        values
    }
}

impl PiWriter {
    /// Says whether a step compacts, or is the first behind a compaction that was not written yet:
    /// then, which entry is the first that is kept.
    fn cut(&self, step: &Leaving) -> Option<Option<String>> {
        if step.label != "compaction" {
            return step.parent.and_then(|parent| self.cuts.get(&parent)).cloned();
        }
        let kept = self.trail.kept(step);
        Some(kept.iter().find_map(|kept| self.trail.first_of(kept)).map(str::to_owned))
    }

    /// Makes the entries of a step that compacts, or of one behind a compaction without a summary.
    fn behind_cut(&mut self, step: &Leaving) -> Vec<Fields> {
        let is_summary = step.label == "compaction" || is_true(&step.body, "isCompactSummary");
        if is_summary {
            return vec![compaction(step, step.message.as_ref())];
        }
        let mut entries = self.entries(step);
        if !entries.is_empty() {
            entries.insert(0, compaction(step, None));
        }
        entries
    }

    /// Makes the entries of any other step.
    fn entries(&mut self, step: &Leaving) -> Vec<Fields> {
        match (step.label.as_str(), &step.message) {
            ("branch_summary" | "stack_summary" | "stack_pop" | "merge", Some(message)) => {
                vec![self.summary(step, message)]
            }
            ("bash_execution", message) => bash(step, message.as_ref()).into_iter().collect(),
            ("custom_message", Some(message)) => vec![custom_message_of(step, message)],
            ("model_change" | "thinking_level_change" | "config_change", _) => self.settings(step),
            ("label", _) => self.label(&step.body).into_iter().collect(),
            ("custom" | "agent_action" | "branch_point", _) => vec![custom(step)],
            (_, Some(message)) => self.message(step, message),
            _ => Vec::new(),
        }
    }

    fn message(&mut self, step: &Leaving, message: &Message) -> Vec<Fields> {
        let mut entries = Vec::new();
        for part in parts(message) {
            let payloads = match (part, message.role.as_str()) {
                (Part::Answered(answers), _) => {
                    answers.into_iter().map(|answer| self.answer(step, answer)).collect()
                }
                (Part::Said(blocks), "assistant") => vec![self.assistant(step, message, &blocks)],
                (Part::Said(blocks), "user") => vec![Value::map([
                    ("role", Value::from("user")),
                    ("content", content(&step.body, &blocks)),
                    ("timestamp", step.time.into()),
                ])],
                (Part::Said(blocks), role) => {
                    entries.push(custom_message(step, role, &blocks));
                    continue;
                }
            };
            let wrapped = payloads.into_iter().map(|said| ("message", vec![("message", said)]));
            entries.extend(wrapped);
        }
        entries
    }

    fn assistant(&mut self, step: &Leaving, message: &Message, blocks: &[&Block]) -> Value {
        for call in message.calls() {
            self.tools.insert(call.id.clone(), call.name.clone());
        }
        let stop = if message.calls().next().is_some() { "toolUse" } else { "stop" };
        let made_by = |model: &str| model.starts_with("claude").then_some("anthropic");
        let provider = message.provider.as_deref();
        let provider = provider.or_else(|| made_by(message.model.as_deref()?));
        let provider = provider.or(self.provider.as_deref()).unwrap_or(UNKNOWN);
        let mut fields = vec![
            ("role", Value::from("assistant")),
            ("content", content(&step.body, blocks)),
            ("api", api(provider).into()),
            ("provider", provider.into()),
        ];
        fields.extend(message.model.as_deref().map(|model| ("model", model.into())));
        fields.extend([
            ("usage", usage(message)),
            ("stopReason", stop.into()),
            ("timestamp", step.time.into()),
        ]);
        Value::map(fields)
    }

    fn answer(&self, step: &Leaving, answer: &Answer) -> Value {
        let tool = answer.name.as_ref().or_else(|| self.tools.get(&answer.call));
        Value::map([
            ("role", Value::from("toolResult")),
            ("toolCallId", answer.call.as_str().into()),
            ("toolName", tool.map_or(UNKNOWN, String::as_str).into()),
            ("content", answered(answer)),
            ("isError", answer.is_error.into()),
            ("timestamp", step.time.into()),
        ])
    }

    fn summary(&self, step: &Leaving, message: &Message) -> Fields {
        let from = text(&step.body, "fromId").and_then(|from| self.renamed.get(from));
        let from = from.map(String::as_str).or_else(|| self.trail.value_at(step.parent));
        let from = Value::from(from.unwrap_or("root"));
        ("branch_summary", vec![("fromId", from), ("summary", message.text().into())])
    }

    fn settings(&mut self, step: &Leaving) -> Vec<Fields> {
        let said = Settings::said(&step.label, &step.body);
        let mut entries = Vec::new();
        self.provider = said.provider.or(self.provider.take());
        if let Some(model) = said.model {
            let provider = self.provider.as_deref().unwrap_or(UNKNOWN);
            let fields = vec![("provider", Value::from(provider)), ("modelId", model.into())];
            entries.push(("model_change", fields));
        }
        if let Some(thinking) = said.thinking {
            entries.push(("thinking_level_change", vec![("thinkingLevel", thinking.into())]));
        }
        entries
    }

    fn label(&self, body: &Value) -> Option<Fields> {
        let target = self.renamed.get(text(body, "targetId")?)?;
        let mut fields = vec![("targetId", Value::from(target.as_str()))];
        fields.extend(text(body, "label").map(|label| ("label", label.into())));
        Some(("label", fields))
    }
}

fn entry(
    kind: &str,
    id: &str,
    parent: Option<&str>,
    time_ms: i64,
    fields: Vec<(&'static str, Value)>,
) -> Value {
    let envelope = [
        ("type", Value::from(kind)),
        ("id", id.into()),
        ("parentId", parent.into()),
        ("timestamp", time::format(time_ms).into()),
    ];
    Value::map(envelope.into_iter().chain(fields))
}

fn compaction(step: &Leaving, message: Option<&Message>) -> Fields {
    let tokens = step.body.get("tokensBefore").and_then(Value::as_i64).unwrap_or(0);
    let summary = message.map(Message::text).unwrap_or_default();
    let mut fields = vec![("summary", Value::from(summary)), ("tokensBefore", tokens.into())];
    fields.extend(step.body.get("details").map(|details| ("details", details.clone())));
    ("compaction", fields)
}

fn custom_message(step: &Leaving, role: &str, blocks: &[&Block]) -> Fields {
    let payload = step.body.get("message").unwrap_or(&step.body);
    let fields = vec![
        ("customType", text(payload, "customType").unwrap_or(role).into()),
        ("content", content(&step.body, blocks)),
        ("display", true.into()),
    ];
    ("custom_message", fields)
}

fn custom_message_of(step: &Leaving, message: &Message) -> Fields {
    custom_message(step, &step.label, &message.blocks.iter().collect::<Vec<_>>())
}

/// Makes a message of a command that a person ran; if it does not say which, of what it says.
fn bash(step: &Leaving, message: Option<&Message>) -> Option<Fields> {
    let payload = step.body.get("message").unwrap_or(&step.body);
    let Some(command) = payload.get("command") else {
        return message.map(|message| custom_message_of(step, message));
    };
    let given = |key: &str, otherwise: Value| payload.get(key).cloned().unwrap_or(otherwise);
    let mut fields = vec![
        ("role", Value::from("bashExecution")),
        ("command", command.clone()),
        ("output", given("output", "".into())),
        ("exitCode", given("exitCode", Value::Null)),
        ("cancelled", given("cancelled", false.into())),
        ("truncated", given("truncated", false.into())),
        ("timestamp", step.time.into()),
    ];
    if message.is_none() {
        fields.push(("excludeFromContext", true.into()));
    }
    Some(("message", vec![("message", Value::map(fields))]))
}

fn custom(step: &Leaving) -> Fields {
    let kind = text(&step.body, "customType").unwrap_or(&step.label);
    let data = step.body.get("data").unwrap_or(&step.body);
    ("custom", vec![("customType", kind.into()), ("data", data.clone())])
}

/// Writes the blocks that pi knows.
fn content(body: &Value, blocks: &[&Block]) -> Value {
    let known = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(said(text)),
        Block::Thinking(text) => {
            let mut fields =
                vec![("type", Value::from("thinking")), ("thinking", text.as_str().into())];
            let signed = signature(body, text);
            fields.extend(signed.map(|signature| ("thinkingSignature", signature.into())));
            Some(Value::map(fields))
        }
        Block::Call(call) => Some(Value::map([
            ("type", Value::from("toolCall")),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("arguments", call.arguments.clone()),
        ])),
        Block::Image(image) => Some(picture(image)),
        Block::Result(_) | Block::Other(_) => None,
    });
    Value::List(known.collect())
}

/// Writes what a tool answered.
fn answered(answer: &Answer) -> Value {
    let words = Some(said(&answer.text)).filter(|_| !answer.text.is_empty());
    Value::List(words.into_iter().chain(answer.images.iter().map(picture)).collect())
}

fn picture(image: &Image) -> Value {
    match image {
        Image::Data { mime, base64 } => Value::map([
            ("type", Value::from("image")),
            ("data", base64.as_str().into()),
            ("mimeType", mime.as_str().into()),
        ]),
        // It takes no addresses, but may tell them.
        Image::Url(url) => said(url),
    }
}

fn said(text: &str) -> Value {
    Value::map([("type", Value::from("text")), ("text", text.into())])
}

/// Names the interface by which a provider is spoken to.
fn api(provider: &str) -> &'static str {
    match provider {
        "openai" | "openai-codex" => "openai-responses",
        "google" => "google-generative-ai",
        "anthropic" => "anthropic-messages",
        _ => "openai-completions",
    }
}

/// Writes what a message took, all of it: pi adds it up.
fn usage(message: &Message) -> Value {
    let usage = &message.usage;
    let count = |count: Option<i64>| Value::from(count.unwrap_or(0));
    let cost = |cost: Option<f64>| cost.and_then(|cost| Value::number(&cost.to_string()));
    let none = || Value::from(0);
    let costs = [
        ("input", none()),
        ("output", none()),
        ("cacheRead", none()),
        ("cacheWrite", none()),
        ("total", cost(usage.cost).unwrap_or_else(none)),
    ];
    Value::map([
        ("input", count(usage.input)),
        ("output", count(usage.output)),
        ("cacheRead", count(usage.cache_read)),
        ("cacheWrite", count(usage.cache_write)),
        ("totalTokens", count(usage.tokens)),
        ("cost", Value::map(costs)),
    ])
}
