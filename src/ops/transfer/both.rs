//! Two stores seen as one: what a landing is planned on when nothing may be written.
//!
//! Objects are those of either; refs and operations are those of the first.

use std::ops::ControlFlow;

use crate::error::Result;
use crate::id::{Id, Kind, Prefix};
use crate::store::{OperationRecord, RefName, RefValue, Snapshot, Stored, Topology};

/// A snapshot with the objects of another beside its own.
pub(super) struct Both<'a> {
    here: &'a dyn Snapshot,
    there: &'a dyn Snapshot,
}

impl<'a> Both<'a> {
    pub(super) fn of(here: &'a dyn Snapshot, there: &'a dyn Snapshot) -> Both<'a> {
        Both { here, there }
    }
}

impl Snapshot for Both<'_> {
    fn get(&self, id: &Id) -> Result<Option<Stored>> {
        self.here.get(id)?.map_or_else(|| self.there.get(id), |stored| Ok(Some(stored)))
    }

    fn kinds(&self, ids: &[Id]) -> Result<Vec<Option<Kind>>> {
        let (here, there) = (self.here.kinds(ids)?, self.there.kinds(ids)?);
        Ok(here.into_iter().zip(there).map(|(here, there)| here.or(there)).collect())
    }

    fn topology(&self, id: &Id) -> Result<Option<Topology>> {
        self.here.topology(id)?.map_or_else(|| self.there.topology(id), |found| Ok(Some(found)))
    }

    fn with_prefix(&self, prefix: &Prefix, limit: usize) -> Result<Vec<Id>> {
        self.here.with_prefix(prefix, limit)
    }

    fn for_each(
        &self,
        visit: &mut dyn FnMut(&Id, &Topology) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.here.for_each(visit)
    }

    fn reference(&self, name: &RefName) -> Result<Option<RefValue>> {
        self.here.reference(name)
    }

    fn references(&self, prefix: &str) -> Result<Vec<(RefName, RefValue)>> {
        self.here.references(prefix)
    }

    fn sessions_named(&self, name: &str) -> Result<Vec<String>> {
        self.here.sessions_named(name)
    }

    fn operations(
        &self,
        visit: &mut dyn FnMut(&OperationRecord) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.here.operations(visit)
    }
}
