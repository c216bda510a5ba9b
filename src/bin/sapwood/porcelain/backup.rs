//! `sapwood backup`

use std::path::{Path, PathBuf};

use sapwood::error::Error;
use sapwood::store::local::{self, FsckOptions};

use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::plumbing::fsck::print_report;
use crate::plumbing::{counted, human};
use crate::progress::Progress;

/// Bring a backup of the whole store up to date, or make one
///
/// The backup is a consistent copy, taken while others go on writing. What is
/// in it already is not copied again. Cut off, it leaves the backup that was
/// there before. It is a store itself: 'sapwood --store DIR log' reads it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood backup /mnt/disk/sapwood
  sapwood backup --verify /mnt/disk/sapwood
  sapwood --store /mnt/disk/sapwood sessions")]
pub(crate) struct Args {
    /// Copy nothing, and check every file and object of the backup
    #[arg(long, conflicts_with = "force")]
    verify: bool,
    /// Write over the backup of another store, or one that was written to
    #[arg(short, long)]
    force: bool,
    /// The directory of the backup, and of nothing else
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.verify {
        return verify(&args, context);
    }
    let opened = context.open()?;
    let store = opened.local()?;
    let path = std::fs::canonicalize(store.path()).map_err(Error::io("find", store.path()))?;
    refuse_within(&args.directory, &path)?;
    // A path that is no text is written with escapes, so that no two are the same.
    let of = path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned);
    let progress = Progress::new("Backing up", context.output.is_quiet());
    let report = store.backup(&args.directory, &of, args.force, &mut |files, bytes| {
        progress.tell_moved(files, bytes);
    })?;
    drop(progress);
    if context.output.json {
        context.output.record([
            ("files", output::count(report.files)),
            ("bytes", output::count(report.bytes)),
            ("files_copied", output::count(report.files_copied)),
            ("bytes_copied", output::count(report.bytes_copied)),
            ("files_removed", output::count(report.files_removed)),
        ])?;
    } else {
        context.output.note(format_args!(
            "Copied {}, {}; the backup has {}, {}",
            counted(report.files_copied, "file"),
            human(report.bytes_copied),
            report.files,
            human(report.bytes),
        ));
    }
    Ok(Answer::Yes)
}

fn verify(args: &Args, context: &mut Context) -> Result<Answer, Failure> {
    let progress = Progress::new("Checking", context.output.is_quiet());
    let options = FsckOptions {
        progress: Some(&|done, total| progress.tell(done, total)),
        ..FsckOptions::default()
    };
    let report = local::verify_backup(open::disk(), &args.directory, &options)?;
    drop(progress);
    print_report(context, &report).map_err(|failure| match failure {
        Failure::Damaged(count) => Failure::DamagedInput {
            message: format!("the backup has {}", counted(count, "error")),
            hint: "remove the files that are damaged: the next 'sapwood backup' copies them again",
        },
        other => other,
    })
}

/// Refuses to put a backup into the store that it is of.
fn refuse_within(directory: &Path, store: &Path) -> Result<(), Failure> {
    let full = std::path::absolute(directory).map_err(Error::io("find", directory))?;
    let existing = full.ancestors().find_map(|path| std::fs::canonicalize(path).ok());
    match existing.is_some_and(|existing| existing.starts_with(store)) {
        true => Err(Error::Refused {
            why: format!("{} is part of the store itself", directory.display()),
            hint: "name a directory elsewhere, best on another disk",
        }
        .into()),
        false => Ok(()),
    }
}
