//! The blocks of a message.

use crate::codec::{Value, json};
use crate::ops::export::html::escape::escaped;
use crate::ops::export::html::image::image;
use crate::ops::export::html::prose::{code, prose};
use crate::ops::export::told::clipped;
use crate::session::{Answer, Block, Call, Message};

/// The arguments that say best what a call does, the best first.
const TELLING: [&str; 12] = [
    "description",
    "command",
    "cmd",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "subject",
    "name",
    "prompt",
    "content",
];

/// How long an argument is at the most that stands on a line with its name.
const SHORT_BYTES_MAX: usize = 80;

/// Appends the blocks of a message; nothing for those that say nothing.
pub(super) fn blocks(out: &mut String, message: &Message, answers: &[Option<Answer>]) {
    let mut answers = answers.iter();
    for block in &message.blocks {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => {
                out.push_str("<div class=\"body\">\n");
                prose(out, text);
                out.push_str("</div>\n");
            }
            Block::Thinking(text) if text.trim().is_empty() => {}
            Block::Thinking(text) => {
                let gist = escaped(&clipped(text));
                out.push_str(&format!(
                    "<details class=\"thinking\"><summary><span class=\"label\">Thinking</span> \
                     <span class=\"gist\">{gist}</span></summary>\n<div class=\"body\">\n"
                ));
                prose(out, text);
                out.push_str("</div></details>\n");
            }
            Block::Call(made) => call(out, made, answers.next().and_then(Option::as_ref)),
            Block::Result(answer) => result(out, answer),
            Block::Image(value) => image(out, value),
            Block::Other(value) => {
                let kind = value.get("type").and_then(Value::as_text).unwrap_or("block");
                out.push_str(&format!(
                    "<details class=\"other\"><summary><span class=\"label\">{}</span></summary>\n",
                    escaped(kind)
                ));
                code(out, "", &json::pretty(value));
                out.push_str("</details>\n");
            }
        }
    }
}

/// Writes a call with its result inside.
fn call(out: &mut String, call: &Call, answer: Option<&Answer>) {
    let (class, state) = match answer {
        Some(answer) if answer.is_error => ("call failed", " <span class=\"state\">error</span>"),
        Some(_) => ("call", ""),
        None => ("call open", " <span class=\"state\">no result</span>"),
    };
    out.push_str(&format!(
        "<details class=\"{class}\"><summary><span class=\"tool\">{}</span> \
         <span class=\"gist\">{}</span>{state}</summary>\n",
        escaped(&call.name),
        escaped(&gist(&call.arguments))
    ));
    arguments(out, &call.arguments);
    if let Some(answer) = answer {
        out.push_str("<p class=\"label\">Result</p>\n");
        answered(out, answer);
    }
    out.push_str("</details>\n");
}

/// Writes what a tool answered.
fn answered(out: &mut String, answer: &Answer) {
    if !answer.text.is_empty() || answer.images.is_empty() {
        code(out, "", &answer.text);
    }
    answer.images.iter().for_each(|shown| image(out, shown));
}

/// Writes a result whose call stands elsewhere, or nowhere.
fn result(out: &mut String, answer: &Answer) {
    let (class, state) = match answer.is_error {
        true => ("call failed", " <span class=\"state\">error</span>"),
        false => ("call", ""),
    };
    out.push_str(&format!(
        "<details class=\"{class}\"><summary><span class=\"tool\">Result: {}</span> \
         <span class=\"gist\">{}</span>{state}</summary>\n",
        escaped(answer.name.as_ref().unwrap_or(&answer.call)),
        escaped(&clipped(&answer.text))
    ));
    answered(out, answer);
    out.push_str("</details>\n");
}

/// Says in a few words what a call does.
fn gist(arguments: &Value) -> String {
    let pairs = arguments.as_map().unwrap_or_default();
    let told = TELLING.iter().find_map(|key| arguments.get(key)?.as_text());
    let first = || pairs.iter().find_map(|(_, value)| value.as_text());
    clipped(told.or_else(first).unwrap_or_default())
}

fn arguments(out: &mut String, arguments: &Value) {
    match arguments {
        Value::Null => {}
        Value::Map(pairs) => {
            for (key, value) in pairs {
                argument(out, &escaped(key), value);
            }
        }
        value => argument(out, "arguments", value),
    }
}

/// Writes an argument: a short one on a line with its name.
fn argument(out: &mut String, name: &str, value: &Value) {
    let text = match value {
        Value::Text(text) => text.clone(),
        value => json::pretty(value),
    };
    if text.len() <= SHORT_BYTES_MAX && !text.trim().is_empty() && !text.contains(['\n', '\r']) {
        let text = escaped(&text);
        out.push_str(&format!("<p class=\"argument\">{name} <code>{text}</code></p>\n"));
    } else {
        out.push_str(&format!("<p class=\"label\">{name}</p>\n"));
        code(out, "", &text);
    }
}
