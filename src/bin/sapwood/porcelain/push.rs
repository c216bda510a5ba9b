//! `sapwood push`

use std::path::PathBuf;

use sapwood::ops::{self, TransferOptions};

use super::moved::{Taking, Telling, name_of, of_source, refuse_itself, store_at};
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Bring sessions to another store on this machine
///
/// Only what is missing there is moved; all refs of a session move together.
/// A session that went another way there is refused: fetch it first, which
/// joins both, and push again. With --force both transcripts are kept there,
/// and its branches go where ours are. Without a SESSION, all are brought.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood push ~/work
  sapwood push /mnt/laptop/.sapwood 'fix the parser'
  sapwood push --dry-run ~/work")]
pub(crate) struct Args {
    #[command(flatten)]
    taking: Taking,
    /// The other store, or the directory it is for
    #[arg(value_name = "DEST")]
    target: PathBuf,
    /// Sessions by id or name; branches and labels, as s1:main
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let path = store_at(&args.target);
    let opened = context.open()?;
    let mut from = String::new();
    if let Ok(local) = opened.local() {
        refuse_itself(local.path(), &path)?;
        from = name_of(local.path());
    }
    let target = context.open_other(&path, args.taking.dry_run)?;
    let options = TransferOptions { refuse_apart: true, ..args.taking.options(&from) };
    let shown = args.target.to_string_lossy();
    let mut words = vec!["push", &shown];
    words.extend(args.sessions.iter().map(String::as_str));
    let operation = context.operation(None, &words);
    let snapshot = opened.repo.snapshot()?;
    let parcels = ops::select(&*snapshot, &opened.place, &args.sessions)?.parcels;
    let mut telling = Telling::new("Pushing", context.output.is_quiet());
    let outcome =
        ops::transfer(&*snapshot, &target.repo, &parcels, &options, &operation, &mut |note| {
            telling.note(note);
        })
        .map_err(|error| of_source(error, &*snapshot, opened.path()))?;
    telling.report(("Pushed", "Would push"), &outcome, options.dry_run, context)
}
