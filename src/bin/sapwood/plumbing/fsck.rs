//! `sapwood fsck`

use sapwood::store::local::{self, Finding, FsckOptions, Severity};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::progress::Progress;
use crate::style;

/// Check the whole store: files, objects, links and refs
///
/// Changes nothing. Each finding is one line; exit code 6 if any is an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood fsck
  sapwood fsck --json | grep '\"severity\":\"error\"'")]
pub(crate) struct Args {
    /// Check that everything is there, without hashing every object again
    #[arg(long)]
    connectivity_only: bool,

    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let path = context.find()?;
    let progress = Progress::new("Checking objects", context.output.is_quiet());
    let options = FsckOptions {
        connectivity_only: args.connectivity_only,
        progress: Some(&|done, total| progress.tell(done, total)),
    };
    let report = local::fsck(open::disk(), &path, &options)?;
    drop(progress);
    for finding in &report.findings {
        print(context, finding)?;
    }
    if !context.output.json {
        context.output.note(format_args!(
            "Checked {} objects, {} refs, {} files",
            report.objects, report.refs, report.files
        ));
    }
    let errors = report.findings.iter().filter(|finding| is_error(finding)).count();
    match errors {
        0 => Ok(Answer::Yes),
        count => Err(Failure::Damaged(count)),
    }
}

/// Says whether a finding is an error.
pub(crate) fn is_error(finding: &Finding) -> bool {
    matches!(finding.severity, Severity::Error)
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
        text.push_str(&format!(" {file}"));
    }
    context.output.item(format_args!("{text}: {}", finding.why))
}
