//! Writing Claude Code's files.
//!
//! Everything that a model is shown becomes a line of a person or of the model; what answers a
//! call is a line of a person. A compaction is a boundary, the summary behind it, and then once
//! more what it keeps: nothing before a boundary is shown. All else is left out.

use std::collections::HashMap;

use crate::codec::Value;
use crate::dialect::claude::is_uuid;
use crate::dialect::fields::{is_true, text};
use crate::dialect::parts::{Part, parts, signature};
use crate::dialect::trail::{Trail, derived};
use crate::dialect::{Leaving, Writer};
use crate::id::{Id, Kind};
use crate::object::Session;
use crate::session::{Answer, Block, Image, Message};
use crate::time;

/// The version of the program whose lines these are.
const VERSION: &str = "2.0.0";

/// Blocks of the program's own that are no text, call, result or picture.
const OWN_BLOCKS: [&str; 5] =
    ["redacted_thinking", "document", "search_result", "server_tool_use", "web_search_tool_result"];

/// Writes a file.
#[derive(Default)]
pub(super) struct ClaudeWriter {
    trail: Trail,
    session: String,
    cwd: String,
    /// The lines of each step, without what says where they hang: a compaction may keep them.
    lines: HashMap<Id, Vec<Line>>,
    /// The lines that call tools, by the ids of the calls.
    callers: HashMap<String, String>,
}

/// A line: its type, time and own fields.
#[derive(Clone)]
struct Line {
    kind: &'static str,
    time_ms: i64,
    fields: Vec<(&'static str, Value)>,
    /// The ids of the calls that it makes.
    calls: Vec<String>,
    /// The id of the first call that it answers.
    answers: Option<String>,
}

/// The lines of a step, as they are hung one on the other.
struct Hung {
    /// What the next one hangs on.
    parent: Option<String>,
    ids: Vec<String>,
    values: Vec<Value>,
}

impl Writer for ClaudeWriter {
    fn has_tree(&self) -> bool {
        true
    }

    fn has_compaction(&self) -> bool {
        true
    }

    fn begin(&mut self, session: &Session) -> Vec<Value> {
        self.session = match is_uuid(&session.sid) {
            true => session.sid.clone(),
            false => uuid(&Id::of(Kind::Session, session.sid.as_bytes())),
        };
        self.cwd = session.cwd.clone().unwrap_or_default();
        let title = session.name.as_deref().map(|name| {
            Value::map([
                ("type", Value::from("custom-title")),
                ("customTitle", name.into()),
                ("sessionId", self.session.as_str().into()),
            ])
        });
        title.into_iter().collect()
    }

    fn known(&mut self, step: &Leaving, id: Option<&str>) {
        let ids: Vec<String> = id.into_iter().map(str::to_owned).collect();
        self.trail.note(step, &ids);
        let own = lines(step);
        if let Some(id) = id {
            let calls = own.iter().flat_map(|line| &line.calls);
            self.callers.extend(calls.map(|call| (call.clone(), id.to_owned())));
        }
        self.keep(step, own);
    }

    fn step(&mut self, step: &Leaving) -> Vec<Value> {
        let parent = self.trail.hangs_on(step).map(str::to_owned);
        let own = lines(step);
        let kept = match step.label.as_str() {
            "compaction" => self.trail.kept(step),
            _ => Vec::new(),
        };
        let mut hung = Hung { parent, ids: Vec::new(), values: Vec::new() };
        for (place, line) in own.iter().enumerate() {
            let id = match place {
                0 => step.id,
                place => derived(&step.id, &place.to_le_bytes()),
            };
            self.hang(&mut hung, &id, line);
        }
        let copies: Vec<Line> =
            kept.iter().filter_map(|kept| self.lines.get(kept)).flatten().cloned().collect();
        for (place, line) in copies.iter().enumerate() {
            let id = derived(&step.id, &(own.len() + place).to_le_bytes());
            self.hang(&mut hung, &id, line);
        }
        self.trail.note(step, &hung.ids);
        self.keep(step, own);
        hung.values
    }
}

impl ClaudeWriter {
    /// Notes the lines of a step for a compaction that keeps them. Of an earlier compaction none
    /// are: only the last one on a path counts.
    fn keep(&mut self, step: &Leaving, lines: Vec<Line>) {
        if step.label != "compaction" {
            self.lines.insert(step.id, lines);
        }
    }

