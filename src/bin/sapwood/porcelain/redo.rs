//! `sapwood redo`

use sapwood::ops::Direction;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::porcelain::undo::{Whose, go};

/// Do again what undo took back last
///
/// Until something else is done. Exit code 4 if something moved on since.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood redo
  sapwood redo -s s1")]
pub(crate) struct Args {
    #[command(flatten)]
    whose: Whose,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    go(&args.whose, Direction::Redo, context)
}
