//! Frames that hold their content as it is.
//!
//! They are frames of zstd like all others, so whatever reads zstd reads them: here they need no
//! decompressor. Who reads only the newest objects, which lie in such a frame, spends more time on
//! making one than on all else.
//!
//! ```text
//!  0  magic     4   28 b5 2f fd
//!  4  form      1   a0: the length of the content follows, in 4 bytes, and no window
//!  5  length    4   of the content
//!  9  block     3   1 (it is the last one, and not compressed) + 8 x the length of the content
//! 12  content
//! ```

/// Magic and form.
const BEGIN: [u8; 5] = [0x28, 0xb5, 0x2f, 0xfd, 0xa0];
const HEADER_BYTES: usize = BEGIN.len() + 4 + 3;
/// The longest content: as much as zstd has in one block.
pub(super) const STORED_BYTES_MAX: usize = 128 << 10;

/// Makes a frame of content that is not too long.
pub(super) fn frame(content: &[u8]) -> Vec<u8> {
    assert!(content.len() <= STORED_BYTES_MAX, "a longer one needs several blocks");
    [&header(content.len())[..], content].concat()
}

/// Gives the content of a frame, if it is held as it is.
pub(super) fn content(frame: &[u8]) -> Option<&[u8]> {
    let (found, content) = frame.split_first_chunk::<HEADER_BYTES>()?;
    (content.len() <= STORED_BYTES_MAX && *found == header(content.len())).then_some(content)
}

fn header(bytes: usize) -> [u8; HEADER_BYTES] {
    let length = (bytes as u32).to_le_bytes();
    let block = (1 | (bytes as u32) << 3).to_le_bytes();
    let mut header = [0; HEADER_BYTES];
    header[..5].copy_from_slice(&BEGIN);
    header[5..9].copy_from_slice(&length);
    header[9..].copy_from_slice(&block[..3]);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zstd_reads_it_and_so_do_we() {
        for bytes in [0, 1, 255, 256, 16 << 10, (128 << 10) - 1, 128 << 10] {
            let text: Vec<u8> = (0..bytes).map(|at| ((at * at) >> 5) as u8).collect();
            let stored = frame(&text);
            assert_eq!(content(&stored), Some(&text[..]));
            assert_eq!(zstd::bulk::decompress(&stored, bytes).unwrap(), text);
        }
    }

    #[test]
    fn nothing_else_is_taken_for_one() {
        let stored = frame(b"some text, and some more text");
        for at in 0..HEADER_BYTES {
            let mut other = stored.clone();
            other[at] ^= 1;
            assert_eq!(content(&other), None);
        }
        assert_eq!(content(&stored[..stored.len() - 1]), None);
        assert_eq!(content(&[&stored[..], b"."].concat()), None);
        let pressed = zstd::bulk::compress(&[7; 1000], 3).unwrap();
        assert_eq!(content(&pressed), None);
    }
}
