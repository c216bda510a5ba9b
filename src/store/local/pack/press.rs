//! Compressing blocks: here, or in threads beside the one that fills them.
//!
//! Blocks come out in the order in which they went in. No more than a few are under way, so the
//! memory that is taken is bounded; threads end with the press. Where one panics, so does whoever
//! takes the block that it had. Who would wait for a block compresses one meanwhile, if there is
//! one that nobody has begun.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use zstd::zstd_safe::CParameter;

use super::block::{BlockHeader, Form, Span};
use super::dictionary::Reference;
use super::options::PackOptions;
use super::{fold, stored};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::threads::help;

/// A block of which one part in so many is left is short: to search it for longer costs as much as
/// with any other, and there is less to gain.
const SHORT_SHARE: usize = 8;

/// Shorter repetitions are not looked for where zstd does not try hard: they save little, and each
/// takes a reader as long as a longer one.
const QUICK_MATCH_MIN: u32 = 7;

/// Who compresses little remembers so many places, as powers of two: of long matches and of short
/// ones. To fill twice as much with zeros takes as long as a block.
const LITTLE_LOGS: [u32; 2] = [15, 14];

/// So many blocks more than there are threads are under way.
const WAITING_MAX: usize = 4;

/// A dictionary, and where it stands in the pack.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) reference: Reference,
    pub(super) text: Arc<Vec<u8>>,
}

/// How blocks are compressed.
#[derive(Clone, Debug)]
pub(super) struct How {
    pub(super) level: i32,
    /// What is tried first; a block that gets short by it stays so.
    pub(super) first_level: Option<i32>,
    pub(super) fold: bool,
    pub(super) dictionary: Option<Placed>,
    /// Whether objects are known to be what their ids say.
    pub(super) is_checked: bool,
    /// Whether little memory is taken to find repetitions.
    pub(super) is_little: bool,
    /// Threads beside this one.
    pub(super) threads: usize,
}

/// A block that is full.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) raw: Vec<u8>,
    pub(super) ids: Vec<Id>,
    /// Whether it stays as it is.
    pub(super) is_stored: bool,
}

/// A block as it is written.
pub(super) struct Pressed {
    pub(super) header: BlockHeader,
    pub(super) frame: Vec<u8>,
    /// Where its content was, to be used again.
    pub(super) room: Vec<u8>,
}

/// A block, and which one it is.
type Job = (u64, Full);

/// Blocks that nobody has begun.
type Waiting = Arc<Mutex<Receiver<Job>>>;

/// What became of a block in a thread, and which one it was.
type Answer = (u64, thread::Result<Result<Pressed>>);

/// Compresses blocks.
pub(super) struct Press {
    how: How,
    here: Option<Worker>,
    beside: Option<Threads>,
    /// How many went in and came out.
    given: u64,
    taken: u64,
    done: BTreeMap<u64, Result<Pressed>>,
}

impl Press {
    pub(super) fn new(how: How) -> Press {
        Press { how, here: None, beside: None, given: 0, taken: 0, done: BTreeMap::new() }
    }

    /// Says whether objects need not be hashed before they come: whoever compresses them does it,
    /// or it was done.
    pub(super) fn hashes(&self) -> bool {
        self.how.is_checked || self.how.threads > 0
    }

    /// Uses a dictionary from now on.
    pub(super) fn set_dictionary(&mut self, dictionary: Placed) {
        assert_eq!(self.given, 0, "a dictionary comes before the blocks");
        self.how.dictionary = Some(dictionary);
    }

    /// Takes a block.
    pub(super) fn give(&mut self, full: Full) -> Result<()> {
        let number = self.given;
        self.given += 1;
        if self.how.threads == 0 {
            return self.press_here(number, full);
        }
        let beside = self.beside.get_or_insert_with(|| Threads::begin(&self.how));
        beside.give(number, full);
        Ok(())
    }

    fn press_here(&mut self, number: u64, full: Full) -> Result<()> {
        let here = match &mut self.here {
            Some(here) => here,
            none => none.insert(Worker::new(&self.how)?),
        };
        self.done.insert(number, here.press(full));
        Ok(())
    }

