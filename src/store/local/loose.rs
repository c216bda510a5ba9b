//! Loose files: one object each, `objects/3f/9a…`, for objects too large for a pack and for
//! plumbing.
//!
//! A file is one zstd frame of `"<kind> <len>\0" + content`, so that `zstd -dc FILE | b3sum` prints
//! its name. It is written aside, synced and renamed, and its directory is synced: what has a final
//! name is whole, and durable by the time [`Loose::put`] returns.
//!
//! Another process may see the name before its directory is synced. Who relies on a loose file that
//! it did not write calls [`Loose::vouch`] first.
//!
//! What is set aside as cruft has another name (see `aside`): it is not there any more to writers.

mod aside;
mod identify;

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::{self, Disk, DiskFile, OpenMode};
use crate::error::{Error, Result};
use crate::id::{HEADER_BYTES_MAX, Header, Id, IdHasher, Kind, Prefix};
use crate::store::local::layout::Layout;
use crate::store::{OBJECT_BYTES_MAX, Stored, Streamed};

/// Objects of this many bytes of content, and more, are loose files and stay so.
pub(crate) const LOOSE_BYTES_MIN: u64 = 256 << 10;

/// How the names of files that are being written begin.
pub(crate) const INCOMING: &str = "incoming";

const ZSTD_LEVEL: i32 = 3;

/// The loose files of one store.
#[derive(Debug)]
pub(crate) struct Loose {
    disk: Arc<dyn Disk>,
    layout: Layout,
    vouched: Mutex<Vouched>,
}

/// The files whose names a handle knows to be durable.
#[derive(Debug, Default)]
struct Vouched {
    ids: HashSet<Id>,
    /// How often all was forgotten.
    epoch: u64,
}

impl Loose {
    pub(crate) fn new(disk: Arc<dyn Disk>, layout: Layout) -> Loose {
        Loose { disk, layout, vouched: Mutex::default() }
    }

    /// Stores an object, durably.
    pub(crate) fn put(&self, id: &Id, kind: Kind, content: &[u8]) -> Result<()> {
        if self.contains(id)? {
            return self.vouch(id);
        }
        let bytes = content.len() as u64;
        let stored = self.put_stream(kind, &mut &content[..], bytes, &|_| Ok(()))?;
        if stored != *id {
            let why = format!("{id} is not the hash of its content");
            let kind = kind.name();
            return Err(Error::InvalidObject { kind, why });
        }
        Ok(())
    }

    /// Stores an object of known length from a stream, durably, and gives its id, if `check` takes
    /// it.
    ///
    /// A crash leaves nothing under a final name.
    pub(crate) fn put_stream(
        &self,
        kind: Kind,
        source: &mut dyn Read,
        bytes: u64,
        check: &dyn Fn(&Id) -> Result<()>,
    ) -> Result<Id> {
        if bytes > OBJECT_BYTES_MAX {
            let limit = OBJECT_BYTES_MAX;
            return Err(Error::TooLarge { what: "an object", found: bytes, limit });
        }
        let objects_dir = self.layout.objects_dir();
        let incoming = objects_dir.join(INCOMING);
        let aside = disk::aside(&*self.disk, &incoming).map_err(Error::io("name", &incoming))?;
        let stored = self.write_aside(&aside, kind, source, bytes).and_then(|id| {
            check(&id)?;
            let path = self.layout.loose(&id);
            let dir = path.parent().expect("a loose file stands in a directory");
            self.disk.create_dir(dir).map_err(Error::io("create", dir))?;
            self.disk.rename(&aside, &path).map_err(Error::io("rename", &path))?;
            Ok(id)
        });
        if stored.is_err() {
            // Best effort: the error that counts is the one above.
            let _ = self.disk.remove(&aside);
        }
        let id = stored?;
        // Whatever was known of a file of this name: this one is another.
        self.sync_name(&id)?;
        Ok(id)
    }

