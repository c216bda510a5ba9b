//! `sapwood fetch`

use std::path::PathBuf;

use sapwood::ops;
use sapwood::repo::Place;

use super::moved::{Taking, Telling, name_of, of_source, refuse_itself, store_at};
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Take in sessions from another store on this machine
///
/// Only what is missing here is moved; all refs of a session move together.
/// A branch moves forward; one that went another way here comes in beside it,
/// as BRANCH@NAME. Both transcripts are kept: an event joins them. Without a
/// SESSION, all come.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood fetch ~/work
  sapwood fetch /mnt/laptop/.sapwood 'fix the parser' --as laptop
  sapwood fetch --dry-run ~/work")]
pub(crate) struct Args {
    /// What to call where it comes from; else the directory's name
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    taking: Taking,
    /// The other store, or the directory it is for
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// Sessions by id or name; branches and labels, as s1:main
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let path = store_at(&args.source);
    let source = context.open_other(&path, true)?;
    let opened = args.taking.open(context)?;
    if let Ok(local) = opened.local() {
        refuse_itself(local.path(), &path)?;
    }
    let from = args.name.clone().unwrap_or_else(|| name_of(&path));
    let options = args.taking.options(&from);
    let shown = args.source.to_string_lossy();
    let mut words = vec!["fetch", &shown];
    words.extend(args.sessions.iter().map(String::as_str));
    let operation = context.operation(None, &words);
    let snapshot = source.repo.snapshot()?;
    let parcels = ops::select(&*snapshot, &Place::default(), &args.sessions)?.parcels;
    let mut telling = Telling::new("Fetching", context.output.is_quiet());
    let outcome =
        ops::transfer(&*snapshot, &opened.repo, &parcels, &options, &operation, &mut |note| {
            telling.note(note);
        })
        .map_err(|error| of_source(error, &*snapshot, &path))?;
    telling.report(("Fetched", "Would fetch"), &outcome, options.dry_run, context)
}
