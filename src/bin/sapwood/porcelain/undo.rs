//! `sapwood undo`

use std::collections::BTreeSet;

use sapwood::ops::{self, Direction, UndoOutcome, UndoneRun};

use crate::failure::{Answer, Failure};
use crate::open::{Context, actor};
use crate::output;
use crate::style;
use crate::target::Within;

/// Take back the last operation of the session, as a new event
///
/// The last one by the same actor, whatever it was: a branch, a switch, a label,
/// a deleted session. Again takes back the one before. An import of many files
/// is taken back whole, unless a session is named. Nothing that was said is
/// lost: the transcript never shrinks. Exit code 4 if something moved on since.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood undo
  sapwood undo --all
  sapwood undo -s s1 --actor ada")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) whose: Whose,
}

/// Whose operations.
#[derive(clap::Args)]
pub(crate) struct Whose {
    #[command(flatten)]
    within: Within,
    /// The last of all sessions, not of the current one
    #[arg(short, long, conflicts_with = "session")]
    all: bool,
    /// Whose operation; else $SAPWOOD_ACTOR's or the user's own
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    go(&args.whose, Direction::Undo, context)
}

/// Takes back the last operation, or does it again.
pub(crate) fn go(
    whose: &Whose,
    direction: Direction,
    context: &mut Context,
) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &[direction.name()]);
    let target = whose.within.target(&opened);
    let who = whose.actor.clone().unwrap_or_else(actor);
    let run = match target.session {
        Some(_) if !whose.all => {
            let done = ops::undo(&opened.repo, &target, &who, direction, &operation)?;
            UndoneRun { done: vec![done], kept: Vec::new() }
        }
        _ => ops::undo_run(&opened.repo, whose.all, &who, direction, &operation)?,
    };
    match context.output.json {
        true => run.done.iter().try_for_each(|done| print_json(done, context))?,
        false => tell(&run, direction, context)?,
    }
    for (session, error) in &run.kept {
        context.output.note(format_args!("session '{session}' is kept as it is: {error}"));
    }
    match run.kept.into_iter().next() {
        Some((_, error)) => Err(error.into()),
        None => Ok(Answer::Yes),
    }
}

fn tell(run: &UndoneRun, direction: Direction, context: &mut Context) -> Result<(), Failure> {
    let did = match direction {
        Direction::Undo => "undid",
        Direction::Redo => "redid",
    };
    let numbers = run.done.iter().map(|done| done.number);
    let (Some(first), Some(last)) = (numbers.clone().min(), numbers.max()) else {
        return Ok(());
    };
    let command = &run.done[0].command;
    if first == last {
        let number = context.output.paint(style::ID, first);
        return context.output.item(format_args!("{did} {number}: {command}"));
    }
    let number = context.output.paint(style::ID, format_args!("{first}..{last}"));
    let sessions: BTreeSet<&str> = run.done.iter().map(|done| done.session.as_str()).collect();
    let count = sessions.len();
    context.output.item(format_args!("{did} {number}: {command} ({count} sessions)"))
}

fn print_json(done: &UndoOutcome, context: &mut Context) -> Result<(), Failure> {
    context.output.record([
        ("session", done.session.as_str().into()),
        ("operation", output::count(done.number)),
        ("command", done.command.as_str().into()),
        ("branch", done.branch.clone().into()),
    ])
}
