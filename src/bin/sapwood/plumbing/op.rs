//! `sapwood op`

use std::ops::ControlFlow;

use clap::Subcommand;
use sapwood::codec::Value;
use sapwood::ops;
use sapwood::store::{OperationRecord, RefValue, Snapshot};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::style;

/// Look at the operations: what each command did to refs
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood op log")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: OpCommand,
}

#[derive(Subcommand)]
enum OpCommand {
    Log(Log),
}

/// List the operations, newest first
///
/// An operation is one command: its number, time, who did it, the command, and
/// each ref that it moved. Plain appends are not operations.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood op log
  sapwood op log -s s1 --actor ada
  sapwood op log -n 1 --json")]
struct Log {
    /// Stop after so many
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Only what this actor did
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only what moved refs of this session, by id or name, deleted or not
    #[arg(short, long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let OpCommand::Log(args) = args.command;
    context.output.list(args.listing);
    let snapshot = context.open()?.repo.snapshot()?;
    let session = args.session.as_deref().map(|text| session(snapshot.as_ref(), text));
    let is_wanted = |record: &OperationRecord| {
        args.actor.as_ref().is_none_or(|actor| record.operation.actor == *actor)
            && session.as_ref().is_none_or(|session| ops::concerns(record, session))
    };
    let mut left = args.max_count.unwrap_or(usize::MAX);
    let mut failure = None;
    snapshot.operations(&mut |record| {
        if left == 0 {
            return Ok(ControlFlow::Break(()));
        }
        if !is_wanted(record) {
            return Ok(ControlFlow::Continue(()));
        }
        left -= 1;
        Ok(match print(context, snapshot.as_ref(), record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(found) => {
                failure = Some(found);
                ControlFlow::Break(())
            }
        })
    })?;
    failure.map_or(Ok(Answer::Yes), Err)
}

/// Finds a session; one that is not there is looked for by the exact id it had.
fn session(snapshot: &dyn Snapshot, text: &str) -> String {
    sapwood::repo::find_session(snapshot, text).unwrap_or_else(|_| text.to_owned())
}

fn print(
    context: &mut Context,
    snapshot: &dyn Snapshot,
    record: &OperationRecord,
) -> Result<(), Failure> {
    let operation = &record.operation;
    let time = sapwood::time::format(operation.time);
    if context.output.json {
        let moves = record.moves.iter().map(|moved| {
            output::object([
                ("ref", moved.name.as_str().into()),
                ("old", output::text(moved.old.as_ref())),
                ("new", output::text(moved.new.as_ref())),
            ])
        });
        return context.output.record([
            ("number", output::count(record.number)),
            ("time", time.into()),
            ("actor", operation.actor.as_str().into()),
            ("command", operation.command.as_str().into()),
            ("moves", Value::List(moves.collect())),
        ]);
    }
    let number = context.output.paint(style::ID, record.number);
    let mut text = format!("{number} {time} {}\n    {}", operation.actor, operation.command);
    for moved in &record.moves {
        let name = context.output.paint(style::REF, &moved.name);
        let old = describe(snapshot, moved.old.as_ref())?;
        let new = describe(snapshot, moved.new.as_ref())?;
        text.push_str(&format!("\n    {name}: {old} -> {new}"));
    }
    context.output.item(text)
}

fn describe(snapshot: &dyn Snapshot, value: Option<&RefValue>) -> Result<String, Failure> {
    match value {
        None => Ok("nothing".to_owned()),
        Some(RefValue::Id(id)) => short(snapshot, id, SHORT_DIGITS),
        Some(RefValue::Symbolic(name)) => Ok(name.to_string()),
    }
}