    /// Gives the next block, if there is one that was waited for long enough, or that is the last.
    pub(super) fn take(&mut self, all: bool) -> Option<Result<Pressed>> {
        let under_way = (self.given - self.taken) as usize;
        let is_waited_for = all || under_way > self.how.threads + WAITING_MAX;
        if under_way == 0 {
            return None;
        }
        while !self.done.contains_key(&self.taken) {
            let beside = self.beside.as_ref()?;
            if is_waited_for && let Some((number, full)) = beside.take_back() {
                if let Err(error) = self.press_here(number, full) {
                    return Some(Err(error));
                }
                continue;
            }
            let (number, pressed) = beside.next(is_waited_for)?;
            self.done.insert(number, pressed);
        }
        let pressed = self.done.remove(&self.taken);
        self.taken += 1;
        pressed
    }
}

/// Threads that compress.
struct Threads {
    jobs: Option<SyncSender<Job>>,
    waiting: Waiting,
    done: Receiver<Answer>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    fn begin(how: &How) -> Threads {
        let (jobs, waiting) = sync_channel(how.threads + WAITING_MAX + 1);
        let (results, done) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let begin = |_| {
            let (how, waiting, results) = (how.clone(), Arc::clone(&waiting), results.clone());
            // Where no thread can be had, whoever takes blocks compresses them.
            help("sapwood-press", move || work(&how, &waiting, &results)).ok()
        };
        let handles = (0..how.threads).filter_map(begin).collect();
        Threads { jobs: Some(jobs), waiting, done, handles }
    }

    fn give(&self, number: u64, full: Full) {
        let jobs = self.jobs.as_ref().expect("it is there until the threads end");
        jobs.send((number, full)).expect("the threads end when there are no more jobs");
    }

    /// Gives a block that nobody has begun.
    fn take_back(&self) -> Option<Job> {
        // A thread that holds it waits for a block: there is none.
        self.waiting.try_lock().ok()?.try_recv().ok()
    }

    fn next(&self, wait: bool) -> Option<(u64, Result<Pressed>)> {
        let (number, pressed) = match wait {
            true => self.done.recv().expect("each job gets an answer"),
            false => self.done.try_recv().ok()?,
        };
        Some((number, pressed.unwrap_or_else(|panic| resume_unwind(panic))))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.jobs = None;
        for handle in self.handles.drain(..) {
            // One that panicked has told it, or never took a block.
            let _ = handle.join();
        }
    }
}

fn work(how: &How, waiting: &Mutex<Receiver<Job>>, results: &Sender<Answer>) {
    let mut worker = Worker::new(how);
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, full)) = next else {
            return;
        };
        let pressed = match &mut worker {
            Ok(worker) => catch_unwind(AssertUnwindSafe(|| worker.press(full))),
            Err(error) => {
                let told = std::io::Error::other(error.to_string());
                Ok(Err(Error::io("compress", "pack-new")(told)))
            }
        };
        if results.send((number, pressed)).is_err() {
            return;
        }
    }
}

/// Checks the objects of a block against their ids.
fn check(full: &Full) -> Result<()> {
    let mut start = 0;
    for id in &full.ids {
        let span = Span::at(&full.raw, start).expect("a block is made of objects");
        if span.id(&full.raw) != *id {
            return Err(not_its_id(span.kind, id));
        }
        start = span.content.end;
    }
    Ok(())
}

/// Reports an object that is not what its id says.
pub(super) fn not_its_id(kind: crate::id::Kind, id: &Id) -> Error {
    Error::InvalidObject { kind: kind.name(), why: format!("its content does not hash to {id}") }
}

/// Compresses one block after the other.
struct Worker {
    how: How,
    first: Option<Zstd>,
    /// Begins with the first block that needs it.
    usual: Option<Zstd>,
    folding: fold::Notes,
    /// Where blocks are compressed to.
    room: Vec<u8>,
}

type Zstd = zstd::bulk::Compressor<'static>;

impl Worker {
    fn new(how: &How) -> Result<Worker> {
        let first = how.first_level.map(|level| zstd(how, level)).transpose()?;
        let folding = fold::Notes::default();
        Ok(Worker { how: how.clone(), first, usual: None, folding, room: Vec::new() })
    }

