//! `sapwood branch`

use sapwood::codec::{Value, json};
use sapwood::id::Id;
use sapwood::ops::{self, BranchInfo, BranchOptions};
use sapwood::session::BranchRecord;
use sapwood::store::Snapshot;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{Context, now};
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::render;
use crate::shown;
use crate::style;
use crate::target::Within;

/// List, make, rename and delete branches
///
/// A new branch begins at REV, or where the active one ends, and costs the same
/// anywhere. It does not become the active one: that is what switch -c does.
/// What is deleted stays in the transcript, and undo brings the branch back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood branch
  sapwood branch -v
  sapwood branch approach-a --description 'Using algorithm optimization'
  sapwood branch alternative main~2
  sapwood branch -m approach-a memoization
  sapwood branch -d alternative")]
pub(crate) struct Args {
    /// Delete the branch
    #[arg(short, long, requires = "name", conflicts_with_all = ["rename", "description"])]
    delete: bool,
    /// Rename: NAME is the old name and REV the new; one name renames the active
    #[arg(short = 'm', long = "move", requires = "name", conflicts_with = "description")]
    rename: bool,
    /// Show where branches end, how old they are, where and why they began
    #[arg(short, long)]
    verbose: bool,
    /// List also the ends of paths that no branch names
    #[arg(long, conflicts_with = "name")]
    leaves: bool,
    /// List only the branches whose history has this entry
    #[arg(long, value_name = "REV", conflicts_with = "name")]
    contains: Option<String>,
    #[command(flatten)]
    about: About,
    /// Let the branch remember this node, or what is known at this entry
    #[arg(long, value_name = "NODE", requires = "name", conflicts_with_all = ["delete", "rename"])]
    memory: Option<String>,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// The branch
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Where it begins; else where the active one ends
    #[arg(value_name = "REV", conflicts_with = "delete")]
    revision: Option<String>,
}

/// What is known of a new branch.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct About {
    /// What the branch is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The branch's card
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    pub(crate) card: Option<Value>,
}

/// Reads JSON that stands in an argument.
pub(crate) fn json_value(text: &str) -> Result<Value, String> {
    json::parse(text.as_bytes()).map_err(|error| error.to_string())
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    match &args.name {
        None => list(&args, context),
        Some(name) if args.delete => delete(&args, name, context),
        Some(name) if args.rename => rename(&args, name, context),
        Some(name) => create(&args, name, context),
    }
}

fn create(args: &Args, name: &str, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let words = ["branch", name].into_iter().chain(args.revision.as_deref());
    let operation = context.operation(None, &words.collect::<Vec<_>>());
    let options = BranchOptions {
        target: args.within.target(&opened),
        name: name.to_owned(),
        at: args.revision.clone(),
        description: args.about.description.clone(),
        card: args.about.card.clone(),
        memory: args.memory.clone(),
        ..BranchOptions::default()
    };
    let outcome = ops::branch(&opened.repo, &options, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("name", name.into()),
            ("entry", output::text(outcome.end)),
            ("at", output::text(outcome.record.at)),
            ("parent", outcome.record.parent.into()),
            ("description", outcome.record.description.into()),
            ("card", outcome.record.card),
        ])?;
    }
    Ok(Answer::Yes)
}

fn rename(args: &Args, name: &str, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let words = ["branch", "-m", name].into_iter().chain(args.revision.as_deref());
    let operation = context.operation(None, &words.collect::<Vec<_>>());
    let (from, to) = match &args.revision {
        Some(to) => (Some(name), to.as_str()),
        None => (None, name),
    };
    let target = args.within.target(&opened);
    let end = ops::rename_branch(&opened.repo, &target, from, to, &operation)?;
    if context.output.json {
        let session = target.session(&*opened.repo.snapshot()?)?;
        context.output.record([
            ("session", session.into()),
            ("name", to.into()),
            ("entry", output::text(end)),
        ])?;
    }
    Ok(Answer::Yes)
}

