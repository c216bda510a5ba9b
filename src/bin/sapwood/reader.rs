//! What the commands that read a session begin with: the store, one moment of it, and the session.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::repo::{self, Place};
use sapwood::session::View;
use sapwood::store::Snapshot;

use crate::failure::Failure;
use crate::open::{Context, Opened};
use crate::plumbing::{SHORT_DIGITS, short};
use crate::range::Range;
use crate::target::Within;

/// How many ids are compared with all others to be shortened.
const COMPARED_MAX: usize = 512;

/// How many digits tell an id from all others without a look: among a thousand million objects one
/// in 280,000 has a twin.
const LONG_DIGITS: usize = 12;

/// A store at one moment, seen from a session.
pub(crate) struct Reader {
    /// The store.
    pub(crate) opened: Opened,
    /// The moment.
    pub(crate) snapshot: Arc<dyn Snapshot>,
    /// How many ids were shortened.
    shortened: Cell<usize>,
}

impl Reader {
    /// Opens the store for reading, seen from the session that the flag names.
    pub(crate) fn open(context: &Context, within: &Within) -> Result<Reader, Failure> {
        let mut opened = context.open()?;
        opened.place = within.target(&opened).place();
        let snapshot = opened.repo.snapshot()?;
        // A name is looked for among all sessions: once is enough. What is wrong is said later.
        if let Some(Ok(session)) =
            opened.place.session.as_deref().map(|named| repo::find_session(&*snapshot, named))
        {
            opened.place = Place::in_session(session);
        }
        Ok(Reader { opened, snapshot, shortened: Cell::new(0) })
    }

    /// Finds the session.
    pub(crate) fn session(&self) -> Result<String, Failure> {
        let session = self.opened.place.session_id(&*self.snapshot)?;
        let missing = || Error::Refused {
            why: "there is no current session".to_owned(),
            hint: "make one with 'sapwood new', or name one with -s",
        };
        Ok(session.ok_or_else(missing)?)
    }

    /// Looks at the session.
    pub(crate) fn view(&self) -> Result<View<'_>, Failure> {
        Ok(View::of(&*self.snapshot, &self.session()?)?)
    }

    /// Finds the object that a revision names.
    pub(crate) fn resolve(&self, revision: &str) -> Result<Id, Failure> {
        Ok(repo::resolve(&*self.snapshot, &self.opened.place, revision)?)
    }

    /// Finds what an argument adds to a set of history.
    pub(crate) fn range(&self, text: &str) -> Result<Range, Failure> {
        Range::find(&*self.snapshot, &self.opened, text)
    }

    /// Shortens an id. After many it is no longer compared with all others.
    pub(crate) fn short(&self, id: &Id) -> Result<String, Failure> {
        self.shortened.set(self.shortened.get() + 1);
        match self.shortened.get() > COMPARED_MAX {
            true => Ok(id.short(LONG_DIGITS)),
            false => short(&*self.snapshot, id, SHORT_DIGITS),
        }
    }

    /// Reads the names on the session's entries; none if there is no session.
    pub(crate) fn names(&self) -> Result<Names, Failure> {
        match self.opened.place.session_id(&*self.snapshot) {
            Ok(Some(session)) => Names::of(&View::of(&*self.snapshot, &session)?),
            Ok(None) | Err(Error::RevisionUnknown { .. }) => Ok(Names::default()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The names on a session's entries.
#[derive(Default)]
pub(crate) struct Names {
    active: Option<String>,
    branches: HashMap<Id, Vec<String>>,
    labels: HashMap<Id, Vec<String>>,
}

impl Names {
    fn of(view: &View<'_>) -> Result<Names, Failure> {
        let mut names = Names { active: view.active()?, ..Names::default() };
        for (name, id) in view.branches()? {
            names.branches.entry(id).or_default().push(name);
        }
        for (name, id) in view.labels()? {
            names.labels.entry(id).or_default().push(name);
        }
        Ok(names)
    }

    /// Lists the branches that end at an entry.
    pub(crate) fn branches(&self, id: &Id) -> &[String] {
        self.branches.get(id).map_or(&[], Vec::as_slice)
    }

    /// Lists the labels on an entry.
    pub(crate) fn labels(&self, id: &Id) -> &[String] {
        self.labels.get(id).map_or(&[], Vec::as_slice)
    }

    /// Writes the names on an entry: `HEAD -> main, idea, label: ok`; empty if there are none.
    pub(crate) fn decoration(&self, id: &Id) -> String {
        self.words(id).join(", ")
    }

    /// Lists the names on an entry, each in words.
    pub(crate) fn words(&self, id: &Id) -> Vec<String> {
        let mut words = Vec::new();
        for branch in self.branches(id) {
            match self.active.as_ref() == Some(branch) {
                true => words.insert(0, format!("HEAD -> {branch}")),
                false => words.push(branch.clone()),
            }
        }
        words.extend(self.labels(id).iter().map(|label| format!("label: {label}")));
        words
    }
}
