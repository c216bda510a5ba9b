//! `sapwood cat-file`

use std::io::{self, BufRead};
use std::sync::Arc;

use sapwood::codec::{Value, json};
use sapwood::error::Error;
use sapwood::id::{Id, Kind};
use sapwood::object::{self, Object};
use sapwood::repo;
use sapwood::store::{Snapshot, Stored};

use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output;
use crate::plumbing::is_missing;

/// Show an object: its kind, its size, or its content
///
/// KIND REV prints the content as it is stored. -p prints a blob as it is and
/// the other kinds as JSON, long strings put back in their places.
///
/// --batch and --batch-check read one name a line and answer each at once, with
/// id, kind and size on a line, for --batch followed by the content and a
/// newline; or with the name and 'missing' or 'ambiguous'.
#[derive(clap::Args)]
#[command(override_usage = "\
sapwood cat-file (-t | -s | -e | -p [--raw-links]) REV
       sapwood cat-file KIND REV
       sapwood cat-file (--batch | --batch-check) [-z]")]
#[command(after_help = "\
Examples:
  sapwood cat-file -p HEAD
  sapwood cat-file -t 3f9a
  sapwood cat-file -e topic || echo 'no such thing'
  sapwood rev-list main | sapwood cat-file --batch-check")]
#[command(group(clap::ArgGroup::new("mode").args(
    ["show_kind", "size", "exists", "pretty", "batch", "batch_check"])))]
pub(crate) struct Args {
    /// Print the kind
    #[arg(short = 't')]
    show_kind: bool,
    /// Print the size of the content in bytes
    #[arg(short = 's')]
    size: bool,
    /// Print nothing; exit code 0 if it is there and whole, else 1
    #[arg(short = 'e')]
    exists: bool,
    /// Print the content for people to read
    #[arg(short = 'p')]
    pretty: bool,
    /// With -p, leave long strings as links to their blobs
    #[arg(long, requires = "pretty")]
    raw_links: bool,
    /// Answer names from standard input with id, kind, size and content
    #[arg(long)]
    batch: bool,
    /// Answer names from standard input with id, kind and size
    #[arg(long)]
    batch_check: bool,
    /// Names on standard input end with a NUL byte
    #[arg(short = 'z')]
    null: bool,
    /// The object; with its kind before it, the content as it is stored
    #[arg(value_name = "REV", num_args = 0..=2)]
    words: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let has_mode = args.show_kind || args.size || args.exists || args.pretty;
    match args.words.as_slice() {
        [] if args.batch || args.batch_check => batch(&args, context),
        [revision] if has_mode => one(&args, revision, context),
        [kind, revision] if !has_mode && !args.batch && !args.batch_check => {
            raw(kind.parse()?, revision, context)
        }
        _ if args.batch || args.batch_check => usage("the names come from standard input"),
        _ if has_mode => usage("give exactly one revision"),
        _ => usage("say what to show: -t, -s, -e, -p, or a kind and a revision"),
    }
}

/// Answers `-t`, `-s`, `-e` and `-p`.
fn one(args: &Args, revision: &str, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let found = find(snapshot.as_ref(), &opened, revision);
    if args.exists {
        return match found {
            Ok(_) => Ok(Answer::Yes),
            Err(error) if is_missing(&error) => Ok(Answer::No),
            Err(error) => Err(error.into()),
        };
    }
    let (id, stored) = found?;
    if context.output.json {
        let content = match args.pretty {
            true => Some(printable(snapshot.as_ref(), &stored, args.raw_links)?),
            false => None,
        };
        print_json(context, revision, &id, &stored, content)?;
    } else if args.show_kind {
        context.output.item(stored.kind)?;
    } else if args.size {
        context.output.item(stored.content.len())?;
    } else if stored.kind == Kind::Blob {
        context.output.bytes(&stored.content)?;
    } else {
        let value = printable(snapshot.as_ref(), &stored, args.raw_links)?;
        context.output.item(json::pretty(&value))?;
    }
    Ok(Answer::Yes)
}

/// Answers `KIND REV`.
fn raw(kind: Kind, revision: &str, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let (id, stored) = find(snapshot.as_ref(), &opened, revision)?;
    if stored.kind != kind {
        return Err(Failure::Library(Error::WrongKind {
            id,
            expected: kind.name(),
            found: stored.kind.name(),
        }));
    }
    context.output.bytes(&stored.content)?;
    Ok(Answer::Yes)
}

