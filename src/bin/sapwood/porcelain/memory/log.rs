//! `sapwood memory log`

use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::memory;
use sapwood::object::{Fact, Node};
use sapwood::store::Snapshot;

use super::{At, place, said};
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::render;
use crate::style;

/// List the commits to memory on the way to an entry, newest first
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory log
  sapwood memory log the-architect -n 1 --json")]
pub(super) struct Args {
    /// Stop after so many
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    #[command(flatten)]
    at: At,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let (snapshot, head) = args.at.head(context)?;
    let nodes = memory::log(&*snapshot, head)?;
    for (id, node) in nodes.iter().take(args.max_count.unwrap_or(usize::MAX)) {
        match context.output.json {
            true => record(context, id, node)?,
            false => print(context, &*snapshot, id, node)?,
        }
    }
    Ok(Answer::Yes)
}

fn record(context: &mut Context, id: &Id, node: &Node) -> Result<(), Failure> {
    let fact = |fact: &Fact| {
        output::object([
            ("key", output::text(fact.key.as_ref())),
            ("value", render::plain(&fact.value)),
            ("source", output::text(fact.source)),
        ])
    };
    context.output.record([
        ("id", id.to_string().into()),
        ("parentId", output::text(node.parents.first())),
        ("branchLabel", node.branch.as_str().into()),
        ("facts", Value::List(node.facts.iter().map(fact).collect())),
        ("notes", Value::List(node.notes.iter().map(render::plain).collect())),
        ("selfCard", render::plain(&node.card)),
        ("createdAt", Value::Integer(node.time)),
        ("mergedId", output::text(node.parents.get(1))),
    ])
}

fn print(
    context: &mut Context,
    snapshot: &dyn Snapshot,
    id: &Id,
    node: &Node,
) -> Result<(), Failure> {
    let short_id = short(snapshot, id, SHORT_DIGITS)?;
    let mut text = context.output.paint(style::ID, format_args!("node {short_id}"));
    let branch = context.output.paint(style::REF, &node.branch);
    text.push_str(&format!(" ({branch}) {}", sapwood::time::format(node.time)));
    for merged in node.parents.iter().skip(1) {
        text.push_str(&format!("\n    merge: {}", short(snapshot, merged, SHORT_DIGITS)?));
    }
    if !node.card.is_null() {
        text.push_str(&format!("\n    card: {}", said(None, &node.card)));
    }
    for fact in &node.facts {
        let source = place(snapshot, fact.source)?;
        let fact = said(fact.key.as_deref(), &fact.value);
        text.push_str(&format!("\n    {source:SHORT_DIGITS$} {}", fact));
    }
    for note in &node.notes {
        text.push_str(&format!("\n    note: {}", said(None, note)));
    }
    context.output.item(text)
}
