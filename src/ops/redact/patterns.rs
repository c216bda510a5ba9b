//! What is looked for: literals and expressions from a file, and the built-in patterns.
//!
//! Every pattern is tried on a text as it stands and with its escapes undone, level by level. One
//! set of all patterns says quickly that a text has none.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::error::{Error, Result};
use crate::ops::redact::secrets::{ASSIGNED, SECRETS};
use crate::ops::redact::unescape::Unescaped;

/// The shortest literal that is looked for: a shorter one stands everywhere.
const LITERAL_BYTES_MIN: usize = 4;
/// How many patterns there may be.
const PATTERNS_MAX: usize = 10_000;
/// How many levels of escapes are undone.
const LEVELS_MAX: usize = 8;
/// How much memory the automata of all patterns may take.
const AUTOMATA_BYTES_MAX: usize = 256 << 20;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Patterns {
    patterns: Vec<Pattern>,
    set: RegexSet,
    literals: Vec<Vec<u8>>,
    /// The pattern that is tried on a key and its value.
    assigned: Option<usize>,
}

#[derive(Clone, Debug)]
struct Pattern {
    name: String,
    expression: String,
    regex: Regex,
    /// The group that is replaced; the whole match where there is none.
    group: usize,
    accept: Option<fn(&[u8]) -> bool>,
}

/// Where a pattern was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    pub(super) pattern: usize,
}

impl Patterns {
    /// Gives the built-in patterns for common keys.
    pub fn secrets() -> Patterns {
        let patterns = SECRETS.iter().map(|secret| {
            let pattern = Pattern::new(secret.name.to_owned(), secret.expression.to_owned());
            let pattern = pattern.expect("the built-in expressions are valid");
            Pattern { accept: secret.accept, ..pattern }
        });
        Patterns::of(patterns.collect(), Vec::new()).expect("the built-in expressions are valid")
    }

