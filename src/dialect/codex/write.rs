//! Writes lines of Codex: a header, and an item of its own for every text, thought, call, result.
//!
//! Codex lists and shows a session by its events, so what people and models say is written twice,
//! as Codex does. A compaction carries the whole history that it leaves. How a failed call and the
//! name of a tool are written, Codex does not read, and we do.

use std::collections::{HashMap, HashSet};

use crate::codec::{Value, json};
use crate::dialect::claude::{is_uuid, uuid};
use crate::dialect::told::{role, set};
use crate::dialect::trail::Trail;
use crate::dialect::{Leaving, Writer};
use crate::id::{Id, Kind};
use crate::object::Session;
use crate::session::{Answer, Block, Call, Image, Message, summaries};
use crate::time;

/// The words that Codex has for how much a model is to think.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

/// Writes the lines of a file.
#[derive(Default)]
pub(super) struct Lines {
    cwd: String,
    model: Option<String>,
    thinking: Option<String>,
    trail: Trail,
    /// The items of each step: a compaction may keep them.
    items: HashMap<Id, Vec<Value>>,
    /// The ids of calls with a text instead of arguments: their results are of another type.
    custom: HashSet<String>,
}

impl Writer for Lines {
    fn has_tree(&self) -> bool {
        false
    }

    fn has_compaction(&self) -> bool {
        true
    }

    fn begin(&mut self, session: &Session) -> Vec<Value> {
        self.cwd = session.cwd.clone().unwrap_or_else(|| "/".to_owned());
        let fork = session.fork.as_ref().map(|fork| ("forked_from_id", thread(&fork.session)));
        let provider = session.provider.clone().map(|provider| ("model_provider", provider));
        let own = [("id", thread(&session.sid)), ("timestamp", time::format(session.time))];
        let place = [
            ("cwd", self.cwd.clone()),
            ("originator", "sapwood".to_owned()),
            ("cli_version", env!("CARGO_PKG_VERSION").to_owned()),
            ("source", "cli".to_owned()),
        ];
        let header = own.into_iter().chain(fork).chain(place).chain(provider);
        let header = Value::map(header.map(|(key, text)| (key, Value::from(text))));
        let mut lines = vec![line(session.time, "session_meta", header)];
        if let Some(name) = &session.name {
            let named = [("thread_id", thread(&session.sid)), ("thread_name", name.clone())];
            lines.push(event(session.time, "thread_name_updated", named));
        }
        lines.extend(self.turn(session.time, session.model.clone(), None));
        lines
    }

    fn known(&mut self, step: &Leaving, _id: Option<&str>) {
        let said = set(step);
        self.turn(step.time, said.model, said.thinking);
        self.items(step);
    }

    fn step(&mut self, step: &Leaving) -> Vec<Value> {
        let said = set(step);
        let mut lines: Vec<Value> =
            self.turn(step.time, said.model, said.thinking).into_iter().collect();
        if step.label == "compaction" {
            lines.push(line(step.time, "compacted", self.compacted(step)));
            self.trail.note(step, &[]);
            return lines;
        }
        for item in self.items(step) {
            let told = told(&item);
            lines.push(line(step.time, "response_item", item));
            lines.extend(told.map(|(kind, text)| event(step.time, kind, [("message", text)])));
        }
        lines
    }
}

impl Lines {
    /// Tells which model is in force from here, if that is new.
    fn turn(
        &mut self,
        time: i64,
        model: Option<String>,
        thinking: Option<String>,
    ) -> Option<Value> {
        let next = (model.or_else(|| self.model.clone()), thinking.or(self.thinking.clone()));
        if next == (self.model.clone(), self.thinking.clone()) {
            return None;
        }
        (self.model, self.thinking) = next;
        let effort = self.thinking.as_deref().map(|effort| match effort {
            "off" => "none",
            effort => effort,
        });
        let effort = effort.filter(|effort| EFFORTS.contains(effort));
        let sandbox = Value::map([("type", Value::from("read-only"))]);
        let fields = [
            ("cwd", self.cwd.as_str().into()),
            ("approval_policy", "on-request".into()),
            ("sandbox_policy", sandbox),
            ("model", self.model.clone()?.into()),
        ];
        let effort = effort.map(|effort| ("effort", effort.into()));
        let fields = fields.into_iter().chain(effort).chain([("summary", "auto".into())]);
        Some(line(time, "turn_context", Value::map(fields)))
    }

    /// Makes the items of a step, and notes them. Of a compaction none are: only the last one on a
    /// path counts.
    fn items(&mut self, step: &Leaving) -> Vec<Value> {
        self.trail.note(step, &[]);
        let message = step.message.as_ref().filter(|_| step.label != "compaction");
        let items = message.map(|message| self.said(message)).unwrap_or_default();
        self.items.insert(step.id, items.clone());
        items
    }

