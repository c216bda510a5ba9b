//! `sapwood merge-base`

use sapwood::walk;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Find the best common ancestor of two revisions
///
/// Exit code 1 if they have none.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood merge-base main topic
  sapwood merge-base --is-ancestor main~3 main && echo yes")]
pub(crate) struct Args {
    /// Print all best common ancestors, not just one
    #[arg(short, long)]
    all: bool,
    /// Print nothing; exit code 0 if A is an ancestor of B or the same, else 1
    #[arg(long, conflicts_with = "all")]
    is_ancestor: bool,
    #[command(flatten)]
    listing: Listing,
    /// One revision
    #[arg(value_name = "A")]
    one: String,
    /// The other
    #[arg(value_name = "B")]
    other: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let one = opened.resolve(&args.one)?;
    let other = opened.resolve(&args.other)?;
    if args.is_ancestor {
        let is_ancestor = walk::is_ancestor(snapshot.as_ref(), &one, &other)?;
        if context.output.json {
            context.output.record([("is_ancestor", is_ancestor.into())])?;
        }
        return Ok(if is_ancestor { Answer::Yes } else { Answer::No });
    }
    let mut bases = walk::merge_bases(snapshot.as_ref(), &one, &other)?;
    if !args.all {
        bases.truncate(1);
    }
    for id in &bases {
        if context.output.json {
            context.output.record([("id", id.to_string().into())])?;
        } else {
            context.output.item(id)?;
        }
    }
    Ok(if bases.is_empty() { Answer::No } else { Answer::Yes })
}
