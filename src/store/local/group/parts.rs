//! What groups are made of, and the files of operations too: texts, values and moves of refs,
//! operations.
//!
//! Not here: the fixed part of a group and its checksum.

use crate::id::Id;
use crate::store::{Operation, RefMove, RefName, RefValue};

/// Bytes yet to be read.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(super) fn id(&mut self) -> Option<Id> {
        Id::from_slice(self.take(Id::BYTES)?)
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = self.u32()? as usize;
        std::str::from_utf8(self.take(bytes)?).ok()
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    let bytes = u32::try_from(text.len()).expect("names and commands are short");
    out.extend_from_slice(&bytes.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Writes a ref's value: 0 for none, 1 and an id, 2 and a name.
fn write_value(out: &mut Vec<u8>, value: Option<&RefValue>) {
    match value {
        None => out.push(0),
        Some(RefValue::Id(id)) => {
            out.push(1);
            out.extend_from_slice(id.as_bytes());
        }
        Some(RefValue::Symbolic(name)) => {
            out.push(2);
            write_text(out, name.as_str());
        }
    }
}

/// A ref's value as it is written.
#[derive(Clone, Copy, Debug)]
enum WrittenValue<'a> {
    Id(Id),
    Symbolic(&'a str),
}

impl<'a> WrittenValue<'a> {
    fn read(input: &mut Input<'a>) -> Option<Option<WrittenValue<'a>>> {
        Some(match input.u8()? {
            0 => None,
            1 => Some(WrittenValue::Id(input.id()?)),
            2 => Some(WrittenValue::Symbolic(input.text()?)),
            _ => return None,
        })
    }

    fn value(self, names: &mut RecentNames) -> Option<RefValue> {
        Some(match self {
            WrittenValue::Id(id) => RefValue::Id(id),
            WrittenValue::Symbolic(name) => RefValue::Symbolic(names.name(name)?),
        })
    }
}

/// A move of a ref as it is written, its names unchecked.
#[derive(Debug)]
pub(super) struct WrittenMove<'a> {
    pub(super) name: &'a str,
    old: Option<WrittenValue<'a>>,
    new: Option<WrittenValue<'a>>,
}

impl<'a> WrittenMove<'a> {
    pub(super) fn read(input: &mut Input<'a>) -> Option<WrittenMove<'a>> {
        let name = input.text()?;
        Some(WrittenMove { name, old: WrittenValue::read(input)?, new: WrittenValue::read(input)? })
    }

    /// Says whether its names can be names of refs.
    pub(super) fn is_sound(&self) -> bool {
        let symbolic = [self.old, self.new].into_iter().filter_map(|value| match value {
            Some(WrittenValue::Symbolic(name)) => Some(name),
            _ => None,
        });
        symbolic.chain([self.name]).all(RefName::is_name)
    }

    /// Gives the value that the ref has afterwards, `None` inside if none; `None` if it is unsound.
    pub(super) fn value_after(&self) -> Option<Option<RefValue>> {
        let mut names = RecentNames::default();
        self.new.map_or(Some(None), |value| value.value(&mut names).map(Some))
    }

    /// Gives the move; `None` if it is unsound.
    pub(super) fn ref_move(&self, names: &mut RecentNames) -> Option<RefMove> {
        let mut value = |written: Option<WrittenValue<'_>>| {
            written.map_or(Some(None), |value| value.value(names).map(Some))
        };
        let (old, new) = (value(self.old)?, value(self.new)?);
        Some(RefMove { name: names.name(self.name)?, old, new })
    }
}

/// Writes a ref move: the name, the value before, the value after.
pub(crate) fn write_move(out: &mut Vec<u8>, ref_move: &RefMove) {
    write_text(out, ref_move.name.as_str());
    write_value(out, ref_move.old.as_ref());
    write_value(out, ref_move.new.as_ref());
}

pub(crate) fn read_move(input: &mut Input<'_>, names: &mut RecentNames) -> Option<RefMove> {
    WrittenMove::read(input)?.ref_move(names)
}

/// The names of refs that were read last: most groups move the refs that the one before moved, and
/// a name that is known is neither checked nor held again.
#[derive(Debug, Default)]
pub(crate) struct RecentNames {
    /// The one that was read last comes first.
    names: Vec<RefName>,
}

impl RecentNames {
    /// How many are kept: those that a few branches have which are written to in turn.
    const KEPT_MAX: usize = 8;

    fn name(&mut self, text: &str) -> Option<RefName> {
        match self.names.iter().position(|name| name.as_str() == text) {
            Some(place) => self.names[..=place].rotate_right(1),
            None => {
                let name = RefName::new(text).ok()?;
                self.names.truncate(RecentNames::KEPT_MAX - 1);
                self.names.insert(0, name);
            }
        }
        self.names.first().cloned()
    }
}

/// Writes an operation: time, actor, command.
pub(crate) fn write_operation(out: &mut Vec<u8>, operation: &Operation) {
    out.extend_from_slice(&operation.time.to_le_bytes());
    write_text(out, &operation.actor);
    write_text(out, &operation.command);
}

pub(crate) fn read_operation(input: &mut Input<'_>) -> Option<Operation> {
    let (time, actor, command) = read_written_operation(input)?;
    Some(Operation { time, actor: actor.to_owned(), command: command.to_owned() })
}

pub(super) fn read_written_operation<'a>(input: &mut Input<'a>) -> Option<(i64, &'a str, &'a str)> {
    let time = input.take(8)?.try_into().ok().map(i64::from_le_bytes)?;
    Some((time, input.text()?, input.text()?))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_are_read_as_they_are_written_known_or_not(places in vec(0..20usize, 0..100)) {
            let name = |place: usize| RefName::new(format!("sessions/s/heads/b{place}")).unwrap();
            let moves = places.iter().map(|place| RefMove {
                name: name(*place),
                old: Some(RefValue::Symbolic(name(place / 2))),
                new: None,
            });
            let moves: Vec<RefMove> = moves.collect();
            let mut bytes = Vec::new();
            moves.iter().for_each(|ref_move| write_move(&mut bytes, ref_move));
            let (mut input, mut names) = (Input(&bytes), RecentNames::default());
            for written in &moves {
                let read = read_move(&mut input, &mut names);
                prop_assert_eq!(read.as_ref(), Some(written));
            }
            prop_assert!(input.0.is_empty() && names.names.len() <= RecentNames::KEPT_MAX);
        }
    }

    fn read_name(names: &mut RecentNames, written: &[u8]) -> Option<RefName> {
        let bytes = [&(written.len() as u32).to_le_bytes(), written].concat();
        names.name(Input(&bytes).text()?)
    }

    #[test]
    fn what_is_no_name_is_refused_each_time_and_what_is_one_is_read_among_it() {
        let mut names = RecentNames::default();
        let written: [&[u8]; 8] =
            [b"", b"/a", b"HEAD", b"a/../b", b"HEAD", b"HEAD\xff", b"a/../b", b"HEAD"];
        for name in written {
            assert_eq!(read_name(&mut names, name).is_some(), name == b"HEAD", "{name:?}");
        }
        assert_eq!(names.names.len(), 1);
    }

    #[test]
    fn a_name_is_held_once_until_eight_others_were_read_since() {
        let mut names = RecentNames::default();
        let mut read = |name: &str| read_name(&mut names, name.as_bytes()).unwrap();
        let is_same = |one: &RefName, other: &RefName| std::ptr::eq(one.as_str(), other.as_str());
        let others: Vec<String> = (0..8).map(|number| format!("other/{number}")).collect();
        let first = read("first");
        for other in &others[..7] {
            read(other);
        }
        assert!(is_same(&first, &read("first")), "seven others were read since");
        for other in &others {
            read(other);
        }
        assert!(!is_same(&first, &read("first")), "eight others were read since");
    }
}