/// Answers names from standard input, each as soon as it is read.
fn batch(args: &Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let mut snapshot = opened.repo.snapshot()?;
    let mut input = io::BufReader::new(io::stdin().lock());
    let end = if args.null { 0 } else { b'\n' };
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(end, &mut line).map_err(Failure::Input)? == 0 {
            return Ok(Answer::Yes);
        }
        let name = line.strip_suffix(&[end]).unwrap_or(&line);
        let name = String::from_utf8_lossy(name);
        let found = find_fresh(&mut snapshot, &opened, &name);
        answer(args, context, snapshot.as_ref(), &name, found)?;
        context.output.flush()?;
    }
}

/// Finds an object, looking again at the store for what may have come since.
///
/// A full id never changes its meaning, so the last snapshot will do if it has it.
fn find_fresh(
    snapshot: &mut Arc<dyn Snapshot>,
    opened: &Opened,
    name: &str,
) -> sapwood::error::Result<(Id, Stored)> {
    if let Ok(id) = name.parse::<Id>()
        && let Some(stored) = snapshot.get(&id)?
    {
        return Ok((id, stored));
    }
    *snapshot = opened.repo.snapshot()?;
    find(snapshot.as_ref(), opened, name)
}

fn answer(
    args: &Args,
    context: &mut Context,
    snapshot: &dyn Snapshot,
    name: &str,
    found: sapwood::error::Result<(Id, Stored)>,
) -> Result<(), Failure> {
    let missing = match found {
        Ok((id, stored)) if context.output.json => {
            let content = match args.batch {
                true => Some(printable(snapshot, &stored, false)?),
                false => None,
            };
            return print_json(context, name, &id, &stored, content);
        }
        Ok((id, stored)) => {
            let size = stored.content.len();
            context.output.item(format_args!("{id} {} {size}", stored.kind))?;
            if args.batch {
                context.output.bytes(&stored.content)?;
                context.output.bytes(b"\n")?;
            }
            return Ok(());
        }
        Err(Error::Ambiguous { .. }) => "ambiguous",
        Err(error) if is_missing(&error) => "missing",
        Err(error) => return Err(error.into()),
    };
    if context.output.json {
        return context.output.record([("name", name.into()), ("error", missing.into())]);
    }
    context.output.item(format_args!("{name} {missing}"))
}

fn find(
    snapshot: &dyn Snapshot,
    opened: &Opened,
    revision: &str,
) -> sapwood::error::Result<(Id, Stored)> {
    let id = repo::resolve(snapshot, &opened.place, revision)?;
    let stored = snapshot.get(&id)?.ok_or(Error::ObjectMissing { id })?;
    Ok((id, stored))
}

/// Gives an object as JSON for people; a blob that is not text has none.
fn printable(
    snapshot: &dyn Snapshot,
    stored: &Stored,
    keeps_links: bool,
) -> Result<Value, Failure> {
    let mut found = Object::decode(stored.kind, &stored.content)?;
    if let Object::Blob(content) = found {
        return Ok(String::from_utf8(content).map_or(Value::Null, Value::Text));
    }
    if let Object::Entry(entry) = &mut found
        && !keeps_links
    {
        let mut fetch = |id: &Id| {
            let stored = snapshot.get(id)?.ok_or(Error::ObjectMissing { id: *id })?;
            Ok(stored.content.to_vec())
        };
        object::restore(&mut entry.body, &mut fetch)?;
        if let Some(raw) = &mut entry.raw {
            object::restore(raw, &mut fetch)?;
        }
    }
    Ok(found.to_value())
}

fn print_json(
    context: &mut Context,
    name: &str,
    id: &Id,
    stored: &Stored,
    content: Option<Value>,
) -> Result<(), Failure> {
    let name = Value::from(name);
    let id = Value::from(id.to_string());
    let kind = Value::from(stored.kind.name());
    let size = output::count(stored.content.len());
    match content {
        None => context.output.record([("name", name), ("id", id), ("kind", kind), ("size", size)]),
        Some(content) => context.output.record([
            ("name", name),
            ("id", id),
            ("kind", kind),
            ("size", size),
            ("content", content),
        ]),
    }
}
