//! The values that a ref took in a segment, each with the end of its group.
//!
//! Most refs that a new session has never move again: the first value has no memory of its own.

use crate::store::RefValue;

/// The values that a ref took, oldest first; `None` where it was removed.
#[derive(Debug)]
pub(crate) struct Versions {
    first: Version,
    later: Vec<Version>,
}

type Version = (u64, Option<RefValue>);

impl Versions {
    /// Begins with a value that the group which ends there gave it.
    pub(super) fn new(group_end: u64, value: Option<RefValue>) -> Versions {
        Versions { first: (group_end, value), later: Vec::new() }
    }

    /// Adds a value, of a later group or the same.
    pub(super) fn push(&mut self, group_end: u64, value: Option<RefValue>) {
        self.later.push((group_end, value));
    }

    /// Gives the newest value as of the groups up to `end`; `None` if they gave it none.
    pub(crate) fn up_to(&self, end: u64) -> Option<&Option<RefValue>> {
        let is_seen = |version: &&Version| version.0 <= end;
        let later = self.later.iter().rev().find(is_seen);
        later.or_else(|| Some(&self.first).filter(is_seen)).map(|(_, value)| value)
    }

    /// Gives the values that groups behind `end` gave it, oldest first.
    pub(crate) fn behind(&self, end: u64) -> impl Iterator<Item = &Option<RefValue>> {
        let all = std::iter::once(&self.first).chain(&self.later);
        all.filter(move |(group_end, _)| *group_end > end).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Id, Kind};

    #[test]
    fn each_place_has_its_value() {
        let value = |byte| Some(RefValue::Id(Id::of(Kind::Blob, &[byte])));
        let mut versions = Versions::new(10, value(1));
        versions.push(20, None);
        versions.push(20, value(2));
        versions.push(30, value(3));
        let seen = |end| versions.up_to(end).cloned();
        assert_eq!([seen(9), seen(10), seen(19)], [None, Some(value(1)), Some(value(1))]);
        assert_eq!([seen(20), seen(30)], [Some(value(2)), Some(value(3))]);
        let behind = |end| versions.behind(end).cloned().collect::<Vec<_>>();
        assert_eq!(behind(0), [value(1), None, value(2), value(3)]);
        assert_eq!(behind(10), [None, value(2), value(3)]);
        assert_eq!((behind(20), behind(30)), (vec![value(3)], vec![]));
    }
}
