//! `sapwood for-each-ref`

use sapwood::store::{RefName, RefValue, Snapshot, resolve};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::style;

/// List refs, sorted by name, with what they point to
///
/// A symbolic ref is shown with the id it leads to; one that leads nowhere yet
/// is left out (with --json it is listed, its id null).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood for-each-ref
  sapwood for-each-ref sessions/s1/heads
  sapwood for-each-ref --count=10 --json")]
pub(crate) struct Args {
    /// Stop after so many refs
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    #[command(flatten)]
    listing: Listing,
    /// List only refs with this name, or below it
    #[arg(value_name = "PREFIX")]
    prefixes: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let snapshot = context.open()?.repo.snapshot()?;
    let mut left = args.count.unwrap_or(usize::MAX);
    for (name, value) in select(snapshot.as_ref(), &args.prefixes)? {
        if left == 0 {
            break;
        }
        if print(context, snapshot.as_ref(), &name, &value)? {
            left -= 1;
        }
    }
    Ok(Answer::Yes)
}

/// Lists the refs that are one of the prefixes or stand below it.
fn select(
    snapshot: &dyn Snapshot,
    prefixes: &[String],
) -> Result<Vec<(RefName, RefValue)>, Failure> {
    if prefixes.is_empty() {
        return Ok(snapshot.references("")?);
    }
    let mut found = Vec::new();
    for prefix in prefixes {
        let prefix = prefix.strip_prefix("refs/").unwrap_or(prefix);
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        for (name, value) in snapshot.references(prefix)? {
            let rest = name.as_str().strip_prefix(prefix).unwrap_or_default();
            if rest.is_empty() || rest.starts_with('/') || prefix.is_empty() {
                found.push((name, value));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.dedup_by(|(one, _), (other, _)| one == other);
    Ok(found)
}

/// Prints one ref, unless it leads nowhere, and says whether it did.
fn print(
    context: &mut Context,
    snapshot: &dyn Snapshot,
    name: &RefName,
    value: &RefValue,
) -> Result<bool, Failure> {
    let id = resolve(snapshot, name)?.1;
    let kind = match id {
        Some(id) => snapshot.kinds(&[id])?[0],
        None => None,
    };
    if context.output.json {
        let target = match value {
            RefValue::Id(_) => None,
            RefValue::Symbolic(target) => Some(target),
        };
        context.output.record([
            ("name", name.as_str().into()),
            ("id", output::text(id)),
            ("kind", output::text(kind)),
            ("target", output::text(target)),
        ])?;
        return Ok(true);
    }
    let (Some(id), Some(kind)) = (id, kind) else {
        return Ok(false);
    };
    let id = context.output.paint(style::ID, id);
    let name = context.output.paint(style::REF, name);
    context.output.item(format_args!("{id} {kind}\t{name}"))?;
    Ok(true)
}
