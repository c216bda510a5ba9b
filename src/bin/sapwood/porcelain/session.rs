//! `sapwood session`

use clap::Subcommand;
use sapwood::codec::Value;
use sapwood::id::Id;
use sapwood::object::Session;
use sapwood::ops::{self, Moved};
use sapwood::repo::find_session;
use sapwood::session::View;
use sapwood::store::Snapshot;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::render;
use crate::shown;
use crate::style;

/// Choose, rename, show, remove and restore sessions
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood session use 'fix the parser'
  sapwood session show
  sapwood session rm old-one")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Subcommand)]
enum SessionCommand {
    Use(Use),
    Rename(Rename),
    Show(Show),
    Rm(Rm),
    Restore(Restore),
}

/// Make a session the current one
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood session use 'fix the parser'
  sapwood session use k3v")]
struct Use {
    /// The session, by id, name, or the begin of its id
    #[arg(value_name = "SESSION")]
    session: String,
}

/// Give a session another name; an empty one takes the name away
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood session rename k3v 'fix the parser'
  sapwood session rename 'fix the parser' ''")]
struct Rename {
    /// The session, by id, name, or the begin of its id
    #[arg(value_name = "SESSION")]
    session: String,
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
}

/// Show what is known of a session
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood session show
  sapwood session show 'fix the parser' --json")]
struct Show {
    /// The session, by id, name, or the begin of its id; else the current one
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

/// Remove a session: its refs go to deleted/, until gc finds them too old
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood session rm --dry-run old-one
  sapwood session rm old-one")]
struct Rm {
    /// Only say what would be removed
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// The session, by id, name, or the begin of its id
    #[arg(value_name = "SESSION")]
    session: String,
}

/// Bring a removed session back
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood session restore k3vabcdefghi
  sapwood session restore k3vabcdefghi/1")]
struct Restore {
    /// The session's id: the last that was removed; or with its number
    #[arg(value_name = "SID[/N]")]
    session: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    match args.command {
        SessionCommand::Use(args) => choose(&args, context),
        SessionCommand::Rename(args) => rename(&args, context),
        SessionCommand::Show(args) => show(&args, context),
        SessionCommand::Rm(args) => remove(&args, context),
        SessionCommand::Restore(args) => restore(&args, context),
    }
}

fn choose(args: &Use, context: &mut Context) -> Result<Answer, Failure> {
    let operation = context.operation(None, &["session", "use", &args.session]);
    let opened = context.open_for_writing()?;
    let session = ops::use_session(&opened.repo, &args.session, &operation)?;
    if context.output.json {
        context.output.record([("session", session.into())])?;
    }
    Ok(Answer::Yes)
}

fn rename(args: &Rename, context: &mut Context) -> Result<Answer, Failure> {
    let operation = context.operation(None, &["session", "rename", &args.session, &args.name]);
    let opened = context.open_for_writing()?;
    let name = Some(args.name.as_str()).filter(|name| !name.is_empty());
    let (session, was) = ops::rename_session(&opened.repo, &args.session, name, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", session.into()),
            ("was", was.into()),
            ("name", output::text(name)),
        ])?;
    }
    Ok(Answer::Yes)
}

fn remove(args: &Rm, context: &mut Context) -> Result<Answer, Failure> {
    let moved = if args.dry_run {
        ops::removal(&*context.open()?.repo.snapshot()?, &args.session)?
    } else {
        let operation = context.operation(None, &["session", "rm", &args.session]);
        ops::remove_session(&context.open_for_writing()?.repo, &args.session, &operation)?
    };
    let Moved { session, to, refs, was_current, .. } = &moved;
    if context.output.json {
        return report(context, &moved, args.dry_run);
    }
    let current = if *was_current { ", the current one" } else { "" };
    if args.dry_run {
        let text = format!("would remove session {session}{current}: {refs} refs go to {to}/");
        context.output.item(text)?;
    } else {
        context.output.note(format_args!("Removed session {session}{current}"));
        context.output.note(format_args!("'sapwood session restore {session}' brings it back"));
    }
    Ok(Answer::Yes)
}

fn restore(args: &Restore, context: &mut Context) -> Result<Answer, Failure> {
    let operation = context.operation(None, &["session", "restore", &args.session]);
    let opened = context.open_for_writing()?;
    let moved = ops::restore_session(&opened.repo, &args.session, &operation)?;
    match context.output.json {
        true => report(context, &moved, false),
        false => Ok(Answer::Yes),
    }
}