    /// Makes the items of a message.
    fn said(&mut self, message: &Message) -> Vec<Value> {
        let role = role(message);
        let (mut items, mut content) = (Vec::new(), Vec::new());
        for block in &message.blocks {
            let item = match block {
                Block::Text(text) => {
                    let kind = if role == "assistant" { "output_text" } else { "input_text" };
                    content.push(item(kind, [("text", text.as_str().into())]));
                    continue;
                }
                Block::Image(image) => {
                    content.push(picture(image));
                    continue;
                }
                Block::Thinking(text) => thought(text),
                Block::Call(call) => self.call(call),
                Block::Result(answer) => self.result(answer),
                Block::Other(_) => continue,
            };
            items.extend(spoken(role, &mut content));
            items.push(item);
        }
        items.extend(spoken(role, &mut content));
        items
    }

    fn call(&mut self, call: &Call) -> Value {
        let id = ("call_id", call.id.as_str().into());
        let name = ("name", call.name.as_str().into());
        match &call.arguments {
            Value::Text(input) => {
                self.custom.insert(call.id.clone());
                item("custom_tool_call", [id, name, ("input", input.as_str().into())])
            }
            arguments => {
                self.custom.remove(&call.id);
                let arguments = ("arguments", json::to_string(arguments).into());
                item("function_call", [name, arguments, id])
            }
        }
    }

    fn result(&self, answer: &Answer) -> Value {
        let kind = match self.custom.contains(&answer.call) {
            true => "custom_tool_call_output",
            false => "function_call_output",
        };
        let output = match answer.images.as_slice() {
            [] => answer.text.as_str().into(),
            images => {
                let words = Some(answer.text.as_str()).filter(|text| !text.is_empty());
                let words = words.map(|text| item("input_text", [("text", text.into())]));
                words.into_iter().chain(images.iter().map(picture)).collect::<Vec<_>>().into()
            }
        };
        let said = [("call_id", answer.call.as_str().into()), ("output", output)].into_iter();
        let name = answer.name.clone().map(|name| ("name", name.into()));
        let failed = answer.is_error.then_some(("success", Value::Bool(false)));
        item(kind, said.chain(name).chain(failed))
    }

    /// Makes a compaction: what it says, then what it keeps.
    fn compacted(&mut self, step: &Leaving) -> Value {
        let own = step.body.get("payload").filter(|own| own.get("replacement_history").is_some());
        if let Some(own) = own {
            // It may hold what only Codex can read.
            return own.clone();
        }
        let told = match &step.message {
            Some(message) => vec![message.clone()],
            None => summaries(&step.body),
        };
        let mut history: Vec<Value> = told.iter().flat_map(|message| self.said(message)).collect();
        let kept = self.trail.kept(step);
        history.extend(kept.iter().filter_map(|kept| self.items.get(kept)).flatten().cloned());
        let words = told.iter().map(Message::text).collect::<Vec<_>>().join("\n");
        Value::map([("message", words.into()), ("replacement_history", Value::List(history))])
    }
}

/// Makes a message of the content so far, if there is any.
fn spoken(role: &str, content: &mut Vec<Value>) -> Option<Value> {
    let role = match role {
        "assistant" => "assistant",
        "system" => "developer",
        _ => "user",
    };
    let content = Some(std::mem::take(content)).filter(|content| !content.is_empty())?;
    Some(item("message", [("role", role.into()), ("content", content.into())]))
}

fn thought(text: &str) -> Value {
    let summary = vec![item("summary_text", [("text", text.into())])];
    item("reasoning", [("summary", summary.into()), ("encrypted_content", Value::Null)])
}

fn picture(image: &Image) -> Value {
    item("input_image", [("image_url", image.url().into())])
}

/// Gives the event that tells people of an item, if one does.
fn told(item: &Value) -> Option<(&'static str, String)> {
    let kind = match item.get("role")?.as_text()? {
        "user" => "user_message",
        "assistant" => "agent_message",
        _ => return None,
    };
    let content = item.get("content").and_then(Value::as_list).unwrap_or_default();
    let texts = content.iter().filter_map(|part| part.get("text")?.as_text());
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some((kind, text))
}

fn item<'a>(kind: &str, fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::map([("type", kind.into())].into_iter().chain(fields))
}

fn event<const N: usize>(time: i64, kind: &str, fields: [(&str, String); N]) -> Value {
    let fields = fields.into_iter().map(|(key, text)| (key, text.into()));
    line(time, "event_msg", item(kind, fields))
}

fn line(time: i64, kind: &str, payload: Value) -> Value {
    let head = [("timestamp", time::format(time).into()), ("type", kind.into())];
    Value::map(head.into_iter().chain([("payload", payload)]))
}

/// Gives the id of a session as Codex wants it, a UUID.
fn thread(session: &str) -> String {
    match is_uuid(session) {
        true => session.to_owned(),
        false => uuid(&Id::of(Kind::Session, session.as_bytes())),
    }
}
