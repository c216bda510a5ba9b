//! The parts of OpenAI's messages, which plain chat and contexts write alike.

use crate::codec::{Value, json};
use crate::session::{Call, Image};

/// Writes a text as a part of content.
pub(crate) fn text_part(text: &str) -> Value {
    Value::map([("type", Value::from("text")), ("text", text.into())])
}

/// Writes a picture as a part of content: its address, which may hold the picture itself.
pub(crate) fn image_part(image: &Image) -> Value {
    let url = Value::map([("url", Value::from(image.url()))]);
    Value::map([("type", Value::from("image_url")), ("image_url", url)])
}

/// Writes a call of a tool.
pub(crate) fn call_value(call: &Call) -> Value {
    let arguments = match &call.arguments {
        Value::Null => "{}".to_owned(),
        arguments => json::to_string(arguments),
    };
    let name = Value::from(call.name.as_str());
    let function = Value::map([("name", name), ("arguments", arguments.into())]);
    let id = Value::from(call.id.as_str());
    Value::map([("id", id), ("type", "function".into()), ("function", function)])
}
