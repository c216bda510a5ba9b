//! `sapwood init`

use std::path::{Path, PathBuf};

use sapwood::store::local::STORE_DIR_NAME;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;

/// Make a store, or check the one that is there
///
/// The store is the directory .sapwood in DIR, or exactly where --store or
/// $SAPWOOD_DIR says. Running it again is safe and changes nothing.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood init
  sapwood init ~/notes
  sapwood --store /var/lib/agents init")]
pub(crate) struct Args {
    /// Where to make it
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let path = match (args.directory, context.named_store()) {
        (Some(_), _) if context.global.store.is_some() => {
            return Err(Failure::Usage("give DIR or --store, not both".to_owned()));
        }
        (Some(directory), _) => directory.join(STORE_DIR_NAME),
        (None, Some(named)) => named,
        (None, None) => PathBuf::from(STORE_DIR_NAME),
    };
    let (path, existed) = context.init(&path)?;
    if context.output.json {
        context
            .output
            .record([("path", output::text(Some(path.display()))), ("existed", existed.into())])?;
    } else if !context.output.is_quiet() {
        context.output.item(describe(&path, existed))?;
    }
    Ok(Answer::Yes)
}

fn describe(path: &Path, existed: bool) -> String {
    let what = match existed {
        false => "Initialized empty",
        true => "Reinitialized existing",
    };
    format!("{what} sapwood store in {}/", path.display())
}
