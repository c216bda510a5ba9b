//! The shape of Codex: every text, thought, call and result is an item of its own.
//!
//! An item stands under `payload`, or is the whole body (2025), or is one of the items that a
//! compaction puts in the place of what was before it. What is encrypted is not shown.

use crate::codec::{Value, json};
use crate::session::message::{Block, Call, Message};

/// The items that are told without a `payload`; a message is a chat's then.
const BARE: [&str; 7] = [
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "web_search_call",
];

/// The calls that the server answers itself.
const SERVED: [&str; 2] = ["web_search_call", "image_generation_call"];

/// Reads a body of this shape; `None` if it is of another.
pub(super) fn read(body: &Value) -> Option<Message> {
    match kind(body)? {
        "response_item" => body.get("payload").filter(|item| kind(item).is_some()).map(of_item),
        bare if BARE.contains(&bare) => Some(of_item(body)),
        _ => None,
    }
}

/// Says whether an item is a message, by its short strings alone.
pub fn is_message(item: &Value) -> bool {
    match kind(item) {
        Some("reasoning") => !thoughts(item).is_empty(),
        Some(kind) => kind == "message" || kind.ends_with("_call") || kind.ends_with("_output"),
        None => item.get("role").is_some(),
    }
}

/// Reads what a compaction puts in the place of what was before it, if it says so.
pub fn replacement(compaction: &Value) -> Option<Vec<Message>> {
    let items = compaction.get("payload")?.get("replacement_history")?.as_list()?;
    Some(items.iter().filter(|item| is_message(item)).map(of_item).collect())
}

fn of_item(item: &Value) -> Message {
    let said = |blocks| Message { role: "assistant".to_owned(), blocks, ..Message::default() };
    match kind(item) {
        Some("reasoning") => {
            let texts = thoughts(item).iter().filter_map(|part| {
                part.as_text().or_else(|| part.get("text").and_then(Value::as_text))
            });
            said(texts.map(|text| Block::Thinking(text.to_owned())).collect())
        }
        Some(kind) if kind.ends_with("_output") => output(item),
        Some(kind) if kind.ends_with("_call") => said(call(kind, item)),
        _ => {
            let mut message = Message::of("message", item);
            if message.role == "developer" {
                message.role = "system".to_owned();
            }
            message
        }
    }
}

/// Gives the parts of a thought: all of it where that is known, else what sums it up.
fn thoughts(item: &Value) -> &[Value] {
    let parts = ["content", "summary"].iter().filter_map(|key| item.get(key)?.as_list());
    parts.into_iter().find(|parts| !parts.is_empty()).unwrap_or_default()
}

fn call(kind: &str, item: &Value) -> Vec<Block> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| item.get(key)?.as_text());
    let id = text(&["call_id", "id"]).unwrap_or(kind);
    let name = text(&["name"]).unwrap_or(kind.trim_end_matches("_call"));
    let keys = ["arguments", "input", "action", "revised_prompt"];
    let given = keys.iter().find_map(|key| item.get(key)).cloned().unwrap_or_default();
    let arguments = match &given {
        // Arguments are JSON within a string; the input of a custom tool is any text.
        Value::Text(text) if item.get("arguments").is_some() => json::parse(text.as_bytes()).ok(),
        _ => None,
    };
    let arguments = arguments.unwrap_or(given);
    let call = Call { id: id.to_owned(), name: name.to_owned(), arguments };
    let mut blocks = vec![Block::Call(call)];
    if SERVED.contains(&kind) {
        let made = item.get("result").filter(|made| made.as_text().is_some()).map(|made| {
            let image = [("type", "image".into()), ("data", made.clone())];
            vec![Value::map(image.into_iter().chain([("mimeType", "image/png".into())]))].into()
        });
        let status = || text(&["status"]).unwrap_or("completed").into();
        blocks.extend(answered(id, None, made.unwrap_or_else(status), false).blocks);
    }
    blocks
}

fn output(item: &Value) -> Message {
    let text = |key: &str| item.get(key).and_then(Value::as_text);
    let output = item.get("output").or_else(|| item.get("tools")).unwrap_or(&Value::Null);
    let content = output.get("content").unwrap_or(output).clone();
    let success = [item, output].iter().find_map(|place| place.get("success")?.as_bool());
    answered(text("call_id").unwrap_or_default(), text("name"), content, success == Some(false))
}

/// Makes the message of a tool that answers.
fn answered(call: &str, name: Option<&str>, content: Value, is_error: bool) -> Message {
    let said = [
        ("role", "tool".into()),
        ("tool_call_id", call.into()),
        ("name", name.map_or(Value::Null, Value::from)),
        ("content", content),
        ("is_error", Value::Bool(is_error)),
    ];
    Message::of("message", &Value::map(said))
}

