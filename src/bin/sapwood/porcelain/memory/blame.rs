//! `sapwood memory blame`

use sapwood::{memory, ops};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::Within;

/// Show the node and the message that a fact came from
///
/// Of a fact that a merge left in conflict, each version is shown. A fact that
/// has no key is found by its text. Exit code 1 if nothing is known of it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory blame optimizes
  sapwood memory blame 'user has a startup idea' the-architect")]
pub(super) struct Args {
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// The fact's key, or its text
    #[arg(value_name = "KEY")]
    key: String,
    /// A branch, an entry or a node; else HEAD
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let target = args.within.target(&opened);
    let head = ops::memory_head(&*snapshot, &target, args.revision.as_deref())?;
    let found = memory::blame(&*snapshot, head, &args.key)?;
    for fact in &found {
        super::print(context, &*snapshot, fact)?;
    }
    Ok(if found.is_empty() { Answer::No } else { Answer::Yes })
}
