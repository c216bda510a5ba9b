//! What `--format` says: text with placeholders.

use sapwood::ops::Logged;
use sapwood::time;

use crate::failure::Failure;
use crate::open::{Context, now};
use crate::reader::{Names, Reader};
use crate::shown;

/// A text with placeholders, read.
#[derive(Clone, Debug)]
pub(super) struct Format {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Place(char),
}

const PLACES: &str = "HhPprysbtTamvckdD";

impl Format {
    /// Reads a format; for the arguments.
    pub(super) fn parse(text: &str) -> Result<Format, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                plain.push(c);
                continue;
            }
            match rest.next() {
                Some('%') => plain.push('%'),
                Some('n') => plain.push('\n'),
                Some('x') => {
                    let digits: String = rest.by_ref().take(2).collect();
                    let byte = u8::from_str_radix(&digits, 16).ok().filter(u8::is_ascii);
                    plain.push(byte.map(char::from).ok_or("%x wants two hex digits, up to 7f")?);
                }
                Some(place) if PLACES.contains(place) => {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Place(place));
                }
                Some(other) => return Err(format!("there is no placeholder %{other}")),
                None => return Err("it ends in a single %; write %%".to_owned()),
            }
        }
        parts.push(Part::Text(plain));
        Ok(Format { parts })
    }

    /// Writes an entry.
    pub(super) fn write(
        &self,
        context: &Context,
        reader: &Reader,
        names: &Names,
        logged: &Logged,
    ) -> Result<String, Failure> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(&context.output.own(plain)),
                Part::Place(place) => text.push_str(&filled(*place, reader, names, logged)?),
            }
        }
        Ok(text)
    }
}

/// Gives what stands in the place of a placeholder; nothing where nothing is known.
fn filled(place: char, reader: &Reader, names: &Names, logged: &Logged) -> Result<String, Failure> {
    let Logged { id, entry, words } = logged;
    let message = words.message.as_ref();
    Ok(match place {
        'H' => id.to_string(),
        'h' => reader.short(id)?,
        'P' => entry.parents.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        'p' => {
            let short: Result<Vec<_>, _> =
                entry.parents.iter().map(|id| reader.short(id)).collect();
            short?.join(" ")
        }
        'r' => shown::line(&words.who).into_owned(),
        'y' => shown::line(&entry.label).into_owned(),
        's' => words.first_line().to_owned(),
        'b' => words.text.clone(),
        't' => time::format(entry.time),
        'T' => entry.time.to_string(),
        'a' => time::age(entry.time, now()),
        'm' => named(message.and_then(|message| message.model.as_deref())),
        'v' => named(message.and_then(|message| message.provider.as_deref())),
        'c' => said(message.and_then(|message| message.usage.cost)),
        'k' => said(message.and_then(|message| message.usage.tokens)),
        'd' => match names.decoration(id) {
            words if words.is_empty() => words,
            words => format!(" ({words})"),
        },
        _ => names.decoration(id),
    })
}

fn named(name: Option<&str>) -> String {
    name.map(|name| shown::line(name).into_owned()).unwrap_or_default()
}

fn said(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