    fn write_aside(
        &self,
        aside: &Path,
        kind: Kind,
        source: &mut dyn Read,
        bytes: u64,
    ) -> Result<Id> {
        let io = |action| Error::io(action, aside);
        let file = self.disk.open(aside, OpenMode::CreateNew).map_err(io("create"))?;
        let header = Header::new(kind, bytes);
        let header = header.bytes();
        let mut hasher = IdHasher::new(kind, bytes);
        let copied = (|| -> io::Result<u64> {
            let out = io::BufWriter::with_capacity(1 << 17, disk::Writer::new(&*file));
            let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
            encoder.set_pledged_src_size(Some(header.len() as u64 + bytes))?;
            encoder.include_contentsize(true)?;
            encoder.write_all(header)?;
            let mut copied = 0;
            let mut buffer = vec![0; 1 << 17];
            loop {
                let count = source.read(&mut buffer)?;
                copied += count as u64;
                if count == 0 || copied > bytes {
                    break;
                }
                hasher.update(&buffer[..count]);
                encoder.write_all(&buffer[..count])?;
            }
            if copied == bytes {
                encoder.finish()?.flush()?;
            }
            Ok(copied)
        })()
        .map_err(io("write"))?;
        if copied != bytes {
            let why = format!("expected {bytes} bytes, the source gave another number");
            return Err(Error::InvalidObject { kind: kind.name(), why });
        }
        file.sync_data().map_err(io("sync"))?;
        Ok(hasher.finish())
    }

    /// Makes sure that an object's name is durable, once per handle.
    pub(crate) fn vouch(&self, id: &Id) -> Result<()> {
        let is_vouched = self.vouched().ids.contains(id);
        if is_vouched { Ok(()) } else { self.sync_name(id) }
    }

    /// Makes an object's name durable. It is remembered if the file is there, and was all the time.
    fn sync_name(&self, id: &Id) -> Result<()> {
        let epoch = self.vouched().epoch;
        let path = self.layout.loose(id);
        let dir = path.parent().expect("a loose file stands in a directory");
        self.disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        let objects_dir = self.layout.objects_dir();
        self.disk.sync_dir(&objects_dir).map_err(Error::io("sync", &objects_dir))?;
        let is_there = self.contains(id)?;
        let mut vouched = self.vouched();
        if is_there && vouched.epoch == epoch {
            vouched.ids.insert(*id);
        }
        Ok(())
    }

    /// Forgets which names are durable: files were set aside, and may be written again by others.
    pub(crate) fn forget_vouched(&self) {
        let mut vouched = self.vouched();
        vouched.ids.clear();
        vouched.epoch += 1;
    }

