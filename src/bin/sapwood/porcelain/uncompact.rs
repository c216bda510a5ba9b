//! `sapwood uncompact`

use sapwood::ops;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::WriteTo;

/// Make a compacted context whole again
///
/// Appends a marker that keeps everything from the first entry on. Nothing is
/// deleted, and the conversation can be compacted again.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood uncompact
  sapwood uncompact -s s1 -b topic")]
pub(crate) struct Args {
    #[command(flatten)]
    to: WriteTo,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &["uncompact"]);
    let marker = ops::uncompact(&opened.repo, &args.to.target(&opened), &operation)?;
    match context.output.json {
        true => context.output.record([("id", marker.to_string().into())])?,
        false => context.output.item(marker)?,
    }
    Ok(Answer::Yes)
}
