//! BLAKE3 for who hashes a little: without the widest registers.
//!
//! Where a processor has registers of 64 bytes, BLAKE3 hashes four chunks in them, or sixteen. On a
//! processor that did no such work before, that takes two or three times as long as later, for some
//! 100 µs: longer than a short read takes. Two chunks at once, or eight, go through registers of 32
//! bytes, which are always as fast. The hash is the same.
//!
//! Where a processor has no such registers, BLAKE3 is left to itself: it hashes four chunks at once
//! in little more time than two.
//!
//! Not here: what is long. There the widest registers pay.

use std::sync::OnceLock;

/// What BLAKE3 hashes by itself before it joins hashes.
const CHUNK_BYTES: usize = 1024;
/// What goes through registers of 32 bytes at once.
const TWO_CHUNKS: usize = 2 * CHUNK_BYTES;
const EIGHT_CHUNKS: usize = 8 * CHUNK_BYTES;

/// What BLAKE3 calls the processors on which it uses no registers of 64 bytes.
const WITHOUT_WIDEST: [&str; 6] = ["Portable", "SSE2", "SSE41", "AVX2", "NEON", "WASM32_SIMD"];

/// Feeds a hasher, two or eight chunks at once where that is quicker.
pub(super) fn update(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    match may_use_widest(hasher) {
        true => update_in_pieces(hasher, bytes),
        false => {
            hasher.update(bytes);
        }
    }
}

/// Says whether BLAKE3 may use registers of 64 bytes on this processor.
///
/// It asked the processor when it made its first hasher. To ask once more takes 18 to 37 µs under a
/// hypervisor, in each process; to read what a hasher says to people, and to nobody else, takes 2.
/// Where it says something else one day, pieces it is: the hash is the same.
fn may_use_widest(hasher: &blake3::Hasher) -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let said = format!("{hasher:?}");
        let mut words = said.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        !words.any(|word| WITHOUT_WIDEST.contains(&word))
    })
}

fn update_in_pieces(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        // A piece begins where pieces of its length do, so that all of it is hashed at once.
        let before = hasher.count();
        let piece_bytes = match before % EIGHT_CHUNKS as u64 {
            0 if rest.len() >= EIGHT_CHUNKS => EIGHT_CHUNKS,
            _ => TWO_CHUNKS - (before % TWO_CHUNKS as u64) as usize,
        };
        let (piece, behind) = rest.split_at(piece_bytes.min(rest.len()));
        hasher.update(piece);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hasher_says_is_understood() {
        let hasher = blake3::Hasher::new();
        assert_eq!(may_use_widest(&hasher), format!("{hasher:?}").contains("AVX512"), "{hasher:?}");
    }

    #[test]
    fn the_hash_is_the_same_however_it_is_fed() {
        let bytes: Vec<u8> = (0..40_000u32).map(|at| ((at * at) >> 5) as u8).collect();
        for len in [0, 1, 1023, 1024, 1025, 2048, 4095, 4096, 4097, 8192, 16_384, 30_001, 40_000] {
            for head in [0, 1, 44, 1024, 1025, 8192, 9000] {
                let (head, rest) = bytes[..len].split_at(head.min(len));
                let mut hasher = blake3::Hasher::new();
                hasher.update(head);
                let mut in_pieces = hasher.clone();
                update(&mut hasher, rest);
                update_in_pieces(&mut in_pieces, rest);
                let expected = blake3::hash(&bytes[..len]);
                assert_eq!(hasher.finalize(), expected, "{} of {len}", head.len());
                assert_eq!(in_pieces.finalize(), expected, "{} of {len}", head.len());
            }
        }
    }
}
