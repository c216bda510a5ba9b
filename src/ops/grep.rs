//! Searching what was said.

use std::collections::HashSet;
use std::ops::ControlFlow;

use regex::Regex;

use crate::error::Result;
use crate::id::Id;
use crate::ops::log::{Filter, Logged};
use crate::ops::scan::scan;
use crate::session::{Forest, View};
use crate::store::Snapshot;

/// What to search for, and where.
#[derive(Clone, Debug)]
pub struct GrepOptions {
    /// The ids of the sessions, in the order in which they are searched.
    pub sessions: Vec<String>,
    /// What a line must hold.
    pub pattern: Regex,
    /// Which entries are searched.
    pub filter: Filter,
}

/// An entry with lines that match.
#[derive(Clone, Debug)]
pub struct Match {
    /// The first session that has the entry.
    pub session: String,
    /// The entry.
    pub logged: Logged,
    /// The places of the lines that match, from 0.
    pub lines: Vec<usize>,
}

/// Searches sessions on all their branches, oldest first, and each entry once, until told to stop.
pub fn grep(
    snapshot: &dyn Snapshot,
    options: &GrepOptions,
    take: &mut dyn FnMut(Match) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut seen: HashSet<Id> = HashSet::new();
    for session in &options.sessions {
        let forest = Forest::of(&View::of(snapshot, session)?)?;
        let fresh: Vec<Id> = match options.sessions.len() {
            1 => forest.ids().to_vec(),
            _ => forest.ids().iter().copied().filter(|id| seen.insert(*id)).collect(),
        };
        let read = |id: &Id| search(snapshot, options, *id);
        let ended = scan(&fresh, &read, &mut |_, found| match found {
            None => Ok(ControlFlow::Continue(())),
            Some((logged, lines)) => take(Match { session: session.clone(), logged, lines }),
        })?;
        if ended.is_break() {
            break;
        }
    }
    Ok(())
}

/// Finds the lines of one entry that match.
fn search(
    snapshot: &dyn Snapshot,
    options: &GrepOptions,
    id: Id,
) -> Result<Option<(Logged, Vec<usize>)>> {
    let Some(logged) = options.filter.read(snapshot, id)? else {
        return Ok(None);
    };
    let lines = logged.words.text.lines().enumerate();
    let found = lines.filter(|(_, line)| options.pattern.is_match(line));
    let places: Vec<usize> = found.map(|(place, _)| place).collect();
    Ok((!places.is_empty()).then_some((logged, places)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Value;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;

    #[test]
    fn shared_entries_are_found_once_and_long_strings_too() {
        let repo = Repo::in_memory();
        let long = format!("{}\nneedle here\nlast", "hay ".repeat(500));
        for (session, branch, texts) in [
            ("a", "main", vec!["a needle", &long]),
            ("a", "b", vec!["x"]),
            ("b", "main", vec!["a needle"]),
        ] {
            let pin = session::pin(&repo, Some(session), Some(branch), 0, "tester").unwrap();
            let bodies = texts.iter().map(|text| Value::map([("content", Value::from(*text))]));
            session::append(&repo, &pin, bodies.collect(), Durability::Full, 0).unwrap();
        }
        let snapshot = repo.snapshot().unwrap();
        let mut found = Vec::new();
        let options = GrepOptions {
            sessions: vec!["a".to_owned(), "b".to_owned()],
            pattern: Regex::new("^(a )?needle").unwrap(),
            filter: Filter::default(),
        };
        grep(&*snapshot, &options, &mut |found_one| {
            found.push((found_one.session, found_one.lines));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(found, [("a".to_owned(), vec![0]), ("a".to_owned(), vec![1])]);
    }
}
