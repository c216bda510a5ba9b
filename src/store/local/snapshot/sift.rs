//! Sifting: all objects of packs are looked at once, block by block, by two threads.
//!
//! Who searches all that was said and asks for one object after the other unpacks blocks where they
//! are met: some twice, in both threads or because they were let go meanwhile, and each into memory
//! that is new. Here every block is unpacked once, into room that is used again for the next, and
//! its objects are looked at where they lie.
//!
//! What will be read on is kept: what something was found in, and what such an entry links, as far
//! as it comes behind. So none of their blocks has to be unpacked again. Where something is found
//! in a blob behind its entry, the entry's block is: `gc` puts entries before blobs, so these are
//! few blocks.
//!
//! Invariants:
//! - what is looked at is checked as on a walk; what was kept is hashed when it is asked for;
//! - of what can't be read nothing is said: who reads it alone meets the error.

mod sight;

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem::Finder;

use super::LocalSnapshot;
use crate::error::Result;
use crate::id::{Id, IdMap, Kind};
use crate::object::{LINK_MARK, NewObject};
use crate::store::local::cache::BlockCache;
use crate::store::local::pack::{FoldedObject, Mark, Pack};
use crate::store::{Content, Finds, Stored};
use crate::threads::help_scoped;
use sight::{Link, Sight, list_links};

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
    cache: &'s BlockCache,
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
    /// Objects that will be read on, each with where it is in `bytes`.
    kept: Vec<(Id, Kind, Range<usize>)>,
    /// What they say, one behind the other: memory for each alone takes longer than the copy.
    bytes: Vec<u8>,
    /// What was found in the objects of the block that is looked at, by their numbers in it.
    noted: Vec<u8>,
    /// Room for the entry that is looked at, and for what it links.
    entry: Vec<u8>,
    links: Vec<Link>,
}

impl LocalSnapshot {
    /// Looks at all objects in packs, cruft left out, and says of each of these entries whether it
    /// is telling; `None` if there are no packs, or too many objects to be numbered.
    pub(super) fn sift_packs(
        &self,
        finds: Finds<'_>,
        list: &mut dyn FnMut() -> Vec<Id>,
    ) -> Option<Vec<Option<bool>>> {
        let packs = self.state.packs.iter().map(|pack| &**pack).collect();
        let sifting = Sifting::of(packs, &self.inner.cache, finds)?;
        let mut places = Vec::new();
        let findings = sifting.look_at_all(&mut || {
            // Where one can't be found, it can't be read either.
            let place = |id: &Id| sifting.place(id).ok().flatten().map(|(_, place)| place);
            places = list().iter().map(place).collect();
        });
        let mut kept = IdMap::default();
        for found in findings {
            for (entry, blob) in found.linked {
                let entry = &sifting.verdicts[entry as usize];
                match sifting.verdict(blob) {
                    Some(true) => entry.fetch_or(TELLING, Ordering::Relaxed),
                    Some(false) => continue,
                    None => entry.fetch_and(!LOOKED_AT, Ordering::Relaxed),
                };
            }
            let bytes = Arc::new(found.bytes);
            for (id, kind, range) in found.kept {
                kept.insert(id, Stored { kind, content: Content::part(Arc::clone(&bytes), range) });
            }
        }
        // Where it was sifted before, what was kept then will do.
        let _ = self.kept.set(kept);
        Some(places.iter().map(|place| sifting.verdict((*place)?)).collect())
    }

    /// Gives an object that was kept, checked against its id.
    pub(super) fn kept(&self, id: &Id) -> Option<Stored> {
        let stored = self.kept.get()?.get(id)?;
        (Id::of(stored.kind, &stored.content) == *id).then(|| stored.clone())
    }
}

