//! `sapwood fsck`

mod fix;

use std::path::PathBuf;

use sapwood::error::Error;
use sapwood::store::local::{self, Finding, FsckOptions, FsckReport, STORE_DIR_NAME, Severity};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::plumbing::counted;
use crate::progress::Progress;
use crate::shown;
use crate::style;

/// Check the whole store: files, objects, links and refs; mend it with --fix
///
/// Without --fix it changes nothing. Each finding is one line; exit code 6 if any is an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood fsck
  sapwood fsck --full --json | grep '\"severity\":\"error\"'
  sapwood fsck --fix --dry-run
  sapwood fsck --fix")]
pub(crate) struct Args {
    /// Check that everything is there, without hashing every object again
    #[arg(long, conflicts_with_all = ["full", "fix"])]
    connectivity_only: bool,

    /// Look at what can be done without, too, and name everything that links what is missing
    #[arg(long)]
    full: bool,

    /// Mend what is damaged: save all that is whole, and put damaged files aside
    #[arg(long)]
    fix: bool,

    /// Only say what --fix would do
    #[arg(short = 'n', long, requires = "fix")]
    dry_run: bool,

    /// Take a 'format' file that names an unknown version for damaged
    #[arg(long)]
    ignore_format: bool,

    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let path = find(context)?;
    if args.fix {
        return fix::run(&args, &path, context);
    }
    let progress = Progress::new("Checking objects", context.output.is_quiet());
    let options = FsckOptions {
        connectivity_only: args.connectivity_only,
        full: args.full,
        ignore_format: args.ignore_format,
        progress: Some(&|done, total| progress.tell(done, total)),
    };
    let report = local::fsck(open::disk(), &path, &options)?;
    drop(progress);
    print_report(context, &report)
}

/// Says what was found, and how much was looked at.
pub(crate) fn print_report(context: &mut Context, report: &FsckReport) -> Result<Answer, Failure> {
    for finding in &report.findings {
        print(context, finding)?;
    }
    if !context.output.json {
        context.output.note(format_args!(
            "Checked {}, {}, {}",
            counted(report.objects, "object"),
            counted(report.refs, "ref"),
            counted(report.files, "file"),
        ));
    }
    answer(&report.findings)
}

/// Finds the store, also one that has lost the file that makes it one.
fn find(context: &Context) -> Result<PathBuf, Failure> {
    let is_remains = |path: &PathBuf| local::is_remains(&*open::disk(), path);
    match context.find() {
        Err(Failure::Library(Error::NotAStore { path })) if is_remains(&path) => Ok(path),
        Ok(path) => {
            let within = path.join(STORE_DIR_NAME);
            Ok(if is_remains(&within) && !is_remains(&path) { within } else { path })
        }
        found => found,
    }
}

/// Says how a check went by what it found.
pub(crate) fn answer(findings: &[Finding]) -> Result<Answer, Failure> {
    match findings.iter().filter(|finding| finding.severity == Severity::Error).count() {
        0 => Ok(Answer::Yes),
        count => Err(Failure::Damaged(count)),
    }
}

/// Prints a finding.
pub(crate) fn print(context: &mut Context, finding: &Finding) -> Result<(), Failure> {
    let severity = finding.severity.name();
    let file = finding.file.as_ref().map(|file| file.display());
    if context.output.json {
        return context.output.record([
            ("severity", severity.into()),
            ("what", finding.what.into()),
            ("object", output::text(finding.object)),
            ("file", output::text(file)),
            ("why", finding.why.as_str().into()),
        ]);
    }
    let style = match finding.severity {
        Severity::Error => style::ERROR,
        Severity::Warning => style::WARNING,
        Severity::Notice => style::HINT,
    };
    let mut text = format!("{}: {}", context.output.paint(style, severity), finding.what);
    if let Some(id) = finding.object {
        text.push_str(&format!(" {id}"));
    }
    if let Some(file) = file {
        text.push_str(&format!(" {}", shown::line(&file.to_string())));
    }
    context.output.item(format_args!("{text}: {}", finding.why))
}
