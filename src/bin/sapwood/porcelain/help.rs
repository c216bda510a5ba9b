//! `sapwood help`

use crate::args::definition;
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Show what a command does, and its flags
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood help
  sapwood help sessions
  sapwood help op log")]
pub(crate) struct Args {
    /// The command
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let mut root = definition();
    root.build();
    let mut command = &mut root;
    for word in &args.words {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            Failure::Usage(format!("there is no command '{}'", args.words.join(" ")))
        })?;
    }
    let help = command.render_long_help().to_string();
    context.output.bytes(help.as_bytes())?;
    Ok(Answer::Yes)
}
