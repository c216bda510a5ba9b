//! How entries are shown, wherever they are shown.

use sapwood::codec::Value;
use sapwood::ops::Logged;
use sapwood::session::Words;
use sapwood::time;

use crate::failure::Failure;
use crate::open::Context;
use crate::output;
use crate::reader::{Names, Reader};
use crate::shown;
use crate::style;

/// How much of a first line is shown.
const LINE_CHARACTERS: usize = 60;

/// Cuts a line to so many characters, the last of which then says so.
pub(crate) fn clipped(line: &str, characters: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if line.chars().nth(characters).is_none() {
        return line.chars().map(clean).collect();
    }
    let kept: String = line.chars().take(characters.saturating_sub(1)).map(clean).collect();
    format!("{}…", kept.trim_end())
}

/// Writes who says what, on one line.
pub(crate) fn summary(words: &Words) -> String {
    let who = shown::line(&words.who);
    match words.first_line() {
        "" => who.into_owned(),
        line => format!("{who}: {}", clipped(line, LINE_CHARACTERS)),
    }
}

/// Writes the names on an entry in brackets, after a space; nothing if there are none.
pub(crate) fn decoration(context: &Context, names: &Names, logged: &Logged) -> String {
    match names.decoration(&logged.id) {
        words if words.is_empty() => words,
        words => format!(" {}", context.output.paint(style::REF, format_args!("({words})"))),
    }
}

/// Writes an entry on one line: id, names, who, and the first line.
pub(crate) fn line(
    context: &Context,
    reader: &Reader,
    names: &Names,
    logged: &Logged,
) -> Result<String, Failure> {
    let id = context.output.paint(style::ID, reader.short(&logged.id)?);
    let decoration = decoration(context, names, logged);
    Ok(format!("{id}{decoration} {}", summary(&logged.words)))
}

/// Gives an entry as JSON: for a message who says what, for others the body.
pub(crate) fn fields(names: &Names, logged: &Logged) -> Vec<(&'static str, Value)> {
    let Logged { id, entry, words } = logged;
    let ids = |ids: &[sapwood::Id]| ids.iter().map(|id| Value::from(id.to_string())).collect();
    let mut fields: Vec<(&'static str, Value)> = vec![
        ("type", entry.label.as_str().into()),
        ("id", id.to_string().into()),
        ("parentId", output::text(entry.parents.first())),
        ("parents", Value::List(ids(&entry.parents))),
        ("timestamp", time::format(entry.time).into()),
    ];
    match &words.message {
        Some(message) => {
            fields.push(("role", message.role.as_str().into()));
            fields.push(("content", content(&entry.body)));
            let usage = &message.usage;
            let cost = usage.cost.map_or(Value::Null, Value::Float);
            let known = [
                ("model", message.model.clone().into()),
                ("provider", message.provider.clone().into()),
                ("tokens", usage.tokens.into()),
                ("cost", cost),
                ("metadata", entry.body.get("metadata").cloned().unwrap_or(Value::Null)),
            ];
            fields.extend(known.into_iter().filter(|(_, value)| !value.is_null()));
        }
        None => fields.push(("body", plain(&entry.body))),
    }
    let texts = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
    let named = [("branches", names.branches(id)), ("labels", names.labels(id))];
    let named = named.into_iter().filter(|(_, names)| !names.is_empty());
    fields.extend(named.map(|(key, names)| (key, Value::List(texts(names)))));
    fields
}

/// Gives the content of a message as it was given.
pub(crate) fn content(body: &Value) -> Value {
    let payload = body.get("message").filter(|inner| inner.as_map().is_some()).unwrap_or(body);
    let content = payload.get("content").or_else(|| payload.get("text"));
    content.map_or(Value::Null, plain)
}

/// Gives a value with its links as the ids they are.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::Link(id) => Value::Text(id.to_string()),
        Value::List(items) => Value::List(items.iter().map(plain).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}
