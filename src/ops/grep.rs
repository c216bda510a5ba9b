//! Searching what was said.

mod literal;
mod sieve;

use std::ops::ControlFlow;

use regex::Regex;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::log::{Filter, Logged};
use crate::ops::scan::scan;
use crate::session::{Forest, View};
use crate::store::Snapshot;
use sieve::Sieve;

pub use literal::required_texts;

/// Sessions are searched together until they have so many entries: two cores read them.
const BATCH: usize = 4096;

/// What to search for, and where.
#[derive(Clone, Debug)]
pub struct GrepOptions {
    /// The ids of the sessions, in the order in which they are searched.
    pub sessions: Vec<String>,
    /// What a line must hold.
    pub pattern: Regex,
    /// Texts that every line has that matches, as far as known: what can't have one is not decoded.
    /// [`required_texts`] gives them for a pattern.
    pub literals: Vec<String>,
    /// Whether these texts may be in capitals or not, as they may where the pattern ignores case.
    pub ignores_case: bool,
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
    let sieve = Sieve::of(&options.literals, options.ignores_case);
    let search = Search { snapshot, options, sieve: sieve.as_ref() };
    let mut batches = Batches::of(snapshot, &options.sessions);
    // All that is sifted may be searched at once: what is silent is known by then.
    let mut sifted = None;
    let verdicts = search.sift(&mut || {
        let batch = sifted.insert(batches.next(usize::MAX));
        batches.ids(batch).to_vec()
    })?;
    let mut verdicts = verdicts.unwrap_or_default();
    loop {
        let batch = sifted.take().unwrap_or_else(|| batches.next(BATCH));
        let ids = batches.ids(&batch);
        verdicts.resize(ids.len(), None);
        if search.all(ids, &verdicts, &batch.owners, take)?.is_break() {
            return Ok(());
        }
        if let Some(failure) = batch.failure {
            return Err(failure);
        }
        if batches.sessions.as_slice().is_empty() {
            return Ok(());
        }
        verdicts.clear();
    }
}

/// The entries of sessions, listed session by session.
struct Batches<'a> {
    snapshot: &'a dyn Snapshot,
    sessions: std::slice::Iter<'a, String>,
    /// What sessions share is there once, with the first that has it.
    forest: Forest,
}

/// Sessions that are searched together.
struct Batch<'a> {
    /// Where their entries begin among all that were listed.
    begin: usize,
    /// Each session, and where its entries end among those of the batch.
    owners: Vec<(usize, &'a String)>,
    /// Why there is no next one; what these sessions say comes first.
    failure: Option<Error>,
}

impl<'a> Batches<'a> {
    fn of(snapshot: &'a dyn Snapshot, sessions: &'a [String]) -> Batches<'a> {
        Batches { snapshot, sessions: sessions.iter(), forest: Forest::default() }
    }

    /// Lists the entries of the next sessions until there are so many.
    fn next(&mut self, entries_min: usize) -> Batch<'a> {
        let begin = self.forest.ids().len();
        let mut batch = Batch { begin, owners: Vec::new(), failure: None };
        for session in self.sessions.by_ref() {
            let view = View::of(self.snapshot, session);
            if let Err(error) = view.and_then(|view| self.forest.add(&view)) {
                batch.failure = Some(error);
                break;
            }
            let entries = self.forest.ids().len() - begin;
            batch.owners.push((entries, session));
            if entries >= entries_min {
                break;
            }
        }
        batch
    }

    /// Gives the entries of a batch; of a session that failed, none.
    fn ids(&self, batch: &Batch<'_>) -> &[Id] {
        let count = batch.owners.last().map_or(0, |(end, _)| *end);
        &self.forest.ids()[batch.begin..batch.begin + count]
    }
}

/// A search while it goes on.
struct Search<'a> {
    snapshot: &'a dyn Snapshot,
    options: &'a GrepOptions,
    sieve: Option<&'a Sieve>,
}

