//! `sapwood cherry-pick`

use sapwood::ops;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::WriteTo;

/// Say entries of other branches again at the end of this one
///
/// A copy has the content and the time of its original, and names it as its
/// origin. A..B picks what B has since A, oldest first. Prints each copy's id.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood cherry-pick approach-a
  sapwood cherry-pick approach-a~2 approach-b
  sapwood cherry-pick main..approach-a -b approach-b")]
pub(crate) struct Args {
    #[command(flatten)]
    to: WriteTo,
    /// The entries
    #[arg(value_name = "REV", required = true)]
    revisions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let words = ["cherry-pick"].into_iter().chain(args.revisions.iter().map(String::as_str));
    let operation = context.operation(None, &words.collect::<Vec<_>>());
    let target = args.to.target(&opened);
    let outcome = ops::cherry_pick(&opened.repo, &target, &args.revisions, &operation)?;
    for (original, copy) in &outcome.copies {
        if context.output.json {
            context.output.record([
                ("id", copy.to_string().into()),
                ("origin", original.to_string().into()),
                ("session", outcome.session.as_str().into()),
                ("branch", outcome.branch.as_str().into()),
            ])?;
        } else {
            context.output.item(copy)?;
        }
    }
    Ok(Answer::Yes)
}
