//! Searching what was said.

mod sieve;

use std::collections::HashSet;
use std::ops::ControlFlow;

use regex::Regex;

use crate::error::Result;
use crate::id::Id;
use crate::ops::log::{Filter, Logged};
use crate::ops::scan::scan;
use crate::session::{Forest, View};
use crate::store::Snapshot;
use sieve::Sieve;

/// Sessions are searched together until they have so many entries: two cores read them.
const BATCH: usize = 4096;

/// What to search for, and where.
#[derive(Clone, Debug)]
pub struct GrepOptions {
    /// The ids of the sessions, in the order in which they are searched.
    pub sessions: Vec<String>,
    /// What a line must hold.
    pub pattern: Regex,
    /// A text that every line has that matches, if one is known: what can't have it is not decoded.
    pub literal: Option<String>,
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
    let is_only = options.sessions.len() == 1;
    let mut sessions = options.sessions.iter();
    let mut failure = None;
    while failure.is_none() && !sessions.as_slice().is_empty() {
        let (mut fresh, mut owners) = (Vec::new(), Vec::new());
        for session in sessions.by_ref() {
            match View::of(snapshot, session).and_then(|view| Forest::of(&view)) {
                Ok(forest) => {
                    let ids = forest.ids().iter().copied();
                    fresh.extend(ids.filter(|id| is_only || seen.insert(*id)));
                    owners.push((fresh.len(), session));
                }
                // What the sessions before it say comes first.
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || fresh.len() >= BATCH {
                break;
            }
        }
        if search_all(snapshot, options, &fresh, &owners, take)?.is_break() {
            return Ok(());
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Searches the entries of some sessions, each of which has those up to a place.
fn search_all(
    snapshot: &dyn Snapshot,
    options: &GrepOptions,
    ids: &[Id],
    owners: &[(usize, &String)],
    take: &mut dyn FnMut(Match) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let sieve = options.literal.as_deref().and_then(Sieve::of);
    let read = |id: &Id| search(snapshot, options, sieve.as_ref(), *id);
    let (mut place, mut owners) = (0, owners.iter().copied());
    let mut owner = owners.next();
    scan(ids, &read, &mut |_, found| {
        place += 1;
        while owner.is_some_and(|(end, _)| end < place) {
            owner = owners.next();
        }
        match (found, owner) {
            (Some((logged, lines)), Some((_, session))) => {
                take(Match { session: session.clone(), logged, lines })
            }
            _ => Ok(ControlFlow::Continue(())),
        }
    })
}

/// Finds the lines of one entry that match.
fn search(
    snapshot: &dyn Snapshot,
    options: &GrepOptions,
    sieve: Option<&Sieve>,
    id: Id,
) -> Result<Option<(Logged, Vec<usize>)>> {
    if let Some(sieve) = sieve
        && !(options.filter.is_in_time(snapshot, id)? && sieve.passes(snapshot, &id)?)
    {
        return Ok(None);
    }
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
            literal: Some("needle".to_owned()),
            filter: Filter::default(),
        };
        grep(&*snapshot, &options, &mut |found_one| {
            found.push((found_one.session, found_one.lines));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(found, [("a".to_owned(), vec![0]), ("a".to_owned(), vec![1])]);
    }

    #[test]
    fn matches_come_by_session_and_before_the_error_of_a_later_one() {
        let repo = Repo::in_memory();
        let names: Vec<String> = (0..40).map(|number| format!("s{number:02}")).collect();
        for (number, name) in names.iter().enumerate() {
            let pin = session::pin(&repo, Some(name), None, 0, "tester").unwrap();
            let texts = (0..number % 7).map(|line| format!("{name} says {line} and more"));
            let bodies = texts.map(|text| Value::map([("content", Value::from(text))]));
            session::append(&repo, &pin, bodies.collect(), Durability::Full, 0).unwrap();
        }
        let snapshot = repo.snapshot().unwrap();
        let search = |sessions: Vec<String>, stop: usize| {
            let (pattern, filter) = (Regex::new("says").unwrap(), Filter::default());
            let options = GrepOptions { sessions, pattern, literal: None, filter };
            let mut found = Vec::new();
            let result = grep(&*snapshot, &options, &mut |one| {
                assert!(one.logged.words.text.starts_with(&one.session));
                found.push(one.session);
                Ok(if found.len() == stop {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            });
            (found, result)
        };
        let said = names.iter().enumerate();
        let all: Vec<String> =
            said.flat_map(|(number, name)| vec![name.clone(); number % 7]).collect();
        let (found, result) = search(names.clone(), usize::MAX);
        assert_eq!(found, all);
        result.unwrap();
        let mut with_one_missing = names.clone();
        with_one_missing.insert(20, "missing".to_owned());
        let (found, result) = search(with_one_missing.clone(), usize::MAX);
        assert_eq!(
            found,
            all.iter().filter(|name| **name < names[20]).cloned().collect::<Vec<_>>()
        );
        assert!(matches!(result, Err(crate::error::Error::RevisionUnknown { .. })));
        let (found, result) = search(with_one_missing, 5);
        assert_eq!(found, all[..5]);
        result.unwrap();
    }
}
