//! `sapwood fsck`

use crate::stub::{self as local, Finding, FsckOptions, Severity};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
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
    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let path = context.find()?;
    let report = local::fsck(open::disk(), &path, FsckOptions::default())?;
    for finding in &report.findings {
        print(context, finding)?;
    }
    if !context.output.json {
        context.output.note(format_args!(
            "Checked {} objects, {} refs, {} files",
            report.objects, report.refs, report.files
        ));
    }
    let errors = report
        .findings
        .iter()
        .filter(|finding| is_error(finding))
        .count();
    match errors {
        0 => Ok(Answer::Yes),
        count => Err(Failure::Damaged(count)),
    }
}

fn is_error(finding: &Finding) -> bool {
    matches!(finding.severity, Severity::Error)
}

fn print(context: &mut Context, finding: &Finding) -> Result<(), Failure> {
    let severity = if is_error(finding) {
        "error"
    } else {
        "warning"
    };
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
    let style = if is_error(finding) {
        style::ERROR
    } else {
        style::WARNING
    };
    let mut text = format!(
        "{}: {}",
        context.output.paint(style, severity),
        finding.what
    );
    if let Some(id) = finding.object {
        text.push_str(&format!(" {id}"));
    }
    if let Some(file) = file {
        text.push_str(&format!(" {file}"));
    }
    context.output.item(format_args!("{text}: {}", finding.why))
}
