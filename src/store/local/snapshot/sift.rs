//! Sifting: all objects of packs are looked at once, block by block, by two threads.
//!
//! Who searches all that was said and asks for one object after the other unpacks blocks where they
//! are met: some twice, in both threads or because they were let go meanwhile, and each into memory
//! that is new. Here every block is unpacked once, into room that is used again for the next.
//!
//! What will be read on is kept: events, which say what there is to search; what something was
//! found in; entries with long strings, of which one may be found later. So none of their blocks
//! has to be unpacked again.
//!
//! Invariants:
//! - what is looked at is checked as on a walk; what was kept is hashed when it is asked for;
//! - of what can't be read nothing is said: who reads it alone meets the error.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem::Finder;

use super::LocalSnapshot;
use crate::error::Result;
use crate::id::{Id, IdMap, Kind};
use crate::object::{LINK_MARK, NewObject, links_at};
use crate::store::local::pack::Pack;
use crate::store::{Content, Finds, Stored, Verdicts};

/// A thread keeps so many bytes of objects that will be read on.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// An object and all that it links was looked at.
const LOOKED_AT: u8 = 1;
/// Something was found in it, or in a blob that it links.
const TELLING: u8 = 2;
/// An entry in which something was found links it.
const WANTED: u8 = 4;

/// The packs of a snapshot while they are sifted.
struct Sifting<'s, 'f> {
    packs: Vec<&'s Pack>,
    /// The number of each pack's first object among all.
    starts: Vec<u32>,
    /// What is known of each object.
    verdicts: Vec<AtomicU8>,
    finds: Finds<'f>,
    link_mark: Finder<'static>,
}

/// What one thread found.
#[derive(Default)]
struct Findings {
    /// Silent entries, each with a blob that it links.
    linked: Vec<(u32, u32)>,
    /// Objects that may be read on, each with its place among all, and where it is in `bytes`.
    kept: Vec<(u32, Id, Kind, Range<usize>)>,
    /// What they say, one behind the other: memory for each alone takes longer than the copy.
    bytes: Vec<u8>,
}

impl LocalSnapshot {
    /// Looks at all objects in packs, cruft left out; `None` if they are too many to be numbered.
    pub(super) fn sift_packs(&self, finds: Finds<'_>) -> Option<Verdicts<'_>> {
        let sifting = Sifting::of(self.state.packs.iter().map(|pack| &**pack).collect(), finds)?;
        let findings = sifting.look_at_all();
        let mut kept = IdMap::default();
        for found in findings {
            for (entry, blob) in found.linked {
                let entry = &sifting.verdicts[entry as usize];
                match verdict(&sifting.verdicts[blob as usize]) {
                    Some(true) => entry.fetch_or(TELLING, Ordering::Relaxed),
                    Some(false) => continue,
                    None => entry.fetch_and(!LOOKED_AT, Ordering::Relaxed),
                };
            }
            let is_read_on = |place: u32, kind: Kind| {
                kind != Kind::Entry || verdict(&sifting.verdicts[place as usize]) != Some(false)
            };
            let bytes = Arc::new(found.bytes);
            for (place, id, kind, range) in found.kept {
                if is_read_on(place, kind) {
                    let content = Content::part(Arc::clone(&bytes), range);
                    kept.insert(id, Stored { kind, content });
                }
            }
        }
        // Where it was sifted before, what was kept then will do.
        let _ = self.kept.set(kept);
        let Sifting { packs, starts, verdicts, .. } = sifting;
        Some(Box::new(move |id| {
            for (pack, start) in packs.iter().zip(&starts) {
                if let Some(row) = pack.find(id)? {
                    return Ok(verdict(&verdicts[(start + row) as usize]));
                }
            }
            Ok(None)
        }))
    }

    /// Gives an object that was kept, checked against its id.
    pub(super) fn kept(&self, id: &Id) -> Option<Stored> {
        let stored = self.kept.get()?.get(id)?;
        (Id::of(stored.kind, &stored.content) == *id).then(|| stored.clone())
    }
}

impl<'s, 'f> Sifting<'s, 'f> {
    fn of(packs: Vec<&'s Pack>, finds: Finds<'f>) -> Option<Sifting<'s, 'f>> {
        let mut starts = Vec::with_capacity(packs.len());
        let mut objects = 0u32;
        for pack in &packs {
            starts.push(objects);
            objects = objects.checked_add(pack.len())?;
        }
        let verdicts = (0..objects).map(|_| AtomicU8::new(0)).collect();
        let link_mark = Finder::new(LINK_MARK);
        Some(Sifting { packs, starts, verdicts, finds, link_mark })
    }