fn kind(value: &Value) -> Option<&str> {
    value.get("type").and_then(Value::as_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap()
    }

    /// Tells a message in one line.
    fn told(message: &Message) -> String {
        let blocks = message.blocks.iter().map(|block| match block {
            Block::Text(text) => format!("text {text}"),
            Block::Thinking(text) => format!("thinking {text}"),
            Block::Call(call) => {
                format!("call {} {} {}", call.id, call.name, json::to_string(&call.arguments))
            }
            Block::Result(answer) => {
                format!("result {} {} {}", answer.call, answer.text, answer.is_error)
            }
            Block::Image(_) => "image".to_owned(),
            Block::Other(value) => format!("other {}", json::to_string(value)),
        });
        format!("{}: {}", message.role, blocks.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn every_item_is_a_message_of_its_own() {
        let items = [
            (
                r#"{"type":"message","role":"developer","content":[
                   {"type":"input_text","text":"obey"}]}"#,
                "system: text obey",
            ),
            (
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},
                   {"type":"input_image","image_url":"data:image/png;base64,AA=="}]}"#,
                "user: text see, image",
            ),
            (
                r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},
                   {"type":"summary_text","text":"b"}],"content":null,"encrypted_content":"x"}"#,
                "assistant: thinking a, thinking b",
            ),
            (
                r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}],
                   "content":[{"type":"reasoning_text","text":"all"}]}"#,
                "assistant: thinking all",
            ),
            (
                r#"{"type":"function_call","name":"exec","arguments":"{\"cmd\":\"ls\"}",
                   "call_id":"c1"}"#,
                r#"assistant: call c1 exec {"cmd":"ls"}"#,
            ),
            (
                r#"{"type":"custom_tool_call","name":"apply_patch","input":"{}","call_id":"c2",
                   "id":"ctc"}"#,
                r#"assistant: call c2 apply_patch "{}""#,
            ),
            (
                r#"{"type":"local_shell_call","call_id":"c3","status":"completed",
                   "action":{"type":"exec","command":["ls"]}}"#,
                r#"assistant: call c3 local_shell {"type":"exec","command":["ls"]}"#,
            ),
            (
                r#"{"type":"web_search_call","id":"ws","status":"completed",
                   "action":{"query":"q"}}"#,
                r#"assistant: call ws web_search {"query":"q"}, result ws completed false"#,
            ),
            (
                r#"{"type":"function_call_output","call_id":"c1","output":"done"}"#,
                "tool: result c1 done false",
            ),
            (
                r#"{"type":"function_call_output","call_id":"c1",
                   "output":{"content":"no","success":false}}"#,
                "tool: result c1 no true",
            ),
            (
                r#"{"type":"custom_tool_call_output","call_id":"c2",
                   "output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#,
                "tool: result c2 a\nb false",
            ),
        ];
        for (item, expected) in items {
            let wrapped = format!(r#"{{"type":"response_item","payload":{item}}}"#);
            let message = Message::read("message", &parsed(&wrapped)).unwrap();
            assert_eq!(told(&message), expected);
            let bare = Message::read("message", &parsed(item)).unwrap();
            assert_eq!(bare.blocks, message.blocks, "without a payload: {item}");
            assert!(is_message(&parsed(item)), "{item}");
        }
    }

    #[test]
    fn what_says_nothing_is_no_message() {
        let items = [
            r#"{"type":"reasoning","summary":[],"content":null,"encrypted_content":"x"}"#,
            r#"{"type":"ghost_snapshot","ghost_commit":{}}"#,
            r#"{"type":"compaction","encrypted_content":"x"}"#,
            r#"{"type":7}"#,
            "{}",
        ];
        for item in items {
            assert!(!is_message(&parsed(item)), "{item}");
        }
    }

    #[test]
    fn a_replacement_is_a_list_of_items() {
        let body = parsed(
            r#"{"type":"compacted","payload":{"message":"","replacement_history":[
               {"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},
               {"type":"compaction","encrypted_content":"x"},
               {"role":"developer","content":"rules"}]}}"#,
        );
        let told: Vec<String> = replacement(&body).unwrap().iter().map(told).collect();
        assert_eq!(told, ["user: text q", "system: text rules"]);
        assert_eq!(replacement(&parsed(r#"{"payload":{"message":"sum"}}"#)), None);
        assert_eq!(replacement(&parsed(r#"{"summary":"sum"}"#)), None);
    }
}
