//! What is printed: buffered lines, JSON lines, colour.
//!
//! Data goes to stdout, chatter to stderr. A reader that goes away is no failure.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use sapwood::codec::{Value, json};

use crate::args::{Color, Global, Listing};
use crate::failure::Failure;
use crate::pager::Pager;
use crate::shown;

/// The version of the shapes that `--json` prints; the field `v` of each.
pub(crate) const SHAPE_VERSION: i64 = 1;

/// What begins a colour.
const ESCAPE: &str = "\x1b";

/// One of the two streams that can be coloured.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Standard output, as the flags want it.
pub(crate) struct Output {
    /// Whether to print JSON.
    pub(crate) json: bool,
    color: bool,
    quiet: bool,
    end: u8,
    buffer: Vec<u8>,
    stream: BufWriter<Box<dyn Write>>,
    /// Whether a person reads it, so that no control character may pass.
    is_terminal: bool,
    is_paged: bool,
    /// What stands for an escape character of our own until it is printed. Nobody can guess it, so
    /// no text that somebody wrote can be taken for a colour.
    mark: String,
}

impl Output {
    /// Takes hold of standard output.
    pub(crate) fn new(global: &Global) -> Output {
        Output {
            json: global.json,
            color: is_colored(global.color, Stream::Out),
            quiet: global.quiet,
            end: b'\n',
            buffer: Vec::new(),
            stream: BufWriter::with_capacity(1 << 16, Box::new(io::stdout().lock())),
            is_terminal: io::stdout().is_terminal(),
            is_paged: false,
            mark: format!("\u{e000}{:016x}", RandomState::new().build_hasher().finish()),
        }
    }

    /// Shows what follows page by page, if a person reads it.
    pub(crate) fn page(&mut self) {
        if self.json || self.is_paged {
            return;
        }
        if let Some(pager) = Pager::start() {
            self.stream = BufWriter::with_capacity(1 << 16, Box::new(pager));
            self.is_paged = true;
        }
    }

    /// Ends items as the listing flags say.
    pub(crate) fn list(&mut self, listing: Listing) {
        self.end = if listing.null { 0 } else { b'\n' };
    }

    /// Prints one item of a listing.
    pub(crate) fn item(&mut self, text: impl Display) -> Result<(), Failure> {
        self.text(&text.to_string())?;
        self.bytes(&[self.end])
    }

    /// Prints a text; on a terminal with its control characters written out.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let text = self.printable(text);
        self.stream.write_all(text.as_bytes()).map_err(Failure::Output)
    }

    fn printable<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = if self.is_terminal { shown::block(text) } else { Cow::Borrowed(text) };
        match text.contains(&self.mark) {
            true => Cow::Owned(text.replace(&self.mark, ESCAPE)),
            false => text,
        }
    }

    /// Prints one JSON object on a line.
    pub(crate) fn record<const N: usize>(
        &mut self,
        fields: [(&'static str, Value); N],
    ) -> Result<(), Failure> {
        self.fields(fields)
    }

    /// Prints one JSON object on a line, of fields that are not always the same.
    pub(crate) fn fields(
        &mut self,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<(), Failure> {
        self.value(&object([("v", Value::from(SHAPE_VERSION))].into_iter().chain(fields)))
    }

    /// Prints a JSON value on a line.
    fn value(&mut self, value: &Value) -> Result<(), Failure> {
        self.buffer.clear();
        json::write(value, &mut self.buffer);
        self.buffer.push(b'\n');
        self.stream.write_all(&self.buffer).map_err(Failure::Output)
    }

    /// Prints bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(bytes).map_err(Failure::Output)
    }

    /// Hands everything on to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.stream.flush().map_err(Failure::Output)
    }

    /// Says something on stderr that is not data.
    pub(crate) fn note(&mut self, text: impl Display) {
        if !self.quiet {
            // With stderr gone there is nobody left to tell.
            let text = text.to_string();
            let _ = writeln!(io::stderr().lock(), "{}", shown::block(&text));
        }
    }

    /// Says whether a person reads what is printed.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Says whether only what was asked for is to be printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Colours a text if colours are wanted.
    pub(crate) fn paint(&self, style: impl Into<Style>, text: impl Display) -> String {
        let style = style.into();
        match self.color {
            true => {
                let (begin, end) = (style.to_string(), format!("{style:#}"));
                format!("{}{text}{}", self.own(&begin), self.own(&end))
            }
            false => text.to_string(),
        }
    }

    /// Lets the escape characters of a text pass that are ours, or the user's who runs this.
    pub(crate) fn own(&self, text: &str) -> String {
        text.replace(ESCAPE, &self.mark)
    }
}

/// Builds a JSON object.
pub(crate) fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let fields = fields.into_iter();
    Value::Map(fields.map(|(name, value)| (name.into(), value)).collect())
}

/// Gives a count as a JSON number.
pub(crate) fn count(number: impl TryInto<i64>) -> Value {
    Value::Integer(number.try_into().unwrap_or(i64::MAX))
}

/// Gives anything printable as a JSON string, or null.
pub(crate) fn text(content: Option<impl Display>) -> Value {
    content.map_or(Value::Null, |content| Value::Text(content.to_string()))
}

/// Says whether a stream is to be coloured.
pub(crate) fn is_colored(color: Color, stream: Stream) -> bool {
    match (color, stream) {
        (Color::Always, _) => true,
        (Color::Never, _) => false,
        (Color::Auto, Stream::Out) => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        (Color::Auto, Stream::Err) => AutoStream::choice(&io::stderr()) != ColorChoice::Never,
    }
}

/// Puts a text between the codes of a style, or leaves it plain.
pub(crate) fn painted(style: Style, text: impl Display, color: bool) -> String {
    if color { format!("{style}{text}{style:#}") } else { text.to_string() }
}

/// Gives a number as JSON, whole ones without a fraction, or null.
pub(crate) fn number(value: Option<f64>) -> Value {
    value.and_then(|value| Value::number(&number_text(value))).unwrap_or(Value::Null)
}

/// Writes a number as a person would.
pub(crate) fn number_text(value: f64) -> String {
    // Adding zero turns a negative zero into zero.
    (value + 0.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_escapes_reach_a_terminal() {
        let mut output = Output::new(&Global { color: Color::Always, ..Global::default() });
        let text = format!("{} \x1b[2J", output.paint(crate::style::ID, "a\x1b[31m"));
        output.is_terminal = true;
        assert_eq!(output.printable(&text), "\x1b[33ma\\u{1b}[31m\x1b[0m \\u{1b}[2J");
        output.is_terminal = false;
        assert_eq!(output.printable(&text), "\x1b[33ma\x1b[31m\x1b[0m \x1b[2J");
    }
}
