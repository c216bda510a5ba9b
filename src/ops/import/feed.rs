//! Reading files ahead of the import, in threads of their own.
//!
//! A thread reads, splits, parses, and lifts long strings; what depends on the values before it is
//! left to the import. Files follow one another without a pause, and only a few stretches wait at a
//! time, or one long line, so memory is bounded whatever the length of a file.
//!
//! Most of what is used up comes back, and is dropped where it was made: two threads that use the
//! same piece of the heap wait for each other.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender};

use crate::codec::Value;
use crate::codec::json::{self, Rigour, Style};
use crate::dialect::{LINE_BYTES_MAX, Odd, Piece, Splitter};
use crate::disk;
use crate::error::{Error, Result};
use crate::id::Kind;
use crate::object::{self, NewObject};
use crate::ops::redact::Scrubber;

/// How much of a file is handed on at a time, and how many such stretches may wait. What is longer
/// counts as several.
const STRETCH_BYTES: usize = 128 << 10;
pub(super) const STRETCHES_WAITING: usize = 16;

/// How many blobs are kept to be given back; what is committed at once has mostly fewer.
const SPENT_MAX: usize = 1 << 13;

/// A file that is one document is held in memory whole; a longer one is read by lines.
const DOCUMENT_BYTES_MAX: u64 = 12 << 20;

/// A file to be read.
pub(super) struct Order {
    /// Where its bytes come from.
    pub(super) origin: Origin,
    /// What was read of it before.
    pub(super) known: Option<Prefix>,
}

/// Where bytes come from.
pub(super) enum Origin {
    /// A file.
    File(PathBuf),
    /// Anything that can be read once.
    Stream(Box<dyn Read + Send>),
}

/// What was read of a file before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// Its length: up to the end of its last value.
    pub(super) bytes: u64,
    /// Its BLAKE3 hash.
    pub(super) hash: String,
    /// How its values are written.
    pub(super) style: Style,
}

/// What the thread hands on. Of each file: its begin, its values, its end; or a failure.
pub(super) enum Fed {
    /// A file begins; `resumed` says that it begins with what was read before, which is left out.
    Begin { resumed: bool },
    /// The next values, and how they are written.
    Values(Vec<Prepared>, Style),
    /// Nothing: it takes a place among those that wait, for values that are long.
    Filler,
    /// The file has ended.
    End(Ending),
    /// The file could not be read on.
    Failed(Error),
}

/// A piece of a file whose long strings are blobs.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) before: String,
    pub(super) value: Option<Value>,
    pub(super) document: Option<Value>,
    pub(super) raw: Option<Value>,
    pub(super) blobs: Vec<NewObject>,
    pub(super) bytes: usize,
    pub(super) line: u64,
    pub(super) odd: Option<Odd>,
}

/// What is used up of that.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) pieces: Vec<Vec<Prepared>>,
    blobs: Vec<NewObject>,
}

impl Spent {
    /// Keeps an object to be given back, if it is of those that are made with pieces.
    pub(super) fn keep(&mut self, object: NewObject) {
        if object.kind() == Kind::Blob && self.blobs.len() < SPENT_MAX {
            self.blobs.push(object);
        }
    }
}

/// What is known of a file when it has been read.
pub(super) struct Ending {
    /// Up to the end of its last value.
    pub(super) prefix: Prefix,
    /// What follows that.
    pub(super) tail: Vec<u8>,
    /// The line on which the tail ends.
    pub(super) lines: u64,
}

/// Is shown the blobs of values before they are handed on.
pub(super) type Ahead<'a> = &'a mut dyn FnMut(&[NewObject]);

/// What leads to and from a thread that reads.
pub(super) struct Ends {
    pub(super) orders: Receiver<Order>,
    pub(super) sink: SyncSender<Fed>,
    /// What comes back.
    pub(super) spent: Receiver<Spent>,
}

/// Reads files in order until all are read, or nobody listens.
pub(super) fn feed(ends: &Ends, scrubber: Option<&Scrubber>, ahead: Ahead<'_>) {
    // One for all files: a new one would be memory that nobody has touched yet.
    let mut buffer = Vec::new();
    for order in &ends.orders {
        buffer.clear();
        ends.spent.try_iter().for_each(drop);
        let opened = Feeder::open(order, scrubber, &ends.spent, ahead, &mut buffer);
        let read = opened.and_then(|feeder| feeder.read(&ends.sink));
        let listens = read.unwrap_or_else(|error| ends.sink.send(Fed::Failed(error)).is_ok());
        if !listens {
            return;
        }
    }
}

struct Feeder<'a> {
    ahead: Ahead<'a>,
    /// What comes back.
    spent: &'a Receiver<Spent>,
    /// Replaces what must not be stored.
    scrubber: Option<&'a Scrubber>,
    reader: Box<dyn Read + Send>,
    path: PathBuf,
    splitter: Splitter,
    hasher: blake3::Hasher,
    /// Bytes up to the end of the last value.
    bytes: u64,
    /// What follows the last value, as far as it was read and split.
    loose: Vec<u8>,
    /// What was read and not split yet.
    buffer: &'a mut Vec<u8>,
    resumed: bool,
    lines: u64,
}

