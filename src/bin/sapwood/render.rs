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

/// How many names on an entry are shown.
const NAMES_MAX: usize = 3;

/// What a line shows of what is said, however much stands before it.
const LINE_COLUMNS_MIN: usize = 20;

/// Writes who says what, on one line of so many columns.
pub(crate) fn summary(words: &Words, columns: usize) -> String {
    let who = shown::clipped(&shown::line(&words.who), LINE_COLUMNS_MIN);
    match words.first_line() {
        "" => who,
        line => {
            let left = columns.saturating_sub(shown::width(&who) + 2);
            format!("{who}: {}", shown::clipped(line, left.max(LINE_COLUMNS_MIN)))
        }
    }
}

/// Writes the names on an entry in brackets, after a space; nothing if there are none.
pub(crate) fn decoration(context: &Context, names: &Names, logged: &Logged) -> String {
    match bracketed(names, logged) {
        words if words.is_empty() => words,
        words => format!(" {}", context.output.paint(style::REF, words)),
    }
}

fn bracketed(names: &Names, logged: &Logged) -> String {
    let mut words = names.words(&logged.id);
    let more = words.len().saturating_sub(NAMES_MAX);
    if more > 1 {
        words.truncate(NAMES_MAX);
        words.push(format!("… {more} more"));
    }
    if words.is_empty() { String::new() } else { format!("({})", words.join(", ")) }
}

/// Writes an entry on one line, behind so many columns: id, names, who, and the first line.
pub(crate) fn line(
    context: &Context,
    reader: &Reader,
    names: &Names,
    logged: &Logged,
    margin: usize,
) -> Result<String, Failure> {
    let id = reader.short(&logged.id)?;
    let names_columns = match shown::width(&bracketed(names, logged)) {
        0 => 0,
        columns => columns + 1,
    };
    let used = margin + id.len() + names_columns + 1;
    let id = context.output.paint(style::ID, id);
    let decoration = decoration(context, names, logged);
    let summary = summary(&logged.words, shown::COLUMNS.saturating_sub(used));
    Ok(format!("{id}{decoration} {summary}"))
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
