//! What is looked for: literals and expressions from a file, and the built-in patterns.
//!
//! Every pattern is tried on a text as it stands and with its escapes undone, level by level. One
//! set of all patterns says quickly that a text has none.

use std::collections::BTreeSet;
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
/// What names that were made of something found are counted as.
const BRANCH_NAME: &str = "name made of it";

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
        // Some editors begin a file with a mark, which is no part of its first line.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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

    /// Looks for names, where they stand alone.
    pub(super) fn names_of(names: &BTreeSet<String>) -> Result<Patterns> {
        let edge = |letter: Option<char>| match letter {
            Some(letter) if letter.is_alphanumeric() => r"\b",
            _ => "",
        };
        let alone = |name: &String| {
            let (begin, end) = (edge(name.chars().next()), edge(name.chars().next_back()));
            format!("{begin}{}{end}", regex::escape(name))
        };
        // The longer of two that begin alike comes first.
        let expression = names.iter().rev().map(alone).collect::<Vec<_>>().join("|");
        let pattern = Pattern::new(BRANCH_NAME.to_owned(), expression);
        let pattern = pattern.map_err(|_| refused("it is in too many names".to_owned()))?;
        Patterns::of(vec![pattern], Vec::new())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(patterns: &Patterns, text: &str) -> Vec<String> {
        let hits = patterns.find(text.as_bytes());
        hits.iter().map(|hit| text[hit.range.clone()].to_owned()).collect()
    }

    /// Made-up keys of every kind, put together here so that no scanner stumbles over this file.
    fn examples() -> Vec<(&'static str, String)> {
        let mixed = |count: usize| "aB3dE6gH9".chars().cycle().take(count).collect::<String>();
        let hex = |count: usize| "0a1b2c3d4e5f".chars().cycle().take(count).collect::<String>();
        let key = |begin: &str, rest: String| format!("{begin}{rest}");
        let pem = |word: &str| format!("-----{word} RSA PRIVATE {}-----", "KEY");
        vec![
            ("aws-access-key", key("AK", "IAQWERTYUIOPASDFGH".to_owned())),
            ("aws-secret-key", mixed(40)),
            ("github-token", key("gh", format!("p_{}", mixed(36)))),
            ("github-fine-grained-token", key("github", format!("_pat_{}", mixed(82)))),
            ("gitlab-token", key("gl", format!("pat-{}", mixed(20)))),
            ("slack-token", key("xo", format!("xb-{}", mixed(24)))),
            ("slack-app-token", key("xa", format!("pp-1-A0-12-{}", hex(64)))),
            ("slack-webhook", format!("T0/B0/{}", mixed(40))),
            ("anthropic-key", key("sk-", format!("ant-api03-{}", mixed(60)))),
            ("openai-key", key("sk-", format!("proj-{}", mixed(60)))),
            ("openai-legacy-key", key("sk-", mixed(48))),
            ("openrouter-key", key("sk-", format!("or-v1-{}", hex(64)))),
            ("google-api-key", key("AI", format!("za{}", mixed(35)))),
            ("google-oauth-token", key("ya", format!("29.{}", mixed(60)))),
            ("google-client-secret", key("GOC", format!("SPX-{}", mixed(28)))),
            ("stripe-key", key("sk_", format!("live_{}", mixed(24)))),
            ("stripe-webhook-secret", key("wh", format!("sec_{}", mixed(32)))),
            ("npm-token", key("np", format!("m_{}", mixed(36)))),
            ("pypi-token", key("py", format!("pi-AgE{}", mixed(60)))),
            ("huggingface-token", key("h", format!("f_{}", "abCd".repeat(9).split_at(34).0))),
            ("sendgrid-key", key("S", format!("G.{}.{}", mixed(22), mixed(43)))),
            ("digitalocean-token", key("do", format!("p_v1_{}", hex(64)))),
            ("telegram-bot-token", format!("123456789:{}", key("A", format!("A{}", mixed(33))))),
            ("jwt", format!("ey{}.ey{}.{}", key("J", mixed(20)), key("J", mixed(20)), mixed(20))),
            ("private-key", format!("{}\n{}\n{}", pem("BEGIN"), mixed(64), pem("END"))),
            ("url-password", "s3cr-et.pw".to_owned()),
            ("bearer-token", mixed(24)),
            (ASSIGNED, "hunter22-x".to_owned()),
        ]
    }

    /// Puts a key where it would stand.
    fn within(name: &str, key: &str) -> String {
        match name {
            "aws-secret-key" => format!("AWS_SECRET_ACCESS_KEY={key}"),
            "slack-webhook" => format!("https://hooks.slack.com/services/{key} x"),
            "url-password" => format!("postgres://ada:{key}@db.example.org/x"),
            "bearer-token" => format!("Authorization: Bearer {key}"),
            ASSIGNED => format!("password = '{key}'"),
            _ => format!("it is {key}, is it"),
        }
    }

    #[test]
    fn every_built_in_pattern_finds_its_key_whole_and_escaped() {
        let patterns = Patterns::secrets();
        let names: Vec<&str> = examples().iter().map(|(name, _)| *name).collect();
        assert_eq!(patterns.names().collect::<Vec<_>>(), names);
        for (name, key) in examples() {
            let text = within(name, &key);
            let hits = patterns.find(text.as_bytes());
            let is_named = hits.iter().any(|hit| patterns.patterns[hit.pattern].name == name);
            assert!(is_named || hits.len() == 1, "{name}");
            assert_eq!(found(&patterns, &text), [key.as_str()], "{name}");
            let line = crate::codec::json::to_string(&crate::codec::Value::from(text.as_str()));
            let nested = crate::codec::json::to_string(&crate::codec::Value::from(line.as_str()));
            assert_eq!(found(&patterns, &nested).len(), 1, "{name}: {nested}");
        }
    }

    #[test]
    fn what_only_looks_like_a_key_is_left() {
        let patterns = Patterns::secrets();
        let innocent = [
            "password: string",
            "password = process.env.PASSWORD",
            "api_key=config2.keys.main",
            "\"password\": \"********\"",
            "secret: ${SECRET_TOKEN_1}",
            "password=[redacted]",
            "https://user:password@example.org",
            "https://example.org:8080/a@b",
            "task-abcdefghijklmnopqrstuvwxyz",
            "the function sk_test and npm_config_cache",
            "commit 3f9a02c1aa3f9a02c1aa3f9a02c1aa3f9a02c1aa",
            "eyJ.eyJ.x",
            "Authorization: Bearer <token>",
        ];
        for text in innocent {
            assert_eq!(found(&patterns, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_file_of_patterns_is_read_line_by_line() {
        let file =
            "plain text\r\n\nregex:id-(?P<secret>[0-9]+)\njson:\"a\\nbcd\"\nliteral:regex:x\n";
        let patterns = Patterns::parse(file.as_bytes()).unwrap();
        let names: Vec<&str> = patterns.names().collect();
        assert_eq!(names, ["literal 1", "regex 3", "literal 4", "literal 5"]);
        let text = "plain text, id-42, a\nbcd, a bcd, regex:x, a\\nbcd, \\\"pl\\u0061in text";
        let hits = found(&patterns, text);
        let expected =
            ["plain text", "42", "a\nbcd", "a bcd", "regex:x", "a\\nbcd", "pl\\u0061in text"];
        assert_eq!(hits, expected);
        let marked = Patterns::parse("\u{feff}it is mine".as_bytes()).unwrap();
        assert_eq!(found(&marked, "it is mine"), ["it is mine"]);
        let quoted = Patterns::parse(b"it's mine").unwrap();
        assert_eq!(found(&quoted, r"label 'it'\''s mine' x"), [r"it'\''s mine"]);
        assert_eq!(found(&quoted.and(Patterns::secrets()).unwrap(), "it's mine").len(), 1);
    }

    #[test]
    fn hits_that_overlap_are_one() {
        let patterns = Patterns::parse(b"abcd\ncdef\nregex:d.f").unwrap();
        assert_eq!(found(&patterns, "xabcdefx abcd"), ["abcdef", "abcd"]);
    }
}
