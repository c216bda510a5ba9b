//! `sapwood retry`

use sapwood::ops;

use super::vary::{Vary, list_siblings};
use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Try again to answer, on a branch of its own
///
/// REV is the answer to replace, or the user's message that it answers; the
/// branch begins at what was asked. The old answer stays where it is. With
/// --with the command gets the conversation and what it prints is the new
/// answer; without, append it yourself.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood retry --with llm
  sapwood retry msg:4 --with 'llm -m opus' --as with-opus
  sapwood retry msg:4 --siblings")]
pub(crate) struct Args {
    #[command(flatten)]
    vary: Vary,
    /// List the answers there are
    #[arg(long, conflicts_with_all = ["with", "fork", "name"])]
    siblings: bool,
    #[command(flatten)]
    listing: Listing,
    /// The answer, or what it answers
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.siblings {
        return list_siblings(context, &args.vary.to.within, &args.revision, args.listing);
    }
    let opened = context.open_for_writing()?;
    let target = args.vary.to.target(&opened);
    let snapshot = opened.repo.snapshot()?;
    let variation = ops::retry(&*snapshot, &target, &args.revision, args.vary.force)?;
    let operation = context.operation(None, &["retry", &args.revision]);
    args.vary.write(variation, &opened, context, &operation)
}
