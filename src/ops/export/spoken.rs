//! Sessions in the words of other programs: byte for byte in those they came from, by meaning in
//! any other.
//!
//! What came from the session's file, or from those of the sessions it was forked from, is written
//! as it stood there. What was added since, and everything where another dialect is wanted, goes
//! through that dialect's writer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};

use crate::codec::{Value, json};
use crate::dialect::memory_tree::MEMORY_TREE;
use crate::dialect::{self, Dialect, Leaving, Parent, Source, Writer};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::exact::{self, Exact};
use crate::ops::export::Scope;
use crate::ops::export::leaving::{Departure, shown_steps};
use crate::ops::imported;
use crate::repo::{Repo, read_entry};
use crate::session::{Forest, Message, View, context, restored_entry, shown_message};
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
    let mut speaker = Speaker { view: &view, dialect, writer: dialect.writer(), out };
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
        let added = imported::added(self.view)?;
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
        let entries = if has_tree { self.entries(scope)? } else { Vec::new() };
        if has_tree && (has_compaction || !self.is_cut(&entries)?) {
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
            for id in self.with_strays(path)? {
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

    /// Puts results of tools that hang beside a path behind what called them.
    fn with_strays(&self, path: Vec<Id>) -> Result<Vec<Id>> {
        let snapshot = self.view.snapshot;
        let on_path: HashSet<Id> = path.iter().copied().collect();
        let mut open: HashMap<String, usize> = HashMap::new();
        let mut turns = Vec::with_capacity(path.len());
        for (place, id) in path.iter().enumerate() {
            let message = shown_message(&restored_entry(snapshot, id)?);
            let calls = message.iter().flat_map(Message::calls);
            open.extend(calls.map(|call| (call.id.clone(), place)));
            for answer in message.iter().flat_map(Message::answers) {
                open.remove(&answer.call);
            }
            turns.push(message.map(|message| {
                (message.calls().next().is_some(), message.answers().next().is_some())
            }));
        }
        let mut behind: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
        let beside = Forest::of(self.view)?;
        for id in beside.ids().iter().filter(|id| !on_path.contains(id)) {
            if open.is_empty() {
                break;
            }
            let Some(message) = shown_message(&restored_entry(snapshot, id)?) else {
                continue;
            };
            let called = message.answers().filter_map(|answer| open.remove(&answer.call)).max();
            if let Some(place) = called {
                behind.entry(behind_turn(&turns, place)).or_default().push(*id);
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
        let is_in = within(&forest, root);
        let active = self.path_end(Scope::Session)?;
        let active = active.and_then(|id| forest.place(&id)).filter(|place| is_in[*place]);
        Ok(active_last(&forest, &is_in, active))
    }
}

/// Gives the last place of the turn that calls at a place, and of the answers that follow it. Of
/// each place is known whether it calls and whether it answers, if it says anything.
fn behind_turn(turns: &[Option<(bool, bool)>], caller: usize) -> usize {
    let mut last = caller;
    let mut is_answered = false;
    for (place, turn) in turns.iter().enumerate().skip(caller + 1) {
        match turn {
            None => {}
            Some((true, _)) if !is_answered => last = place,
            Some((false, true)) => (last, is_answered) = (place, true),
            Some(_) => break,
        }
    }
    last
}

/// Says of each entry of a session whether it is on the way to a root, or below it.
fn within(forest: &Forest, root: Option<Id>) -> Vec<bool> {
    let Some(root) = root else {
        return vec![true; forest.ids().len()];
    };
    let mut is_below: Vec<bool> = Vec::with_capacity(forest.ids().len());
    for (place, id) in forest.ids().iter().enumerate() {
        let above = forest.parent(place);
        is_below.push(*id == root || above.is_some_and(|above| is_below[above]));
    }
    let mut next = forest.place(&root);
    while let Some(place) = next {
        is_below[place] = true;
        next = forest.parent(place);
    }
    is_below
}

/// Lists entries, parents before children. What hangs beside the active path comes right behind
/// what it hangs on, so that the path's end comes last.
fn active_last(forest: &Forest, is_in: &[bool], active: Option<usize>) -> Vec<Id> {
    let mut is_active = vec![false; is_in.len()];
    let mut next = active;
    while let Some(place) = next {
        is_active[place] = true;
        next = forest.parent(place);
    }
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for place in (0..is_in.len()).filter(|place| is_in[*place]) {
        children.entry(forest.parent(place)).or_default().push(place);
    }
    let mut open = vec![None];
    let mut entries = Vec::new();
    while let Some(place) = open.pop() {
        entries.extend(place.map(|place: usize| forest.ids()[place]));
        let below = children.remove(&place).unwrap_or_default();
        let (on, beside): (Vec<_>, Vec<_>) = below.into_iter().partition(|at| is_active[*at]);
        open.extend(on.into_iter().chain(beside.into_iter().rev()).map(Some));
    }
    entries
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
