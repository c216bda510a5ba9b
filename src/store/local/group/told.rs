//! What a group tells of refs and operations, left as it is written until somebody asks.
//!
//! Whoever reads a conversation asks where one ref points to. To make names, values and operations
//! of all groups takes several times as long as to find that among them.

use super::parts::{Input, RecentNames, WrittenMove, read_operation, read_written_operation};
use crate::store::{Operation, RefMove, RefName, RefValue};

/// The moves and the operation of a group, checked.
#[derive(Debug)]
pub(crate) struct Told {
    bytes: Box<[u8]>,
    moves: usize,
    has_operation: bool,
}

impl Told {
    /// Takes what a head ends with; `None` if it is not what is written there.
    pub(super) fn read(rest: Input<'_>, moves: usize, has_operation: bool) -> Option<Told> {
        let mut input = Input(rest.0);
        for _ in 0..moves {
            WrittenMove::read(&mut input).filter(WrittenMove::is_sound)?;
        }
        if has_operation {
            read_written_operation(&mut input)?;
        }
        input.0.is_empty().then(|| Told { bytes: rest.0.into(), moves, has_operation })
    }

    /// Gives the moves and the operation.
    pub(crate) fn parse(&self, names: &mut RecentNames) -> (Vec<RefMove>, Option<Operation>) {
        let mut input = Input(&self.bytes);
        let mut moves = Vec::with_capacity(self.moves);
        for _ in 0..self.moves {
            let written = WrittenMove::read(&mut input);
            moves.push(written.and_then(|it| it.ref_move(names)).expect("it was checked"));
        }
        let operation = self.has_operation.then(|| read_operation(&mut input));
        (moves, operation.map(|operation| operation.expect("it was checked")))
    }

    /// Gives the value that a ref has after the group, `None` inside if it has none; `None` if the
    /// group does not move it.
    pub(crate) fn value_of(&self, name: &RefName) -> Option<Option<RefValue>> {
        let mut input = Input(&self.bytes);
        let moves = (0..self.moves).filter_map(|_| WrittenMove::read(&mut input));
        let last = moves.filter(|it| it.name == name.as_str()).last()?;
        Some(last.value_after().expect("it was checked"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::{write_move, write_operation};
    use super::*;
    use crate::id::{Id, Kind};

    fn name(number: u8) -> RefName {
        RefName::new(format!("sessions/s/heads/{number}")).unwrap()
    }

    fn value(number: u8) -> Option<RefValue> {
        match number % 3 {
            0 => None,
            1 => Some(RefValue::Id(Id::of(Kind::Blob, &[number]))),
            _ => Some(RefValue::Symbolic(name(number))),
        }
    }

    proptest! {
        #[test]
        fn it_tells_what_was_written(
            written in vec((0..6u8, any::<u8>(), any::<u8>()), 0..12),
            command in proptest::option::of(".*"),
        ) {
            let moves = written.iter().map(|(of, old, new)| RefMove {
                name: name(*of),
                old: value(*old),
                new: value(*new),
            });
            let moves: Vec<RefMove> = moves.collect();
            let operation = command.map(|command| Operation {
                time: -7,
                actor: "ann".to_owned(),
                command,
            });
            let mut bytes = Vec::new();
            moves.iter().for_each(|it| write_move(&mut bytes, it));
            operation.iter().for_each(|it| write_operation(&mut bytes, it));
            let read = |bytes: &[u8]| Told::read(Input(bytes), moves.len(), operation.is_some());
            let told = read(&bytes).unwrap();
            for number in 0..7 {
                let last = moves.iter().rev().find(|it| it.name == name(number));
                prop_assert_eq!(told.value_of(&name(number)), last.map(|it| it.new.clone()));
            }
            for length in 0..bytes.len() {
                prop_assert!(read(&bytes[..length]).is_none(), "cut off at {}", length);
            }
            bytes.push(0);
            prop_assert!(read(&bytes).is_none(), "more than it says");
            let all = told.parse(&mut RecentNames::default());
            prop_assert_eq!(all, (moves, operation));
        }
    }

    #[test]
    fn what_is_no_name_is_refused_wherever_it_stands() {
        let good = RefMove { name: name(1), old: value(2), new: value(5) };
        let mut bytes = Vec::new();
        write_move(&mut bytes, &good);
        assert!(Told::read(Input(&bytes), 1, false).is_some());
        let places: Vec<usize> =
            (0..bytes.len()).filter(|place| bytes[*place..].starts_with(b"sessions")).collect();
        assert_eq!(places.len(), 3);
        for place in places {
            for wrong in [b"/essions", b"s..sions", b"sess\x01ons", b"sess\xffons"] {
                let mut bad = bytes.clone();
                bad[place..place + 8].copy_from_slice(wrong);
                assert!(Told::read(Input(&bad), 1, false).is_none(), "{place} {wrong:?}");
            }
        }
    }
}
