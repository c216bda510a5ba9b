//! `sapwood rebase`

use sapwood::codec::Value;
use sapwood::ops;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::porcelain::branch::plural;
use crate::target::WriteTo;

/// Say again at the end of another branch what this one has of its own
///
/// The entries since the two part are copied onto REV and the branch moves
/// there; compactions and memory follow. The originals stay in the transcript.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood rebase main
  sapwood rebase main -b approach-a")]
pub(crate) struct Args {
    #[command(flatten)]
    to: WriteTo,
    /// Onto what: a branch, or any revision
    #[arg(value_name = "REV")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &["rebase", &args.revision]);
    let target = args.to.target(&opened);
    let outcome = ops::rebase(&opened.repo, &target, &args.revision, &operation)?;
    if context.output.json {
        let copies = outcome.copies.iter().map(|(original, copy)| {
            output::object([
                ("origin", original.to_string().into()),
                ("entry", copy.to_string().into()),
            ])
        });
        context.output.record([
            ("session", outcome.session.into()),
            ("branch", outcome.branch.into()),
            ("was", outcome.was.to_string().into()),
            ("entry", outcome.now.to_string().into()),
            ("copies", Value::List(copies.collect())),
        ])?;
    } else {
        let count = plural(outcome.copies.len() as u64, "entry", "entries");
        let (branch, onto) = (&outcome.branch, &args.revision);
        context.output.note(format_args!("Rebased '{branch}' onto '{onto}': {count}"));
    }
    Ok(Answer::Yes)
}
