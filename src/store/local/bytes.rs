//! Finding bytes, without asking what the processor can do.
//!
//! The functions of `memchr` ask when one of them is first used. That takes ten `cpuid`
//! instructions, each of which a hypervisor has to answer: 4.4 µs was measured, so asking takes as
//! long as the rest of a short read. What every x86-64 processor can do is enough for lines of refs
//! and for marks in a block; long searches go on using the crate's own choice.

/// Finds the first place of a byte.
#[cfg(target_arch = "x86_64")]
pub(super) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    use memchr::arch::x86_64::sse2::memchr::One;
    One::new(byte).expect("SSE2 is part of x86-64").find(bytes)
}

/// Finds the first place of a byte.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    memchr::memchr(byte, bytes)
}

/// Finds the last place of a byte.
#[cfg(target_arch = "x86_64")]
pub(super) fn find_last(byte: u8, bytes: &[u8]) -> Option<usize> {
    use memchr::arch::x86_64::sse2::memchr::One;
    One::new(byte).expect("SSE2 is part of x86-64").rfind(bytes)
}

/// Finds the last place of a byte.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn find_last(byte: u8, bytes: &[u8]) -> Option<usize> {
    memchr::memrchr(byte, bytes)
}

/// A text of two bytes or more that is searched for again and again.
pub(super) struct Text<'t> {
    text: &'t [u8],
    #[cfg(target_arch = "x86_64")]
    finder: memchr::arch::x86_64::sse2::packedpair::Finder,
}

#[cfg(target_arch = "x86_64")]
impl<'t> Text<'t> {
    pub(super) fn new(text: &'t [u8]) -> Text<'t> {
        use memchr::arch::x86_64::sse2::packedpair::Finder;
        let finder = Finder::new(text).expect("SSE2 is part of x86-64, and there is a pair");
        Text { text, finder }
    }

    /// Finds its first place.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        match bytes.len() < self.finder.min_haystack_len() {
            true => bytes.windows(self.text.len()).position(|window| window == self.text),
            false => self.finder.find(bytes, self.text),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl<'t> Text<'t> {
    pub(super) fn new(text: &'t [u8]) -> Text<'t> {
        Text { text }
    }

    /// Finds its first place.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        memchr::memmem::find(bytes, self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_found_is_the_first_or_last(bytes in proptest::collection::vec(0u8..3, 0..80)) {
            prop_assert_eq!(find(1, &bytes), bytes.iter().position(|byte| *byte == 1));
            prop_assert_eq!(find_last(1, &bytes), bytes.iter().rposition(|byte| *byte == 1));
            for text in [&[1, 2][..], &[1, 1], &[0, 2, 1, 0]] {
                let expected = bytes.windows(text.len()).position(|window| window == text);
                prop_assert_eq!(Text::new(text).find(&bytes), expected);
            }
        }
    }
}
