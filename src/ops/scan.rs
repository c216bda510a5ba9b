//! Reading many objects on two cores, and handing them on in their order.

use std::ops::ControlFlow;
use std::sync::mpsc;

use crate::error::{Error, Result};

/// How many threads read.
const READERS: usize = 2;
/// How many objects a thread reads before it hands them on.
const CHUNK: usize = 64;
/// How many chunks a thread may be ahead.
const AHEAD: usize = 8;

/// Reads each id, or whatever names an object, and gives what was read to `take` in the order of
/// the ids until told to stop.
pub(super) fn scan<I: Sync, T: Send>(
    ids: &[I],
    read: &(dyn Fn(&I) -> Result<T> + Sync),
    take: &mut dyn FnMut(&I, T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    if ids.len() <= CHUNK {
        return scan_here(ids, read, take);
    }
    std::thread::scope(|scope| {
        let mut readers = Vec::with_capacity(READERS);
        for reader in 0..READERS {
            let (sender, receiver) = mpsc::sync_channel::<(Vec<T>, Option<Error>)>(AHEAD);
            let begun = std::thread::Builder::new().spawn_scoped(scope, move || {
                for chunk in ids.chunks(CHUNK).skip(reader).step_by(READERS) {
                    let mut error = None;
                    let results = chunk.iter().map(read);
                    // What was read before an error is handed on before it.
                    let results =
                        results.map_while(|result| result.map_err(|e| error = Some(e)).ok());
                    let results: Vec<T> = results.collect();
                    let failed = error.is_some();
                    if sender.send((results, error)).is_err() || failed {
                        return;
                    }
                }
            });
            // Where no thread can be had, this one reads.
            readers.push(begun.ok().map(|_| receiver));
        }
        for (number, chunk) in ids.chunks(CHUNK).enumerate() {
            let Some(reader) = &readers[number % READERS] else {
                if scan_here(chunk, read, take)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            };
            let Ok((results, error)) = reader.recv() else {
                break;
            };
            for (id, result) in chunk.iter().zip(results) {
                if take(id, result)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if let Some(error) = error {
                return Err(error);
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Reads each in this thread.
fn scan_here<I, T>(
    ids: &[I],
    read: &dyn Fn(&I) -> Result<T>,
    take: &mut dyn FnMut(&I, T) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    for id in ids {
        if take(id, read(id)?)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Id, Kind};

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let ids: Vec<Id> =
            (0..3000u32).map(|number| Id::of(Kind::Blob, &number.to_le_bytes())).collect();
        let mut seen = Vec::new();
        let read = |id: &Id| Ok(*id);
        let take = &mut |id: &Id, result: Id| {
            assert_eq!(*id, result);
            seen.push(result);
            Ok(if seen.len() == 2500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        assert!(scan(&ids, &read, take).unwrap().is_break());
        assert_eq!(seen, ids[..2500]);
        let bad = ids[1000];
        let read = |id: &Id| match *id == bad {
            true => Err(Error::ObjectMissing { id: *id }),
            false => Ok(()),
        };
        let mut count = 0;
        let take = &mut |_: &Id, ()| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        };
        assert!(scan(&ids, &read, take).is_err());
        assert_eq!(count, 1000, "what comes before it is there");
    }
}
