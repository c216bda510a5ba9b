//! `sapwood bundle`

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use sapwood::codec::Value;
use sapwood::disk::{self, Disk, OsDisk};
use sapwood::error::Error;
use sapwood::ops::{self, BundleHead, Bundled, Mark, Marks, NoMarks, UnbundleOptions};
use sapwood::store::RefValue;
use sapwood::store::local::LocalStore;

use super::export::{Plain, write_file};
use super::moved::{Taking, Telling, name_of, of_source};
use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{counted, human};
use crate::shown;
use crate::style;

/// How long a mark is at the most.
const MARK_BYTES_MAX: u64 = 4096;

/// Put sessions into one file, and take them out of it
///
/// A bundle is checked from its first byte to its last, and may come through
/// a pipe: '-' is standard input or output.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood bundle create all.bundle --all
  sapwood bundle create - 'fix the parser' | ssh host sapwood bundle unbundle -
  sapwood bundle verify all.bundle")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: BundleCommand,
}

#[derive(Subcommand)]
enum BundleCommand {
    Create(Create),
    Verify(Verify),
    List(List),
    Unbundle(Unbundle),
}

/// Write a bundle
///
/// Of a session all refs go in, and all that they lead to. Of a branch or a
/// label only that one. A..B leaves out what A has: who takes the bundle in
/// must have A.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood bundle create all.bundle --all
  sapwood bundle create parser.bundle 'fix the parser'
  sapwood bundle create news.bundle s1:main~20..s1:main
  sapwood bundle create - --all | zstd -l")]
struct Create {
    /// Take all sessions
    #[arg(long, conflicts_with = "what")]
    all: bool,
    /// The file; - is standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Sessions by id or name; branches and labels, as s1:main; ranges A..B
    #[arg(value_name = "WHAT", required_unless_present = "all")]
    what: Vec<String>,
}

/// Check a bundle: every checksum, object, link and ref
///
/// Where there is a store, what the bundle builds on must be in it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood bundle verify all.bundle
  ssh host cat all.bundle | sapwood bundle verify -")]
