//! Sessions in the words of other programs: byte for byte in those they came from, by meaning in
//! any other.
//!
//! What came from the session's file, or from those of the sessions it was forked from, is written
//! as it stood there. What was added since, and everything where another dialect is wanted, goes
//! through that dialect's writer.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};

use crate::codec::{Value, json};
use crate::dialect::{self, Dialect, Leaving, Parent, Source, Writer};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::exact::{self, Exact};
use crate::ops::export::Scope;
use crate::ops::export::leaving::{Departure, shown_steps};
use crate::ops::imported;
use crate::repo::{Repo, read_entry};
use crate::session::{Forest, View, context};
use crate::walk;

/// The dialect of a session that came from no file.
const NATIVE: &str = "pi";

/// How many sessions that were forked from one another are asked for their files.
const FORKS_MAX: usize = 64;

/// Writes a session in a dialect; else in the one it came from.
pub fn export(
    repo: &Repo,
    session: &str,
    scope: Scope,
    to: Option<&str>,
    out: &mut dyn Write,
) -> Result<()> {
    let snapshot = repo.snapshot()?;
    let view = View::of(&*snapshot, session)?;
    let own = view.meta()?.dialect;
    let name = to.or(own.as_deref()).unwrap_or(NATIVE);
    let dialect = dialect::named(name).ok_or_else(|| Error::Refused {
        why: format!("there is no dialect '{}'", name.escape_debug()),
        hint: "'sapwood export --help' lists what there is",
    })?;
    let is_own = own.as_deref() == Some(name);
    let mut speaker = Speaker { view: &view, dialect, writer: dialect.writer(), out };
    match scope {
        Scope::Session if is_own => speaker.file(repo),
        _ if is_own => speaker.part(scope),
        _ => speaker.meaning(scope),
    }
}

struct Speaker<'a> {
    view: &'a View<'a>,
    dialect: &'static dyn Dialect,
    writer: Option<Box<dyn Writer>>,
    out: &'a mut dyn Write,
}

/// What is known of an entry that came from a file.
struct Origin {
    style: json::Style,
    /// Its id there.
    name: Option<String>,
    is_beside: bool,
}

