//! Reading a history entry by entry: what `log` shows.

use regex::Regex;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Entry;
use crate::session::{Words, restored_entry};
use crate::store::Snapshot;
use crate::walk;

/// Which entries are shown.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only of this role, or of this type.
    pub role: Option<String>,
    /// Only what this is found in.
    pub pattern: Option<Regex>,
    /// Only from this time on.
    pub since: Option<i64>,
    /// Only up to this time.
    pub until: Option<i64>,
}

/// An entry as it is shown.
#[derive(Clone, Debug)]
pub struct Logged {
    /// Its id.
    pub id: Id,
    /// The entry, long strings put back.
    pub entry: Entry,
    /// What it says.
    pub words: Words,
}

impl Filter {
    /// Reads an entry, if it is to be shown. The body of one of another time is not read.
    pub fn read(&self, snapshot: &dyn Snapshot, id: Id) -> Result<Option<Logged>> {
        if !self.is_in_time(snapshot, id)? {
            return Ok(None);
        }
        let logged = Logged::read(snapshot, id)?;
        Ok(self.takes(&logged.entry, &logged.words).then_some(logged))
    }

    /// Says whether some time is asked for, and no other.
    pub(super) fn has_times(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Says whether an entry is of the time that is asked for, without reading its body.
    pub(super) fn is_in_time(&self, snapshot: &dyn Snapshot, id: Id) -> Result<bool> {
        if !self.has_times() {
            return Ok(true);
        }
        let topology = snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?;
        Ok(self.is_within(topology.time))
    }

    /// Says whether an entry is to be shown.
    pub(super) fn takes(&self, entry: &Entry, words: &Words) -> bool {
        let is_role = |role: &String| *role == words.who || *role == entry.label;
        self.is_within(entry.time)
            && self.role.as_ref().is_none_or(is_role)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(&words.text))
    }

    fn is_within(&self, time: i64) -> bool {
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time <= until)
    }
}

impl Logged {
    /// Reads an entry.
    pub fn read(snapshot: &dyn Snapshot, id: Id) -> Result<Logged> {
        let entry = restored_entry(snapshot, &id)?;
        let words = Words::read(&entry.label, &entry.body);
        Ok(Logged { id, entry, words })
    }
}

/// Reads the entries of a walk that are to be shown, as they are asked for.
pub fn log<'a>(
    snapshot: &'a dyn Snapshot,
    ids: impl Iterator<Item = Result<Id>> + 'a,
    filter: Filter,
) -> impl Iterator<Item = Result<Logged>> + 'a {
    ids.filter_map(move |id| match id {
        Ok(id) => filter.read(snapshot, id).transpose(),
        Err(error) => Some(Err(error)),
    })
}

/// Walks the path of an entry back to where the path of another meets it, newest first.
///
/// It looks at no more of the two paths than lies behind that point.
pub fn path_between<'a>(
    snapshot: &'a dyn Snapshot,
    show: Id,
    hide: Option<Id>,
) -> Result<Box<dyn Iterator<Item = Result<Id>> + 'a>> {
    let path = walk::path(snapshot, show);
    let Some(hide) = hide else {
        return Ok(Box::new(path));
    };
    let depth = move |id: Id| match snapshot.topology(&id)? {
        Some(topology) => Ok(topology.depth),
        None => Err(Error::ObjectMissing { id }),
    };
    let mut others = walk::path(snapshot, hide);
    let mut other: Option<(Id, u64)> = Some((hide, depth(hide)?));
    others.next();
    let mut meets = move |id: Id| -> Result<bool> {
        let own = depth(id)?;
        while other.is_some_and(|(_, depth)| depth > own) {
            other = match others.next().transpose()? {
                Some(id) => Some((id, depth(id)?)),
                None => None,
            };
        }
        Ok(other.is_some_and(|(other, _)| other == id))
    };
    let mut ended = false;
    Ok(Box::new(path.map_while(move |id| {
        if ended {
            return None;
        }
        match id.and_then(|id| Ok((id, meets(id)?))) {
            Ok((_, true)) => None,
            Ok((id, false)) => Some(Ok(id)),
            Err(error) => {
                ended = true;
                Some(Err(error))
            }
        }
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Value;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;

    fn say(repo: &Repo, branch: &str, role: &str, text: &str, time: i64) -> Id {
        let pin = session::pin(repo, Some("s"), Some(branch), 0, "tester").unwrap();
        let body = Value::map([
            ("role", Value::from(role)),
            ("content", Value::from(text)),
            ("timestamp", Value::from(time)),
        ]);
        session::append(repo, &pin, vec![body], Durability::Full, 0).unwrap()[0]
    }

    #[test]
    fn a_path_ends_where_the_other_meets_it() {
        let repo = Repo::in_memory();
        let one = say(&repo, "main", "user", "one", 1);
        let two = say(&repo, "main", "assistant", "two", 2);
        let side = say(&repo, "side", "user", "side", 3);
        let three = say(&repo, "main", "user", "three", 4);
        let snapshot = repo.snapshot().unwrap();
        let between = |show: Id, hide: Option<Id>| {
            path_between(&*snapshot, show, hide).unwrap().collect::<Result<Vec<_>>>().unwrap()
        };
        assert_eq!(between(three, None), [three, two, one]);
        assert_eq!(between(three, Some(one)), [three, two]);
        assert_eq!(between(three, Some(side)), [three]);
        assert_eq!(between(side, Some(three)), [side]);
        assert_eq!(between(one, Some(three)), []);
        assert_eq!(between(three, Some(three)), []);
    }

    #[test]
    fn filters_hold_together() {
        let repo = Repo::in_memory();
        say(&repo, "main", "user", "one fish", 1);
        let two = say(&repo, "main", "assistant", "two fish", 2);
        let three = say(&repo, "main", "user", "red fish", 3);
        let snapshot = repo.snapshot().unwrap();
        let shown = |filter: Filter| -> Vec<Id> {
            let ids = walk::path(&*snapshot, three);
            log(&*snapshot, ids, filter).map(|logged| logged.unwrap().id).collect()
        };
        let role = |role: &str| Some(role.to_owned());
        assert_eq!(shown(Filter { since: Some(2), ..Filter::default() }), [three, two]);
        let both = Filter { since: Some(2), role: role("user"), ..Filter::default() };
        assert_eq!(shown(both), [three]);
        let pattern = Some(Regex::new("^two").unwrap());
        assert_eq!(shown(Filter { pattern, until: Some(2), ..Filter::default() }), [two]);
        assert_eq!(shown(Filter { role: role("message"), ..Filter::default() }).len(), 3);
    }
}
