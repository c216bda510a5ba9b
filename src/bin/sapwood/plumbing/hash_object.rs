//! `sapwood hash-object`

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sapwood::disk::{Disk, DiskFile, OpenMode, OsDisk};
use sapwood::error::Error;
use sapwood::id::{Id, IdHasher, Kind};
use sapwood::object::NewObject;
use sapwood::store::OBJECT_BYTES_MAX;

use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output;

/// Print the id that content has, and store it with -w
///
/// Without -w nothing is written and no store is needed. With it the object
/// becomes a file of its own under objects/. A blob is any bytes; the other
/// kinds take their canonical CBOR and are checked.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo hello | sapwood hash-object --stdin
  sapwood hash-object -w picture.png notes.txt
  sapwood cat-file entry main | sapwood hash-object -t entry --stdin")]
pub(crate) struct Args {
    /// What the content is: blob, entry, node, event or session
    #[arg(short = 't', value_name = "KIND", default_value = "blob")]
    kind: String,
    /// Store the object
    #[arg(short = 'w')]
    write: bool,
    /// Read content from standard input, before any files
    #[arg(long)]
    stdin: bool,
    /// Files with the content
    #[arg(value_name = "FILE", required_unless_present = "stdin")]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let kind: Kind = args.kind.parse()?;
    let opened = args.write.then(|| context.open_or_create()).transpose()?;
    if args.stdin {
        let content = read_stdin()?;
        let bytes = content.len() as u64;
        let id = keep(kind, content, opened.as_ref())?;
        print(context, None, kind, id, bytes)?;
    }
    for path in &args.files {
        let file = OsDisk.open(path, OpenMode::Read).map_err(Error::io("open", path))?;
        let bytes = file.len().map_err(Error::io("read", path))?;
        check_bytes(bytes)?;
        let mut reader = FileReader { file: file.as_ref(), offset: 0 };
        let id = match (kind, &opened) {
            (Kind::Blob, Some(opened)) => opened.store.put_blob(&mut reader, bytes)?,
            (Kind::Blob, None) => hash(&mut reader, bytes).map_err(Error::io("read", path))?,
            _ => {
                let mut content = Vec::new();
                let limited = &mut reader.take(OBJECT_BYTES_MAX);
                limited.read_to_end(&mut content).map_err(Error::io("read", path))?;
                keep(kind, content, opened.as_ref())?
            }
        };
        print(context, Some(path), kind, id, bytes)?;
    }
    Ok(Answer::Yes)
}

/// Hashes an object, and stores it if there is a store to put it into.
fn keep(kind: Kind, content: Vec<u8>, opened: Option<&Opened>) -> Result<Id, Failure> {
    let object = NewObject::parse(kind, content)?;
    if let Some(opened) = opened {
        opened.store.put_alone(&object)?;
    }
    Ok(object.id())
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    let mut limited = io::stdin().lock().take(OBJECT_BYTES_MAX + 1);
    limited.read_to_end(&mut content).map_err(Failure::Input)?;
    check_bytes(content.len() as u64)?;
    Ok(content)
}

fn check_bytes(bytes: u64) -> Result<(), Failure> {
    if bytes > OBJECT_BYTES_MAX {
        return Err(Failure::Library(Error::TooLarge {
            what: "the object",
            found: bytes,
            limit: OBJECT_BYTES_MAX,
        }));
    }
    Ok(())
}

/// Hashes a blob piece by piece. A file that changes its length meanwhile is refused.
fn hash(source: &mut dyn Read, bytes: u64) -> io::Result<Id> {
    let mut hasher = IdHasher::new(Kind::Blob, bytes);
    let mut buffer = vec![0; 1 << 16];
    let mut left = bytes;
    loop {
        let count = source.read(&mut buffer)?;
        if count as u64 > left || (count == 0 && left > 0) {
            return Err(io::Error::other("it changed while it was read"));
        }
        if count == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(&buffer[..count]);
        left -= count as u64;
    }
}

fn print(
    context: &mut Context,
    path: Option<&Path>,
    kind: Kind,
    id: Id,
    bytes: u64,
) -> Result<(), Failure> {
    if !context.output.json {
        return context.output.item(id);
    }
    context.output.record([
        ("id", id.to_string().into()),
        ("kind", kind.name().into()),
        ("size", output::count(bytes)),
        ("path", output::text(path.map(Path::display))),
    ])
}

/// Reads a file from its beginning.
struct FileReader<'a> {
    file: &'a dyn DiskFile,
    offset: u64,
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
