//! `import`: the session files of other programs, each as a session of its own.
//!
//! Up to two threads read, split and parse ahead, a file each (`feed`); the one that imports takes
//! the files in their order, makes entries of the values and a tree of the entries (`intake`), and
//! lands each file's session with its last transaction (`land`). What hangs on values of other
//! files is found in `elsewhere`.
//!
//! A file that was imported before is read on from where it ended then, if it still begins as it
//! did; if not, its session begins anew, and what it was stays in the transcript.

mod elsewhere;
mod feed;
mod files;
mod finish;
mod intake;
mod land;
mod large;
mod late;
mod lineage;
mod link;
mod memory_tree;
mod names;
mod order;
mod recall;
mod register;
mod report;
mod seek;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use crate::dialect::memory_tree::MEMORY_TREE;
use crate::dialect::{self, Dialect};
use crate::disk::{self, SourceFile};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::redact::Scrubber;
use crate::repo::Repo;
use crate::store::Operation;

use elsewhere::Elsewhere;
use feed::{Ends, Fed, Order, Origin, STRETCHES_WAITING, Spent};
use files::File;
use intake::Intake;
use large::Large;

pub use files::{Found, find_files};
pub(crate) use memory_tree::is_part;
pub(crate) use names::{BRANCH_CHARACTERS_MAX, BRANCH_WORDS_MAX, branch_words, stem_of_one};
pub use report::{ImportChange, ImportNote, ImportOutcome, Imported, Oddity, Strange, Tally};

/// From here on, two threads read, if there is more than one file.
const MUCH_BYTES: u64 = 1 << 20;

/// What to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The dialect of all files; else each is recognised by its content.
    pub dialect: Option<String>,
    /// Whether to write nothing.
    pub dry_run: bool,
    /// Whether to go on after a file that can't be read.
    pub keep_going: bool,
    /// What is replaced in files before anything of them is stored.
    pub scrubber: Option<Arc<Scrubber>>,
}

/// Imports files, and standard input if it is given.
pub fn import(
    repo: &Repo,
    found: Found,
    stdin: Option<Box<dyn Read + Send>>,
    options: &ImportOptions,
    operation: &Operation,
    note: &mut dyn FnMut(ImportNote<'_>),
) -> Result<ImportOutcome> {
    let is_for_trees = options.dialect.as_deref() == Some(MEMORY_TREE);
    let dialect = match &options.dialect {
        _ if is_for_trees => None,
        Some(name) => Some(dialect::named(name).ok_or_else(|| unknown_dialect(name))?),
        None => None,
    };
    let mut importer = Importer {
        repo,
        options,
        dialect,
        operation,
        elsewhere: Elsewhere::of(repo)?,
        outcome: ImportOutcome::default(),
        bytes_total: 0,
        again: BTreeMap::new(),
        late: BTreeSet::new(),
        overtaken: BTreeSet::new(),
        dry_seen: HashSet::new(),
        note,
    };
    for path in &found.loops {
        (importer.note)(ImportNote::Loop(path));
    }
    for unreadable in found.unreadable {
        let error = Error::io("read", &unreadable.path)(unreadable.error);
        importer.fail(&unreadable.path, error)?;
    }
    importer.trees(found.trees)?;
    let (files, others) = match is_for_trees {
        true => (Vec::new(), found.files),
        false => (found.files, Vec::new()),
    };
    for other in others {
        importer.outcome.unknown += 1;
        (importer.note)(ImportNote::Unknown(&other.path));
    }
    let mut files = importer.changed(files);
    files.extend(stdin.map(|stream| File { stream: Some(stream), ..File::default() }));
    importer.pass(files)?;
    importer.link()?;
    importer.outcome.redacted =
        options.scrubber.as_deref().map(Scrubber::counted).unwrap_or_default();
    Ok(importer.outcome)
}

fn unknown_dialect(name: &str) -> Error {
    let mut names: Vec<&str> = dialect::dialects().iter().map(|dialect| dialect.name()).collect();
    names.push(MEMORY_TREE);
    Error::Refused {
        why: format!(
            "there is no dialect '{}'; known are {}",
            name.escape_debug(),
            names.join(", ")
        ),
        hint: "leave --dialect out, and files are recognised by their content",
    }
}

/// Gives an error that one file is to blame for; with any other there is no going on.
fn of_file(error: Error) -> Result<Error> {
    match error {
        Error::InvalidObject { .. }
        | Error::InvalidName { .. }
        | Error::TooLarge { .. }
        | Error::Removed { .. } => Ok(error),
        error => Err(error),
    }
}

struct Importer<'a> {
    repo: &'a Repo,
    options: &'a ImportOptions,
    dialect: Option<&'static dyn Dialect>,
    operation: &'a Operation,
    elsewhere: Elsewhere,
    outcome: ImportOutcome,
    bytes_total: u64,
    /// Sessions whose values can be hung on others now, and whether these follow in the same file.
    again: BTreeMap<String, bool>,
    /// Files in which values come before those that they hang on.
    late: BTreeSet<PathBuf>,
    /// Files that another process has imported meanwhile.
    overtaken: BTreeSet<PathBuf>,
    dry_seen: HashSet<Id>,
    note: &'a mut dyn FnMut(ImportNote<'_>),
}

