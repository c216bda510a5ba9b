//! `sapwood reflog`

use std::ops::ControlFlow;

use sapwood::store::{RefMove, RefName, RefValue, Snapshot, resolve};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::style;

/// List what the operations did to one ref, newest first
///
/// The line of REF@{N} shows what REF@{N} names and the command that made it
/// so. Plain appends are no operations: they are on the path, see rev-list.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood reflog
  sapwood reflog main
  sapwood reflog sessions/s1/heads/topic")]
pub(crate) struct Args {
    /// Stop after so many
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    #[command(flatten)]
    listing: Listing,
    /// A branch or label of the current session, or a full name
    #[arg(value_name = "REF", default_value = "HEAD")]
    name: String,
}

/// One line of the log: what the ref was, and what made it so.
struct Line {
    value: Option<RefValue>,
    number: Option<u64>,
    command: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let snapshot = snapshot.as_ref();
    let mut found = None;
    for name in candidates(snapshot, &opened, &args.name)? {
        let lines = lines(snapshot, &name)?;
        if !lines.is_empty() {
            found = Some(lines);
            break;
        }
    }
    let Some(lines) = found else {
        return Err(Failure::Missing(format!("there is no ref '{}'", args.name)));
    };
    for (place, line) in lines.iter().enumerate().take(args.max_count.unwrap_or(usize::MAX)) {
        print(context, snapshot, &args.name, place, line)?;
    }
    Ok(Answer::Yes)
}

/// Lists the full names that a name may stand for, the likeliest first.
fn candidates(
    snapshot: &dyn Snapshot,
    opened: &Opened,
    text: &str,
) -> Result<Vec<RefName>, Failure> {
    let text = text.strip_prefix("refs/").unwrap_or(text);
    if matches!(text, "HEAD" | "@") {
        return Ok(vec![resolve(snapshot, &RefName::head())?.0]);
    }
    let session = match text.split_once(':') {
        Some((session, _)) => Some(sapwood::repo::find_session(snapshot, session)?),
        None => opened.place.session_id(snapshot)?,
    };
    let branch = text.split_once(':').map_or(text, |(_, branch)| branch);
    let mut names = Vec::new();
    if let Some(session) = session {
        for class in ["heads", "labels"] {
            names.extend(RefName::of_session(&session, &format!("{class}/{branch}")));
        }
    }
    names.extend(RefName::new(text));
    if names.is_empty() {
        names.push(RefName::new(text)?);
    }
    Ok(names)
}

/// Reads a ref's lines out of the operations log. A ref that never existed has none.
fn lines(snapshot: &dyn Snapshot, name: &RefName) -> Result<Vec<Line>, Failure> {
    let mut value = snapshot.reference(name)?;
    let mut lines = Vec::new();
    snapshot.operations(&mut |record| {
        let moved = record.moves.iter().find(|moved| moved.name == *name);
        if let Some(RefMove { old, .. }) = moved {
            lines.push(Line {
                value: std::mem::replace(&mut value, old.clone()),
                number: Some(record.number),
                command: Some(record.operation.command.clone()),
            });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // What it was before the first operation that moved it: appends made it.
    if value.is_some() {
        lines.push(Line { value, number: None, command: None });
    }
    Ok(lines)
}

fn print(
    context: &mut Context,
    snapshot: &dyn Snapshot,
    name: &str,
    place: usize,
    line: &Line,
) -> Result<(), Failure> {
    let command = line.command.as_deref();
    if context.output.json {
        return context.output.record([
            ("name", format!("{name}@{{{place}}}").into()),
            ("value", output::text(line.value.as_ref())),
            ("operation", line.number.map_or(sapwood::codec::Value::Null, output::count)),
            ("command", output::text(command)),
        ]);
    }
    let value = match &line.value {
        None => "0".repeat(SHORT_DIGITS),
        Some(RefValue::Id(id)) => short(snapshot, id, SHORT_DIGITS)?,
        Some(RefValue::Symbolic(target)) => target.to_string(),
    };
    let value = context.output.paint(style::ID, value);
    let command = command.unwrap_or("append");
    context.output.item(format_args!("{value} {name}@{{{place}}}: {command}"))
}
