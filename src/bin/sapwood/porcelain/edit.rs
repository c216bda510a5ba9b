//! `sapwood edit`

use sapwood::ops;

use super::vary::{Vary, list_siblings};
use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::words::Words;

/// Say something else instead of a message, on a branch of its own
///
/// The new message follows what the old one followed and has its role. The old
/// one stays where it is. With --with the conversation is replayed: the command
/// gets it and what it prints is appended as the reply.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood edit msg:2 -m 'a different question'
  sapwood edit main~1 -F question.md --with llm
  sapwood edit msg:2 -m 'a different question' --fork --as second-try
  sapwood edit msg:2 --siblings")]
pub(crate) struct Args {
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    vary: Vary,
    /// List what else was said in its place
    #[arg(long, conflicts_with_all = ["message", "file", "with", "fork", "name"])]
    siblings: bool,
    #[command(flatten)]
    listing: Listing,
    /// The message
    #[arg(value_name = "REV")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.siblings {
        return list_siblings(context, &args.vary.to.within, &args.revision, args.listing);
    }
    let text = args.words.read()?;
    let opened = context.open_for_writing()?;
    let target = args.vary.to.target(&opened);
    let snapshot = opened.repo.snapshot()?;
    let variation = ops::edit(&*snapshot, &target, &args.revision, &text, args.vary.force)?;
    let operation = context.operation(None, &["edit", &args.revision]);
    args.vary.write(variation, &opened, context, &operation)
}