    fn vouched(&self) -> std::sync::MutexGuard<'_, Vouched> {
        self.vouched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether there is a file with this object's name.
    pub(crate) fn contains(&self, id: &Id) -> Result<bool> {
        let path = self.layout.loose(id);
        match self.disk.len(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("look for", path)(error)),
        }
    }

    /// Reads an object, checked against its id.
    pub(crate) fn get(&self, id: &Id) -> Result<Option<Stored>> {
        self.get_at(self.layout.loose(id), id)
    }

    fn get_at(&self, path: PathBuf, id: &Id) -> Result<Option<Stored>> {
        let Some((path, file)) = self.open(path)? else {
            return Ok(None);
        };
        let (kind, content) = read_whole(&*file).map_err(|error| unreadable(&path, error))?;
        if Id::of(kind, &content) != *id {
            return Err(Error::corrupt(path, None, "its content does not match its name"));
        }
        Ok(Some(Stored { kind, content: content.into() }))
    }

    /// Opens a large object, to be read piece by piece and checked by who reads it.
    pub(crate) fn stream(&self, id: &Id) -> Result<Option<Streamed>> {
        let Some((path, file)) = self.open(self.layout.loose(id))? else {
            return Ok(None);
        };
        let opened = begin(file).map_err(|error| unreadable(&path, error))?;
        let (kind, bytes, content) = opened;
        let is_large = bytes >= LOOSE_BYTES_MIN;
        Ok(is_large.then(|| Streamed { kind, bytes, content: Box::new(content) }))
    }

    /// Reads an object through and checks it against its id. Of a blob nothing is kept.
    pub(crate) fn verify(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>> {
        self.verify_at(self.layout.loose(id), id)
    }

    fn verify_at(&self, path: PathBuf, id: &Id) -> Result<Option<(Kind, Vec<u8>)>> {
        match self.identify(&path)? {
            Some((found, kind, content)) if found == *id => Ok(Some((kind, content))),
            Some(_) => Err(Error::corrupt(path, None, "its content does not match its name")),
            None => Ok(None),
        }
    }

    /// Gives an object's kind, as its file says.
    pub(crate) fn kind(&self, id: &Id) -> Result<Option<Kind>> {
        Ok(self.header(id)?.map(|(kind, _)| kind))
    }

    /// Gives an object's kind and the length of its content, as its file says.
    pub(crate) fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>> {
        self.header_at(self.layout.loose(id))
    }

    fn header_at(&self, path: PathBuf) -> Result<Option<(Kind, u64)>> {
        let Some((path, file)) = self.open(path)? else {
            return Ok(None);
        };
        let header = begin(&*file).map(|(kind, bytes, _)| (kind, bytes));
        header.map(Some).map_err(|error| unreadable(&path, error))
    }

    fn open(&self, path: PathBuf) -> Result<Option<(PathBuf, Box<dyn DiskFile>)>> {
        match self.disk.open(&path, OpenMode::Read) {
            Ok(file) => Ok(Some((path, file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("open", path)(error)),
        }
    }

    /// Removes an object's file, if there is one.
    pub(crate) fn remove(&self, id: &Id) -> Result<()> {
        self.vouched().ids.remove(id);
        self.remove_at(&self.layout.loose(id))
    }

    fn remove_at(&self, path: &Path) -> Result<()> {
        disk::remove_if_there(&*self.disk, path).map_err(Error::io("remove", path))
    }

    /// Lists the ids with a prefix, in order; `None` if no file with its first digits ever was.
    pub(crate) fn with_prefix(&self, prefix: &Prefix) -> Result<Option<Vec<Id>>> {
        let listed = self.list_fan(&prefix.low().short(2))?;
        let ids = |listed: Vec<(Id, u64)>| listed.into_iter().map(|(id, _)| id);
        Ok(listed.map(|listed| ids(listed).filter(|id| prefix.matches(id)).collect()))
    }

    /// Says of each byte whether the ids of loose objects begin with it, or ever did.
    pub(crate) fn first_bytes(&self) -> Result<Vec<bool>> {
        let dir = self.layout.objects_dir();
        let mut firsts = vec![false; 256];
        for entry in self.disk.list(&dir).map_err(Error::io("list", &dir))? {
            if let Ok(byte) = u8::from_str_radix(&entry.name, 16) {
                firsts[usize::from(byte)] = true;
            }
        }
        Ok(firsts)
    }

    /// Lists every loose object and the length of its file, in order.
    pub(crate) fn list(&self) -> Result<Vec<(Id, u64)>> {
        let dir = self.layout.objects_dir();
        let mut all = Vec::new();
        for entry in self.disk.list(&dir).map_err(Error::io("list", &dir))? {
            if entry.is_dir && entry.name.len() == 2 {
                all.extend(self.list_fan(&entry.name)?.into_iter().flatten());
            }
        }
        Ok(all)
    }

    /// Lists the files of a directory; `None` if there is none. A directory stays when the last
    /// file in it goes.
    fn list_fan(&self, fan: &str) -> Result<Option<Vec<(Id, u64)>>> {
        let dir = self.layout.loose_dir(fan);
        let entries = match self.disk.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            listed => listed.map_err(Error::io("list", &dir))?,
        };
        let parse = |name: &str| Id::from_str(&format!("{fan}{name}")).ok();
        let files = entries.iter().filter_map(|entry| Some((parse(&entry.name)?, entry.bytes)));
        Ok(Some(files.collect()))
    }
}

type Frame<F> = zstd::stream::read::Decoder<'static, io::BufReader<disk::Reader<F>>>;

/// Tells a disk that failed from a file that is damaged.
fn unreadable(path: &Path, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::io("read", path)(error),
        None => Error::corrupt(path, None, error.to_string()),
    }
}