fn report(context: &mut Context, moved: &Moved, is_dry: bool) -> Result<Answer, Failure> {
    context.output.record([
        ("session", moved.session.as_str().into()),
        ("from", moved.from.as_str().into()),
        ("to", moved.to.as_str().into()),
        ("refs", output::count(moved.refs)),
        ("was_current", moved.was_current.into()),
        ("dry_run", is_dry.into()),
    ])?;
    Ok(Answer::Yes)
}

fn show(args: &Show, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let snapshot = &*snapshot;
    let session = match &args.session {
        Some(session) => find_session(snapshot, session)?,
        None => ops::Target::of(opened.place.session.as_deref()).session(snapshot)?,
    };
    let view = View::of(snapshot, &session)?;
    let meta = view.meta()?;
    let status = ops::status(snapshot, &sapwood::Place::in_session(session.as_str()))?;
    let root = ops::root_of(snapshot, &session)?;
    let children = ops::children_of(snapshot, &session)?;
    let branches = view.branches()?;
    let header = header(snapshot, &meta)?;
    if context.output.json {
        let list =
            |names: &[String]| Value::List(names.iter().map(|name| name.as_str().into()).collect());
        let names: Vec<String> = branches.into_iter().map(|(name, _)| name).collect();
        context.output.record([
            ("session", session.into()),
            ("name", meta.name.into()),
            ("status", meta.status.into()),
            ("header", output::object(header)),
            ("dialect", meta.dialect.into()),
            ("source", meta.source.into()),
            ("meta", meta.meta),
            ("branch", status.branch.into()),
            ("entry", output::text(status.end)),
            ("entries", output::count(status.entries)),
            ("branches", list(&names)),
            ("root", root.into()),
            ("children", list(&children)),
        ])?;
        return Ok(Answer::Yes);
    }
    let title = context.output.paint(style::ID, &session);
    context.output.item(format_args!("session {title}"))?;
    for (key, value) in header.iter().filter(|(key, _)| !matches!(*key, "type" | "id")) {
        let text = match value {
            Value::Null => continue,
            Value::Text(text) => text.clone(),
            other => sapwood::codec::json::to_string(other),
        };
        context.output.item(format_args!("{key:<15} {}", shown::line(&text)))?;
    }
    for (key, text) in [("dialect", &meta.dialect), ("source", &meta.source)] {
        if let Some(text) = text {
            context.output.item(format_args!("{key:<15} {}", shown::line(text)))?;
        }
    }
    for (name, end) in branches {
        let mark = if status.branch.as_ref() == Some(&name) { "*" } else { " " };
        let name = context.output.paint(style::REF, name);
        let end = context.output.paint(style::ID, short(snapshot, &end, SHORT_DIGITS)?);
        context.output.item(format_args!("branch          {mark} {name} {end}"))?;
    }
    if !children.is_empty() {
        context.output.item(format_args!("children        {}", children.join(" ")))?;
    }
    Ok(Answer::Yes)
}

/// Gives a session's header, in the words of those who read trees of sessions.
pub(super) fn header(
    snapshot: &dyn Snapshot,
    meta: &Session,
) -> Result<Vec<(&'static str, Value)>, Failure> {
    let fork = meta.fork.as_ref();
    let entry = fork.and_then(|fork| fork.entry);
    let metadata = fork.map_or(Value::Null, |fork| render::plain(&fork.metadata));
    Ok(vec![
        ("type", "session".into()),
        ("id", meta.sid.as_str().into()),
        ("timestamp", sapwood::time::format(meta.time).into()),
        ("name", meta.name.clone().into()),
        ("cwd", meta.cwd.clone().into()),
        ("provider", meta.provider.clone().into()),
        ("model", meta.model.clone().into()),
        ("status", meta.status.clone().into()),
        ("parent_id", output::text(fork.map(|fork| &fork.session))),
        ("branch_point", branch_point(snapshot, entry)?),
        ("branch_entry", output::text(entry)),
        ("branch_reason", output::text(fork.and_then(|fork| fork.reason.as_ref()))),
        ("branch_metadata", metadata),
        ("meta", meta.meta.clone()),
    ])
}

/// Counts the entries before the one at which something began.
pub(super) fn branch_point(snapshot: &dyn Snapshot, entry: Option<Id>) -> Result<Value, Failure> {
    let topology = entry.map(|entry| snapshot.topology(&entry)).transpose()?.flatten();
    Ok(topology.map_or(Value::Null, |topology| output::count(topology.depth)))
}
