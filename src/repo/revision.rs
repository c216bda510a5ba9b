//! The grammar of revisions: text in, its parts out. Nothing is looked up here.
//!
//! ```text
//! range    = revision | [revision] ".." [revision]          an absent side is HEAD
//! revision = [session ":"] base step* | [session ":"] "id:" anything
//! base     = "@" | "HEAD" | "msg:" number | "turn:" number | name
//! step     = "~" [number] | "@{" number "}"
//! ```
//!
//! A name is a branch, a label, a full ref name or the first digits of an id. Branch names may hold
//! any of these signs, so a revision also keeps where each step begins: who looks names up tries
//! the longest one first.
//!
//! Parsing never panics, whatever the text, and its work is bounded by the text's length.

use crate::error::{Error, Result};

/// The longest revision, in bytes: a ref's longest name, a session's, and some steps.
const REVISION_BYTES_MAX: usize = 4096;

/// How many steps a revision may have.
const STEPS_MAX: usize = 64;

/// A revision, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// What was typed.
    pub text: String,
    /// What stands before the first colon, if that names a session.
    pub session: Option<String>,
    /// Where it begins.
    pub base: Base,
    /// How it goes on from there.
    pub steps: Vec<Step>,
    /// Where in the text each step begins.
    pub(super) step_offsets: Vec<usize>,
}

/// Where a revision begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// The active branch.
    Head,
    /// A branch, a label, a ref or the first digits of an id.
    Name(String),
    /// The n-th message on the path from the root, from 1.
    Message(u64),
    /// The n-th message of the transcript, from 1.
    Turn(u64),
    /// The entry whose body has this `id` or `uuid`.
    Foreign(String),
}

/// How a revision goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `~n`: so many first parents back.
    Back(u64),
    /// `@{n}`: what the ref was before its last n operations.
    Before(u64),
}

/// One revision, or what one has and another has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// What is left out with all its ancestors.
    pub hide: Option<Revision>,
    /// What is shown with all its ancestors.
    pub show: Revision,
}

impl Revision {
    /// Takes a revision apart.
    pub fn parse(text: &str) -> Result<Revision> {
        check_length(text)?;
        let (session, rest) = split_session(text);
        let offset = text.len() - rest.len();
        let mut revision = Revision {
            text: text.to_owned(),
            session: session.map(str::to_owned),
            base: Base::Head,
            steps: Vec::new(),
            step_offsets: Vec::new(),
        };
        if let Some(foreign) = rest.strip_prefix("id:") {
            if foreign.is_empty() {
                return Err(malformed(text, "nothing follows 'id:'"));
            }
            revision.base = Base::Foreign(foreign.to_owned());
            return Ok(revision);
        }
        let mut end = rest.len();
        while let Some((start, step)) = last_step(text, &rest[..end])? {
            if revision.steps.len() == STEPS_MAX {
                return Err(malformed(text, "it has more than 64 steps"));
            }
            revision.steps.push(step);
            revision.step_offsets.push(offset + start);
            end = start;
        }
        revision.steps.reverse();
        revision.step_offsets.reverse();
        revision.base = base(text, &rest[..end], revision.steps.first())?;
        Ok(revision)
    }
}

impl Range {
    /// Takes a revision or a range apart. What begins with `id:` is one revision, dots and all.
    pub fn parse(text: &str) -> Result<Range> {
        check_length(text)?;
        let split = if text.starts_with("id:") { None } else { text.split_once("..") };
        let Some((hide, show)) = split else {
            let show = Revision::parse(text)?;
            return Ok(Range { hide: None, show });
        };
        if show.starts_with('.') {
            return Err(malformed(text, "a range has two dots"));
        }
        if hide.is_empty() && show.is_empty() {
            return Err(malformed(text, "a range needs at least one end"));
        }
        let side = |text: &str| Revision::parse(if text.is_empty() { "HEAD" } else { text });
        Ok(Range { hide: Some(side(hide)?), show: side(show)? })
    }
}

fn check_length(text: &str) -> Result<()> {
    if text.len() > REVISION_BYTES_MAX {
        return Err(Error::TooLarge {
            what: "the revision in bytes",
            found: text.len() as u64,
            limit: REVISION_BYTES_MAX as u64,
        });
    }
    Ok(())
}

/// Splits off what stands before the first colon, unless that is one of the grammar's own words.
fn split_session(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some(("id", _)) => (None, text),
        Some(("msg" | "turn", rest)) if rest.starts_with(|sign: char| sign.is_ascii_digit()) => {
            (None, text)
        }
        Some((session, rest)) if !session.is_empty() => (Some(session), rest),
        _ => (None, text),
    }
}

/// Finds the step at the end of a text, and where it begins.
fn last_step(whole: &str, text: &str) -> Result<Option<(usize, Step)>> {
    if let Some(inner) = text.strip_suffix('}')
        && let Some((before, digits)) = inner.rsplit_once("@{")
    {
        let number = number(whole, digits)?;
        return Ok(Some((before.len(), Step::Before(number))));
    }
    let before = text.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let Some(start) = before.strip_suffix('~').map(str::len) else {
        return Ok(None);
    };
    let number = match &text[before.len()..] {
        "" => 1,
        digits => number(whole, digits)?,
    };
    Ok(Some((start, Step::Back(number))))
}

