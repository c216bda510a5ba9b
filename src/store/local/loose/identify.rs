//! Finding out which object a loose file holds, whatever its name says.

use std::io::Read;
use std::path::Path;

use super::{Loose, begin, unreadable};
use crate::error::{Error, Result};
use crate::id::{Id, IdHasher, Kind};

impl Loose {
    /// Reads a file through, and gives the object that it holds; `None` if there is no file. Of a
    /// blob no content is kept.
    pub(crate) fn identify(&self, path: &Path) -> Result<Option<(Id, Kind, Vec<u8>)>> {
        let Some((path, file)) = self.open(path.to_owned())? else {
            return Ok(None);
        };
        let failed = |error| unreadable(&path, error);
        let (kind, bytes, mut frame) = begin(&*file).map_err(failed)?;
        let mut hasher = IdHasher::new(kind, bytes);
        let (mut content, mut buffer) = (Vec::new(), vec![0; 1 << 17]);
        let mut copied = 0;
        loop {
            let count = frame.read(&mut buffer).map_err(failed)?;
            copied += count as u64;
            if count == 0 || copied > bytes {
                break;
            }
            hasher.update(&buffer[..count]);
            if kind != Kind::Blob {
                content.extend_from_slice(&buffer[..count]);
            }
        }
        match copied == bytes {
            true => Ok(Some((hasher.finish(), kind, content))),
            false => Err(Error::corrupt(path, None, "its content does not match its name")),
        }
    }
}
