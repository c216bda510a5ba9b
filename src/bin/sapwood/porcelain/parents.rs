//! `sapwood parents`

use sapwood::error::Error;
use sapwood::id::{Id, Kind};
use sapwood::ops::Logged;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::reader::Reader;
use crate::render;
use crate::style;
use crate::target::Within;

/// List what an entry follows
///
/// The first is the path; further ones were merged. For an event, the event
/// before it; for a node of the memory, the node before it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood parents
  sapwood parents main~2")]
pub(crate) struct Args {
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
    let topology = reader.snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
    list(context, &reader, &topology.parents)
}

/// Prints objects on a line each.
pub(super) fn list(context: &mut Context, reader: &Reader, ids: &[Id]) -> Result<Answer, Failure> {
    let names = reader.names()?;
    for (id, kind) in ids.iter().zip(reader.snapshot.kinds(ids)?) {
        let kind = kind.ok_or(Error::ObjectMissing { id: *id })?;
        if kind == Kind::Entry {
            let logged = Logged::read(&*reader.snapshot, *id)?;
            if context.output.json {
                context.output.fields(render::fields(&names, &logged))?;
            } else {
                let line = render::line(context, reader, &names, &logged, 0)?;
                context.output.item(line)?;
            }
        } else if context.output.json {
            let kind = kind.name().into();
            context.output.record([("type", kind), ("id", id.to_string().into())])?;
        } else {
            let id = context.output.paint(style::ID, reader.short(id)?);
            context.output.item(format_args!("{id} {kind}"))?;
        }
    }
    Ok(Answer::Yes)
}