impl Search<'_> {
    /// Looks at all that the store has, if most of it is searched anyway, and says what is known
    /// then of each entry that is listed meanwhile. Where only some time is searched, entries say
    /// by themselves that they are of another.
    fn sift(&self, list: &mut dyn FnMut() -> Vec<Id>) -> Result<Option<Vec<Option<bool>>>> {
        let count = self.options.sessions.len();
        match self.sieve {
            Some(sieve)
                if count > 1
                    && !self.options.filter.has_times()
                    && 2 * count >= self.snapshot.session_ids()?.len() =>
            {
                Ok(self.snapshot.sift(&|bytes| sieve.finds(bytes), list))
            }
            _ => Ok(None),
        }
    }

    /// Searches the entries of some sessions, each of which has those up to a place. Of each it
    /// may be known whether it passes the sieve.
    fn all(
        &self,
        ids: &[Id],
        verdicts: &[Option<bool>],
        owners: &[(usize, &String)],
        take: &mut dyn FnMut(Match) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let mut asked = Vec::new();
        let mut places = Vec::new();
        for (place, (id, verdict)) in ids.iter().zip(verdicts).enumerate() {
            if *verdict != Some(false) {
                asked.push((*id, verdict.is_some()));
                places.push(place);
            }
        }
        let (mut places, mut owners) = (places.into_iter(), owners.iter().copied());
        let mut owner = owners.next();
        scan(&asked, &|(id, is_known)| self.one(*id, *is_known), &mut |_, found| {
            let place = places.next();
            while owner.is_some_and(|(end, _)| place.is_some_and(|place| end <= place)) {
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

    /// Finds the lines of one entry that match; it may be known to pass the sieve.
    fn one(&self, id: Id, is_known: bool) -> Result<Option<(Logged, Vec<usize>)>> {
        let Search { snapshot, options, .. } = *self;
        if let Some(sieve) = self.sieve.filter(|_| !is_known)
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
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use regex::RegexBuilder;

    use super::*;
    use crate::codec::Value;
    use crate::disk::OsDisk;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;
    use crate::store::local::{LocalStore, Options as StoreOptions};

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
            literals: vec!["needle".to_owned()],
            ignores_case: false,
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
        check_order(&Repo::in_memory(), &|| {}, &[]);
    }

    #[test]
    fn so_they_do_where_all_is_sifted() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), StoreOptions::default());
        let store = Arc::new(store.unwrap().0);
        let repack = || {
            store.repack().unwrap();
        };
        check_order(&Repo::on(store.clone()), &repack, &["says"]);
    }

    fn check_order(repo: &Repo, tidy: &dyn Fn(), literals: &[&str]) {
        let names: Vec<String> = (0..40).map(|number| format!("s{number:02}")).collect();
        for (number, name) in names.iter().enumerate() {
            let pin = session::pin(repo, Some(name), None, 0, "tester").unwrap();
            let texts = (0..number % 7).map(|line| format!("{name} says {line} and more"));
            let bodies = texts.map(|text| Value::map([("content", Value::from(text))]));
            session::append(repo, &pin, bodies.collect(), Durability::Full, 0).unwrap();
        }
        tidy();
        let snapshot = repo.snapshot().unwrap();
        let search = |sessions: Vec<String>, stop: usize| {
            let (pattern, filter) = (Regex::new("says").unwrap(), Filter::default());
            let literals = literals.iter().map(|text| (*text).to_owned()).collect();
            let ignores_case = false;
            let options = GrepOptions { sessions, pattern, literals, ignores_case, filter };
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

    #[test]
    fn a_store_in_packs_and_journal_gives_what_reading_everything_gives() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions { background: false, ..StoreOptions::default() };
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), options).unwrap().0;
        let store = Arc::new(store);
        let repo = Repo::on(store.clone());
        let long = format!("{} Needle in a long one", "hay ".repeat(500));
        let texts = |session: &str| {
            let plain = (0..90).map(move |number| match number % 3 {
                0 => format!("a needle of {session} and {number}"),
                1 => format!("zoo{}zoo, \"quoted\" {number}", ['m', 'N', 'n'][number % 9 / 3]),
                _ => format!("only hay {session} {number}"),
            });
            plain.collect::<Vec<_>>()
        };
        // In a tidy pack, in a sealed one, in the journal; the last has something of each.
        for (number, session) in ["a", "b", "c", "d"].into_iter().enumerate() {
            for of in ["a", "b", "c", "d"].into_iter().take(number + 1).skip(number / 2) {
                let pin = session::pin(&repo, Some(of), None, 0, "tester").unwrap();
                let said = texts(session).into_iter().chain([long.clone()]);
                for text in said {
                    let body = Value::map([("content", Value::from(text))]);
                    session::append(&repo, &pin, vec![body], Durability::Relaxed, 0).unwrap();
                }
            }
            match number {
                0 => drop(store.repack().unwrap()),
                1 => store.seal().unwrap(),
                _ => {}
            }
        }
        let snapshot = repo.snapshot().unwrap();
        let sessions = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let search = |pattern: &str, ignores_case: bool, literals: Vec<String>| {
            let pattern = RegexBuilder::new(pattern).case_insensitive(ignores_case).build();
            let (pattern, filter) = (pattern.unwrap(), Filter::default());
            let sessions = sessions.clone();
            let options = GrepOptions { sessions, pattern, literals, ignores_case, filter };
            let mut found = Vec::new();
            let result = grep(&*snapshot, &options, &mut |one| {
                found.push((one.session, one.logged.id, one.lines));
                Ok(ControlFlow::Continue(()))
            });
            result.map(|()| found).unwrap()
        };
        for pattern in [
            "needle",
            "Needle in",
            "zoo[mN&&mn]zoo",
            "zoo.zoo",
            "quoted. 1",
            "hay c|hay d",
            "nowhere",
        ] {
            for ignores_case in [false, true] {
                let texts = required_texts(pattern, ignores_case);
                let (found, all) =
                    (search(pattern, ignores_case, texts), search(pattern, ignores_case, vec![]));
                assert_eq!(found, all, "{pattern} {ignores_case}");
                assert_eq!(all.is_empty(), pattern == "nowhere", "{pattern}");
            }
        }
    }
}
