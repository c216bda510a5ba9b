//! A message of Copilot CLI: an event, its `data` what it says.
//!
//! What the model answers and which tools it calls is one event, the result of each call another.
//! A compaction's event says its summary.

use crate::codec::{Value, json};
use crate::session::message::{Answer, Block, Call, Image, Message, Usage, items, said, text};

/// Reads an event that says something.
pub(super) fn read(body: &Value) -> Option<Message> {
    let data = body.get("data").filter(|data| data.as_map().is_some())?;
    let (role, blocks) = match body.get("type")?.as_text()? {
        "user.message" => (asks(data), prompt(data)),
        "assistant.message" => ("assistant", speech(data)),
        "tool.execution_complete" => ("tool", vec![Block::Result(answer(data)?)]),
        "session.compaction_complete" => {
            ("user", said(data, "summaryContent").into_iter().collect())
        }
        _ => return None,
    };
    let output = data.get("outputTokens").and_then(Value::as_i64);
    Some(Message {
        role: role.to_owned(),
        blocks,
        model: text(data, "model").filter(|_| role == "assistant"),
        provider: None,
        usage: Usage { output, ..Usage::default() }.checked(),
    })
}

/// Gives who asks: the program does, too, in the user's place.
fn asks(data: &Value) -> &'static str {
    match data.get("source").and_then(Value::as_text) {
        Some("system") => "system",
        _ => "user",
    }
}

/// Reads what was asked; what the program made of it, where it is all there is.
fn prompt(data: &Value) -> Vec<Block> {
    let words = said(data, "content").or_else(|| said(data, "transformedContent"));
    let attached = items(data, "attachments").iter().map(|file| match Image::read(file) {
        Some(image) => Block::Image(image),
        None => Block::Other(file.clone()),
    });
    words.into_iter().chain(attached).collect()
}

fn speech(data: &Value) -> Vec<Block> {
    let thought = text(data, "reasoningText").filter(|text| !text.is_empty());
    let mut blocks: Vec<Block> = thought.map(Block::Thinking).into_iter().collect();
    blocks.extend(said(data, "content"));
    blocks.extend(items(data, "toolRequests").iter().map(|request| match call(request) {
        Some(call) => Block::Call(call),
        None => Block::Other(request.clone()),
    }));
    blocks
}

fn call(request: &Value) -> Option<Call> {
    let (id, name) = (text(request, "toolCallId")?, text(request, "name")?);
    let arguments = request.get("arguments").cloned().unwrap_or_default();
    Some(Call { id, name, arguments })
}

fn answer(data: &Value) -> Option<Answer> {
    let call = text(data, "toolCallId")?;
    let is_error = data.get("success").and_then(Value::as_bool) == Some(false);
    let result = data.get("result").filter(|result| !result.is_null());
    let mut given = match result {
        None => data.get("error").map(|error| said(error, "message")),
        Some(result) => Some(said(result, "content")),
    }
    .flatten();
    if let (None, Some(result)) = (&given, result.filter(|result| result.as_map().is_none())) {
        given = Some(Block::Text(match result {
            Value::Text(text) => text.clone(),
            other => json::to_string(other),
        }));
    }
    let contents = result.map(|result| items(result, "contents")).unwrap_or_default();
    let images = contents.iter().filter_map(Image::read).map(Block::Image);
    let given = given.into_iter().chain(images).collect();
    Some(Answer::of(call, text(data, "toolName"), given, is_error))
}
