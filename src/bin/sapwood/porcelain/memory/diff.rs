//! `sapwood memory diff`

use sapwood::codec::Value;
use sapwood::memory::{self, Difference, Known};
use sapwood::ops;

use super::{object, said};
use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::Within;

/// Show what one memory knows that another does not
///
/// Only the latest fact of each key counts. Lines begin with '-' for what only
/// A knows, with '+' for what only B knows.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory diff the-architect the-wanderer
  sapwood memory diff main~10 main --json")]
pub(super) struct Args {
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// A branch, an entry or a node
    #[arg(value_name = "A")]
    one: String,
    /// Another
    #[arg(value_name = "B")]
    other: String,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let target = args.within.target(&opened);
    let one = ops::memory_head(&*snapshot, &target, Some(&args.one))?;
    let other = ops::memory_head(&*snapshot, &target, Some(&args.other))?;
    for difference in memory::diff(&*snapshot, one, other)? {
        let (change, was, now) = match &difference {
            Difference::Removed(was) => ("removed", Some(was), None),
            Difference::Added(now) => ("added", None, Some(now)),
            Difference::Changed(was, now) => ("changed", Some(was), Some(now)),
        };
        if context.output.json {
            let fact = |fact: Option<&Known>| fact.map_or(Value::Null, object);
            let change = Value::from(change);
            context.output.record([("change", change), ("a", fact(was)), ("b", fact(now))])?;
            continue;
        }
        for (sign, fact) in [('-', was), ('+', now)] {
            if let Some(fact) = fact {
                context
                    .output
                    .item(format_args!("{sign} {}", said(fact.key.as_deref(), &fact.value)))?;
            }
        }
    }
    Ok(Answer::Yes)
}
