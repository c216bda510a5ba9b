//! `sapwood reset`

use sapwood::ops;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::target::WriteTo;

/// Move a branch to another entry
///
/// What it had stays in the transcript, and undo moves the branch back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood reset main~2
  sapwood reset checkpoint-1 -b approach-a")]
pub(crate) struct Args {
    /// Move it even though a tool call there is not answered
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    to: WriteTo,
    /// Where to
    #[arg(value_name = "REV")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &["reset", &args.revision]);
    let target = args.to.target(&opened);
    let outcome = ops::reset(&opened.repo, &target, &args.revision, args.force, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("branch", outcome.branch.into()),
            ("was", outcome.was.to_string().into()),
            ("entry", outcome.now.to_string().into()),
        ])?;
    } else {
        let now = short(&*opened.repo.snapshot()?, &outcome.now, SHORT_DIGITS)?;
        context.output.note(format_args!("'{}' is now at {now}", outcome.branch));
    }
    Ok(Answer::Yes)
}
