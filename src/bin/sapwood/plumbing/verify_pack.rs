//! `sapwood verify-pack`

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;

/// Check every byte of packs against their checksums and ids
///
/// Says nothing if all is well. With --verbose it lists each object as
/// id, kind, size, block, and offset in the block.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood verify-pack .sapwood/objects/pack/*.pack
  sapwood verify-pack -v pack-3f9a…")]
pub(crate) struct Args {
    /// List the objects
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    listing: Listing,
    /// Packs, by file or by name
    #[arg(value_name = "PACK", required = true)]
    packs: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    for pack in &args.packs {
        let name = pack_name(pack);
        let objects = opened.local()?.verify_pack(name)?;
        if context.output.json {
            for object in &objects {
                context.output.record([
                    ("pack", name.into()),
                    ("id", object.id.to_string().into()),
                    ("kind", object.kind.name().into()),
                    ("size", output::count(object.bytes)),
                    ("block", output::count(object.block)),
                    ("offset", output::count(object.offset)),
                ])?;
            }
        } else if args.verbose {
            for object in &objects {
                context.output.item(format_args!(
                    "{} {:<7} {} {} {}",
                    object.id, object.kind, object.bytes, object.block, object.offset
                ))?;
            }
            context.output.item(format_args!("{name}: ok"))?;
        }
    }
    Ok(Answer::Yes)
}

/// Takes the name of a pack out of the path of its file.
fn pack_name(text: &str) -> &str {
    let file = text.rsplit('/').next().unwrap_or(text);
    let name = file.strip_suffix(".pack").or_else(|| file.strip_suffix(".idx"));
    name.unwrap_or(file)
}
