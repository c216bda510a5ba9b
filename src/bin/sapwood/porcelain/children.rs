//! `sapwood children`

use sapwood::ops;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::porcelain::parents::list;
use crate::reader::Reader;
use crate::target::Within;

/// List what follows an entry
///
/// Of the current session, unless --all asks for the whole store.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood children main~2
  sapwood children --all --json 3f9a")]
pub(crate) struct Args {
    /// Look at the whole store
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// The entry
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let reader = Reader::open(context, &args.within)?;
    let id = reader.resolve(&args.revision)?;
    let session = match args.all {
        true => None,
        false => reader.opened.place.session_id(&*reader.snapshot)?,
    };
    let children = ops::children(&*reader.snapshot, session.as_deref(), id)?;
    list(context, &reader, &children)
}
