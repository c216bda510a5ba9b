//! What the commands that read a session begin with: the store, one moment of it, and the session.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::repo;
use sapwood::session::View;
use sapwood::store::Snapshot;

use crate::failure::Failure;
use crate::open::{Context, Opened};
use crate::plumbing::{SHORT_DIGITS, short};
use crate::range::Range;
use crate::target::Within;

/// How many ids are shortened one by one before all ids are looked at.
const SINGLE_SHORTS_MAX: usize = 512;

/// A store at one moment, seen from a session.
pub(crate) struct Reader {
    /// The store.
    pub(crate) opened: Opened,
    /// The moment.
    pub(crate) snapshot: Arc<dyn Snapshot>,
    shorts: RefCell<Shorts>,
}

/// What is known for shortening ids.
#[derive(Default)]
struct Shorts {
    /// How many were asked for.
    asked: usize,
    /// All ids, sorted, once many are asked for.
    all: Vec<Id>,
}

impl Reader {
    /// Opens the store for reading, seen from the session that the flag names.
    pub(crate) fn open(context: &Context, within: &Within) -> Result<Reader, Failure> {
        let mut opened = context.open()?;
        opened.place = within.target(&opened).place();
        let snapshot = opened.repo.snapshot()?;
        Ok(Reader { opened, snapshot, shorts: RefCell::default() })
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

    /// Shortens an id.
    pub(crate) fn short(&self, id: &Id) -> Result<String, Failure> {
        let mut shorts = self.shorts.borrow_mut();
        shorts.asked += 1;
        if shorts.asked == SINGLE_SHORTS_MAX {
            self.snapshot.for_each(&mut |id, _| {
                shorts.all.push(*id);
                Ok(ControlFlow::Continue(()))
            })?;
            shorts.all.sort_unstable();
        }
        let Ok(place) = shorts.all.binary_search(id) else {
            return short(&*self.snapshot, id, SHORT_DIGITS);
        };
        let before = place.checked_sub(1).and_then(|before| shorts.all.get(before));
        let beside = [before, shorts.all.get(place + 1)];
        let text = id.to_string();
        let is_alone = |digits: &usize| {
            let own = &text[..*digits];
            beside.iter().flatten().all(|other| other.short(*digits) != own)
        };
        let digits = (SHORT_DIGITS..Id::DIGITS).find(is_alone);
        Ok(text[..digits.unwrap_or(Id::DIGITS)].to_owned())
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
