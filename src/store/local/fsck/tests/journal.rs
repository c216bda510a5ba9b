//! Damage to the journal, and groups in it that no store would have let in.

use super::*;
use crate::store::local::segment::Zeros;
use Severity::{Error as Bad, Notice};

/// The damage and what it gives.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "a group's head that was durable",
        damage: |world| flip(&world.open_segment(), |_| 64 + 81),
        expected: &[("journal-damaged", Bad)],
    },
    Case {
        name: "a content that was durable",
        damage: |world| {
            let path = world.open_segment();
            let place = position_of(&path, "last 1");
            flip(&path, |_| place);
        },
        expected: &[("journal-damaged", Bad)],
    },
    Case {
        name: "a content that was durable, without the mark",
        damage: |world| {
            let path = world.open_segment();
            let place = position_of(&path, "last 0");
            flip(&path, |_| place);
            fs::remove_file(world.layout.synced()).unwrap();
        },
        expected: &[("journal-damaged", Bad)],
    },
    Case {
        name: "a tail that was never durable",
        damage: |world| {
            let manifest = world.manifest();
            let sequence = manifest.segments.last().unwrap().sequence;
            let path = world.layout.segment(sequence);
            let segment = Segment::open(&OsDisk, &path, sequence, true).unwrap();
            segment.read_on(0, u64::MAX).unwrap();
            flip(&path, |_| segment.end().offset as usize + 5);
        },
        expected: &[("torn-tail", Notice)],
    },
    Case {
        name: "a segment's header",
        damage: |world| flip(&world.open_segment(), |_| 30),
        expected: &[("journal-damaged", Bad)],
    },
    Case {
        name: "a segment missing",
        damage: |world| fs::remove_file(world.open_segment()).unwrap(),
        expected: &[("file-missing", Bad)],
    },
    Case {
        name: "a segment closed elsewhere",
        damage: |world| {
            world.publish(|manifest| {
                let last = manifest.segments.pop().unwrap();
                let mut wrong = last.clone();
                wrong.closed = Some(Closed { bytes: 4096, checksum: Id::from_bytes([1; 32]) });
                let mut next = last;
                next.sequence += 1;
                let path = world.layout.segment(next.sequence);
                rotate::allocate(&OsDisk, &path, 4096, Zeros::Written).unwrap();
                Segment::begin(&OsDisk, &path, next.sequence).unwrap();
                manifest.segments.extend([wrong, next]);
            });
        },
        expected: &[("journal-damaged", Bad)],
    },
    Case {
        name: "a link to nothing",
        damage: |world| {
            let entry = entry("dangling", vec![Id::from_bytes([7; 32])], &[]);
            let value = RefValue::Id(entry.id);
            world.force(&[entry], &[("sessions/s/heads/dangling", value)]);
        },
        expected: &[("dangling-link", Bad)],
    },
    Case {
        name: "a link to nothing of an object that no ref leads to",
        damage: |world| {
            let entry = entry("hanging", vec![Id::from_bytes([7; 32])], &[]);
            world.force(&[entry], &[]);
        },
        expected: &[("hanging-link", Notice)],
    },
    Case {
        name: "a depth that is wrong",
        damage: |world| world.force_at(&[Some(3)], &[entry("root", vec![], &[])], &[]),
        expected: &[("journal-damaged", Bad)],
    },
    Case {
        name: "a ref to nothing",
        damage: |world| {
            let nothing = RefValue::Id(Id::from_bytes([7; 32]));
            world.force(&[], &[("sessions/s/heads/lost", nothing)]);
        },
        expected: &[("dangling-ref", Bad)],
    },
    Case {
        name: "a branch that is a blob",
        damage: |world| {
            let blob = RefValue::Id(large().id);
            world.force(&[], &[("sessions/s/heads/blob", blob)]);
        },
        expected: &[("wrong-kind", Bad)],
    },
    Case {
        name: "symbolic refs in a circle",
        damage: |world| {
            let to = |name: &str| RefValue::Symbolic(RefName::new(name).unwrap());
            world.force(&[], &[("one", to("two")), ("two", to("one"))]);
        },
        expected: &[("symbolic-depth", Bad)],
    },
    Case {
        name: "an object that is not of its kind",
        damage: |world| {
            let content = b"no entry".to_vec().into();
            let (kind, links) = (Kind::Entry, vec![]);
            let id = Id::of(kind, b"no entry");
            let object = NewObject { id, kind, content, parent: None, links };
            world.force(&[object], &[]);
        },
        expected: &[("object-invalid", Bad)],
    },
];
