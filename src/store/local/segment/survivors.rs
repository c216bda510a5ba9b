//! What survived behind the end of a segment, after a crash that took what was before it.

use crate::error::{Error, Result};
use crate::store::local::group::{ALIGNMENT, Prefix};
use crate::store::local::segment::Segment;

/// How far behind the end survivors are looked for.
const SURVIVORS_BYTES_MAX: u64 = 64 << 20;

/// How much is looked at together where a segment should hold nothing but zeros: a multiple of the
/// alignment.
const ZEROS_BYTES: usize = 1 << 16;

impl Segment {
    /// Finds the largest `synced` of the groups that survived behind the end, whole in their heads.
    pub(crate) fn claim_of_survivors(&self) -> Result<u64> {
        let end = self.table().end;
        let limit = self.bytes.min(end.saturating_add(SURVIVORS_BYTES_MAX));
        let Some(begin) = self.first_written(end, limit)? else {
            return Ok(0);
        };
        let mut rest = vec![0; (limit - begin) as usize];
        let count =
            self.file.read_full_at(&mut rest, begin).map_err(Error::io("read", &self.path))?;
        rest.truncate(count);
        let mut claim = 0;
        for start in (0..rest.len()).step_by(ALIGNMENT as usize) {
            let offset = begin + start as u64;
            if let Some(prefix) = Prefix::read(&rest[start..], offset, self.bytes)
                && prefix.outline(&rest[start..], &self.salt).is_some()
            {
                claim = claim.max(prefix.synced);
            }
        }
        Ok(claim)
    }

    /// Finds the first stretch that holds anything but the zeros of a new segment.
    fn first_written(&self, end: u64, limit: u64) -> Result<Option<u64>> {
        let mut stretch = vec![0u8; ZEROS_BYTES];
        for at in (end..limit).step_by(ZEROS_BYTES) {
            let piece = &mut stretch[..ZEROS_BYTES.min((limit - at) as usize)];
            let count = self.file.read_full_at(piece, at).map_err(Error::io("read", &self.path))?;
            if piece[..count].iter().fold(0, |all, byte| all | byte) != 0 {
                return Ok(Some(at));
            }
            if count < piece.len() {
                break;
            }
        }
        Ok(None)
    }
}
