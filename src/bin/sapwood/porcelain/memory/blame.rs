//! `sapwood memory blame`

use sapwood::memory;

use super::At;
use crate::failure::{Answer, Failure};
use crate::open::Context;

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
    /// The fact's key, or its text
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    at: At,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let (snapshot, head) = args.at.head(context)?;
    let found = memory::blame(&*snapshot, head, &args.key)?;
    for fact in &found {
        super::print(context, &*snapshot, fact)?;
    }
    Ok(if found.is_empty() { Answer::No } else { Answer::Yes })
}