    /// Reads a file of patterns: a literal in each line; `regex:` and an expression; or `json:` and
    /// a string in JSON, for what holds newlines. `literal:` takes the rest of a line as it is.
    pub fn parse(text: &[u8]) -> Result<Patterns> {
        let text = std::str::from_utf8(text)
            .map_err(|_| refused("a file of patterns is UTF-8".to_owned()))?;
        let (mut patterns, mut literals) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let at = |why: &str| refused(format!("line {number} of the patterns: {why}"));
            if line.is_empty() {
                continue;
            }
            if let Some(expression) = line.strip_prefix("regex:") {
                // What the regex crate says of an expression repeats it: a secret may be in it.
                let pattern = Pattern::new(format!("regex {number}"), expression.to_owned());
                let pattern = pattern.map_err(|_| at("not a regular expression"))?;
                if pattern.regex.is_match(b"") {
                    return Err(at("the expression matches nothing, and so everywhere"));
                }
                patterns.push(pattern);
                continue;
            }
            let literal = match line.strip_prefix("json:") {
                Some(json) => match crate::codec::json::parse(json.trim().as_bytes()) {
                    Ok(crate::codec::Value::Text(text)) => text,
                    _ => return Err(at("not a string in JSON")),
                },
                None => line.strip_prefix("literal:").unwrap_or(line).to_owned(),
            };
            if literal.len() < LITERAL_BYTES_MIN {
                return Err(at("a literal has 4 bytes or more"));
            }
            let name = format!("literal {number}");
            let pattern = Pattern::new(name, spellings(&literal));
            patterns.push(pattern.map_err(|_| at("too long"))?);
            literals.push(literal.into_bytes());
        }
        if patterns.is_empty() {
            return Err(refused("the file of patterns has none".to_owned()));
        }
        Patterns::of(patterns, literals)
    }

    /// Looks for these too.
    pub fn and(self, others: Patterns) -> Result<Patterns> {
        let patterns = self.patterns.into_iter().chain(others.patterns).collect();
        Patterns::of(patterns, [self.literals, others.literals].concat())
    }

    fn of(patterns: Vec<Pattern>, literals: Vec<Vec<u8>>) -> Result<Patterns> {
        if patterns.len() > PATTERNS_MAX {
            let (found, limit) = (patterns.len() as u64, PATTERNS_MAX as u64);
            return Err(Error::TooLarge { what: "the number of patterns", found, limit });
        }
        let expressions = patterns.iter().map(|pattern| &pattern.expression);
        let set = RegexSetBuilder::new(expressions)
            .size_limit(AUTOMATA_BYTES_MAX)
            .dfa_size_limit(AUTOMATA_BYTES_MAX)
            .build()
            .map_err(|_| refused("the patterns are too many or too large".to_owned()))?;
        let assigned = patterns.iter().position(|pattern| pattern.name == ASSIGNED);
        Ok(Patterns { patterns, set, literals, assigned })
    }

    /// Gives the patterns' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.name.as_str())
    }

    /// Gives the literals.
    pub(super) fn literals(&self) -> &[Vec<u8>] {
        &self.literals
    }

    /// Finds every pattern in a text, whatever level of escapes it stands at. What overlaps is
    /// found once; the hits ascend.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.find_here(text, &mut |hit| hits.push(hit));
        let mut views: Vec<Unescaped> = Vec::new();
        let mut next = Unescaped::of(text);
        while let Some(view) = next.filter(|_| views.len() < LEVELS_MAX) {
            self.find_here(&view.text, &mut |hit| {
                let range = view.origin(&hit.range);
                let range = views.iter().rev().fold(range, |range, view| view.origin(&range));
                hits.push(Hit { range, ..hit });
            });
            next = Unescaped::of(&view.text);
            views.push(view);
        }
        merged(hits)
    }

    /// Finds in the value of a key what the key says it is.
    pub(super) fn find_assigned(&self, key: &str, value: &str) -> Vec<Hit> {
        let Some(assigned) = self.assigned else {
            return Vec::new();
        };
        let probe = format!("{key}=\"{value}\"");
        let begin = key.len() + 2;
        let mut hits = Vec::new();
        self.patterns[assigned].find(probe.as_bytes(), assigned, &mut |hit| {
            // The key is the last thing before the value, and the value is all of it.
            if hit.range == (begin..begin + value.len()) {
                hits.push(Hit { range: 0..value.len(), ..hit });
            }
        });
        hits
    }

    fn find_here(&self, text: &[u8], found: &mut dyn FnMut(Hit)) {
        for number in self.set.matches(text) {
            self.patterns[number].find(text, number, found);
        }
    }
}

impl Pattern {
    fn new(name: String, expression: String) -> Result<Pattern, regex::Error> {
        let regex = RegexBuilder::new(&expression).size_limit(AUTOMATA_BYTES_MAX).build()?;
        let group = regex.capture_names().position(|name| name == Some("secret")).unwrap_or(0);
        Ok(Pattern { name, expression, regex, group, accept: None })
    }

    fn find(&self, text: &[u8], number: usize, found: &mut dyn FnMut(Hit)) {
        let mut each = |range: Range<usize>| {
            if !range.is_empty() && self.accept.is_none_or(|accept| accept(&text[range.clone()])) {
                found(Hit { range, pattern: number });
            }
        };
        match self.group {
            0 => self.regex.find_iter(text).for_each(|hit| each(hit.range())),
            group => {
                let groups = self.regex.captures_iter(text);
                groups.filter_map(|all| all.get(group)).for_each(|hit| each(hit.range()));
            }
        }
    }
}

/// Gives an expression for all ways in which a literal is written: as it is; and as a command that
/// was typed is remembered, with quotes that a shell takes and without control characters.
fn spellings(literal: &str) -> String {
    let quoted = literal.replace('\'', r"'\''");
    let flat = |text: &str| text.replace(char::is_control, " ");
    let mut spellings = vec![literal.to_owned()];
    for other in [flat(literal), flat(&quoted), quoted] {
        if !spellings.contains(&other) {
            spellings.push(other);
        }
    }
    spellings.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|")
}

/// Joins hits that overlap.
fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end), hit.pattern));
    let mut joined: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match joined.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => joined.push(hit),
        }
    }
    joined
}

fn refused(why: String) -> Error {
    Error::Refused { why, hint: "see 'sapwood redact --help' for how patterns are written" }
}
