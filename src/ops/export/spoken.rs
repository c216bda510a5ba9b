//! Sessions in the words of other programs: byte for byte in those they came from, by meaning in
//! any other.
//!
//! What came from the session's file, or from those of the sessions it was forked from, is written
//! as it stood there. What was added since, and everything where another dialect is wanted, goes
//! through that dialect's writer.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};

use crate::codec::{Value, json};
use crate::dialect::memory_tree::MEMORY_TREE;
use crate::dialect::{self, Dialect, Leaving, Parent, Source, Writer};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::exact::{self, Exact};
use crate::ops::export::Scope;
use crate::ops::export::frame::Frame;
use crate::ops::export::leaving::{Departure, shown_steps};
use crate::ops::export::scope::{active_last, one_path, only_path, within};
use crate::ops::imported;
use crate::repo::{Repo, read_entry};
use crate::session::{Forest, View, context};
use crate::walk;

/// The dialect of a session that came from no file.
const NATIVE: &str = "pi";

/// The types of entries that hide what was said before them.
const CUTS: [&str; 2] = ["compaction", "stack_pop"];

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
    let own = own_dialect(&view)?;
    if to.is_none() && own.as_deref() == Some(MEMORY_TREE) {
        return Err(Error::Refused {
            why: format!("session '{session}' came from a directory, not from a file"),
            hint: "write the directory again: --to memory-tree -o DIR",
        });
    }
    let name = to.or(own.as_deref()).unwrap_or(NATIVE);
    let dialect = dialect::named(name).ok_or_else(|| Error::Refused {
        why: format!("there is no dialect '{}'", name.escape_debug()),
        hint: "'sapwood export --help' lists what there is",
    })?;
    let is_own = own.as_deref() == Some(name);
    let scope = one_path(&view, dialect, scope)?;
    let mut speaker = Speaker { view: &view, dialect, writer: dialect.writer(), frame: None, out };
    let has_file = is_own && !imported::stretches(&view)?.is_empty();
    match scope {
        Scope::Session if has_file => speaker.file(repo),
        _ if is_own => speaker.part(scope),
        _ => speaker.meaning(scope),
    }
}

/// Finds the dialect that a session came from, or the sessions that it was forked from.
fn own_dialect(view: &View<'_>) -> Result<Option<String>> {
    let mut next = Some(view.clone());
    for _ in 0..FORKS_MAX {
        let Some(view) = next.take() else {
            break;
        };
        let meta = view.meta()?;
        if meta.dialect.is_some() {
            return Ok(meta.dialect);
        }
        next = meta.fork.and_then(|fork| View::of(view.snapshot, &fork.session).ok());
    }
    Ok(None)
}

