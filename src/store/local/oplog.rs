//! Sealed operations: `logs/operations-<number>`, immutable.
//!
//! A paged file: count 8, then for each operation the byte where its record begins 8, then the
//! records: time 8, actor, command, number of ref moves 4, the moves, written as in a journal
//! group.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::store::local::group::{
    Input, RecentNames, read_move, read_operation, write_move, write_operation,
};
use crate::store::local::paged::{Paged, PagedWriter, Ready, Remains, u64_at};
use crate::store::{Operation, OperationRecord, RefMove};

const MAGIC: &[u8; 8] = b"SAPWOPER";
const VERSION: u32 = 1;
const WORD_BYTES: u64 = 8;

/// Some operations, oldest first.
#[derive(Debug)]
pub(crate) struct OperationLog {
    file: Paged,
    /// The number of the first operation.
    first: u64,
}

impl OperationLog {
    /// Writes operations, oldest first, durably, and gives the file's length.
    pub(crate) fn write(
        disk: &Arc<dyn Disk>,
        path: &Path,
        operations: &[(Operation, Vec<RefMove>)],
    ) -> Result<u64> {
        let mut ready = Ready::default();
        let bytes = OperationLog::prepare(disk, path, operations, &mut ready)?;
        ready.publish(&**disk)?;
        Ok(bytes)
    }

    /// Writes a log that gets its name with other files, and gives its length.
    pub(crate) fn prepare(
        disk: &Arc<dyn Disk>,
        path: &Path,
        operations: &[(Operation, Vec<RefMove>)],
        ready: &mut Ready,
    ) -> Result<u64> {
        let mut records = Vec::new();
        let mut begins = Vec::with_capacity(operations.len());
        let first = WORD_BYTES * (operations.len() as u64 + 1);
        for (operation, moves) in operations {
            begins.push(first + records.len() as u64);
            write_operation(&mut records, operation);
            let count = u32::try_from(moves.len()).expect("bounded by the transaction");
            records.extend_from_slice(&count.to_le_bytes());
            moves.iter().for_each(|ref_move| write_move(&mut records, ref_move));
        }
        let mut writer = PagedWriter::create(Arc::clone(disk), path)?;
        writer.write(&(operations.len() as u64).to_le_bytes())?;
        for begin in begins {
            writer.write(&begin.to_le_bytes())?;
        }
        writer.write(&records)?;
        writer.finish_into(MAGIC, VERSION, path, ready)
    }

    /// Opens a log whose first operation has the number `first`.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        bytes: u64,
        first: u64,
    ) -> Result<OperationLog> {
        Ok(OperationLog { file: Paged::open(disk, path, Some(bytes), MAGIC, VERSION)?, first })
    }

    /// Takes a payload that was made in memory.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn from_memory(path: &Path, payload: Vec<u8>) -> OperationLog {
        OperationLog { file: Paged::from_memory(path, payload), first: 0 }
    }

    /// Says how many operations there are.
    fn count(&self) -> Result<u64> {
        let count = word(&self.file, 0)?;
        match count > self.file.len() / WORD_BYTES {
            true => Err(self.file.corrupt(0, "it claims more operations than fit")),
            false => Ok(count),
        }
    }

    /// Checks every byte.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check()?;
        self.count().map(|_| ())
    }

    /// Visits the operations, newest first, until told to stop.
    pub(crate) fn for_each(
        &self,
        visit: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let count = self.count()?;
        let mut names = RecentNames::default();
        for place in (0..count).rev() {
            let begin = word(&self.file, WORD_BYTES * (place + 1))?;
            let end = match place + 1 < count {
                true => word(&self.file, WORD_BYTES * (place + 2))?,
                false => self.file.len(),
            };
            let damaged =
                || Error::corrupt(self.file.path(), begin, "a record is not an operation");
            let bytes = end.checked_sub(begin).ok_or_else(damaged)?;
            let record = self.file.bytes(begin, bytes as usize)?;
            let (operation, moves) = parse(record, &mut names).ok_or_else(damaged)?;
            let record = OperationRecord { number: self.first + place, operation, moves };
            if visit(&record)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn word(file: &Paged, at: u64) -> Result<u64> {
    let bytes = file.bytes(at, WORD_BYTES as usize)?;
    Ok(u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
}

fn parse(record: &[u8], names: &mut RecentNames) -> Option<(Operation, Vec<RefMove>)> {
    let mut input = Input(record);
    let parsed = parse_begin(&mut input, names)?;
    input.0.is_empty().then_some(parsed)
}

fn parse_begin(
    input: &mut Input<'_>,
    names: &mut RecentNames,
) -> Option<(Operation, Vec<RefMove>)> {
    let operation = read_operation(input)?;
    let count = input.u32()?;
    let moves = (0..count).map(|_| read_move(input, names)).collect::<Option<_>>()?;
    Some((operation, moves))
}

/// An operation that was found in what is left of a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundOperation {
    pub(crate) operation: Operation,
    pub(crate) moves: Vec<RefMove>,
    /// Whether its record is what was written.
    pub(crate) is_sound: bool,
}

/// Reads what is left of a log, oldest first.
pub(crate) fn salvage(disk: &dyn Disk, path: &Path) -> Result<Vec<FoundOperation>> {
    let remains = Remains::open(disk, path, MAGIC, VERSION)?;
    let payload = remains.payload();
    let word = |place: u64| {
        let at = usize::try_from(place * WORD_BYTES).ok()?;
        payload.get(at..at + WORD_BYTES as usize).map(|word| u64_at(word, 0))
    };
    // The first record begins behind the table, so each of the two words tells the number.
    let by_count = word(0).filter(|count| *count <= payload.len() as u64 / WORD_BYTES);
    let by_begin = word(1).filter(|begin| *begin <= payload.len() as u64);
    let by_begin = by_begin.map(|begin| (begin / WORD_BYTES).saturating_sub(1));
    let sound = remains.is_sound(0..WORD_BYTES as usize);
    let candidates = if sound { [by_count, None] } else { [by_begin, by_count] };
    let found = candidates.into_iter().flatten().map(|count| records(&remains, count, &word));
    Ok(found.max_by_key(Vec::len).unwrap_or_default())
}

/// Reads the records of a log of so many, each where the table says, or behind the one before it.
fn records(
    remains: &Remains,
    count: u64,
    word: &dyn Fn(u64) -> Option<u64>,
) -> Vec<FoundOperation> {
    let payload = remains.payload();
    let mut found = Vec::new();
    let mut at = usize::try_from(WORD_BYTES * (count + 1)).ok();
    for place in 1..=count {
        let entry = (place * WORD_BYTES) as usize..((place + 1) * WORD_BYTES) as usize;
        if at.is_none() || remains.is_sound(entry) {
            at = word(place).and_then(|begin| usize::try_from(begin).ok());
        }
        let Some(begin) = at.filter(|begin| *begin < payload.len()) else {
            at = None;
            continue;
        };
        let mut input = Input(&payload[begin..]);
        let parsed = parse_begin(&mut input, &mut RecentNames::default());
        let end = payload.len() - input.0.len();
        at = parsed.is_some().then_some(end);
        found.extend(parsed.map(|(operation, moves)| FoundOperation {
            operation,
            moves,
            is_sound: remains.is_sound(begin..end),
        }));
    }
    found
}
