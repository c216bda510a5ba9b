//! The one place that says what a person sees of a failure: message, hint and exit code.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anstyle::Style;
use sapwood::codec::Value;
use sapwood::error::Error;

use crate::args::Global;
use crate::output::{self, Stream};
use crate::shown;
use crate::style;

/// How a command that did not fail ended; the number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Done, found, true.
    Yes = 0,
    /// No match, missing, false.
    No = 1,
}

/// How a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library refused.
    Library(Error),
    /// The arguments make no sense together.
    Usage(String),
    /// What was asked for can't be done.
    Request {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// What was named is not there.
    Missing(String),
    /// So many errors were found in a store that was to be checked.
    Damaged(usize),
    /// What was given is damaged, and not the store.
    DamagedInput {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// A command that was run for its answer gave none.
    Command {
        /// What was run.
        command: String,
        /// How it went.
        why: String,
    },
    /// Somebody else was faster.
    Outrun(String),
    /// Standard input could not be read.
    Input(io::Error),
    /// Standard output could not be written.
    Output(io::Error),
    /// A line of the input failed.
    Line {
        /// Which one, from 1.
        number: u64,
        /// How.
        cause: Box<Failure>,
    },
}

const MISSING: u8 = 1;
const USAGE: u8 = 2;
const REQUEST: u8 = 3;
const RACE: u8 = 4;
const LOCKED: u8 = 5;
const CORRUPT: u8 = 6;
const IO: u8 = 7;

impl Failure {
    /// Refuses a request.
    pub(crate) fn request(message: impl Into<String>) -> Failure {
        Failure::Request { message: message.into(), hint: None }
    }

    /// Adds the number of the input line that failed.
    pub(crate) fn on_line(self, number: u64) -> Failure {
        Failure::Line { number, cause: Box::new(self) }
    }

    /// Says whether nobody reads our output any more, which is no failure.
    fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == ErrorKind::BrokenPipe)
    }

    /// Gives the failure's name in JSON, its exit code, and what to do about it.
    fn explain(&self) -> (&'static str, u8, Option<String>) {
        match self {
            Failure::Library(error) => explain(error),
            Failure::Usage(_) => ("usage", USAGE, Some("see --help".to_owned())),
            Failure::Request { hint, .. } => ("bad-request", REQUEST, hint.clone()),
            Failure::Missing(_) => ("missing", MISSING, None),
            Failure::Damaged(_) => (
                "corrupt",
                CORRUPT,
                Some(
                    "keep a copy; 'sapwood fsck --fix --dry-run' says what can be mended"
                        .to_owned(),
                ),
            ),
            Failure::DamagedInput { hint, .. } => ("corrupt", CORRUPT, Some((*hint).to_owned())),
            Failure::Command { .. } => {
                ("command-failed", REQUEST, Some("nothing was changed".to_owned()))
            }
            Failure::Outrun(_) => ("ref-conflict", RACE, Some("look again and retry".to_owned())),
            Failure::Input(_) => ("io", IO, None),
            Failure::Output(_) => {
                let hint = "only output is lost; what was changed in the store stays changed";
                ("io", IO, Some(hint.to_owned()))
            }
            Failure::Line { cause, .. } => cause.explain(),
        }
    }

    /// Says what went wrong.
    pub(crate) fn message(&self) -> String {
        match self {
            Failure::Library(error) => said(error),
            Failure::Usage(message) | Failure::Missing(message) | Failure::Outrun(message) => {
                message.clone()
            }
            Failure::Request { message, .. } | Failure::DamagedInput { message, .. } => {
                message.clone()
            }
            Failure::Damaged(1) => "the store has 1 error".to_owned(),
            Failure::Damaged(count) => format!("the store has {count} errors"),
            Failure::Command { command, why } => format!("the command '{command}' {why}"),
            Failure::Input(error) => format!("cannot read standard input: {error}"),
            Failure::Output(error) => format!("cannot write standard output: {error}"),
            Failure::Line { number, cause } => format!("line {number}: {}", cause.message()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

/// Says what the library said, of a session's refs in the words that people have for them.
fn said(error: &Error) -> String {
    let Error::InvalidName { what: "ref name", name, why } = error else {
        return error.to_string();
    };
    let within = name.strip_prefix("sessions/").and_then(|rest| rest.split_once('/'));
    let known = [("heads/", "branch name"), ("labels/", "label"), ("attachments/", "name")];
    let found = known
        .into_iter()
        .find_map(|(class, what)| Some((within?.1.strip_prefix(class)?.to_owned(), what)));
    match found {
        Some((name, what)) => Error::InvalidName { what, name, why }.to_string(),
        None => error.to_string(),
    }
}

fn explain(error: &Error) -> (&'static str, u8, Option<String>) {
    let (name, exit, hint) = match error {
        Error::Io { source, .. } => ("io", IO, io_hint(source)),
        Error::NotAStore { .. } => {
            ("not-a-store", REQUEST, "make one with 'sapwood init', or name another with --store")
        }
        Error::UnsupportedFormat { .. } => {
            ("unsupported-format", REQUEST, "a newer sapwood wrote it; nothing was changed")
        }
        Error::Corrupt { .. } => (
            "corrupt",
            CORRUPT,
            "'sapwood fsck' lists all damage, 'sapwood fsck --fix' mends it; nothing was changed",
        ),
        Error::InvalidObject { .. } => ("invalid-object", REQUEST, ""),
        Error::ObjectMissing { .. } => ("object-missing", MISSING, ""),
        Error::WrongKind { .. } => ("wrong-kind", REQUEST, ""),
        Error::RevisionUnknown { revision, why } => {
            ("revision-unknown", MISSING, names_hint(revision, why))
        }
        Error::RevisionMalformed { .. } => (
            "revision-malformed",
            REQUEST,
            "revisions look like main, main~3, main@{2}, s1:main, msg:5, HEAD or an id",
        ),
        Error::AmbiguousSession { candidates, .. } => {
            let hint = format!("name one by its id: {}", candidates.join(", "));
            return ("ambiguous", REQUEST, Some(hint));
        }
        Error::Ambiguous { candidates, .. } => return ambiguous(candidates),
        Error::InvalidName { .. } => ("invalid-name", REQUEST, ""),
        Error::Dangling { .. } => ("dangling", REQUEST, "store the object first"),
        Error::RefConflict { .. } => {
            ("ref-conflict", RACE, "someone else moved it; look again and retry")
        }
        Error::MovedOn { .. } => {
            ("moved-on", RACE, "nothing was changed; 'sapwood reset' and 'switch' move it by hand")
        }
        Error::Exists { .. } => ("exists", REQUEST, "choose another name, or delete it first"),
        Error::Unanswered { .. } => {
            ("unanswered", REQUEST, "append its result first, or use --force")
        }
        Error::Refused { hint, .. } => ("refused", REQUEST, *hint),
        Error::Removed { .. } => (
            "removed",
            REQUEST,
            "it was redacted or forgotten here; redact it there too, or import with \
             --redact-secrets or --redact-patterns",
        ),
        Error::SymbolicDepth { .. } => {
            ("symbolic-depth", REQUEST, "'sapwood symbolic-ref' shows and sets where each leads")
        }
        Error::TooLarge { .. } => ("too-large", REQUEST, ""),
        Error::LockTimeout { .. } => {
            ("lock-timeout", LOCKED, "wait for that process to finish, then retry")
        }
        Error::OutcomeUnknown { .. } => {
            ("outcome-unknown", IO, "check the disk, then look whether it is there before retrying")
        }
        Error::HandleDead { .. } => ("handle-dead", IO, "check the disk, then run it again"),
        Error::ReadOnly { .. } => ("read-only", IO, "the file system can only be read"),
        Error::NetworkFilesystem { .. } => (
            "network-filesystem",
            REQUEST,
            "locks and syncs may not hold there; SAPWOOD_ALLOW_NETWORK=1 forces it",
        ),
        _ => ("error", REQUEST, ""),
    };
    (name, exit, Some(hint.to_owned()).filter(|hint| !hint.is_empty()))
}

/// Says where the names are that there are instead.
fn names_hint(revision: &str, why: &str) -> &'static str {
    let is_numbered = |word: &str| revision.split(':').any(|part| part == word);
    match why {
        _ if is_numbered("msg") => "'sapwood log' lists the messages there are",
        _ if is_numbered("turn") => "'sapwood transcript' lists the turns there are",
        _ if revision.starts_with("refs/") || revision.starts_with("sessions/") => {
            "'sapwood for-each-ref' lists the refs there are"
        }
        why if why.contains("the bundle has") => "'sapwood bundle list' lists what is in it",
        why if why.contains("said yet") => "'sapwood append' says something there",
        why if why.contains("session") => "'sapwood sessions' lists the sessions there are",
        _ => "'sapwood branch' and 'sapwood label' list the names, 'sapwood log' the entries",
    }
}

fn io_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull => "the disk is full; nothing that was acknowledged is lost",
        ErrorKind::PermissionDenied => "check who owns the file, and its permissions",
        ErrorKind::ReadOnlyFilesystem => "the file system can only be read",
        _ => "",
    }
}