impl<'a> Feeder<'a> {
    fn open(
        order: Order,
        scrubber: Option<&'a Scrubber>,
        spent: &'a Receiver<Spent>,
        ahead: Ahead<'a>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Feeder<'a>> {
        let Order { origin, known } = order;
        let (reader, path) = match origin {
            Origin::File(path) => {
                let reader = disk::open_source(&path).map_err(Error::io("open", &path))?;
                (reader, path)
            }
            Origin::Stream(reader) => (reader, PathBuf::from("-")),
        };
        let mut feeder = Feeder {
            ahead,
            spent,
            scrubber,
            reader,
            path,
            splitter: Splitter::default(),
            hasher: blake3::Hasher::new(),
            bytes: 0,
            loose: Vec::new(),
            buffer,
            resumed: false,
            lines: 0,
        };
        if let Some(known) = known {
            feeder.pass(&known)?;
        }
        Ok(feeder)
    }

    /// Passes over what was read before, if the file still begins with it.
    fn pass(&mut self, known: &Prefix) -> Result<()> {
        let mut left = known.bytes;
        let mut lines = 0;
        let mut buffer = vec![0; STRETCH_BYTES];
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let count = self.read_some(&mut buffer[..wanted])?;
            if count == 0 {
                break;
            }
            self.hasher.update(&buffer[..count]);
            lines += newlines(&buffer[..count]);
            left -= count as u64;
        }
        if left == 0 && self.hasher.finalize().to_hex().as_str() == known.hash {
            self.resumed = true;
            self.bytes = known.bytes;
            self.lines = lines;
            self.splitter = Splitter::resume(known.style, lines);
            return Ok(());
        }
        self.hasher = blake3::Hasher::new();
        self.reader =
            disk::open_source(&self.path).map_err(Error::io("open", self.path.clone()))?;
        Ok(())
    }

    /// Reads all that is left, and says whether anybody listens.
    fn read(mut self, sink: &SyncSender<Fed>) -> Result<bool> {
        let mut is_over = false;
        if !self.resumed {
            is_over = self.fill(STRETCH_BYTES)?;
            if self.begins_with_a_document()
                && let Some(listens) = self.document(sink)?
            {
                return Ok(listens);
            }
        }
        let begin = Fed::Begin { resumed: self.resumed };
        if sink.send(begin).is_err() {
            return Ok(false);
        }
        loop {
            is_over = is_over || self.fill(STRETCH_BYTES)?;
            let end = memchr::memrchr(b'\n', self.buffer).map(|at| at + 1);
            let is_cut = end.is_none() && !is_over && self.buffer.len() >= LINE_BYTES_MAX;
            let end = match end {
                _ if is_over || is_cut => self.buffer.len(),
                Some(end) => end,
                None => {
                    let more = self.buffer.len() + STRETCH_BYTES.max(self.buffer.len() / 2);
                    is_over = self.fill(more)?;
                    continue;
                }
            };
            if !self.hand_on(end, is_cut, sink)? {
                return Ok(false);
            }
            if is_over {
                return self.finish(sink);
            }
        }
    }

    /// Splits the first bytes of the buffer, and hands their values on.
    fn hand_on(&mut self, end: usize, is_cut: bool, sink: &SyncSender<Fed>) -> Result<bool> {
        let split = self.splitter.lines(&self.buffer[..end], is_cut);
        let pending = self.splitter.pending_bytes();
        let taken = &self.buffer[..split.bytes];
        self.lines += newlines(taken);
        match split.pieces.is_empty() {
            true => self.loose.extend_from_slice(taken),
            false => {
                let (values, loose) = taken.split_at(taken.len() - pending);
                self.hasher.update(&self.loose);
                self.hasher.update(values);
                self.bytes += (self.loose.len() + values.len()) as u64;
                self.loose = loose.to_vec();
            }
        }
        self.buffer.drain(..split.bytes);
        self.spent.try_iter().for_each(drop);
        let prepared = self.prepare(split.pieces)?;
        let style = self.splitter.style.unwrap_or_default();
        Ok(prepared.is_empty() || send_values(prepared, style, split.bytes, sink))
    }

    fn finish(mut self, sink: &SyncSender<Fed>) -> Result<bool> {
        let mut tail = std::mem::take(&mut self.loose);
        tail.append(self.buffer);
        let prefix = Prefix {
            bytes: self.bytes,
            hash: self.hasher.finalize().to_hex().to_string(),
            style: self.splitter.style.unwrap_or_default(),
        };
        let tail = self.scrubbed(tail);
        Ok(sink.send(Fed::End(Ending { prefix, tail, lines: self.lines })).is_ok())
    }

