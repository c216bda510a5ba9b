//! All entries of a session as a tree of first parents.
//!
//! It is put together from paths alone: no body is read, and each entry is passed once.

use crate::error::{Error, Result};
use crate::id::{Id, IdMap};
use crate::session::View;
use crate::walk;

/// All entries of a session; a parent always comes before its children.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    ids: Vec<Id>,
    parents: Vec<Option<u32>>,
    places: IdMap<u32>,
}

impl Forest {
    /// Finds all that a session ever said, and what its branches and labels lead to.
    pub fn of(view: &View<'_>) -> Result<Forest> {
        let mut forest = Forest::default();
        forest.add(view)?;
        Ok(forest)
    }

    /// Adds all that another session ever said, behind what is there already.
    ///
    /// Where that fails, some of it may have been added.
    pub(crate) fn add(&mut self, view: &View<'_>) -> Result<()> {
        for tip in walk::run_tips(view.snapshot, view.id())? {
            self.add_path(view, tip)?;
        }
        for (_, tip) in view.branches()?.into_iter().chain(view.labels()?) {
            self.add_path(view, tip)?;
        }
        Ok(())
    }

    /// Adds a path as far as it is not known.
    fn add_path(&mut self, view: &View<'_>, tip: Id) -> Result<()> {
        let mut fresh = Vec::new();
        let mut parent = None;
        for id in walk::path(view.snapshot, tip) {
            let id = id?;
            parent = self.places.get(&id).copied();
            if parent.is_some() {
                break;
            }
            fresh.push(id);
        }
        for id in fresh.into_iter().rev() {
            let place = u32::try_from(self.ids.len()).map_err(|_| Error::TooLarge {
                what: "the number of entries of a session",
                found: self.ids.len() as u64,
                limit: u64::from(u32::MAX),
            })?;
            self.ids.push(id);
            self.parents.push(parent);
            self.places.insert(id, place);
            parent = Some(place);
        }
        Ok(())
    }

    /// Lists the entries, in the order in which they were first said.
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// Finds the place of an entry among [`Forest::ids`].
    pub fn place(&self, id: &Id) -> Option<usize> {
        self.places.get(id).map(|place| *place as usize)
    }

    /// Gives the place of the first parent of the entry at a place.
    pub fn parent(&self, place: usize) -> Option<usize> {
        self.parents[place].map(|parent| parent as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Value;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;

    #[test]
    fn every_entry_is_there_once_and_after_its_parent() {
        let repo = Repo::in_memory();
        for (branch, text) in [("main", "a"), ("b", "c"), ("main", "d"), ("b", "e"), ("main", "f")]
        {
            let pin = session::pin(&repo, Some("s"), Some(branch), 0, "tester").unwrap();
            let body = Value::map([("text", Value::from(text))]);
            session::append(&repo, &pin, vec![body], Durability::Full, 0).unwrap();
        }
        let snapshot = repo.snapshot().unwrap();
        let forest = Forest::of(&View::of(&*snapshot, "s").unwrap()).unwrap();
        assert_eq!(forest.ids(), session::transcript(&*snapshot, "s").unwrap());
        let parents: Vec<_> = (0..5).map(|place| forest.parent(place)).collect();
        assert_eq!(parents, [None, Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(forest.place(&forest.ids()[3]), Some(3));
    }
}
