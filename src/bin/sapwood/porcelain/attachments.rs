//! `sapwood attachments`

use sapwood::error::Error;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::human;
use crate::reader::Reader;
use crate::style;
use crate::target::Within;

/// List the files that are kept with a session
///
/// A line for each: short id, size, name.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood attachments
  sapwood attachments -s s1 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let reader = Reader::open(context, &args.within)?;
    for (name, id) in reader.view()?.named("attachments")? {
        let stored = reader.snapshot.get(&id)?.ok_or(Error::ObjectMissing { id })?;
        let bytes = stored.content.len() as u64;
        if context.output.json {
            context.output.record([
                ("name", name.into()),
                ("blob", id.to_string().into()),
                ("bytes", output::count(bytes)),
            ])?;
        } else {
            let id = context.output.paint(style::ID, reader.short(&id)?);
            context.output.item(format_args!("{id} {:>12} {name}", human(bytes)))?;
        }
    }
    Ok(Answer::Yes)
}
