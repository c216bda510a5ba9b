//! `sapwood export`

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::reader::Reader;
use crate::target::Within;

/// Write a session for others to read
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood export > session.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let reader = Reader::open(context, &args.within)?;
    let session = reader.session()?;
    let mut bytes = Vec::new();
    sapwood::ops::export(&reader.opened.repo, &session, &mut bytes)?;
    context.output.bytes(&bytes)?;
    Ok(Answer::Yes)
}
