//! `sapwood memory resolve`

use sapwood::{memory, ops};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::Within;

/// List what is known at an entry, from the root on
///
/// Prints for each fact the node it was written in, the message it was learned
/// from ('-' if that is not known), and the fact.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory resolve
  sapwood memory resolve the-architect --latest
  sapwood memory resolve main~10 --json")]
pub(super) struct Args {
    /// Leave out facts that a later one with the same key supersedes
    #[arg(long)]
    latest: bool,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
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
    let mut facts = memory::resolve(&*snapshot, head)?;
    if args.latest {
        facts = memory::latest(facts);
    }
    for fact in &facts {
        super::print(context, &*snapshot, fact)?;
    }
    Ok(Answer::Yes)
}