impl<'s, 'f> Sifting<'s, 'f> {
    fn of(
        packs: Vec<&'s Pack>,
        cache: &'s BlockCache,
        finds: Finds<'f>,
    ) -> Option<Sifting<'s, 'f>> {
        if packs.is_empty() {
            return None;
        }
        let mut starts = Vec::with_capacity(packs.len());
        let mut objects = 0u32;
        for pack in &packs {
            starts.push(objects);
            objects = objects.checked_add(pack.len())?;
        }
        let verdicts = (0..objects).map(|_| AtomicU8::new(0)).collect();
        let link_mark = Finder::new(LINK_MARK);
        Some(Sifting { packs, cache, starts, verdicts, finds, link_mark })
    }

    /// Looks at all blocks, and gives what each thread found. This one does something else before,
    /// and looks at fewer.
    ///
    /// Where no thread can be had, one does all.
    fn look_at_all(&self, meanwhile: &mut dyn FnMut()) -> Vec<Findings> {
        let packs = self.packs.iter().enumerate();
        let blocks =
            packs.flat_map(|(number, pack)| (0..pack.blocks()).map(move |block| (number, block)));
        let blocks: Vec<(usize, u32)> = blocks.collect();
        let next = AtomicUsize::new(0);
        let all = Mutex::new(Vec::new());
        let look = |own: Option<(usize, u32)>, left: Option<(usize, u32)>| {
            // Room that grows is touched twice, and room that is never touched costs nothing.
            let bytes = Vec::with_capacity(KEPT_BYTES_MAX);
            let mut findings = Findings { bytes, ..Findings::default() };
            let others =
                std::iter::from_fn(|| blocks.get(next.fetch_add(1, Ordering::Relaxed)).copied());
            for (pack, block) in own.into_iter().chain(others.filter(|block| Some(*block) != left))
            {
                // Of a damaged block nothing is said.
                let _ = self.look_at(pack, block, &mut findings);
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).push(findings);
        };
        std::thread::scope(|scope| {
            // Who joined it would wait until all that it had is given back.
            let beside = || look(None, self.first_of(&blocks));
            let _ = help_scoped(scope, "sapwood-sift", beside);
            if let Some((pack, block)) = blocks.last() {
                // The helper, which begins later, lists meanwhile what stands in which block. Where
                // this fails, so does reading the block. (The first blocks are the dictionary.)
                let _ = self.packs[*pack].unpack_dictionary(*block);
            }
            // It has the events, which are read now: whoever looks at it finds it unpacked.
            let first = self.first_of(&blocks);
            if let Some((pack, block)) = first {
                let _ = self.packs[pack].block_of(block, self.cache, true);
            }
            meanwhile();
            look(first, first);
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the first block with objects.
    fn first_of(&self, blocks: &[(usize, u32)]) -> Option<(usize, u32)> {
        let has_objects = |(pack, block): &&(usize, u32)| {
            self.packs[*pack].block_rows(*block).is_ok_and(|rows| !rows.is_empty())
        };
        blocks.iter().find(has_objects).copied()
    }

    /// Looks at the objects of a block, and notes what was found in them once all of the block was
    /// seen to be whole.
    fn look_at(&self, number: usize, block: u32, findings: &mut Findings) -> Result<()> {
        let (pack, start) = (self.packs[number], self.starts[number]);
        let rows = pack.block_rows(block)?;
        if rows.is_empty() {
            return Ok(());
        }
        findings.noted.clear();
        let (linked, kept) = (findings.linked.len(), findings.kept.len());
        let seen = self.look_at_objects(pack, start, rows, block, findings);
        match seen {
            Ok(()) => rows.iter().zip(&findings.noted).for_each(|(row, found)| {
                self.verdicts[(start + row) as usize].fetch_or(*found, Ordering::Relaxed);
            }),
            Err(_) => {
                findings.linked.truncate(linked);
                findings.kept.truncate(kept);
            }
        }
        seen
    }

    fn look_at_objects(
        &self,
        pack: &Pack,
        start: u32,
        rows: &[u32],
        block: u32,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut sight = Sight::of(pack, start, rows);
        pack.pass(block, self.cache, &mut |object, marks| {
            let place = sight.place_of(object, block)?;
            let found = match object.kind {
                Kind::Entry => self.look_at_entry(place, object, marks, &sight, findings)?,
                Kind::Blob => found_in((self.finds)(object.content)),
                Kind::Event | Kind::Node | Kind::Session => 0,
            };
            findings.noted.push(found);
            let is_kept = match object.kind {
                Kind::Entry => found != LOOKED_AT,
                Kind::Blob => (found | self.known(place)) & (TELLING | WANTED) != 0,
                Kind::Event | Kind::Node | Kind::Session => false,
            };
            let content = match object.kind {
                Kind::Entry => &findings.entry,
                _ => object.content,
            };
            let from = findings.bytes.len();
            if is_kept && from + content.len() <= KEPT_BYTES_MAX {
                findings.bytes.extend_from_slice(content);
                let id = sight.id(object.number)?;
                findings.kept.push((id, object.kind, from..findings.bytes.len()));
            }
            Ok(())
        })
    }

    /// Looks at an entry, of which it puts together what it says, and gives what was found.
    fn look_at_entry(
        &self,
        place: u32,
        object: &FoldedObject<'_>,
        marks: &[Mark],
        sight: &Sight<'_>,
        findings: &mut Findings,
    ) -> Result<u8> {
        let Findings { linked, noted, entry: content, links, .. } = findings;
        content.clear();
        object.unfold(marks, |number, _| sight.id(number), content)?;
        list_links(marks, content, &self.link_mark, links);
        let is_telling = (self.finds)(content);
        let mut read = None;
        let mut found = found_in(is_telling);
        for link in links {
            let linked_object = match link {
                Link::Near(number) => Some((sight.met(*number), noted[*number])),
                Link::Any(id) => self.place(id)?.map(|(kind, it)| ((kind, it), self.known(it))),
            };
            match (linked_object, link) {
                (Some(((Kind::Blob, blob), _)), _) if is_telling => {
                    self.verdicts[blob as usize].fetch_or(WANTED, Ordering::Relaxed);
                }
                (Some(((Kind::Blob, blob), known)), _) => match verdict(known) {
                    Some(true) => found |= TELLING,
                    Some(false) => {}
                    None => linked.push((place, blob)),
                },
                // Two bytes of a text or of an id may look as if a link began there. An entry that
                // can't be read may have any.
                (None, Link::Any(id)) => {
                    let read =
                        read.get_or_insert_with(|| NewObject::parse(Kind::Entry, content.to_vec()));
                    if read.as_ref().map_or(true, |entry| entry.links().contains(id)) {
                        found &= !LOOKED_AT;
                    }
                }
                _ => {}
            }
        }
        Ok(found)
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

    /// Gives what is known of an object by now.
    fn known(&self, place: u32) -> u8 {
        self.verdicts[place as usize].load(Ordering::Relaxed)
    }

    /// Says whether something was found in an object, as far as is known by now.
    fn verdict(&self, place: u32) -> Option<bool> {
        verdict(self.known(place))
    }
}

/// Gives what is known of an object that was looked at alone.
fn found_in(is_telling: bool) -> u8 {
    if is_telling { LOOKED_AT | TELLING } else { LOOKED_AT }
}

/// Says whether something was found; `None` if not all was looked at that may tell.
fn verdict(known: u8) -> Option<bool> {
    match known & (LOOKED_AT | TELLING) {
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
        let finds = |bytes: &[u8]| needle.find(bytes).is_some();
        let verdicts = snapshot.sift(&finds, &mut || ids.clone()).unwrap();
        let mut known = 0;
        for (number, (id, text)) in ids.iter().zip(&texts).enumerate() {
            match verdicts[number] {
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
        let verdicts = snapshot.sift(&|_| false, &mut || ids.clone()).unwrap();
        let unknown = ids.iter().zip(&verdicts).filter(|(_, verdict)| verdict.is_none());
        let unknown: Vec<&Id> = unknown.map(|(id, _)| id).collect();
        assert!(!unknown.is_empty());
        for id in ids.iter().filter(|id| !unknown.contains(id)) {
            assert!(snapshot.get(id).unwrap().is_some());
        }
    }
}