fn ambiguous(candidates: &[sapwood::id::Id]) -> (&'static str, u8, Option<String>) {
    let mut hint = "type more digits; candidates are:".to_owned();
    for id in candidates {
        hint.push_str("\n  ");
        hint.push_str(&id.short(16));
    }
    ("ambiguous", REQUEST, Some(hint))
}

/// Says on stderr what failed, and gives the exit code.
pub(crate) fn report(failure: &Failure, global: &Global) -> ExitCode {
    if failure.is_broken_pipe() {
        return ExitCode::SUCCESS;
    }
    let (name, exit, hint) = failure.explain();
    let color = output::is_colored(global.color, Stream::Err);
    say(name, &failure.message(), hint.as_deref(), exit, global.json, color);
    ExitCode::from(exit)
}

/// Says what is wrong with the arguments, or prints the help or version that they ask for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().skip(1).any(|argument| argument == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let (message, hint) = text.split_once("\n\n").unwrap_or((&text, ""));
        let message = message.trim_start_matches("error: ").trim();
        let hint = hint.lines().find(|line| line.starts_with("Usage:"));
        say("usage", message, hint, USAGE, true, false);
        return ExitCode::from(USAGE);
    }
    match error.print() {
        _ if error.use_stderr() => ExitCode::from(USAGE),
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            report(&Failure::Output(source), &Global { json, ..Global::default() })
        }
        _ => ExitCode::SUCCESS,
    }
}

fn say(name: &str, message: &str, hint: Option<&str>, exit: u8, json: bool, color: bool) {
    let mut text = Vec::new();
    if json {
        let value = output::object([
            ("error", name.into()),
            ("message", message.into()),
            ("hint", hint.map_or(Value::Null, Value::from)),
            ("exit", i64::from(exit).into()),
        ]);
        sapwood::codec::json::write(&value, &mut text);
        text.push(b'\n');
    } else {
        let paint = |style: Style, word| output::painted(style, word, color);
        let message = shown::block(message);
        text = format!("{}: {message}\n", paint(style::ERROR, "error")).into_bytes();
        if let Some(hint) = hint {
            let hint = shown::block(hint);
            text.extend(format!("{}: {hint}\n", paint(style::HINT, "hint")).into_bytes());
        }
    }
    // With stderr gone there is nobody left to tell.
    let _ = io::stderr().lock().write_all(&text);
}