fn base(whole: &str, text: &str, step: Option<&Step>) -> Result<Base> {
    match text {
        "@" | "HEAD" => return Ok(Base::Head),
        // `@{2}` alone speaks of the active branch.
        "" if matches!(step, Some(Step::Before(_))) => return Ok(Base::Head),
        "" => return Err(malformed(whole, "it names nothing to begin with")),
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("msg:") {
        return Ok(Base::Message(position(whole, digits, "messages are counted from 1")?));
    }
    if let Some(digits) = text.strip_prefix("turn:") {
        return Ok(Base::Turn(position(whole, digits, "turns are counted from 1")?));
    }
    Ok(Base::Name(text.to_owned()))
}

fn position(whole: &str, digits: &str, from: &str) -> Result<u64> {
    match number(whole, digits)? {
        0 => Err(malformed(whole, from)),
        number => Ok(number),
    }
}

fn number(whole: &str, digits: &str) -> Result<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed(whole, "a number is missing"));
    }
    digits.parse().map_err(|_| malformed(whole, "a number in it is too large"))
}

pub(super) fn malformed(revision: &str, why: &str) -> Error {
    Error::RevisionMalformed { revision: revision.to_owned(), why: why.to_owned() }
}

pub(super) fn unknown(revision: &str, why: impl Into<String>) -> Error {
    Error::RevisionUnknown { revision: revision.to_owned(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, session: Option<&str>, base: Base, steps: &[Step]) {
        let revision = Revision::parse(text).unwrap();
        assert_eq!(revision.session.as_deref(), session, "{text}");
        assert_eq!(revision.base, base, "{text}");
        assert_eq!(revision.steps, steps, "{text}");
    }

    fn name(name: &str) -> Base {
        Base::Name(name.to_owned())
    }

    #[test]
    fn every_form_is_taken_apart() {
        check("@", None, Base::Head, &[]);
        check("HEAD~2", None, Base::Head, &[Step::Back(2)]);
        check("@{2}", None, Base::Head, &[Step::Before(2)]);
        check("@@{2}", None, Base::Head, &[Step::Before(2)]);
        check("main", None, name("main"), &[]);
        check("main~~3", None, name("main"), &[Step::Back(1), Step::Back(3)]);
        let steps = [Step::Before(1), Step::Back(2)];
        check("The Architect@{1}~2", None, name("The Architect"), &steps);
        check("s1:main~", Some("s1"), name("main"), &[Step::Back(1)]);
        check("s1:@", Some("s1"), Base::Head, &[]);
        check("msg:3", None, Base::Message(3), &[]);
        check("s1:turn:12~1", Some("s1"), Base::Turn(12), &[Step::Back(1)]);
        check("msg:main", Some("msg"), name("main"), &[]);
        let foreign = Base::Foreign("a:b~2..@{1}".to_owned());
        check("id:a:b~2..@{1}", None, foreign.clone(), &[]);
        check("s1:id:a:b~2..@{1}", Some("s1"), foreign, &[]);
        check("refs/sessions/s/tip", None, name("refs/sessions/s/tip"), &[]);
    }

    #[test]
    fn ranges_have_a_side_to_hide() {
        let sides = |text: &str| {
            let range = Range::parse(text).unwrap();
            (range.hide.map(|hide| hide.text), range.show.text)
        };
        let pair = |hide: &str, show: &str| (Some(hide.to_owned()), show.to_owned());
        assert_eq!(sides("a..b~2"), pair("a", "b~2"));
        assert_eq!(sides("a.."), pair("a", "HEAD"));
        assert_eq!(sides("..b"), pair("HEAD", "b"));
        assert_eq!(sides("a..id:x..y"), pair("a", "id:x..y"));
        assert_eq!(sides("id:x..y"), (None, "id:x..y".to_owned()));
    }

    #[test]
    fn nonsense_is_refused() {
        let cases = [
            "",
            "~",
            "~3",
            "s1:",
            "id:",
            "msg:0",
            "turn:1x",
            "msg:99999999999999999999",
            "main~99999999999999999999",
            "main@{}",
            "main@{x}",
            "main@{-1}",
        ];
        for text in cases {
            assert!(Revision::parse(text).is_err(), "{text}");
        }
        assert!(Revision::parse(&format!("x{}", "~".repeat(65))).is_err());
        assert!(Revision::parse(&"x".repeat(4097)).is_err());
        for text in ["..", "...", "a...b"] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r"[a-c~@{}:.0-9 é/]{0,24}|.{0,40}") {
            if let Ok(range) = Range::parse(&text) {
                for (step, offset) in range.show.steps.iter().zip(&range.show.step_offsets) {
                    let sign = match step { Step::Back(_) => "~", Step::Before(_) => "@{" };
                    prop_assert!(range.show.text[*offset..].starts_with(sign));
                }
            }
        }
    }
}
