//! `sapwood restore`

use std::path::PathBuf;

use sapwood::error::Error;
use sapwood::store::local::{self, STORE_DIR_NAME};

use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::plumbing::{counted, human};
use crate::progress::Progress;

/// Make a store of a backup
///
/// The store is .sapwood in TARGET, or exactly where --store or $SAPWOOD_DIR
/// says, or here. It appears when it is whole and every link was followed. One
/// that is there is refused; with --force it is moved aside, and kept.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood restore /mnt/disk/sapwood ~/work
  sapwood restore --force /mnt/disk/sapwood ~/work")]
pub(crate) struct Args {
    /// Move a store aside that is there
    #[arg(short, long)]
    force: bool,
    /// The directory of the backup
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The directory that the store is for
    #[arg(value_name = "TARGET")]
    target: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let path = match (args.target, context.named_store()) {
        (Some(_), _) if context.global.store.is_some() => {
            return Err(Failure::Usage("give TARGET or --store, not both".to_owned()));
        }
        (Some(target), _) => target.join(STORE_DIR_NAME),
        (None, Some(named)) => named,
        (None, None) => PathBuf::from(STORE_DIR_NAME),
    };
    let progress = Progress::new("Restoring", context.output.is_quiet());
    let tell = &mut |files, bytes| progress.tell_moved(files, bytes);
    let restored = local::restore(&open::disk(), &args.directory, &path, args.force, tell);
    let (report, moved) = restored.map_err(of_backup)?;
    drop(progress);
    let moved = moved.map(|moved| moved.display().to_string());
    if context.output.json {
        context.output.record([
            ("path", path.display().to_string().into()),
            ("files", output::count(report.files)),
            ("bytes", output::count(report.bytes)),
            ("moved_aside", output::text(moved)),
        ])?;
        return Ok(Answer::Yes);
    }
    if let Some(moved) = moved {
        context.output.note(format_args!("The store that was there is at {moved} now"));
    }
    context.output.note(format_args!(
        "Restored {}: {}, {}",
        path.display(),
        counted(report.files, "file"),
        human(report.bytes),
    ));
    Ok(Answer::Yes)
}

/// Says of a damaged backup what can be had of it.
fn of_backup(error: Error) -> Failure {
    match &error {
        Error::Corrupt { .. } => Failure::DamagedInput {
            message: error.to_string(),
            hint: "'sapwood backup --verify' tells all; 'sapwood --store COPY fsck --fix' mends a \
                   copy of it, which can be restored",
        },
        _ => error.into(),
    }
}
