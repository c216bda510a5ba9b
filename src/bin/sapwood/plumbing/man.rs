//! `sapwood man`

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use sapwood::disk::{Disk, OsDisk, replace_file};
use sapwood::error::Error;

use crate::args::definition;
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Print the man page, or write those of all commands into a directory
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood man | man -l -
  sapwood man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Where to write sapwood.1, sapwood-init.1 and so on
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let mut command = definition();
    command.build();
    let Some(directory) = args.directory else {
        let page = render(command)?;
        context.output.bytes(&page)?;
        return Ok(Answer::Yes);
    };
    OsDisk.create_dir(&directory).map_err(Error::io("create", &directory))?;
    let mut pages = Vec::new();
    collect(command, &mut pages);
    for page in pages {
        let path = directory.join(format!("{}.1", name(&page)));
        let text = render(page)?;
        replace_file(&OsDisk, &path, &text).map_err(Error::io("write", &path))?;
    }
    Ok(Answer::Yes)
}

fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn collect(command: Command, pages: &mut Vec<Command>) {
    for subcommand in command.get_subcommands() {
        collect(subcommand.clone(), pages);
    }
    pages.push(command);
}

fn render(command: Command) -> Result<Vec<u8>, Failure> {
    let title = name(&command);
    let mut page = Vec::new();
    Man::new(command).title(title).render(&mut page).map_err(Failure::Output)?;
    Ok(page)
}