    /// Looks at all blocks, and gives what each thread found.
    ///
    /// Where no thread can be had, one does all.
    fn look_at_all(&self) -> Vec<Findings> {
        let packs = self.packs.iter().enumerate();
        let blocks =
            packs.flat_map(|(number, pack)| (0..pack.blocks()).map(move |block| (number, block)));
        let blocks: Vec<(usize, u32)> = blocks.collect();
        let next = AtomicUsize::new(0);
        let all = Mutex::new(Vec::new());
        let look = || {
            // Room that grows is touched twice, and room that is never touched costs nothing.
            let bytes = Vec::with_capacity(KEPT_BYTES_MAX);
            let mut findings = Findings { bytes, ..Findings::default() };
            let mut room = Vec::new();
            while let Some((pack, block)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                // Of a damaged block nothing is said.
                room = self.look_at(*pack, *block, room, &mut findings).unwrap_or_default();
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).push(findings);
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("sapwood-sift".to_owned());
            // Who joined it would wait until all that it had is given back.
            let _ = thread.spawn_scoped(scope, look);
            if let Some((pack, block)) = blocks.last() {
                // The helper, which begins later, lists meanwhile what stands in which block. Where
                // this fails, so does reading the block. (The first blocks are the dictionary.)
                let _ = self.packs[*pack].unpack_dictionary(*block);
            }
            look();
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the objects of a block, and gives the room back that they took.
    fn look_at(
        &self,
        number: usize,
        block: u32,
        room: Vec<u8>,
        findings: &mut Findings,
    ) -> Result<Vec<u8>> {
        let pack = self.packs[number];
        let rows = pack.block_rows(block)?;
        if rows.is_empty() {
            return Ok(room);
        }
        let raw = pack.load_into(block, room)?;
        let mut before = None;
        for row in rows {
            let span = pack.span_at(&raw, *row, &pack.position(*row)?)?;
            let (kind, content) = (span.kind, &raw[span.content]);
            let id = pack.id(*row)?;
            let place = self.starts[number] + *row;
            let is_kept = match kind {
                Kind::Entry => self.look_at_entry(place, content, before.as_ref(), findings)?,
                Kind::Blob => {
                    let found = if (self.finds)(content) { LOOKED_AT | TELLING } else { LOOKED_AT };
                    (self.note(place, found) | found) & (TELLING | WANTED) != 0
                }
                Kind::Event => true,
                Kind::Node | Kind::Session => false,
            };
            let from = findings.bytes.len();
            if is_kept && from + content.len() <= KEPT_BYTES_MAX {
                findings.bytes.extend_from_slice(content);
                findings.kept.push((place, id, kind, from..findings.bytes.len()));
            }
            before = (kind == Kind::Entry).then_some(id);
        }
        Ok(raw)
    }

    /// Looks at an entry, and says whether it may be read on. `before` is the entry before it in
    /// its block, if it comes right behind one: mostly its parent, and no blob.
    fn look_at_entry(
        &self,
        place: u32,
        content: &[u8],
        before: Option<&Id>,
        findings: &mut Findings,
    ) -> Result<bool> {
        let is_telling = (self.finds)(content);
        let mut has_blobs = false;
        let mut read = None;
        let mut found = if is_telling { LOOKED_AT | TELLING } else { LOOKED_AT };
        for link in links_at(self.link_mark.find_iter(content), content) {
            if before == Some(&link) {
                continue;
            }
            match self.place(&link)? {
                Some((Kind::Blob, blob)) if is_telling => {
                    self.verdicts[blob as usize].fetch_or(WANTED, Ordering::Relaxed);
                }
                Some((Kind::Blob, blob)) => match verdict(&self.verdicts[blob as usize]) {
                    Some(true) => found |= TELLING,
                    Some(false) => {}
                    None => {
                        findings.linked.push((place, blob));
                        has_blobs = true;
                    }
                },
                Some(_) => {}
                // Two bytes of a text or of an id may look as if a link began there. An entry that
                // can't be read may have any.
                None => {
                    let read =
                        read.get_or_insert_with(|| NewObject::parse(Kind::Entry, content.to_vec()));
                    if read.as_ref().map_or(true, |entry| entry.links().contains(&link)) {
                        found &= !LOOKED_AT;
                    }
                }
            }
        }
        self.note(place, found);
        Ok(has_blobs || found != LOOKED_AT)
    }

    /// Finds an object among all, and its kind.
    fn place(&self, id: &Id) -> Result<Option<(Kind, u32)>> {
        for (pack, start) in self.packs.iter().zip(&self.starts) {
            if let Some(row) = pack.find(id)? {
                return Ok(Some((pack.kind(row)?, start + row)));
            }
        }
        Ok(None)
    }

    /// Notes what was found, and gives what was known before.
    fn note(&self, place: u32, found: u8) -> u8 {
        self.verdicts[place as usize].fetch_or(found, Ordering::Relaxed)
    }
}

/// Says whether something was found; `None` if not all was looked at that may tell.
fn verdict(known: &AtomicU8) -> Option<bool> {
    match known.load(Ordering::Relaxed) & (LOOKED_AT | TELLING) {
        0 => None,
        known => Some(known & TELLING != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Value;
    use crate::disk::OsDisk;
    use crate::object::Entry;
    use crate::repo::Repo;
    use crate::session;
    use crate::store::Durability;
    use crate::store::local::{LocalStore, Options};

    /// What entries say: short and long, with a needle or without.
    fn texts() -> Vec<String> {
        let long = |number: usize| format!("{number} {}", "hay ".repeat(400));
        let texts = (0..300).map(|number| match number % 6 {
            0 => format!("needle {number}"),
            1 => format!("{} needle", long(number)),
            2 => long(number),
            3 => format!("OS X {number} looks like a link, but is a text that goes on"),
            4 => "needle in hay ".repeat(200),
            _ => format!("hay {number}"),
        });
        texts.collect()
    }

    /// Says each by itself: then a blob comes right before the entry that links it.
    fn say(repo: &Repo, texts: &[String]) -> Vec<Id> {
        let pin = session::pin(repo, Some("s"), None, 0, "tester").unwrap();
        let say = |text: &String| {
            let body = Value::map([("content", Value::from(text.as_str()))]);
            session::append(repo, &pin, vec![body], Durability::Relaxed, 0).unwrap()[0]
        };
        texts.iter().map(say).collect()
    }

    #[test]
    fn verdicts_are_those_of_reading_each_entry() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default());
        let store = Arc::new(store.unwrap().0);
        let repo = Repo::on(store.clone());
        let texts = texts();
        // One pack that was tidied, one that was not, and the rest in the journal.
        let mut ids = say(&repo, &texts[..100]);
        store.repack().unwrap();
        ids.extend(say(&repo, &texts[100..200]));
        store.seal().unwrap();
        ids.extend(say(&repo, &texts[200..]));
        let snapshot = repo.snapshot().unwrap();
        let needle = memchr::memmem::Finder::new("needle");
        let verdicts = snapshot.sift(&|bytes| needle.find(bytes).is_some()).unwrap();
        let mut known = 0;
        for (number, (id, text)) in ids.iter().zip(&texts).enumerate() {
            match verdicts(id).unwrap() {
                Some(verdict) => {
                    assert_eq!(verdict, text.contains("needle"), "{number}");
                    known += 1;
                }
                None => assert!(number >= 200, "{number}"),
            }
            let mut entry = Entry::decode(&snapshot.get(id).unwrap().unwrap().content).unwrap();
            crate::repo::restored(&*snapshot, &mut entry.body).unwrap();
            assert_eq!(entry.body.get("content").and_then(Value::as_text), Some(text.as_str()));
        }
        assert!(known > 150, "{known}");
    }

    #[test]
    fn of_a_damaged_block_nothing_is_said_and_all_else_is_readable() {
        let dir = tempfile::tempdir().unwrap();
        let store = LocalStore::init(Arc::new(OsDisk), dir.path(), Options::default());
        let store = Arc::new(store.unwrap().0);
        let repo = Repo::on(store.clone());
        let ids = say(&repo, &texts());
        store.repack().unwrap();
        drop((repo, store));
        let packs = dir.path().join("objects/pack");
        let mut files = std::fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path());
        let pack = files.find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
        let mut bytes = std::fs::read(&pack).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&pack, bytes).unwrap();
        let store = LocalStore::open(Arc::new(OsDisk), dir.path(), Options::default()).unwrap();
        let repo = Repo::on(Arc::new(store));
        let snapshot = repo.snapshot().unwrap();
        let verdicts = snapshot.sift(&|_| false).unwrap();
        let unknown: Vec<&Id> = ids.iter().filter(|id| verdicts(id).unwrap().is_none()).collect();
        assert!(!unknown.is_empty());
        for id in ids.iter().filter(|id| !unknown.contains(id)) {
            assert!(snapshot.get(id).unwrap().is_some());
        }
    }
}
