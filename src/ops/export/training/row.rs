//! Rows, where they go, and what their columns are.

use std::io::{self, Write};

use crate::codec::{Value, json};
use crate::ops::export::training::parquet::Kind;
use crate::ops::export::training::{TrainingForm, TrainingOptions};

/// What a row has in one column.
pub(super) enum Cell<'a> {
    /// Messages.
    List(&'a [Value]),
    /// Yes or no.
    Truth(bool),
}

/// Where rows go.
pub(super) trait Sink {
    /// Takes a row.
    fn row(&mut self, cells: &[(&'static str, Cell<'_>)]) -> io::Result<()>;
}

/// JSON, a line for each row.
pub(super) struct Lines<'a> {
    pub(super) out: &'a mut dyn Write,
}

impl Sink for Lines<'_> {
    fn row(&mut self, cells: &[(&'static str, Cell<'_>)]) -> io::Result<()> {
        let mut line = Vec::new();
        for (number, (name, cell)) in cells.iter().enumerate() {
            line.extend_from_slice(if number == 0 { b"{" } else { b"," });
            json::write(&Value::from(*name), &mut line);
            line.push(b':');
            match cell {
                Cell::Truth(truth) => json::write(&Value::Bool(*truth), &mut line),
                Cell::List(items) => {
                    line.push(b'[');
                    for (number, item) in items.iter().enumerate() {
                        line.extend_from_slice(if number == 0 { b"" } else { b"," });
                        json::write(item, &mut line);
                    }
                    line.push(b']');
                }
            }
        }
        line.extend_from_slice(b"}\n");
        self.out.write_all(&line)
    }
}

/// Gives the columns of a form, and what is in them.
pub(super) fn columns(options: &TrainingOptions) -> Vec<(&'static str, Kind)> {
    let messages = || messages(options);
    match options.form {
        TrainingForm::Openai => vec![("messages", messages())],
        TrainingForm::Sharegpt => {
            let turn = Kind::Fields(vec![("from", Kind::Text), ("value", Kind::Text)]);
            vec![("conversations", Kind::list(turn))]
        }
        TrainingForm::Sft => vec![("prompt", messages()), ("completion", messages())],
        TrainingForm::Dpo => {
            vec![("prompt", messages()), ("chosen", messages()), ("rejected", messages())]
        }
        TrainingForm::Kto => {
            vec![("prompt", messages()), ("completion", messages()), ("label", Kind::Truth)]
        }
    }
}

/// Gives what messages as OpenAI's are made of.
fn messages(options: &TrainingOptions) -> Kind {
    let address = Kind::Fields(vec![("url", Kind::Text)]);
    let part =
        Kind::Fields(vec![("type", Kind::Text), ("text", Kind::Text), ("image_url", address)]);
    let function = Kind::Fields(vec![("name", Kind::Text), ("arguments", Kind::Text)]);
    let call = Kind::Fields(vec![("id", Kind::Text), ("type", Kind::Text), ("function", function)]);
    let content = if options.images { Kind::list(part) } else { Kind::Text };
    let mut fields = vec![("role", Kind::Text), ("content", content)];
    if options.thinking {
        fields.push(("reasoning_content", Kind::Text));
    }
    fields.push(("tool_calls", Kind::list(call)));
    fields.push(("tool_call_id", Kind::Text));
    Kind::list(Kind::Fields(fields))
}
