//! `sapwood clone`

use std::path::PathBuf;

use sapwood::error::Error;
use sapwood::ops::{self, TransferOptions};
use sapwood::repo::Place;
use sapwood::store::local::STORE_DIR_NAME;

use super::moved::{Telling, name_of, of_source, store_at};
use crate::failure::{Answer, Failure};
use crate::open::{self, Context};

/// Make a store with all sessions of another one on this machine
///
/// The new store is the directory .sapwood in DIR, or here; one that exists is
/// refused. Sessions come with all their refs, and the current one with them.
/// Operations, settings and removed sessions stay behind: 'backup' takes all.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood clone ~/work
  sapwood clone /mnt/laptop/.sapwood ~/copy")]
pub(crate) struct Args {
    /// Write nothing, and say what would be moved
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// The other store, or the directory it is for
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// Where to make the new one
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let source_path = store_at(&args.source);
    let source = context.open_other(&source_path, true)?;
    let path = args.directory.clone().unwrap_or_default().join(STORE_DIR_NAME);
    if open::is_store(&path) {
        let exists = Error::Refused {
            why: format!("there is a store at {} already", path.display()),
            hint: "'sapwood fetch' brings sessions to a store that exists",
        };
        return Err(exists.into());
    }
    let snapshot = source.repo.snapshot()?;
    let mut parcels = ops::select(&*snapshot, &Place::default(), &[])?.parcels;
    // The one that comes first becomes the current one.
    let current = Place::default().session_id(&*snapshot)?;
    parcels.sort_by_key(|parcel| Some(&parcel.session) != current.as_ref());
    let options = TransferOptions {
        from: ops::source_name(&name_of(&source_path)),
        dry_run: args.dry_run,
        ..TransferOptions::default()
    };
    let repo = match args.dry_run {
        true => sapwood::Repo::in_memory(),
        false => {
            context.init(&path)?;
            context.open_other(&path, false)?.repo
        }
    };
    let operation = context.operation(None, &["clone", &args.source.to_string_lossy()]);
    let mut telling = Telling::new("Cloning", context.output.is_quiet());
    let outcome = ops::transfer(&*snapshot, &repo, &parcels, &options, &operation, &mut |note| {
        telling.note(note);
    })
    .map_err(|error| of_source(error, &*snapshot, &source_path))?;
    telling.report(("Cloned", "Would clone"), &outcome, options.dry_run, context)
}
