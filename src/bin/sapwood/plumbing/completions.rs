//! `sapwood completions`

use clap_complete::Shell;

use crate::args::definition;
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Print the completions for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood completions bash > ~/.local/share/bash-completion/completions/sapwood
  sapwood completions fish > ~/.config/fish/completions/sapwood.fish")]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition(), "sapwood", &mut script);
    context.output.bytes(&script)?;
    Ok(Answer::Yes)
}