    /// Says whether the first line is the begin of something longer.
    fn begins_with_a_document(&self) -> bool {
        let is_blank = |byte: &u8| b" \t\r\n\xef\xbb\xbf".contains(byte);
        let begin = self.buffer.iter().position(|byte| !is_blank(byte)).unwrap_or(0);
        let line = self.buffer[begin..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        match line.as_bytes().first() {
            Some(b'[') => true,
            Some(b'{') => json::parse_first(&line, Rigour::Lenient).is_err(),
            _ => false,
        }
    }

    /// Reads the file as one document, if it is one, and says whether anybody listens.
    fn document(&mut self, sink: &SyncSender<Fed>) -> Result<Option<bool>> {
        let mut whole = std::mem::take(self.buffer);
        let rest = self.reader.by_ref().take(DOCUMENT_BYTES_MAX - whole.len() as u64);
        let mut rest = rest;
        rest.read_to_end(&mut whole).map_err(Error::io("read", self.path.clone()))?;
        if whole.len() as u64 >= DOCUMENT_BYTES_MAX {
            *self.buffer = whole;
            return Ok(None);
        }
        let mut splitter = Splitter::default();
        let Some(split) = splitter.document(&whole) else {
            *self.buffer = whole;
            return Ok(None);
        };
        let values = whole.len() - splitter.pending_bytes();
        self.hasher.update(&whole[..values]);
        let ending = Ending {
            prefix: Prefix {
                bytes: values as u64,
                hash: self.hasher.finalize().to_hex().to_string(),
                style: splitter.style.unwrap_or_default(),
            },
            tail: self.scrubbed(whole[values..].to_vec()),
            lines: newlines(&whole),
        };
        let prepared = self.prepare(split.pieces)?;
        let style = splitter.style.unwrap_or_default();
        let listens = sink.send(Fed::Begin { resumed: false }).is_ok()
            && send_values(prepared, style, whole.len(), sink)
            && sink.send(Fed::End(ending)).is_ok();
        Ok(Some(listens))
    }

    /// Lifts the long strings of pieces.
    fn prepare(&mut self, pieces: Vec<Piece>) -> Result<Vec<Prepared>> {
        let prepared = pieces.into_iter().map(|mut piece| {
            if let Some(scrubber) = self.scrubber {
                scrub(scrubber, &mut piece);
            }
            let prepared = prepare(piece)?;
            (self.ahead)(&prepared.blobs);
            Ok(prepared)
        });
        prepared.collect()
    }

    fn scrubbed(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.scrubber.and_then(|scrubber| scrubber.bytes(&bytes)).unwrap_or(bytes)
    }

    /// Reads until the buffer is so long, and says whether the file ended before.
    fn fill(&mut self, bytes: usize) -> Result<bool> {
        let missing = bytes.saturating_sub(self.buffer.len());
        self.buffer.reserve(missing);
        let mut reader = self.reader.by_ref().take(missing as u64);
        let count = reader.read_to_end(self.buffer).map_err(Error::io("read", &self.path))?;
        Ok(count < missing)
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(Error::io("read", self.path.clone())),
            }
        }
    }
}

/// Hands values of so many bytes on, and says whether anybody listens.
fn send_values(values: Vec<Prepared>, style: Style, bytes: usize, sink: &SyncSender<Fed>) -> bool {
    let places = bytes / STRETCH_BYTES;
    sink.send(Fed::Values(values, style)).is_ok()
        && (0..places).all(|_| sink.send(Fed::Filler).is_ok())
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Replaces in a piece what must not be stored.
fn scrub(scrubber: &Scrubber, piece: &mut Piece) {
    scrubber.text(&mut piece.before);
    // A document is the same values once more, as its dialect wants to see them.
    for value in piece.document.iter_mut().chain(&mut piece.value) {
        scrubber.value(value);
    }
    if let Some(text) = &mut piece.text
        && let Some(scrubbed) = scrubber.bytes(text)
    {
        *text = scrubbed;
    }
}

/// Lifts the long strings of a piece.
fn prepare(piece: Piece) -> Result<Prepared> {
    let mut blobs = Vec::new();
    let Piece { before, mut value, document, text, bytes, line, odd } = piece;
    if let Some(value) = &mut value {
        object::lift(value, &mut blobs)?;
    }
    let raw = text.map(|text| raw(text, &mut blobs)).transpose()?;
    Ok(Prepared { before, value, document, raw, blobs, bytes, line, odd })
}

/// Makes a value of bytes that are kept as they are: a text, or a link to a blob.
pub(super) fn raw(bytes: Vec<u8>, blobs: &mut Vec<NewObject>) -> Result<Value> {
    match String::from_utf8(bytes) {
        Ok(text) => {
            let mut raw = Value::Text(text);
            object::lift(&mut raw, blobs)?;
            Ok(raw)
        }
        Err(error) => {
            let blob = NewObject::blob(error.into_bytes())?;
            let raw = Value::Link(blob.id());
            blobs.push(blob);
            Ok(raw)
        }
    }
}

#[cfg(test)]
mod tests;
