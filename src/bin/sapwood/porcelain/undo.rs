//! `sapwood undo`

use sapwood::ops::{self, Direction};

use crate::failure::{Answer, Failure};
use crate::open::{Context, actor};
use crate::output;
use crate::style;
use crate::target::Within;

/// Take back the last operation of the session, as a new event
///
/// The last one by the same actor, whatever it was: a branch, a switch, a label,
/// a deleted session. Again takes back the one before. Nothing that was said is
/// lost: the transcript never shrinks. Exit code 4 if something moved on since.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood undo
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
    let outcome = ops::undo(&opened.repo, &target, &who, direction, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("operation", output::count(outcome.number)),
            ("command", outcome.command.into()),
            ("branch", outcome.branch.into()),
        ])?;
    } else {
        let number = context.output.paint(style::ID, outcome.number);
        let did = match direction {
            Direction::Undo => "undid",
            Direction::Redo => "redid",
        };
        context.output.item(format_args!("{did} {number}: {}", outcome.command))?;
    }
    Ok(Answer::Yes)
}
