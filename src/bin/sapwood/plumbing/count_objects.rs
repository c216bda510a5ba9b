//! `sapwood count-objects`

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::human;

/// Count the objects and say how much disk space they take
///
/// Without -v only those that are not in a pack yet. Sizes are in KiB.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood count-objects
  sapwood count-objects -vH")]
pub(crate) struct Args {
    /// Count the journal, the loose files and the packs, each by itself
    #[arg(short, long)]
    verbose: bool,
    /// Print sizes with a unit
    #[arg(short = 'H', long)]
    human_readable: bool,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let counts = context.open()?.local()?.count_objects()?;
    let numbers = [
        ("journal", counts.journal_objects, false),
        ("size-journal", counts.journal_bytes, true),
        ("count", counts.loose_objects, false),
        ("size", counts.loose_bytes, true),
        ("in-pack", counts.packed_objects, false),
        ("packs", counts.packs, false),
        ("size-pack", counts.pack_bytes, true),
        ("cruft", counts.cruft_objects, false),
        ("size-cruft", counts.cruft_bytes, true),
    ];
    if context.output.json {
        context.output.record([
            ("journal_objects", output::count(counts.journal_objects)),
            ("journal_bytes", output::count(counts.journal_bytes)),
            ("loose_objects", output::count(counts.loose_objects)),
            ("loose_bytes", output::count(counts.loose_bytes)),
            ("packed_objects", output::count(counts.packed_objects)),
            ("packs", output::count(counts.packs)),
            ("pack_bytes", output::count(counts.pack_bytes)),
            ("cruft_objects", output::count(counts.cruft_objects)),
            ("cruft_bytes", output::count(counts.cruft_bytes)),
        ])?;
    } else if args.verbose {
        for (name, number, is_bytes) in numbers {
            let text = match (is_bytes, args.human_readable) {
                (false, _) => number.to_string(),
                (true, true) => human(number),
                (true, false) => number.div_ceil(1024).to_string(),
            };
            context.output.item(format_args!("{name}: {text}"))?;
        }
    } else {
        let objects = counts.journal_objects + counts.loose_objects;
        let bytes = counts.journal_bytes + counts.loose_bytes;
        let size = match args.human_readable {
            true => human(bytes),
            false => format!("{} kilobytes", bytes.div_ceil(1024)),
        };
        context.output.item(format_args!("{objects} objects, {size}"))?;
    }
    Ok(Answer::Yes)
}
