//! `sapwood pack-refs`

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::counted;

/// Write all refs into one sorted snapshot
///
/// The store does this by itself from time to time; by hand it makes opening a
/// store with very many refs faster at once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood pack-refs")]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, context: &mut Context) -> Result<Answer, Failure> {
    let refs = context.open_for_writing()?.local()?.pack_refs()?;
    if context.output.json {
        context.output.record([("refs", output::count(refs))])?;
    } else {
        context.output.note(format_args!("Packed {}", counted(refs, "ref")));
    }
    Ok(Answer::Yes)
}