/// Reads the header, and gives the rest of the frame.
fn begin<F: Deref<Target = dyn DiskFile>>(file: F) -> io::Result<(Kind, u64, Frame<F>)> {
    let mut frame = zstd::stream::read::Decoder::new(disk::Reader::new(file))?;
    let mut header = Vec::with_capacity(HEADER_BYTES_MAX);
    loop {
        let mut byte = [0];
        frame.read_exact(&mut byte)?;
        if byte[0] == 0 {
            break;
        }
        header.push(byte[0]);
        if header.len() == HEADER_BYTES_MAX {
            return Err(io::Error::other("it has no object header"));
        }
    }
    let (kind, bytes) =
        parse_header(&header).ok_or_else(|| io::Error::other("its object header is not one"))?;
    if bytes > OBJECT_BYTES_MAX {
        return Err(io::Error::other(format!(
            "it claims {bytes} bytes, more than an object may have"
        )));
    }
    Ok((kind, bytes, frame))
}

fn parse_header(header: &[u8]) -> Option<(Kind, u64)> {
    let (kind, bytes) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    Some((Kind::from_str(kind).ok()?, bytes.parse().ok()?))
}

/// Reads the whole frame, growing with what is there and not with what is claimed.
pub(crate) fn read_whole(file: &(dyn DiskFile + 'static)) -> io::Result<(Kind, Vec<u8>)> {
    let (kind, bytes, frame) = begin(file)?;
    let mut content = Vec::new();
    frame.take(bytes + 1).read_to_end(&mut content)?;
    if content.len() as u64 != bytes {
        return Err(io::Error::other(format!(
            "it claims {bytes} bytes of content and has another number"
        )));
    }
    Ok((kind, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    fn loose(dir: &Path) -> Loose {
        let layout = Layout::new(dir);
        OsDisk.create_dir(&layout.objects_dir()).unwrap();
        Loose::new(Arc::new(OsDisk), layout)
    }

    #[test]
    fn a_loose_file_unpacks_to_what_its_name_is_the_hash_of() {
        let dir = tempfile::tempdir().unwrap();
        let loose = loose(dir.path());
        let content = b"a long string ".repeat(1000);
        let id = loose
            .put_stream(Kind::Blob, &mut &content[..], content.len() as u64, &|_| Ok(()))
            .unwrap();
        let file = disk::read_file(&OsDisk, &loose.layout.loose(&id), 1 << 20).unwrap();
        let raw = zstd::decode_all(&file[..]).unwrap();
        assert_eq!(blake3::hash(&raw).to_string(), id.to_string());
        assert_eq!(&*loose.get(&id).unwrap().unwrap().content, &content[..]);
        assert_eq!(loose.kind(&id).unwrap(), Some(Kind::Blob));
        assert_eq!(loose.list().unwrap()[0].0, id);
        let firsts = loose.first_bytes().unwrap();
        assert!((0..=255).all(|byte| firsts[usize::from(byte)] == (byte == id.as_bytes()[0])));
    }

    #[test]
    fn a_source_of_another_length_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let loose = loose(dir.path());
        for claimed in [4, 6] {
            let put = loose.put_stream(Kind::Blob, &mut &b"hello"[..], claimed, &|_| Ok(()));
            assert!(put.is_err());
        }
        assert!(OsDisk.list(&loose.layout.objects_dir()).unwrap().is_empty());
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let loose = loose(dir.path());
        let id = loose.put_stream(Kind::Blob, &mut &b"hello, hello"[..], 12, &|_| Ok(())).unwrap();
        let path = loose.layout.loose(&id);
        let good = disk::read_file(&OsDisk, &path, 1 << 20).unwrap();
        let check = |bad: &[u8]| {
            disk::replace_file(&OsDisk, &path, bad).unwrap();
            match loose.get(&id) {
                Ok(Some(stored)) => assert_eq!(&*stored.content, b"hello, hello"),
                found => assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}"),
            }
        };
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0x10;
            check(&bad);
            check(&good[..place]);
        }
    }
}