    fn press(&mut self, full: Full) -> Result<Pressed> {
        if !self.how.is_checked && self.how.threads > 0 {
            check(&full)?;
        }
        let Full { mut raw, ids, is_stored } = full;
        let folds = self.how.fold && !is_stored;
        let folded = if folds { fold::fold(&mut raw, &ids, &mut self.folding) } else { None };
        let is_folded = folded.is_some();
        let frame = match is_stored {
            true => stored::frame(&raw),
            false => self.frame(&raw[folded.unwrap_or(0)..])?,
        };
        let mut hasher = blake3::Hasher::new();
        for id in &ids {
            hasher.update(id.as_bytes());
        }
        let has_dictionary = self.how.dictionary.is_some() && !is_stored;
        let form = Form { is_folded, has_dictionary };
        let ids_hash = *hasher.finalize().as_bytes();
        let (raw_bytes, objects) = (raw.len() as u32, ids.len() as u32);
        let header = BlockHeader::new(raw_bytes, form, objects, ids_hash, &frame);
        Ok(Pressed { header, frame, room: raw })
    }

    /// Compresses the content of a block, as hard as it is worth, into its frame.
    fn frame(&mut self, content: &[u8]) -> Result<Vec<u8>> {
        let Worker { how, first, usual, room, .. } = self;
        let named = how.dictionary.as_ref().map(|placed| placed.reference.encode());
        let mut squeeze = |zstd: &mut Zstd| -> Result<Vec<u8>> {
            room.clear();
            room.reserve(zstd::zstd_safe::compress_bound(content.len()));
            let done = zstd.compress_to_buffer(content, room);
            done.map_err(Error::io("compress", "pack-new"))?;
            Ok([named.as_ref().map_or(&[][..], |named| named), room].concat())
        };
        let mut quick = first.as_mut().map(&mut squeeze).transpose()?;
        if let Some(short) = quick.take_if(|it| it.len() <= content.len() / SHORT_SHARE) {
            return Ok(short);
        }
        let usual = match usual {
            Some(usual) => usual,
            none => none.insert(zstd(how, how.level)?),
        };
        let frame = squeeze(usual)?;
        Ok(quick.filter(|quick| quick.len() < frame.len()).unwrap_or(frame))
    }
}

/// Makes what compresses with a dictionary, if there is one.
fn zstd(how: &How, level: i32) -> Result<Zstd> {
    let text = how.dictionary.as_ref().map_or(&[][..], |placed| placed.text.as_slice());
    let made = Zstd::with_dictionary(level, text).and_then(|mut zstd| {
        if level == PackOptions::QUICK_LEVEL {
            zstd.set_parameter(CParameter::MinMatch(QUICK_MATCH_MIN))?;
        }
        if how.is_little {
            let [long, short] = LITTLE_LOGS;
            zstd.set_parameter(CParameter::HashLog(long))?;
            zstd.set_parameter(CParameter::ChainLog(short))?;
        }
        Ok(zstd)
    });
    made.map_err(Error::io("compress", "pack-new"))
}

/// Compresses the content of a block without objects.
pub(super) fn press_text(text: &[u8], level: i32) -> Result<Pressed> {
    let frame = zstd::bulk::compress(text, level).map_err(Error::io("compress", "pack-new"))?;
    let ids_hash = *blake3::Hasher::new().finalize().as_bytes();
    let header = BlockHeader::new(text.len() as u32, Form::default(), 0, ids_hash, &frame);
    Ok(Pressed { header, frame, room: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_thread_reaches_whoever_waits() {
        for threads in [1, 2, 3] {
            let how = How {
                level: 1,
                first_level: None,
                fold: false,
                dictionary: None,
                is_checked: false,
                is_little: false,
                threads,
            };
            let taken = catch_unwind(|| {
                let mut press = Press::new(how);
                // No object begins so, and whoever gets it panics.
                let full = |raw, ids| Full { raw, ids, is_stored: false };
                press.give(full(vec![0xff; 9], vec![Id::from_bytes([7; 32])])).unwrap();
                press.give(full(Vec::new(), Vec::new())).unwrap();
                while let Some(pressed) = press.take(true) {
                    pressed.unwrap();
                }
            });
            taken.expect_err("it does not end as if all were well");
        }
    }
}
