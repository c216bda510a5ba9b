//! `sapwood repack`

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{counted, human};

/// Put all objects but the large loose ones into one pack
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood repack
  sapwood repack -q")]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, context: &mut Context) -> Result<Answer, Failure> {
    let report = context.open_for_writing()?.local()?.repack()?;
    if context.output.json {
        context.output.record([
            ("objects", output::count(report.objects)),
            ("packs_before", output::count(report.packs_before)),
            ("packs_after", output::count(report.packs_after)),
            ("bytes_before", output::count(report.bytes_before)),
            ("bytes_after", output::count(report.bytes_after)),
        ])?;
    } else {
        context.output.note(format_args!(
            "Packed {}: {} in {}, was {} in {}",
            counted(report.objects, "object"),
            human(report.bytes_after),
            counted(report.packs_after, "pack"),
            human(report.bytes_before),
            report.packs_before,
        ));
    }
    Ok(Answer::Yes)
}
