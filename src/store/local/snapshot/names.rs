//! Which sessions have which names.
//!
//! A name stands in a session's metadata, so to look for one is to read all of them. What was found
//! is kept, and brought up to date by what moved since: who makes one session after the other reads
//! each once. A new manifest begins anew.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::PoisonError;

use super::LocalSnapshot;
use crate::error::Result;
use crate::store::{RefName, RefValue, Snapshot, session_name};

/// The names of all sessions, as a snapshot showed them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The manifest's generation, and where the open segment ended.
    generation: u64,
    end: u64,
    /// Sessions that have a name, by their ids.
    of_session: HashMap<String, String>,
    /// Each name with each session that has it.
    all: BTreeSet<(String, String)>,
    /// Whether no metadata failed to be read.
    is_whole: bool,
}

impl LocalSnapshot {
    /// Lists the sessions with this name, sorted.
    pub(super) fn find_sessions_named(&self, name: &str) -> Result<Vec<String>> {
        // Nobody waits for whoever reads: it finds nothing kept, and reads, too.
        let kept = || self.inner.names.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.state.manifest.generation;
        let is_before = |names: &mut Names| names.generation == generation && names.end <= self.end;
        let taken = kept().take_if(is_before);
        let names = match taken {
            Some(names) => self.names_since(names)?,
            None => self.names_of_all()?,
        };
        let from = (Bound::Included((name.to_owned(), String::new())), Bound::Unbounded);
        let found = names.all.range(from).take_while(|(found, _)| found == name);
        let found = found.map(|(_, session)| session.clone()).collect();
        let mut kept = kept();
        let age = |names: &Names| (names.generation, names.end);
        if names.is_whole && kept.as_ref().is_none_or(|newer| age(newer) < age(&names)) {
            *kept = Some(names);
        }
        Ok(found)
    }

    fn names_of_all(&self) -> Result<Names> {
        let (generation, end) = (self.state.manifest.generation, self.end);
        let mut names = Names { generation, end, is_whole: true, ..Names::default() };
        for (meta, value) in self.references("sessions/")? {
            names.note(self, &meta, Some(&value));
        }
        Ok(names)
    }

    /// Brings names up to date that were true at an earlier end of the open segment.
    fn names_since(&self, mut names: Names) -> Result<Names> {
        let moved: Vec<RefName> = {
            let ledger = self.state.open_segment().ledger();
            let from = ledger.metas.partition_point(|(at, _)| *at <= names.end);
            let seen = ledger.metas[from..].iter().take_while(|(at, _)| *at <= self.end);
            seen.map(|(_, meta)| meta.clone()).collect()
        };
        for meta in moved {
            names.note(self, &meta, self.find_reference(&meta)?.as_ref());
        }
        names.end = self.end;
        Ok(names)
    }
}

impl Names {
    /// Notes what a ref leads to, if it leads to a session's metadata.
    fn note(&mut self, snapshot: &LocalSnapshot, meta: &RefName, value: Option<&RefValue>) {
        let Some((session, "meta")) = meta.session() else {
            return;
        };
        let name = match value.map(|value| session_name(snapshot, value)) {
            Some(Ok(name)) => name,
            None => None,
            Some(Err(_)) => {
                self.is_whole = false;
                None
            }
        };
        if let Some(old) = self.of_session.remove(session) {
            self.all.remove(&(old, session.to_owned()));
        }
        if let Some(name) = name {
            self.all.insert((name.clone(), session.to_owned()));
            self.of_session.insert(session.to_owned(), name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::disk::OsDisk;
    use crate::object::{NewObject, Session};
    use crate::store::local::{LocalStore, Options};
    use crate::store::{Durability, Expected, RefUpdate, Store as _, Transaction};

    fn open(dir: &Path) -> LocalStore {
        let options = Options { background: false, ..Options::default() };
        LocalStore::init(Arc::new(OsDisk), dir, options).unwrap().0
    }

    fn put(store: &LocalStore, object: &NewObject, refs: &[RefUpdate]) {
        let mut plan = |_: &dyn Snapshot| {
            let (objects, refs) = (vec![object.clone()], refs.to_vec());
            Ok(Transaction { objects, refs, operation: None })
        };
        store.commit(Durability::Relaxed, &mut plan).unwrap();
    }

    fn name(store: &LocalStore, sid: &str, name: &str) {
        let session = Session { name: Some(name.to_owned()), ..Session::new(sid, 0) };
        let object = session.encode().unwrap();
        let new = Some(RefValue::Id(object.id));
        let meta = RefName::of_session(sid, "meta").unwrap();
        put(store, &object, &[RefUpdate { name: meta, expected: Expected::Any, new }]);
    }

    fn find(store: &LocalStore, name: &str) -> Vec<String> {
        store.snapshot().unwrap().sessions_named(name).unwrap()
    }

    #[test]
    fn names_are_those_of_now_whoever_gave_them_and_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (open(dir.path()), open(dir.path()));
        name(&one, "a", "first");
        assert_eq!(find(&one, "first"), ["a"]);
        name(&other, "b", "first");
        name(&other, "a", "second");
        assert_eq!(
            (find(&one, "first"), find(&one, "second")),
            (vec!["b".into()], vec!["a".into()])
        );
        other.seal().unwrap();
        name(&other, "b", "third");
        assert_eq!((find(&one, "first"), find(&one, "third")), (vec![], vec!["b".into()]));
    }

    #[test]
    fn what_was_found_while_metadata_did_not_read_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        name(&store, "a", "first");
        name(&store, "b", "second");
        // What is near the journal's end is in memory.
        put(&store, &NewObject::blob(vec![7; 200_000]).unwrap(), &[]);
        let state = store.inner.state();
        let path = &state.open_segment().path;
        let bytes = std::fs::read(path).unwrap();
        let mut damaged = bytes.clone();
        let at = memchr::memmem::find(&bytes, b"first").unwrap();
        damaged[at] ^= 1;
        let fresh = open(dir.path());
        std::fs::write(path, damaged).unwrap();
        let (first, second) = (find(&fresh, "first"), find(&fresh, "second"));
        assert_eq!((first, second), (vec![], vec!["b".into()]), "one does not hide the other");
        std::fs::write(path, bytes).unwrap();
        assert_eq!(find(&fresh, "first"), ["a"]);
    }
}