fn delete(args: &Args, name: &str, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &["branch", "-d", name]);
    let target = args.within.target(&opened);
    let end = ops::delete_branch(&opened.repo, &target, name, &operation)?;
    if context.output.json {
        let session = target.session(&*opened.repo.snapshot()?)?;
        context.output.record([
            ("session", session.into()),
            ("name", name.into()),
            ("was", output::text(end)),
        ])?;
    } else if let Some(end) = end {
        let end = short(&*opened.repo.snapshot()?, &end, SHORT_DIGITS)?;
        context.output.note(format_args!("Deleted branch '{name}' (was {end})"));
    }
    Ok(Answer::Yes)
}

fn list(args: &Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let target = args.within.target(&opened);
    let session = target.session(&*snapshot)?;
    let mut found = ops::branches(&*snapshot, &session, args.leaves)?;
    if let Some(text) = &args.contains {
        let entry = sapwood::repo::resolve(&*snapshot, &target.place(), text)?;
        let mut kept = Vec::new();
        for info in found {
            if ops::branch_contains(&*snapshot, &info, &entry)? {
                kept.push(info);
            }
        }
        found = kept;
    }
    let name_columns = found.iter().map(|info| shown::width(title(info))).max().unwrap_or(0);
    for info in &found {
        if context.output.json {
            record(context, info)?;
        } else {
            let line = line(context, &*snapshot, info, args.verbose, name_columns)?;
            context.output.item(line)?;
        }
    }
    Ok(Answer::Yes)
}

fn record(context: &mut Context, info: &BranchInfo) -> Result<(), Failure> {
    let empty = BranchRecord::at(None, None);
    let known = info.record.clone().unwrap_or(empty);
    context.output.record([
        ("name", info.name.clone().into()),
        ("entry", output::text(info.end)),
        ("active", info.is_active.into()),
        ("time", output::text(info.time.map(sapwood::time::format))),
        ("entries", output::count(info.entries)),
        ("own", info.own.map_or(Value::Null, output::count)),
        ("parent", known.parent.into()),
        ("at", output::text(known.at)),
        ("reason", known.reason.into()),
        ("description", known.description.into()),
        ("metadata", render::plain(&known.metadata)),
        ("card", known.card),
        ("memory", output::text(info.memory)),
    ])
}

fn title(info: &BranchInfo) -> &str {
    info.name.as_deref().unwrap_or("(no branch)")
}

fn line(
    context: &Context,
    snapshot: &dyn Snapshot,
    info: &BranchInfo,
    verbose: bool,
    name_columns: usize,
) -> Result<String, Failure> {
    let mark = if info.is_active { "*" } else { " " };
    let digits = |id: Option<Id>| match id {
        Some(id) => short(snapshot, &id, SHORT_DIGITS),
        None => Ok("-".repeat(SHORT_DIGITS)),
    };
    let end = context.output.paint(style::ID, digits(info.end)?);
    let name = title(info);
    if !verbose {
        let name = context.output.paint(style::REF, name);
        let leaf = if info.name.is_none() { format!(" {end}") } else { String::new() };
        return Ok(format!("{mark} {name}{leaf}"));
    }
    let padding = " ".repeat(name_columns - shown::width(name));
    let name = context.output.paint(style::REF, name);
    let age = info.time.map_or("nothing yet".to_owned(), |time| sapwood::time::age(time, now()));
    let entries = plural(info.entries, "entry", "entries");
    let mut line = format!("{mark} {name}{padding} {end} {entries}, {age}");
    if let Some(known) = &info.record {
        let mut about = Vec::new();
        if let Some(parent) = &known.parent {
            let at = known.at.map(|at| digits(Some(at))).transpose()?;
            let at = at.map_or(String::new(), |at| format!(" at {at}"));
            let own = info.own.map_or(String::new(), |own| format!(", {own} of its own"));
            about.push(format!("from {parent}{at}{own}"));
        }
        about.extend(known.reason.as_ref().map(|reason| format!("({reason})")));
        about.extend(known.description.clone());
        for part in about {
            line.push_str("\n    ");
            line.push_str(&shown::line(&part));
        }
    }
    Ok(line)
}

/// Counts things in words.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
