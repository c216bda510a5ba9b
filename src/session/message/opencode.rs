//! A message of OpenCode: who speaks is in `info`, what is said in `parts`.
//!
//! A call and its result are one part. Parts that say nothing (snapshots, patches, where a step
//! begins and ends) are left out. So are files of text: another part says what is in them.

use crate::codec::{Value, json};
use crate::session::message::{Answer, Block, Call, Image, Message, Usage, items, text};

/// The parts that the program keeps for itself.
const SILENT: [&str; 6] = ["step-start", "step-finish", "snapshot", "patch", "compaction", "retry"];

/// Reads a message.
pub(super) fn read(body: &Value) -> Option<Message> {
    let info = body.get("info").filter(|info| info.as_map().is_some())?;
    let parts = body.get("parts")?.as_list()?;
    let model = info.get("model").filter(|model| model.as_map().is_some()).unwrap_or(info);
    Some(Message {
        role: text(info, "role").unwrap_or_else(|| "user".to_owned()),
        blocks: parts.iter().flat_map(part).collect(),
        model: text(model, "modelID"),
        provider: text(model, "providerID"),
        usage: usage(info),
    })
}

fn part(part: &Value) -> Vec<Block> {
    let words = || text(part, "text");
    let block = match part.get("type").and_then(Value::as_text).unwrap_or_default() {
        "text" if is_ignored(part) => return Vec::new(),
        "file" if is_told(part) => return Vec::new(),
        "text" => words().map(Block::Text),
        "reasoning" => words().map(Block::Thinking),
        "file" => file(part),
        "tool" => match tool(part) {
            Some(blocks) => return blocks,
            None => None,
        },
        kind if SILENT.contains(&kind) => return Vec::new(),
        _ => None,
    };
    match block {
        Some(Block::Text(text) | Block::Thinking(text)) if text.is_empty() => Vec::new(),
        Some(block) => vec![block],
        None => vec![Block::Other(part.clone())],
    }
}

/// Says whether a text is shown to people only.
fn is_ignored(part: &Value) -> bool {
    part.get("ignored").and_then(Value::as_bool) == Some(true)
}

/// Says whether a file's content is told as text, too.
fn is_told(part: &Value) -> bool {
    let mime = part.get("mime").and_then(Value::as_text);
    matches!(mime, Some("text/plain" | "application/x-directory"))
}

fn file(part: &Value) -> Option<Block> {
    let is_image = part.get("mime")?.as_text()?.starts_with("image/");
    let url = part.get("url").and_then(Value::as_text).filter(|_| is_image)?;
    Some(Block::Image(Image::at(url)))
}

/// Reads a call, and its result if that has come.
fn tool(part: &Value) -> Option<Vec<Block>> {
    let (id, name) = (text(part, "callID")?, text(part, "tool")?);
    let state = part.get("state").unwrap_or(&Value::Null);
    let arguments = state.get("input").cloned().unwrap_or_default();
    let status = state.get("status").and_then(Value::as_text).unwrap_or_default();
    let key = match status {
        "completed" => Some("output"),
        "error" => Some("error"),
        _ => None,
    };
    let answer = key.map(|key| {
        let given = match state.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::Text(text)) => Some(Block::Text(text.clone())),
            Some(other) => Some(Block::Text(json::to_string(other))),
        };
        let files = items(state, "attachments").iter().filter_map(file);
        let given = given.into_iter().chain(files).collect();
        Answer::of(id.clone(), Some(name.clone()), given, status == "error")
    });
    let call = Block::Call(Call { id, name, arguments });
    Some([Some(call), answer.map(Block::Result)].into_iter().flatten().collect())
}

/// Reads counts of tokens: those for thinking are not part of the output.
fn usage(info: &Value) -> Usage {
    let tokens = info.get("tokens").unwrap_or(&Value::Null);
    let count = |of: &Value, key: &str| of.get(key).and_then(Value::as_i64);
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    let thought = count(tokens, "reasoning").unwrap_or(0);
    let usage = Usage {
        input: count(tokens, "input"),
        output: count(tokens, "output").map(|output| output.saturating_add(thought)),
        cache_read: count(cache, "read"),
        cache_write: count(cache, "write"),
        tokens: count(tokens, "total"),
        cost: info.get("cost").and_then(Value::as_f64),
        of: None,
    };
    usage.checked()
}