impl Speaker<'_> {
    /// Writes the whole file, and behind it what was added since.
    fn file(&mut self, repo: &Repo) -> Result<()> {
        let mut file = Exact::of(repo, self.view.id())?;
        let mut last = None;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = file.read(&mut buffer).map_err(Error::io("read", "the session"))?;
            if count == 0 {
                break;
            }
            last = Some(buffer[count - 1]);
            self.bytes(&buffer[..count])?;
        }
        let origins = origins(self.view, self.dialect)?;
        let all = Forest::of(self.view)?;
        if all.ids().iter().all(|id| origins.contains_key(id)) {
            return Ok(());
        }
        if last.is_some_and(|last| last != b'\n') {
            self.bytes(b"\n")?;
        }
        let begin = self.begin()?;
        if last.is_none() {
            self.values(&begin)?;
        }
        self.steps(all.ids(), &origins, false)
    }

    /// Writes a part of the session: what came before its tree, then the entries.
    fn part(&mut self, scope: Scope) -> Result<()> {
        let origins = origins(self.view, self.dialect)?;
        let mut has_header = false;
        for stretch in imported::stretches(self.view)?.into_iter().take(1) {
            for id in stretch.entries(self.view.snapshot)? {
                match origins.get(&id) {
                    Some(origin) if origin.is_beside => self.verbatim(&id, origin)?,
                    _ => break,
                }
                has_header = true;
            }
        }
        let is_whole = self.entries(scope)?.iter().all(|id| origins.contains_key(id));
        if !is_whole || !has_header {
            match self.begin() {
                Ok(begin) if !has_header => self.values(&begin)?,
                Err(error) if !is_whole => return Err(error),
                _ => {}
            }
        }
        let entries = self.entries(scope)?;
        self.steps(&entries, &origins, true)
    }

    /// Writes entries: those that came from a file as they stood there, if that is wanted.
    fn steps(
        &mut self,
        entries: &[Id],
        origins: &HashMap<Id, Origin>,
        with_known: bool,
    ) -> Result<()> {
        let mut departure = Departure::default();
        for id in entries {
            let origin = origins.get(id);
            if origin.is_some_and(|origin| origin.is_beside) {
                continue;
            }
            if let (Some(origin), true) = (origin, with_known) {
                self.verbatim(id, origin)?;
            }
            let step = departure.step(self.view.snapshot, id)?;
            let Some(writer) = &mut self.writer else {
                continue;
            };
            match origin {
                Some(origin) => writer.known(&step, origin.name.as_deref()),
                None => {
                    let values = writer.step(&step);
                    self.values(&values)?;
                }
            }
        }
        self.end()
    }

    /// Writes an entry as it stood in its file.
    fn verbatim(&mut self, id: &Id, origin: &Origin) -> Result<()> {
        let mut entry = read_entry(self.view.snapshot, id)?;
        let mut text = Vec::new();
        exact::entry_text(self.view.snapshot, &mut entry, origin.style, &mut text)?;
        text.push(b'\n');
        self.bytes(&text)
    }

    /// Writes the session by what it says.
    fn meaning(&mut self, scope: Scope) -> Result<()> {
        let begin = self.begin()?;
        self.values(&begin)?;
        let (has_tree, has_compaction) = match &self.writer {
            Some(writer) => (writer.has_tree(), writer.has_compaction()),
            None => (false, false),
        };
        if has_tree {
            let entries = self.entries(scope)?;
            let beside = beside(self.view)?;
            let mut departure = Departure::default();
            for id in entries.iter().filter(|id| !beside.contains(id)) {
                let step = departure.step(self.view.snapshot, id)?;
                self.step(&step)?;
            }
            return self.end();
        }
        let Some(end) = self.path_end(scope)? else {
            return self.end();
        };
        if has_compaction {
            let mut path: Vec<Id> =
                walk::path(self.view.snapshot, end).collect::<Result<Vec<_>>>()?;
            path.reverse();
            let mut departure = Departure::default();
            for id in path {
                let step = departure.step(self.view.snapshot, &id)?;
                self.step(&step)?;
            }
        } else {
            let shown = context(self.view.snapshot, Some(self.view.id()), end)?;
            for step in shown_steps(shown) {
                self.step(&step)?;
            }
        }
        self.end()
    }

    fn step(&mut self, step: &Leaving) -> Result<()> {
        let values = self.writer.as_mut().map(|writer| writer.step(step)).unwrap_or_default();
        self.values(&values)
    }

    /// Begins to write, if the dialect can be written.
    fn begin(&mut self) -> Result<Vec<Value>> {
        let meta = self.view.meta()?;
        match &mut self.writer {
            Some(writer) => Ok(writer.begin(&meta)),
            None => Err(Error::Refused {
                why: format!("{} can be read, not written", self.dialect.title()),
                hint: "take another dialect with --to, such as pi or claude",
            }),
        }
    }

    fn end(&mut self) -> Result<()> {
        let values = self.writer.as_mut().map(|writer| writer.end()).unwrap_or_default();
        self.values(&values)
    }

    fn values(&mut self, values: &[Value]) -> Result<()> {
        let mut text = Vec::new();
        for value in values {
            json::write(value, &mut text);
            text.push(b'\n');
        }
        self.bytes(&text)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write", "the export"))
    }

    /// Gives where the one path ends that a dialect without a tree is given.
    fn path_end(&self, scope: Scope) -> Result<Option<Id>> {
        match scope {
            Scope::Path(end) | Scope::Subtree(end) => Ok(Some(end)),
            Scope::Session => match self.view.active()? {
                Some(branch) => self.view.branch(&branch),
                None => Ok(None),
            },
        }
    }

    /// Lists the entries of a scope, parents before children, where the session stands last: most
    /// programs go on from the last line.
    fn entries(&self, scope: Scope) -> Result<Vec<Id>> {
        let path = |end: Id| -> Result<Vec<Id>> {
            let mut path = walk::path(self.view.snapshot, end).collect::<Result<Vec<_>>>()?;
            path.reverse();
            Ok(path)
        };
        let root = match scope {
            Scope::Path(end) => return path(end),
            Scope::Subtree(root) => Some(root),
            Scope::Session => None,
        };
        let forest = Forest::of(self.view)?;
        let mut entries = root.map(path).transpose()?.unwrap_or_default();
        let mut is_below = vec![root.is_none(); forest.ids().len()];
        for (place, id) in forest.ids().iter().enumerate() {
            let above = forest.parent(place);
            is_below[place] |= above.is_some_and(|above| is_below[above]);
            if is_below[place] {
                entries.push(*id);
            }
            is_below[place] |= Some(*id) == root;
        }
        let active = self.path_end(Scope::Session)?;
        let has_child = |id: &Id| {
            let place = forest.place(id);
            (0..forest.ids().len()).any(|child| forest.parent(child) == place)
        };
        if let Some(active) = active.filter(|active| !has_child(active))
            && let Some(place) = entries.iter().position(|id| *id == active)
        {
            let last = entries.remove(place);
            entries.push(last);
        }
        Ok(entries)
    }
}

/// Finds what came from the files of a session and of those it was forked from.
fn origins(view: &View<'_>, dialect: &dyn Dialect) -> Result<HashMap<Id, Origin>> {
    let mut origins = HashMap::new();
    let mut next = Some(view.clone());
    for _ in 0..FORKS_MAX {
        let Some(view) = next.take() else {
            break;
        };
        let meta = view.meta()?;
        if meta.dialect.as_deref() == Some(dialect.name()) {
            let mut source = Source::default();
            for stretch in imported::stretches(&view)? {
                for id in stretch.entries(view.snapshot)? {
                    let entry = read_entry(view.snapshot, &id)?;
                    let step = entry.body.as_map().map(|_| dialect.read(&entry.body, &mut source));
                    let is_beside = step.as_ref().is_none_or(|step| step.parent == Parent::Beside);
                    let name = step.and_then(|step| step.id);
                    let style = stretch.layout.style;
                    origins.insert(id, Origin { style, name, is_beside });
                }
            }
        }
        next = meta.fork.and_then(|fork| View::of(view.snapshot, &fork.session).ok());
    }
    Ok(origins)
}

/// Finds the entries of a session's file that are on no path.
fn beside(view: &View<'_>) -> Result<HashSet<Id>> {
    let Some(dialect) = view.meta()?.dialect.as_deref().and_then(dialect::named) else {
        return Ok(HashSet::new());
    };
    let origins = origins(view, dialect)?.into_iter();
    Ok(origins.filter(|(_, origin)| origin.is_beside).map(|(id, _)| id).collect())
}
