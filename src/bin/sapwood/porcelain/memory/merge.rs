//! `sapwood memory merge`

use sapwood::codec::Value;
use sapwood::memory::{Conflict, Known, Merge};
use sapwood::ops::{self, MemoryMergeOptions};
use sapwood::store::Snapshot;

use super::{object, place, said};
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::target::WriteTo;

/// Bring what another branch learned to this one
///
/// Three ways, by key: what only one side changed is taken from it. Where both
/// changed a key differently, both versions are kept, with the node and the
/// message that each came from, and standard error says so; commit the key
/// again to settle it. Facts without a key are all kept, each once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory merge the-wanderer
  sapwood memory merge -b main the-wanderer~3 --json")]
pub(super) struct Args {
    #[command(flatten)]
    to: WriteTo,
    /// What to take: a branch, an entry or a node
    #[arg(value_name = "REV")]
    revision: String,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &["memory", "merge", &args.revision]);
    let options = MemoryMergeOptions { target: args.to.target(&opened), from: args.revision };
    let outcome = ops::memory_merge(&opened.repo, &options, &operation)?;
    let snapshot = opened.repo.snapshot()?;
    let (how, taken, conflicts) = match &outcome.merge {
        Merge::UpToDate => ("up-to-date", 0, &[][..]),
        Merge::Forward(_) => ("forward", 0, &[][..]),
        Merge::Node { facts, conflicts } => ("merge", facts.len(), &conflicts[..]),
    };
    for conflict in conflicts {
        let text = describe(&*snapshot, conflict)?;
        context.output.note(text);
    }
    if context.output.json {
        let conflict = |conflict: &Conflict| {
            output::object([
                ("key", conflict.key.as_str().into()),
                ("ours", object(&conflict.ours)),
                ("theirs", object(&conflict.theirs)),
            ])
        };
        context.output.record([
            ("session", outcome.session.into()),
            ("branch", outcome.branch.into()),
            ("node", outcome.node.to_string().into()),
            ("result", how.into()),
            ("facts", output::count(taken)),
            ("conflicts", Value::List(conflicts.iter().map(conflict).collect())),
        ])?;
    } else {
        context.output.item(outcome.node)?;
    }
    Ok(Answer::Yes)
}

/// Says that both versions of a conflict are kept, and where they come from.
fn describe(snapshot: &dyn Snapshot, conflict: &Conflict) -> Result<String, Failure> {
    let version = |fact: &Known| -> Result<String, Failure> {
        let node = short(snapshot, &fact.node, SHORT_DIGITS)?;
        let source = place(snapshot, fact.source)?;
        Ok(format!("\n  {node} {source:SHORT_DIGITS$} {}", said(None, &fact.value)))
    };
    let (ours, theirs) = (version(&conflict.ours)?, version(&conflict.theirs)?);
    Ok(format!("conflict in '{}': both versions are kept{ours}{theirs}", conflict.key))
}
