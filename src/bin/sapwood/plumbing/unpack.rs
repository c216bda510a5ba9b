//! `sapwood unpack`

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::counted;

/// Write the objects of a pack, or of all packs, as loose files
///
/// Each can then be read with ordinary tools: zstd -dc FILE | b3sum prints its
/// name. The packs stay.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood unpack
  sapwood unpack .sapwood/objects/pack/pack-3f9a….pack")]
pub(crate) struct Args {
    /// The pack, by file or by name; all packs if there is none
    #[arg(value_name = "PACK")]
    pack: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let name = args.pack.as_deref();
    let objects = context.open_for_writing()?.local()?.unpack(name)?;
    if context.output.json {
        context.output.record([("objects", output::count(objects))])?;
    } else {
        context.output.note(format_args!("Unpacked {}", counted(objects, "object")));
    }
    Ok(Answer::Yes)
}