    /// Hangs a line on the one before it.
    fn hang(&mut self, hung: &mut Hung, id: &Id, line: &Line) {
        let id = uuid(id);
        let parent = Value::from(hung.parent.replace(id.clone()));
        // A boundary cuts the path, and says where it was cut.
        let (parent, logical) = match line.kind {
            "system" => (Value::Null, Some(parent)),
            _ => (parent, None),
        };
        let mut fields = vec![("parentUuid", parent)];
        fields.extend(logical.map(|logical| ("logicalParentUuid", logical)));
        fields.extend([
            ("isSidechain", false.into()),
            ("userType", "external".into()),
            ("cwd", self.cwd.as_str().into()),
            ("sessionId", self.session.as_str().into()),
            ("version", VERSION.into()),
            ("gitBranch", "".into()),
            ("type", line.kind.into()),
        ]);
        fields.extend(line.fields.iter().cloned());
        fields.push(("uuid", id.as_str().into()));
        fields.push(("timestamp", time::format(line.time_ms).into()));
        let caller = line.answers.as_ref().and_then(|call| self.callers.get(call));
        fields.extend(caller.map(|caller| ("sourceToolAssistantUUID", caller.as_str().into())));
        self.callers.extend(line.calls.iter().map(|call| (call.clone(), id.clone())));
        hung.values.push(Value::map(fields));
        hung.ids.push(id);
    }
}

/// Makes the lines of a step.
fn lines(step: &Leaving) -> Vec<Line> {
    let Some(message) = &step.message else {
        return match step.label.as_str() {
            "compaction" => vec![boundary(step)],
            _ => Vec::new(),
        };
    };
    let mut lines = Vec::new();
    let mut is_summary = is_true(&step.body, "isCompactSummary");
    if step.label == "compaction" {
        lines.push(boundary(step));
        is_summary = true;
    }
    for part in parts(message) {
        let (kind, message) = match (&part, message.role.as_str()) {
            (Part::Said(blocks), "assistant") => ("assistant", spoken(step, message, blocks)),
            (Part::Said(blocks), _) => ("user", asked(content(step, blocks))),
            (Part::Answered(answers), _) => {
                ("user", asked(answers.iter().map(|answer| result(answer)).collect()))
            }
        };
        let mut line = Line::new(kind, step, vec![("message", message)]);
        match part {
            Part::Said(blocks) => line.calls = calls(&blocks),
            Part::Answered(answers) => {
                line.answers = answers.first().map(|answer| answer.call.clone());
            }
        }
        if is_summary {
            line.fields.push(("isCompactSummary", true.into()));
            line.fields.push(("isVisibleInTranscriptOnly", true.into()));
        }
        lines.push(line);
    }
    lines
}

impl Line {
    fn new(kind: &'static str, step: &Leaving, fields: Vec<(&'static str, Value)>) -> Line {
        Line { kind, time_ms: step.time, fields, calls: Vec::new(), answers: None }
    }
}

fn boundary(step: &Leaving) -> Line {
    let tokens = step.body.get("tokensBefore").and_then(Value::as_i64).unwrap_or(0);
    let given = step.body.get("compactMetadata").cloned();
    let metadata = given.unwrap_or_else(|| {
        Value::map([("trigger", Value::from("manual")), ("preTokens", tokens.into())])
    });
    let fields = vec![
        ("subtype", Value::from("compact_boundary")),
        ("content", "Conversation compacted".into()),
        ("isMeta", false.into()),
        ("level", "info".into()),
        ("compactMetadata", metadata),
    ];
    Line::new("system", step, fields)
}

