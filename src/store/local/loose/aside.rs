//! Loose files that are cruft: `objects/cruft/3f/9a….<since>`, where `since` is a time in
//! milliseconds since 1970, in 16 hexadecimal digits.
//!
//! A file gets there by a rename, under the writer lock, after a manifest was published that says
//! so; a writer that relied on it looks again then, and finds it gone. Readers find it still.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use super::Loose;
use crate::disk;
use crate::error::{Error, Result};
use crate::id::{Id, Kind, Prefix};
use crate::store::Stored;

/// A loose file that is cruft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) id: Id,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: i64,
    /// How long the file is.
    pub(crate) bytes: u64,
}

impl Loose {
    /// Sets a file aside. The caller holds the writer lock, and has published that it does so.
    pub(crate) fn set_aside(&self, id: &Id, since_ms: i64) -> Result<()> {
        let (from, to) = (self.layout.loose(id), self.layout.cruft(id, since_ms));
        let dir = to.parent().expect("it stands in a directory");
        self.disk.create_dir(dir).map_err(Error::io("create", dir))?;
        match self.disk.rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed.map_err(Error::io("rename", from)),
        }
    }

    /// Makes the names of files durable that were set aside.
    pub(crate) fn sync_aside(&self, ids: &[Id]) -> Result<()> {
        let mut fans: Vec<String> = ids.iter().map(|id| id.short(2)).collect();
        fans.sort_unstable();
        fans.dedup();
        for fan in fans {
            for dir in [self.layout.cruft_fan(&fan), self.layout.loose_dir(&fan)] {
                self.disk.sync_dir(&dir).map_err(Error::io("sync", dir))?;
            }
        }
        for dir in [self.layout.cruft_dir(), self.layout.objects_dir()] {
            self.disk.sync_dir(&dir).map_err(Error::io("sync", dir))?;
        }
        Ok(())
    }

    /// Reads an object that is cruft, checked against its id.
    pub(crate) fn get_aside(&self, id: &Id) -> Result<Option<Stored>> {
        match self.find_aside(id)? {
            Some(aside) => self.get_at(self.layout.cruft(id, aside.since_ms), id),
            None => Ok(None),
        }
    }

    /// Gives the kind of an object that is cruft.
    pub(crate) fn kind_aside(&self, id: &Id) -> Result<Option<Kind>> {
        match self.find_aside(id)? {
            Some(aside) => {
                let header = self.header_at(self.layout.cruft(id, aside.since_ms))?;
                Ok(header.map(|(kind, _)| kind))
            }
            None => Ok(None),
        }
    }

    /// Reads a file that is cruft through, and checks it against its id.
    pub(crate) fn verify_aside(&self, aside: &Aside) -> Result<Option<(Kind, Vec<u8>)>> {
        self.verify_at(self.layout.cruft(&aside.id, aside.since_ms), &aside.id)
    }

    /// Removes a file that is cruft, and its directory with the last one. Who calls holds the
    /// maintenance lock, as who sets aside does.
    pub(crate) fn remove_aside(&self, aside: &Aside) -> Result<()> {
        let path = self.layout.cruft(&aside.id, aside.since_ms);
        self.remove_at(&path)?;
        let dir = path.parent().expect("it stands in a directory");
        disk::remove_if_empty(&*self.disk, dir).map(drop).map_err(Error::io("remove", dir))
    }

    /// Finds the file of an object that is cruft.
    pub(crate) fn find_aside(&self, id: &Id) -> Result<Option<Aside>> {
        let listed = self.list_aside_fan(&id.short(2))?;
        Ok(listed.into_iter().find(|aside| aside.id == *id))
    }

    /// Lists the ids of cruft with a prefix, in order.
    pub(crate) fn with_prefix_aside(&self, prefix: &Prefix) -> Result<Vec<Id>> {
        let listed = self.list_aside_fan(&prefix.low().short(2))?;
        Ok(listed.into_iter().map(|aside| aside.id).filter(|id| prefix.matches(id)).collect())
    }

    /// Lists every file that is cruft.
    pub(crate) fn list_aside(&self) -> Result<Vec<Aside>> {
        let dir = self.layout.cruft_dir();
        let fans = match self.disk.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(Error::io("list", dir))?,
        };
        let mut all = Vec::new();
        for fan in fans.into_iter().filter(|entry| entry.is_dir && entry.name.len() == 2) {
            all.extend(self.list_aside_fan(&fan.name)?);
        }
        Ok(all)
    }

    fn list_aside_fan(&self, fan: &str) -> Result<Vec<Aside>> {
        let dir: PathBuf = self.layout.cruft_fan(fan);
        let entries = match self.disk.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listed => listed.map_err(Error::io("list", dir))?,
        };
        let parse = |name: &str, bytes: u64| {
            let (rest, since) = name.split_once('.').filter(|(_, since)| since.len() == 16)?;
            let id = Id::from_str(&format!("{fan}{rest}")).ok()?;
            let since_ms = u64::from_str_radix(since, 16).ok()? as i64;
            Some(Aside { id, since_ms, bytes })
        };
        Ok(entries.iter().filter_map(|entry| parse(&entry.name, entry.bytes)).collect())
    }
}
