//! `sapwood attach`

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sapwood::error::Error;
use sapwood::ops::{self, AttachOptions, Attached};

use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output;
use crate::target::Within;

/// From this size on a file is stored as it is read, and never whole in memory.
const LARGE_BYTES: u64 = 256 << 10;

/// Keep a file with a session, under a name
///
/// It is stored once by its content. 'attachments/NAME' is a revision that
/// stands for it; 'sapwood cat-file blob attachments/NAME' prints it.
/// With --card the card of a branch names it, under 'attachments'.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood attach avatar.png ./architect.png --card 'The Architect'
  date | sapwood attach stamp -
  sapwood attach -d stamp")]
pub(crate) struct Args {
    /// Take the attachment away
    #[arg(short, long, conflicts_with = "file")]
    delete: bool,
    /// Write its name on the card of this branch, or strike it out
    #[arg(long, value_name = "BRANCH")]
    card: Option<String>,
    #[command(flatten)]
    within: Within,
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
    /// The file; - reads standard input
    #[arg(value_name = "FILE", required_unless_present = "delete")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let content = match &args.file {
        None => Attached::Nothing,
        Some(file) => read(&opened, file)?,
    };
    let shown = args.file.as_ref().map(|file| file.to_string_lossy());
    let words = match &shown {
        None => vec!["attach", "-d", &args.name],
        Some(file) => vec!["attach", &args.name, file],
    };
    let operation = context.operation(None, &words);
    let options = AttachOptions {
        target: args.within.target(&opened),
        name: args.name.clone(),
        content,
        card: args.card.clone(),
    };
    let outcome = ops::attach(&opened.repo, &options, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("name", args.name.into()),
            ("was", output::text(outcome.was)),
            ("blob", output::text(outcome.now)),
        ])?;
    } else if let Some(blob) = outcome.now {
        context.output.item(blob)?;
    }
    Ok(Answer::Yes)
}

/// Reads a file; a large one goes to the store at once.
fn read(opened: &Opened, path: &Path) -> Result<Attached, Failure> {
    let mut content = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut content).map_err(Failure::Input)?;
        return Ok(Attached::Bytes(content));
    }
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("read", path))?;
    if metadata.is_file() && metadata.len() >= LARGE_BYTES {
        let id = opened.repo.store().put_blob(&mut file, metadata.len())?;
        return Ok(Attached::Blob(id));
    }
    file.read_to_end(&mut content).map_err(Error::io("read", path))?;
    Ok(Attached::Bytes(content))
}