/// Writes a message of the model.
fn spoken(step: &Leaving, message: &Message, blocks: &[&Block]) -> Value {
    let usage = &message.usage;
    let count = |count: Option<i64>| Value::from(count.unwrap_or(0));
    let stop = if calls(blocks).is_empty() { "end_turn" } else { "tool_use" };
    let mut fields = vec![
        ("id", Value::from(format!("msg_{}", step.id.short(24)))),
        ("type", "message".into()),
        ("role", "assistant".into()),
    ];
    fields.extend(message.model.as_deref().map(|model| ("model", model.into())));
    fields.extend([
        ("content", Value::List(content(step, blocks))),
        ("stop_reason", stop.into()),
        ("stop_sequence", Value::Null),
    ]);
    fields.push((
        "usage",
        Value::map([
            ("input_tokens", count(usage.input)),
            ("cache_creation_input_tokens", count(usage.cache_write)),
            ("cache_read_input_tokens", count(usage.cache_read)),
            ("output_tokens", count(usage.output)),
        ]),
    ));
    Value::map(fields)
}

/// Writes a message in a person's name.
fn asked(blocks: Vec<Value>) -> Value {
    let words = match blocks.as_slice() {
        [only] => text(only, "text").map(Value::from),
        _ => None,
    };
    let content = words.unwrap_or(Value::List(blocks));
    Value::map([("role", Value::from("user")), ("content", content)])
}

fn result(answer: &Answer) -> Value {
    let content = match answer.images.as_slice() {
        [] => Value::from(answer.text.as_str()),
        images => {
            let words = [("type", Value::from("text")), ("text", answer.text.as_str().into())];
            let words = Some(Value::map(words)).filter(|_| !answer.text.is_empty());
            Value::List(words.into_iter().chain(images.iter().map(picture)).collect())
        }
    };
    let mut fields = vec![
        ("type", Value::from("tool_result")),
        ("tool_use_id", call_id(&answer.call).into()),
        ("content", content),
    ];
    if answer.is_error {
        fields.push(("is_error", true.into()));
    }
    Value::map(fields)
}

/// Writes the blocks that the program knows.
fn content(step: &Leaving, blocks: &[&Block]) -> Vec<Value> {
    let known = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => {
            Some(Value::map([("type", Value::from("text")), ("text", text.as_str().into())]))
        }
        Block::Thinking(text) => Some(Value::map([
            ("type", Value::from("thinking")),
            ("thinking", text.as_str().into()),
            ("signature", signature(&step.body, text).unwrap_or_default().into()),
        ])),
        Block::Call(call) => Some(Value::map([
            ("type", Value::from("tool_use")),
            ("id", call_id(&call.id).into()),
            ("name", call.name.as_str().into()),
            ("input", call.arguments.clone()),
        ])),
        Block::Image(image) => Some(picture(image)),
        Block::Other(value) => {
            let is_own = text(value, "type").is_some_and(|kind| OWN_BLOCKS.contains(&kind));
            is_own.then(|| value.clone())
        }
        Block::Result(_) => None,
    });
    known.collect()
}

fn picture(image: &Image) -> Value {
    Value::map([("type", Value::from("image")), ("source", source(image))])
}

fn source(image: &Image) -> Value {
    match image {
        Image::Data { mime: media, base64: data } => Value::map([
            ("type", Value::from("base64")),
            ("media_type", media.as_str().into()),
            ("data", data.as_str().into()),
        ]),
        Image::Url(url) => Value::map([("type", Value::from("url")), ("url", url.as_str().into())]),
    }
}

fn calls(blocks: &[&Block]) -> Vec<String> {
    let ids = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call.id.clone()),
        _ => None,
    });
    ids.collect()
}

/// Gives the id of a call in the letters that ids of calls are made of there.
fn call_id(id: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    id.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
}

/// Gives an id the form of a UUID that is made as its maker likes: version 8.
pub(in crate::dialect) fn uuid(id: &Id) -> String {
    let mut bytes = *id.as_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = Id::from_bytes(bytes).short(32);
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    groups.join("-")
}