/// A thread that reads.
struct Reader {
    orders: Sender<Order>,
    /// How much it was told to read.
    bytes: u64,
    feed: Feed,
}

/// What comes from a thread that reads, and what goes back to it.
struct Feed {
    source: Receiver<Fed>,
    spent: Sender<Spent>,
}

impl Reader {
    /// Begins a thread that does as it is told.
    fn begin<'scope>(
        scope: &'scope thread::Scope<'scope, '_>,
        feed: impl FnOnce(&Ends) + Send + 'scope,
    ) -> io::Result<Reader> {
        let (orders, ordered) = mpsc::channel();
        let (sink, source) = mpsc::sync_channel(STRETCHES_WAITING);
        let (spent, given_back) = mpsc::channel();
        let ends = Ends { orders: ordered, sink, spent: given_back };
        thread::Builder::new().spawn_scoped(scope, move || feed(&ends))?;
        Ok(Reader { orders, bytes: 0, feed: Feed { source, spent } })
    }
}

impl Feed {
    /// Gives what comes next; `None` when nothing more comes.
    fn next(&self) -> Option<Fed> {
        self.source.iter().find(|fed| !matches!(fed, Fed::Filler))
    }

    /// Gives back what is used up. Who does not listen any more has read all there is.
    fn give_back(&self, spent: Spent) {
        let _ = self.spent.send(spent);
    }
}

