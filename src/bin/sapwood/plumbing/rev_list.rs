//! `sapwood rev-list`

use std::cmp::Reverse;
use std::collections::HashSet;

use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::store::Snapshot;
use sapwood::walk;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::range::Range;

/// List the ids that revisions lead back to, newest first
///
/// A child always comes before its parents. A..B is what B has and A has not;
/// ^A leaves out what A has.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood rev-list main
  sapwood rev-list --count main..topic
  sapwood rev-list -n 5 --first-parent HEAD
  sapwood rev-list topic ^main")]
pub(crate) struct Args {
    /// Print how many there are instead
    #[arg(long)]
    count: bool,
    /// Stop after so many
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Follow only the first parent of each: the path of a conversation
    #[arg(long)]
    first_parent: bool,
    #[command(flatten)]
    listing: Listing,
    /// Where to begin, and with ^ or before .. what to leave out
    #[arg(value_name = "REV", required = true)]
    revisions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let (mut starts, mut hide) = (Vec::new(), Vec::new());
    for revision in &args.revisions {
        let range = Range::find(snapshot.as_ref(), &opened, revision)?;
        starts.extend(range.include);
        hide.extend(range.exclude);
    }
    let snapshot = snapshot.as_ref();
    let ids: Box<dyn Iterator<Item = sapwood::error::Result<Id>>> = match args.first_parent {
        true => first_parents(snapshot, &starts, &hide)?,
        false => Box::new(walk::ancestors(snapshot, &starts, &hide)?),
    };
    let mut number = 0u64;
    for id in ids.take(args.max_count.unwrap_or(usize::MAX)) {
        let id = id?;
        number += 1;
        if args.count {
            continue;
        }
        if context.output.json {
            context.output.record([("id", id.to_string().into())])?;
        } else {
            context.output.item(id)?;
        }
    }
    match (args.count, context.output.json) {
        (false, _) => {}
        (true, true) => context.output.record([("count", output::count(number))])?,
        (true, false) => context.output.item(number)?,
    }
    Ok(Answer::Yes)
}

/// Walks the paths from all starts, each id once, without what is left out.
///
/// One path streams. Several are sorted by depth, which falls by one with each first parent.
fn first_parents<'a>(
    snapshot: &'a dyn Snapshot,
    starts: &[Id],
    hide: &[Id],
) -> Result<Box<dyn Iterator<Item = sapwood::error::Result<Id>> + 'a>, Failure> {
    if let ([start], []) = (starts, hide) {
        return Ok(Box::new(walk::path(snapshot, *start)));
    }
    let hidden: sapwood::error::Result<HashSet<Id>> =
        walk::ancestors(snapshot, hide, &[])?.collect();
    let mut seen = hidden?;
    let mut found = Vec::new();
    for start in starts {
        for id in walk::path(snapshot, *start) {
            let id = id?;
            if !seen.insert(id) {
                break;
            }
            let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
            found.push((Reverse((topology.depth, topology.time)), id));
        }
    }
    found.sort_unstable();
    Ok(Box::new(found.into_iter().map(|(_, id)| Ok(id))))
}
