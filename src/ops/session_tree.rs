//! The tree of sessions: which was forked from which.

use crate::error::Result;
use crate::object::Session;
use crate::ops::list::forest;
use crate::session::View;
use crate::store::Snapshot;

/// A session among all sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionNode {
    /// Its metadata.
    pub header: Session,
    /// The place of the session that it was forked from; a missing one makes it a root.
    pub parent: Option<usize>,
    /// The places of the sessions that were forked from it, oldest first.
    pub children: Vec<usize>,
}

/// Lists the ids of all sessions.
pub fn session_ids(snapshot: &dyn Snapshot) -> Result<Vec<String>> {
    snapshot.session_ids()
}

/// Reads all sessions and how they hang together, oldest first.
pub fn session_tree(snapshot: &dyn Snapshot) -> Result<Vec<SessionNode>> {
    let mut headers = Vec::new();
    for session in session_ids(snapshot)? {
        headers.push(View::of(snapshot, &session)?.meta()?);
    }
    headers.sort_by(|one, other| (one.time, &one.sid).cmp(&(other.time, &other.sid)));
    let forest = forest(&headers.iter().collect::<Vec<_>>());
    let node = |header| SessionNode { header, parent: None, children: Vec::new() };
    let mut nodes: Vec<SessionNode> = headers.into_iter().map(node).collect();
    let mut above: Vec<usize> = Vec::new();
    for (depth, place) in forest {
        above.truncate(depth);
        if let Some(parent) = above.last().copied() {
            nodes[place].parent = Some(parent);
            nodes[parent].children.push(place);
        }
        above.push(place);
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::codec::Value;
    use crate::disk::OsDisk;
    use crate::object::Fork;
    use crate::repo::Repo;
    use crate::session::{self, Change};
    use crate::store::Durability;
    use crate::store::local::{LocalStore, Options};

    #[test]
    fn sessions_are_listed_in_order_wherever_their_refs_are() {
        let dir = tempfile::tempdir().unwrap();
        let made = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default()).unwrap();
        let store = Arc::new(made.0);
        let repo = Repo::on(Arc::clone(&store) as Arc<_>);
        // As refs, `a-b` stands before `a`.
        for (session, listed) in [
            ("a", &["a"][..]),
            ("a-b", &["a", "a-b"]),
            ("ü", &["a", "a-b", "ü"]),
            ("a0", &["a", "a-b", "a0", "ü"]),
        ] {
            session::pin(&repo, Some(session), None, 0, "tester").unwrap();
            assert_eq!(session_ids(&*repo.snapshot().unwrap()).unwrap(), listed);
            store.pack_refs().unwrap();
            assert_eq!(session_ids(&*repo.snapshot().unwrap()).unwrap(), listed);
        }
    }

    #[test]
    fn forks_hang_on_what_they_came_from_and_a_missing_parent_is_no_parent() {
        let repo = Repo::in_memory();
        for (session, parent) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("x"))]
        {
            session::pin(&repo, Some(session), None, 0, "tester").unwrap();
            repo.commit(Durability::Full, &mut |snapshot| {
                let mut change = Change::on(snapshot, session, 0)?;
                change.meta()?.fork = parent.map(|parent: &str| Fork {
                    session: parent.to_owned(),
                    entry: None,
                    reason: None,
                    metadata: Value::Null,
                });
                change.finish(None)
            })
            .unwrap();
        }
        let nodes = session_tree(&*repo.snapshot().unwrap()).unwrap();
        let parents: Vec<_> = nodes.iter().map(|node| node.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), None]);
        assert_eq!(nodes[0].children, [1]);
    }
}