impl Importer<'_> {
    /// Leaves out the files that are as they were, and puts the others in order.
    fn changed(&mut self, files: Vec<SourceFile>) -> Vec<File> {
        let mut changed = Vec::new();
        for file in files {
            self.outcome.bytes += file.bytes;
            let known = self.elsewhere.of_source(&disk::source_text(&file.path));
            let is_same = known.is_some_and(|known| {
                (known.record.size, known.record.modified_ms) == (file.bytes, file.modified_ms)
            });
            match is_same {
                true => self.outcome.unchanged += 1,
                false => {
                    self.bytes_total += file.bytes;
                    changed.push(File::new(file, known.map(|known| known.sid.clone())));
                }
            }
        }
        files::in_order(&mut changed);
        changed
    }

    /// Takes in files one after the other, read ahead by two threads where there is much to read.
    fn pass(&mut self, mut files: Vec<File>) -> Result<()> {
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let count = if files.len() > 1 && bytes >= MUCH_BYTES { 2 } else { 1 };
        let (repo, is_dry, large) = (self.repo, self.options.dry_run, &Large::default());
        let scrubber = self.options.scrubber.as_deref();
        let first = files.first().and_then(|file| file.path.clone());
        let first = first.unwrap_or_else(|| PathBuf::from("-"));
        thread::scope(|scope| {
            let (blobs, handed_on) = mpsc::sync_channel(large::WAITING_MAX);
            let mut readers = Vec::with_capacity(count);
            for _ in 0..count {
                let blobs = blobs.clone();
                let mut ahead = move |found: &[_]| match is_dry {
                    true => {}
                    false => large.hand_on(found, &blobs),
                };
                let begun =
                    Reader::begin(scope, move |ends| feed::feed(ends, scrubber, &mut ahead));
                match begun {
                    Ok(reader) => readers.push(reader),
                    Err(error) if readers.is_empty() => {
                        return Err(Error::io("begin a thread to read", first)(error));
                    }
                    // One is enough.
                    Err(_) => break,
                }
            }
            drop(blobs);
            let write = move || large.write(repo, &handed_on);
            // Where no further one can be had, large objects are written with the others.
            let _ = thread::Builder::new().spawn_scoped(scope, write);
            let shares = self.share_out(&mut files, &mut readers)?;
            // Whoever has read all that was ordered is done.
            let feeds: Vec<Feed> = readers.into_iter().map(|reader| reader.feed).collect();
            let mut shared = files.iter().zip(shares);
            shared.try_for_each(|(file, reader)| self.file(file, &feeds[reader], large))
        })
    }

    /// Gives each file to whoever has the least to read so far, and says to whom.
    fn share_out(&self, files: &mut [File], readers: &mut [Reader]) -> Result<Vec<usize>> {
        let mut shares = Vec::with_capacity(files.len());
        for file in files {
            let place = (0..readers.len()).min_by_key(|place| readers[*place].bytes);
            let place = place.unwrap_or_default();
            readers[place].bytes += file.bytes;
            let order = self.order(file)?;
            // Who does not listen has panicked, which is told at the end.
            let _ = readers[place].orders.send(order);
            shares.push(place);
        }
        Ok(shares)
    }

    /// Says what is to be read of a file.
    fn order(&self, file: &mut File) -> Result<Order> {
        let prefix = file.sid.as_deref().map(|sid| self.prefix(sid)).transpose()?.flatten();
        let origin = match file.stream.take() {
            Some(stream) => Origin::Stream(stream),
            None => Origin::File(file.path.clone().unwrap_or_default()),
        };
        Ok(Order { origin, known: prefix.filter(|_| !file.is_again && !file.is_late) })
    }

    /// Takes in one file.
    fn file(&mut self, file: &File, feed: &Feed, large: &Large) -> Result<()> {
        let path = file.path.clone().unwrap_or_else(|| PathBuf::from("-"));
        let resumed = match feed.next() {
            Some(Fed::Begin { resumed }) => resumed,
            Some(Fed::Failed(error)) => return self.fail(&path, error),
            _ => return Ok(()),
        };
        let mut intake = Intake::new(self.repo, self.options.dry_run, file.stem(), large);
        intake.dry_seen = std::mem::take(&mut self.dry_seen);
        intake.dialect = self.dialect;
        self.elsewhere.begin(file.path.as_deref(), file.sid.as_deref());
        let mut last = None;
        if let Some(sid) = file.sid.as_deref().filter(|_| resumed) {
            last = self.recall(&mut intake, sid)?;
        }
        intake.open_layout(!resumed, last);
        intake.is_whole = file.is_late;
        let read_before = self.outcome.bytes_read;
        let mut refused = None;
        let ending = loop {
            match feed.next() {
                Some(Fed::Values(mut values, style)) => {
                    intake.write_as(style);
                    let bytes: usize = values.iter().map(|value| value.bytes).sum();
                    self.outcome.bytes_read += bytes as u64;
                    (self.note)(ImportNote::Progress(self.outcome.bytes_read, self.bytes_total));
                    if refused.is_none()
                        && let Err(error) = intake.take(&mut values, &mut self.elsewhere)
                    {
                        refused = Some(of_file(error)?);
                    }
                    intake.spent.pieces.push(values);
                    feed.give_back(std::mem::take(&mut intake.spent));
                }
                Some(Fed::End(ending)) => break ending,
                Some(Fed::Failed(error)) => return self.fail(&path, error),
                Some(Fed::Begin { .. } | Fed::Filler) | None => return Ok(()),
            }
        };
        if let Some(error) = refused {
            return self.fail(&path, error);
        }
        let bytes = self.outcome.bytes_read - read_before;
        let placed = intake
            .recognise(&mut self.elsewhere)
            .and_then(|()| intake.place_all(&mut self.elsewhere))
            .and_then(|()| self.finish(file, &mut intake, ending, resumed, bytes));
        feed.give_back(intake.spent);
        match placed {
            Err(error) => {
                let error = of_file(error)?;
                self.fail(&path, error)
            }
            Ok(()) => Ok(()),
        }
    }

    fn tell(&mut self, imported: &Imported) {
        match imported.change {
            ImportChange::Unchanged => self.outcome.unchanged += 1,
            ImportChange::Linked => {}
            _ => self.outcome.sessions += 1,
        }
        if imported.change != ImportChange::Linked {
            self.outcome.tally.add(&imported.tally);
            self.outcome.odd_count += imported.odd_count;
        }
        (self.note)(ImportNote::Session(imported));
    }

    fn fail(&mut self, path: &Path, error: Error) -> Result<()> {
        self.outcome.failed += 1;
        (self.note)(ImportNote::Failed(path, &error));
        match self.options.keep_going {
            true => Ok(()),
            false => Err(error),
        }
    }
}
