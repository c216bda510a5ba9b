//! `sapwood memory`

mod blame;
mod branches;
mod commit;
mod diff;
mod log;
mod merge;
mod resolve;

use std::sync::Arc;

use clap::Subcommand;
use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::memory::{Known, sentence};
use sapwood::ops;
use sapwood::store::Snapshot;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::render;
use crate::shown;
use crate::style;
use crate::target::Within;

/// Commit, resolve, compare and merge what was learned
///
/// Memory is a tree of commits that moves with the conversation: each hangs on
/// the path, so an entry has the memory of the nearest commit before it, and a
/// branch or fork has exactly what had been learned where it began.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory commit --fact optimizes=ambition --note 'likes to build'
  sapwood memory resolve
  sapwood memory merge the-wanderer")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(Subcommand)]
enum MemoryCommand {
    Commit(commit::Args),
    Resolve(resolve::Args),
    Branches(branches::Args),
    Log(log::Args),
    Diff(diff::Args),
    Merge(merge::Args),
    Blame(blame::Args),
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    match args.command {
        MemoryCommand::Commit(args) => commit::run(args, context),
        MemoryCommand::Resolve(args) => resolve::run(args, context),
        MemoryCommand::Branches(args) => branches::run(args, context),
        MemoryCommand::Log(args) => log::run(args, context),
        MemoryCommand::Diff(args) => diff::run(args, context),
        MemoryCommand::Merge(args) => merge::run(args, context),
        MemoryCommand::Blame(args) => blame::run(args, context),
    }
}

/// Whose memory to read.
#[derive(clap::Args)]
struct At {
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// A branch, an entry or a node; else HEAD
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

impl At {
    /// Opens the store for a listing, and finds the node that is known there.
    fn head(&self, context: &mut Context) -> Result<(Arc<dyn Snapshot>, Option<Id>), Failure> {
        context.output.list(self.listing);
        let opened = context.open()?;
        let snapshot = opened.repo.snapshot()?;
        let target = self.within.target(&opened);
        let head = ops::memory_head(&*snapshot, &target, self.revision.as_deref())?;
        Ok((snapshot, head))
    }
}

/// Prints a fact: the node and the message it comes from, and what it says.
fn print(context: &mut Context, snapshot: &dyn Snapshot, fact: &Known) -> Result<(), Failure> {
    if context.output.json {
        return context.output.record(fields(fact));
    }
    let node = context.output.paint(style::ID, short(snapshot, &fact.node, SHORT_DIGITS)?);
    let source = place(snapshot, fact.source)?;
    let text = said(fact.key.as_deref(), &fact.value);
    context.output.item(format_args!("{node} {source:SHORT_DIGITS$} {text}"))
}

/// Says a fact, a note or a card on one line; of a conflict all versions.
fn said(key: Option<&str>, value: &Value) -> String {
    let versions = value.get("conflict").and_then(Value::as_list).unwrap_or_default().iter();
    let versions: Vec<String> =
        versions.filter_map(|version| Some(said(None, version.get("value")?))).collect();
    let text = match versions.is_empty() {
        true => sentence(key, &render::plain(value)),
        false => sentence(key, &format!("conflict: {}", versions.join(" | ")).into()),
    };
    shown::line(&text).into_owned()
}

/// Gives a fact as JSON.
fn object(fact: &Known) -> Value {
    output::object(fields(fact))
}

fn fields(fact: &Known) -> [(&'static str, Value); 4] {
    [
        ("key", output::text(fact.key.as_ref())),
        ("value", render::plain(&fact.value)),
        ("node", fact.node.to_string().into()),
        ("source", output::text(fact.source)),
    ]
}

/// Shortens the id of the entry that a fact was learned from.
fn place(snapshot: &dyn Snapshot, source: Option<Id>) -> Result<String, Failure> {
    source.map_or(Ok("-".to_owned()), |id| short(snapshot, &id, SHORT_DIGITS))
}
