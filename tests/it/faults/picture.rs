//! All that a snapshot shows, taken once and compared later.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sapwood::error::{Error, Result};
use sapwood::id::{Id, Kind, Prefix};
use sapwood::store::{OperationRecord, RefName, RefValue, Snapshot, Topology};

/// All that a snapshot shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) refs: Vec<(RefName, RefValue)>,
    pub(crate) operations: Vec<OperationRecord>,
    pub(crate) objects: BTreeMap<Id, Seen>,
}

/// All that a snapshot shows of one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    pub(crate) content: Vec<u8>,
    pub(crate) topology: Topology,
    pub(crate) path: Vec<Id>,
}

impl Picture {
    pub(crate) fn of(snapshot: &dyn Snapshot) -> Result<Picture> {
        let mut objects = BTreeMap::new();
        for (id, topology) in visited(snapshot)? {
            let stored = snapshot.get(&id)?.ok_or(Error::ObjectMissing { id })?;
            let seen = Seen {
                kind: stored.kind,
                content: stored.content.to_vec(),
                path: snapshot.path(&id, usize::MAX)?,
                topology,
            };
            assert!(objects.insert(id, seen).is_none(), "{id} visited twice");
        }
        Ok(Picture { refs: snapshot.references("")?, operations: operations(snapshot)?, objects })
    }

    /// Compares each answer of a snapshot, and gives the errors that came instead of one.
    ///
    /// # Panics
    /// If an answer is another one.
    pub(crate) fn compare(&self, snapshot: &dyn Snapshot) -> Vec<Error> {
        let mut errors = Vec::new();
        let list = visited(snapshot).map(|visited| {
            let mut visited: Vec<_> = visited;
            visited.sort_by_key(|(id, _)| *id);
            visited
        });
        let expected = self.objects.iter();
        let expected = expected.map(|(id, seen)| (*id, seen.topology.clone()));
        same(&mut errors, list, expected.collect());
        errors.extend(self.compare_known(snapshot));
        errors
    }

    /// Compares what a snapshot says of everything that the picture has; it may hold more objects.
    pub(crate) fn compare_known(&self, snapshot: &dyn Snapshot) -> Vec<Error> {
        let mut errors = Vec::new();
        same(&mut errors, snapshot.references(""), self.refs.clone());
        for (name, value) in &self.refs {
            same(&mut errors, snapshot.reference(name), Some(value.clone()));
        }
        same(&mut errors, operations(snapshot), self.operations.clone());
        for (id, seen) in &self.objects {
            let got = snapshot.get(id).map(|stored| {
                let stored = stored.unwrap_or_else(|| panic!("{id} is gone"));
                (stored.kind, stored.content.to_vec())
            });
            same(&mut errors, got, (seen.kind, seen.content.clone()));
            same(&mut errors, snapshot.kinds(&[*id]), vec![Some(seen.kind)]);
            let topology = Some(seen.topology.clone());
            same(&mut errors, snapshot.topology(id), topology);
            let path = snapshot.path(id, usize::MAX);
            same(&mut errors, path, seen.path.clone());
            let prefix: Prefix = id.short(12).parse().unwrap();
            same(&mut errors, snapshot.with_prefix(&prefix, 9), vec![*id]);
        }
        errors
    }

    /// Checks that a snapshot shows all that the picture has, without an error.
    pub(crate) fn check_known(&self, snapshot: &dyn Snapshot, context: &str) {
        let errors = self.compare_known(snapshot);
        assert!(errors.is_empty(), "{context}: {errors:?}");
    }
}

fn same<T: PartialEq + std::fmt::Debug>(errors: &mut Vec<Error>, found: Result<T>, expected: T) {
    match found {
        Ok(found) => assert_eq!(found, expected),
        Err(error) => errors.push(error),
    }
}

fn visited(snapshot: &dyn Snapshot) -> Result<Vec<(Id, Topology)>> {
    let mut visited = Vec::new();
    snapshot.for_each(&mut |id, topology| {
        visited.push((*id, topology.clone()));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(visited)
}

pub(crate) fn operations(snapshot: &dyn Snapshot) -> Result<Vec<OperationRecord>> {
    let mut operations = Vec::new();
    snapshot.operations(&mut |record| {
        operations.push(record.clone());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(operations)
}
