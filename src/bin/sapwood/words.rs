//! The words of a message: on the command line, in a file, or on standard input.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use sapwood::Error;
use sapwood::store::OBJECT_BYTES_MAX;

use crate::failure::Failure;

/// Where the words of a message are.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Words {
    /// The text
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// Take the text from this file; '-' is standard input
    #[arg(short = 'F', long, value_name = "FILE", conflicts_with = "message")]
    pub(crate) file: Option<PathBuf>,
}

impl Words {
    /// Says whether there are any.
    pub(crate) fn is_given(&self) -> bool {
        self.message.is_some() || self.file.is_some()
    }

    /// Reads them; nothing that is blank is taken. Without any, standard input is read, unless a
    /// person sits there.
    pub(crate) fn read(&self) -> Result<String, Failure> {
        let text = match (&self.message, &self.file) {
            (Some(text), _) => text.clone(),
            (None, Some(path)) if path.as_os_str() != "-" => {
                let text = std::fs::read(path).map_err(Error::io("read", path))?;
                utf8(text)?
            }
            (None, None) if io::stdin().is_terminal() => {
                return Err(Failure::Usage("no text: give -m TEXT, -F FILE or -".to_owned()));
            }
            _ => stdin()?,
        };
        match text.trim().is_empty() {
            true => Err(Failure::request("the text is empty; nothing was changed")),
            // What a text file or `echo` ends with is not part of the message.
            false if self.message.is_none() => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
            false => Ok(text),
        }
    }
}

/// Reads all of standard input.
fn stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let input = io::stdin().lock();
    input.take(OBJECT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(Failure::Input)?;
    if bytes.len() as u64 > OBJECT_BYTES_MAX {
        let found = bytes.len() as u64;
        return Err(
            Error::TooLarge { what: "the text in bytes", found, limit: OBJECT_BYTES_MAX }.into()
        );
    }
    utf8(bytes)
}

fn utf8(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::request("the text is not UTF-8"))
}
