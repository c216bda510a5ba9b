//! What follows an entry.

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::session::{Forest, View};
use crate::store::Snapshot;
use crate::walk;

/// Lists what has this object among its parents, oldest first.
///
/// With a session, only that session's entries are looked at; else the whole store.
pub fn children(snapshot: &dyn Snapshot, session: Option<&str>, id: Id) -> Result<Vec<Id>> {
    let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
    let session = session.filter(|_| topology.kind == Kind::Entry);
    let Some(session) = session else {
        return walk::children(snapshot, &id);
    };
    let forest = Forest::of(&View::of(snapshot, session)?)?;
    let own = forest.place(&id);
    let mut found = Vec::new();
    for (place, child) in forest.ids().iter().enumerate() {
        let parent = forest.parent(place);
        // A second parent is only in the topology, and only a merge has one.
        let follows = parent.is_some() && parent == own || {
            let topology = snapshot.topology(child)?.ok_or(Error::ObjectMissing { id: *child })?;
            topology.parents.contains(&id)
        };
        if follows {
            found.push(*child);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Value;
    use crate::object::Entry;
    use crate::repo::Repo;
    use crate::session::{self, Change};
    use crate::store::Durability;

    #[test]
    fn first_and_second_parents_have_their_children() {
        let repo = Repo::in_memory();
        let say = |branch: &str, text: &str| {
            let pin = session::pin(&repo, Some("s"), Some(branch), 0, "tester").unwrap();
            let body = Value::map([("text", Value::from(text))]);
            session::append(&repo, &pin, vec![body], Durability::Full, 0).unwrap()[0]
        };
        let (root, side, main) = (say("main", "a"), say("side", "b"), say("main", "c"));
        let mut merge = None;
        repo.commit(Durability::Full, &mut |snapshot| {
            let mut change = Change::on(snapshot, "s", 0)?;
            let entry = Entry {
                label: "merge".to_owned(),
                time: 0,
                parents: vec![main, side],
                body: Value::Null,
                raw: None,
            };
            merge = Some(change.append_entry("main", entry)?);
            change.finish(None)
        })
        .unwrap();
        let snapshot = repo.snapshot().unwrap();
        for session in [Some("s"), None] {
            let of = |id: Id| children(&*snapshot, session, id).unwrap();
            let mut of_root = of(root);
            of_root.sort_unstable();
            let mut both = [side, main];
            both.sort_unstable();
            assert_eq!(of_root, both);
            assert_eq!(of(side), [merge.unwrap()]);
            assert_eq!(of(merge.unwrap()), []);
        }
    }
}