struct Speaker<'a> {
    view: &'a View<'a>,
    dialect: &'static dyn Dialect,
    writer: Option<Box<dyn Writer>>,
    /// What stands around and between values, if they are not one a line.
    frame: Option<Frame>,
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
        let added = imported::added(self.view)?;
        if !added.is_empty() && Frame::of(self.view)?.is_some() {
            let origins = origins(self.view, self.dialect)?;
            if !added.iter().all(|id| origins.contains_key(id)) {
                return self.part(Scope::Session);
            }
        }
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
        if added.is_empty() {
            return Ok(());
        }
        let origins = origins(self.view, self.dialect)?;
        if added.iter().all(|id| origins.contains_key(id)) {
            return Ok(());
        }
        if last.is_some_and(|last| last != b'\n') {
            self.bytes(b"\n")?;
        }
        self.begin()?;
        let all = Forest::of(self.view)?;
        let added: HashSet<Id> = added.into_iter().collect();
        let is_told = |id: &&Id| added.contains(*id) || origins.contains_key(*id);
        let told: Vec<Id> = all.ids().iter().filter(is_told).copied().collect();
        self.steps(&told, &origins, false)
    }

    /// Writes a part of the session: what came before its tree, then the entries.
    fn part(&mut self, scope: Scope) -> Result<()> {
        let origins = origins(self.view, self.dialect)?;
        self.frame = Frame::of(self.view)?;
        let mut has_header = self.frame.is_some();
        if let Some(frame) = &self.frame {
            self.out.write_all(&frame.before).map_err(Error::io("write", "the export"))?;
        }
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
        self.steps(&entries, &origins, true)?;
        match self.frame.take() {
            Some(frame) => self.bytes(&frame.behind),
            None => Ok(()),
        }
    }

    /// Writes entries: those that came from a file as they stood there, if that is wanted.
    fn steps(
        &mut self,
        entries: &[Id],
        origins: &HashMap<Id, Origin>,
        with_known: bool,
    ) -> Result<()> {
        let before = self.before_cuts(entries.iter().filter(|id| !origins.contains_key(*id)))?;
        let mut departure = Departure::default();
        for id in entries {
            let origin = origins.get(id);
            if origin.is_some_and(|origin| origin.is_beside) {
                continue;
            }
            if let (Some(origin), true) = (origin, with_known) {
                self.verbatim(id, origin)?;
            }
            let mut step = departure.step(self.view.snapshot, id)?;
            let Some(writer) = &mut self.writer else {
                continue;
            };
            match origin {
                Some(origin) => {
                    step.parent = before.get(id).copied().or(step.parent);
                    writer.known(&step, origin.name.as_deref());
                }
                None => {
                    let values = writer.step(&step);
                    self.values(&values)?;
                }
            }
        }
        self.end()
    }

    /// Gives what comes before each entry on the paths to compactions, if these are some: results
    /// that hang beside a path are kept with it.
    fn before_cuts<'e>(&self, added: impl Iterator<Item = &'e Id>) -> Result<HashMap<Id, Id>> {
        let mut before = HashMap::new();
        for id in added {
            let topology = self.view.snapshot.topology(id)?;
            let cut = topology.filter(|found| CUTS.contains(&&*found.label));
            if let Some(end) = cut.and_then(|cut| cut.parents.first().copied()) {
                let path = self.with_strays(end)?;
                before.extend(path.windows(2).map(|pair| (pair[1], pair[0])));
            }
        }
        Ok(before)
    }

    /// Writes an entry as it stood in its file.
    fn verbatim(&mut self, id: &Id, origin: &Origin) -> Result<()> {
        let mut entry = read_entry(self.view.snapshot, id)?;
        let mut text = Vec::new();
        exact::entry_text(self.view.snapshot, &mut entry, origin.style, &mut text)?;
        self.value(&text)
    }

    /// Writes the session by what it says.
    fn meaning(&mut self, scope: Scope) -> Result<()> {
        let begin = self.begin()?;
        self.values(&begin)?;
        let (has_tree, has_compaction) = match &self.writer {
            Some(writer) => (writer.has_tree(), writer.has_compaction()),
            None => (false, false),
        };
        let entries = if has_tree { self.entries(scope)? } else { Vec::new() };
        if has_tree && (has_compaction || !self.is_cut(&entries)?) {
            let beside = beside(self.view)?;
            let entries: Vec<Id> = entries.into_iter().filter(|id| !beside.contains(id)).collect();
            self.told(&entries, matches!(scope, Scope::Path(_)))?;
            return self.end();
        }
        let Some(end) = self.path_end(scope)? else {
            return self.end();
        };
        if has_compaction {
            let path = self.with_strays(end)?;
            self.told(&path, true)?;
        } else {
            let shown = context(self.view.snapshot, Some(self.view.id()), end)?;
            for step in shown_steps(shown) {
                self.step(&step)?;
            }
        }
        self.end()
    }

    /// Writes entries by what they say; those of a path one after the other.
    fn told(&mut self, entries: &[Id], is_path: bool) -> Result<()> {
        let mut departure = Departure::default();
        let mut before = None;
        for id in entries {
            let mut step = departure.step(self.view.snapshot, id)?;
            if is_path {
                step.parent = before.replace(*id);
            }
            self.step(&step)?;
        }
        Ok(())
    }

    /// Lists the entries of a path, and behind what called them results of tools that hang beside
    /// it: those that a model is shown at its end, or was before something was hidden.
    fn with_strays(&self, end: Id) -> Result<Vec<Id>> {
        let snapshot = self.view.snapshot;
        let mut path = walk::path(snapshot, end).collect::<Result<Vec<_>>>()?;
        path.reverse();
        let places: HashMap<Id, usize> =
            path.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut ends = Vec::new();
        for pair in path.windows(2) {
            if self.is_cut(&pair[1..])? {
                ends.push(pair[0]);
            }
        }
        ends.push(end);
        let mut known = HashSet::new();
        let mut behind: HashMap<usize, Vec<Id>> = HashMap::new();
        for end in ends {
            let mut before = 0;
            for shown in context(snapshot, Some(self.view.id()), end)?.messages {
                match places.get(&shown.entry) {
                    Some(place) => before = *place,
                    None if known.insert(shown.entry) => {
                        behind.entry(before).or_default().push(shown.entry);
                    }
                    None => {}
                }
            }
        }
        let with_strays = path.into_iter().enumerate().flat_map(|(place, id)| {
            let strays = behind.remove(&place).unwrap_or_default();
            std::iter::once(id).chain(strays)
        });
        Ok(with_strays.collect())
    }

    /// Says whether something hides what was said before it.
    fn is_cut(&self, entries: &[Id]) -> Result<bool> {
        for id in entries {
            let topology = self.view.snapshot.topology(id)?;
            if topology.is_some_and(|found| CUTS.contains(&&*found.label)) {
                return Ok(true);
            }
        }
        Ok(false)
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
        for value in values {
            let mut text = Vec::new();
            json::write(value, &mut text);
            self.value(&text)?;
        }
        Ok(())
    }

    /// Writes the text of a value, and what stands around it.
    fn value(&mut self, text: &[u8]) -> Result<()> {
        match &mut self.frame {
            Some(frame) => {
                let between = frame.next().to_vec();
                self.bytes(&between)?;
                self.bytes(text)
            }
            None => {
                self.bytes(text)?;
                self.bytes(b"\n")
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io("write", "the export"))
    }

    /// Gives where the one path ends that a dialect without a tree is given.
    fn path_end(&self, scope: Scope) -> Result<Option<Id>> {
        match scope {
            Scope::Path(end) => Ok(Some(end)),
            Scope::Subtree(root) => only_path(self.view, self.dialect, root).map(Some),
            Scope::Session => match self.view.active()? {
                Some(branch) => self.view.branch(&branch),
                None => Ok(None),
            },
        }
    }

    /// Lists the entries of a scope, parents before children, where the session stands last: most
    /// programs go on from the last line.
    fn entries(&self, scope: Scope) -> Result<Vec<Id>> {
        let root = match scope {
            Scope::Path(end) => return self.with_strays(end),
            Scope::Subtree(root) => Some(root),
            Scope::Session => None,
        };
        let forest = Forest::of(self.view)?;
        let is_in = within(&forest, root);
        let active = self.path_end(Scope::Session)?;
        let active = active.and_then(|id| forest.place(&id)).filter(|place| is_in[*place]);
        Ok(active_last(&forest, &is_in, active))
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

#[cfg(test)]
mod tests;
