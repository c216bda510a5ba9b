//! How values stood in their file: all that is needed, beside the values, to write it again.
//!
//! It is the body of the event that closes their runs. What is as in most files is not in it, so a
//! file of plain lines has an empty one.

use crate::codec::Value;
use crate::codec::json::{Spacing, Style};

/// What stands between two values, unless something else is said.
const BETWEEN: &str = "\n";

/// How a stretch of values stood in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Whether the file begins here.
    pub anew: bool,
    /// How the values are written.
    pub style: Style,
    /// What stands between two values.
    pub between: String,
    /// What stands before a value instead: the value's place in the stretch, from 0, and the text.
    pub seams: Vec<(u64, String)>,
    /// What stands behind the last value: a text, or a link to bytes.
    pub tail: Value,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            anew: false,
            style: Style::default(),
            between: BETWEEN.to_owned(),
            seams: Vec::new(),
            tail: BETWEEN.into(),
        }
    }
}

impl Layout {
    /// Notes what stands before the value at a place. What stands between the first two values of
    /// a file, it takes for what stands between all.
    pub fn note(&mut self, place: u64, before: &str) {
        if self.anew && place == 1 && before.contains('\n') {
            before.clone_into(&mut self.between);
        }
        if before != self.usual(place) {
            self.seams.push((place, before.to_owned()));
        }
    }

    /// Gives what stands before the value at a place, if no seam says otherwise.
    fn usual(&self, place: u64) -> &str {
        if self.anew && place == 0 { "" } else { &self.between }
    }

    /// Gives what stands before the value at a place.
    pub fn before(&self, place: u64) -> &str {
        let seam = self.seams.binary_search_by_key(&place, |(place, _)| *place);
        seam.map_or_else(|_| self.usual(place), |found| &self.seams[found].1)
    }

    /// Makes the body of the event.
    pub fn body(&self) -> Value {
        let usual = Layout::default();
        let mut pairs = Vec::new();
        if self.anew {
            pairs.push(("anew", Value::Bool(true)));
        }
        match self.style.spacing {
            Spacing::Compact => {}
            Spacing::Spaced => pairs.push(("spacing", "spaced".into())),
            Spacing::Lines(level) => pairs.push(("spacing", Value::Integer(level as i64))),
        }
        if self.style.ascii {
            pairs.push(("ascii", Value::Bool(true)));
        }
        if self.between != usual.between {
            pairs.push(("between", self.between.as_str().into()));
        }
        if !self.seams.is_empty() {
            let seams = self.seams.iter().map(|(place, text)| {
                Value::List(vec![Value::Integer(*place as i64), text.as_str().into()])
            });
            pairs.push(("seams", Value::List(seams.collect())));
        }
        if self.tail != usual.tail {
            pairs.push(("tail", self.tail.clone()));
        }
        match pairs.is_empty() {
            true => Value::Null,
            false => Value::map(pairs),
        }
    }

    /// Reads the body of an event, its long strings put back.
    pub fn read(body: &Value) -> Layout {
        let mut layout = Layout::default();
        let is_true = |key: &str| body.get(key).and_then(Value::as_bool) == Some(true);
        layout.anew = is_true("anew");
        layout.style.ascii = is_true("ascii");
        layout.style.spacing = match body.get("spacing") {
            Some(Value::Integer(level)) => Spacing::Lines(usize::try_from(*level).unwrap_or(0)),
            Some(Value::Text(_)) => Spacing::Spaced,
            _ => Spacing::Compact,
        };
        if let Some(between) = body.get("between").and_then(Value::as_text) {
            layout.between = between.to_owned();
        }
        for seam in body.get("seams").and_then(Value::as_list).unwrap_or_default() {
            if let Some([Value::Integer(place), Value::Text(text)]) = seam.as_list() {
                layout.seams.push((u64::try_from(*place).unwrap_or(0), text.clone()));
            }
        }
        if let Some(tail) = body.get("tail") {
            layout.tail = tail.clone();
        }
        layout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_file_has_nothing_to_say() {
        let mut layout = Layout::default();
        layout.note(0, "\n");
        layout.note(1, "\n");
        assert_eq!(layout.body(), Value::Null);
        assert_eq!(Layout::read(&Value::Null), layout);
    }

    #[test]
    fn what_is_said_is_read_again() {
        let mut layout = Layout {
            anew: true,
            style: Style { spacing: Spacing::Lines(2), ascii: true },
            between: "\n".to_owned(),
            seams: Vec::new(),
            tail: "".into(),
        };
        for (place, before) in ["", "\r\n", "", "\r\n\r\n", "\r\n"].into_iter().enumerate() {
            layout.note(place as u64, before);
        }
        assert_eq!(layout.between, "\r\n");
        assert_eq!(layout.seams, [(2, String::new()), (3, "\r\n\r\n".to_owned())]);
        let again = Layout::read(&layout.body());
        assert_eq!(again, layout);
        let befores: Vec<&str> = (0..5).map(|place| again.before(place)).collect();
        assert_eq!(befores, ["", "\r\n", "", "\r\n\r\n", "\r\n"]);
    }
}
