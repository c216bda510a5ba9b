//! `sapwood memory resolve`

use sapwood::memory;

use super::At;
use crate::failure::{Answer, Failure};
use crate::open::Context;

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
    at: At,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let (snapshot, head) = args.at.head(context)?;
    let mut facts = memory::resolve(&*snapshot, head)?;
    if args.latest {
        facts = memory::latest(facts);
    }
    for fact in &facts {
        super::print(context, &*snapshot, fact)?;
    }
    Ok(Answer::Yes)
}