struct Verify {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// List the refs in a bundle, and with a minus what it builds on
///
/// Only the begin of the file is read and checked.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood bundle list all.bundle
  sapwood bundle list all.bundle --json")]
struct List {
    #[command(flatten)]
    listing: Listing,
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Take in the sessions of a bundle
///
/// Objects are stored as they come; when all of the bundle was checked, the
/// refs of each session move together. Cut off, it keeps what it has: given
/// the bundle again, it goes on from there. Sessions that are here already
/// come together as with 'fetch'.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood bundle unbundle all.bundle
  sapwood bundle unbundle all.bundle s1 --as laptop
  ssh host sapwood bundle create - --all | sapwood bundle unbundle -")]
struct Unbundle {
    /// What to call where it comes from; else the file's name
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    taking: Taking,
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only these sessions, by their ids
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    match args.command {
        BundleCommand::Create(args) => create(&args, context),
        BundleCommand::Verify(args) => verify(&args, context),
        BundleCommand::List(args) => list(&args, context),
        BundleCommand::Unbundle(args) => unbundle(&args, context),
    }
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Names a bundle in errors.
fn named(path: &Path) -> &Path {
    if is_standard(path) { Path::new("standard input") } else { path }
}

/// Says of a damaged bundle that it is not the store that is.
fn of_bundle(error: Error, path: &Path) -> Failure {
    match &error {
        Error::Corrupt { path: damaged, .. } if damaged == named(path) => Failure::DamagedInput {
            message: error.to_string(),
            hint: "have it made or sent again; no session has changed, and what came whole is kept",
        },
        Error::Dangling { .. } => Failure::Request {
            message: error.to_string(),
            hint: Some(
                "no session has changed; if it was begun before, give it again and all of it is \
                 read, else have it made again"
                    .to_owned(),
            ),
        },
        _ => error.into(),
    }
}

fn open_bundle(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_standard(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    Ok(Box::new(BufReader::with_capacity(1 << 17, file)))
}

fn create(args: &Create, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let selection = ops::select(&*snapshot, &opened.place, &args.what)?;
    let mut telling = Telling::new("Bundling", context.output.is_quiet());
    let time = crate::open::now();
    let mut made = Bundled::default();
    let mut write = |out: &mut dyn Write| -> Result<(), Failure> {
        let name = if is_standard(&args.file) { Path::new("standard output") } else { &args.file };
        let tell = &mut |note: ops::TransferNote<'_>| telling.note(note);
        made = ops::create_bundle(&*snapshot, &selection, out, name, time, tell)
            .map_err(|error| of_source(error, &*snapshot, opened.path()))?;
        Ok(())
    };
    if is_standard(&args.file) {
        if context.output.is_terminal() {
            return Err(Failure::request("a bundle is not for a terminal: name a file, or a pipe"));
        }
        write(&mut Plain(context))?;
        return Ok(Answer::Yes);
    }
    write_file(&args.file, write)?;
    drop(telling);
    let Bundled { sessions, objects, content_bytes, bytes } = made;
    if context.output.json {
        context.output.record([
            ("file", args.file.to_string_lossy().into_owned().into()),
            ("sessions", output::count(sessions)),
            ("objects", output::count(objects)),
            ("content_bytes", output::count(content_bytes)),
            ("bytes", output::count(bytes)),
        ])?;
    } else {
        context.output.note(format_args!(
            "Bundled {}: {}, {} in {}",
            counted(sessions, "session"),
            counted(objects, "object"),
            human(content_bytes),
            human(bytes),
        ));
    }
    Ok(Answer::Yes)
}

fn verify(args: &Verify, context: &mut Context) -> Result<Answer, Failure> {
    let opened = match context.open() {
        Err(Failure::Library(Error::NotAStore { .. })) => None,
        opened => Some(opened?),
    };
    let snapshot = opened.map(|opened| opened.repo.snapshot()).transpose()?;
    let mut source = open_bundle(&args.file)?;
    let mut telling = Telling::new("Checking", context.output.is_quiet());
    let tell = &mut |note: ops::TransferNote<'_>| telling.note(note);
    let found = ops::verify_bundle(&mut source, named(&args.file), snapshot.as_deref(), tell)
        .map_err(|error| of_bundle(error, &args.file))?;
    drop(telling);
    let sessions = found.head.parcels.len();
    if context.output.json {
        context.output.record([
            ("sessions", output::count(sessions)),
            ("objects", output::count(found.objects)),
            ("content_bytes", output::count(found.content_bytes)),
            ("bytes", output::count(found.bytes)),
            ("outside", output::count(found.outside)),
            ("prerequisites", output::count(found.head.prerequisites.len())),
        ])?;
        return Ok(Answer::Yes);
    }
    context.output.item(format_args!(
        "{} is whole: {}, {}, {}",
        named(&args.file).display(),
        counted(sessions, "session"),
        counted(found.objects, "object"),
        human(found.content_bytes),
    ))?;
    for needed in &found.head.prerequisites {
        let name = shown::line(&needed.name);
        context.output.item(format_args!("it builds on {} ({name})", needed.id))?;
    }
    Ok(Answer::Yes)
}

fn list(args: &List, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let mut source = open_bundle(&args.file)?;
    let BundleHead { parcels, prerequisites, .. } =
        ops::read_bundle_head(&mut source, named(&args.file))
            .map_err(|error| of_bundle(error, &args.file))?;
    for needed in prerequisites {
        if context.output.json {
            context.output.record([
                ("type", "prerequisite".into()),
                ("id", output::text(Some(needed.id))),
                ("name", needed.name.into()),
            ])?;
        } else {
            let id = context.output.paint(style::ID, format!("-{}", needed.id));
            context.output.item(format_args!("{id} {}", shown::line(&needed.name)))?;
        }
    }
    for parcel in parcels {
        for (rest, value) in parcel.refs {
            let name = format!("sessions/{}/{rest}", parcel.session);
            if context.output.json {
                let (id, symbolic) = match value {
                    RefValue::Id(id) => (output::text(Some(id)), Value::Null),
                    RefValue::Symbolic(target) => (Value::Null, output::text(Some(target))),
                };
                context.output.record([
                    ("type", "ref".into()),
                    ("session", parcel.session.as_str().into()),
                    ("name", name.into()),
                    ("id", id),
                    ("symbolic", symbolic),
                ])?;
            } else {
                let value = context.output.paint(style::ID, value);
                let name = context.output.paint(style::REF, name);
                context.output.item(format_args!("{value} {name}"))?;
            }
        }
    }
    Ok(Answer::Yes)
}

fn unbundle(args: &Unbundle, context: &mut Context) -> Result<Answer, Failure> {
    let mut source = open_bundle(&args.file)?;
    let opened = args.taking.open(context)?;
    let from = args.name.clone().unwrap_or_else(|| name_of(&args.file));
    let options =
        UnbundleOptions { transfer: args.taking.options(&from), sessions: args.sessions.clone() };
    let file = args.file.to_string_lossy();
    let operation = context.operation(None, &["bundle", "unbundle", &file]);
    let mut kept = opened.local().ok().cloned().map(CacheMarks);
    let mut none = NoMarks;
    let marks: &mut dyn Marks = match &mut kept {
        Some(kept) => kept,
        None => &mut none,
    };
    let name = named(&args.file);
    let mut again = !is_standard(&args.file);
    loop {
        let mut telling = Telling::new("Unbundling", context.output.is_quiet());
        let tell = &mut |note: ops::TransferNote<'_>| telling.note(note);
        let repo = &opened.repo;
        let taken = ops::unbundle(repo, &mut source, name, &options, marks, &operation, tell);
        match taken {
            // What was taken in before is gone: the whole of it is read.
            Err(Error::Dangling { .. } | Error::ObjectMissing { .. }) if again => {
                again = false;
                source = open_bundle(&args.file)?;
            }
            taken => {
                let taken = taken.map_err(|error| of_bundle(error, &args.file))?;
                let verbs = ("Unbundled", "Would unbundle");
                return telling.report(verbs, &taken, args.taking.dry_run, context);
            }
        }
    }
}

/// Marks kept in the store's cache.
struct CacheMarks(Arc<LocalStore>);

impl Marks for CacheMarks {
    fn load(&mut self, bundle: &str) -> Option<Mark> {
        let bytes =
            disk::read_file(&OsDisk, &self.0.bundle_mark_file(bundle), MARK_BYTES_MAX).ok()?;
        Mark::parse(std::str::from_utf8(&bytes).ok()?)
    }

    fn keep(&mut self, mark: &Mark) {
        // A mark that can't be kept costs time, and nothing else.
        let path = self.0.bundle_mark_file(&mark.bundle);
        let folder = path.parent().map_or(Ok(()), |folder| OsDisk.create_dir(folder));
        let _ = folder.and_then(|()| disk::replace_file(&OsDisk, &path, mark.to_text().as_bytes()));
    }

    fn forget(&mut self, bundle: &str) {
        let _ = OsDisk.remove(&self.0.bundle_mark_file(bundle));
    }
}
