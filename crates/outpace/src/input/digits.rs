//! Sixteen bytes of text at a time: finds digits, spaces and newlines, and computes the value of digits.
//!
//! On x86-64 by SSE2, which all of these processors have; elsewhere (and on the portable path) by words of eight bytes.
//! This file's tests compare both with naive twins.

/// Sixteen bytes.
pub(super) type Chunk = [u8; CHUNK];

pub(super) const CHUNK: usize = 16;

/// The bytes around a place: a chunk before it and two from it on.
pub(super) type View = [u8; 3 * CHUNK];

/// The bytes around `at`; `None` near either end of the window.
#[inline(always)]
pub(super) fn view(window: &[u8], at: usize) -> Option<&View> {
    window.get(at.wrapping_sub(CHUNK)..)?.first_chunk()
}

/// As many bytes as a word has bits.
pub(super) const BLOCK: usize = 64;

/// A bit for each byte that is not a digit.
#[inline(always)]
pub(super) fn non_digits_in(block: &[u8; BLOCK]) -> u64 {
    let part = |at| u64::from(non_digits(chunk(block, at)));
    part(0) | part(CHUNK) << 16 | part(2 * CHUNK) << 32 | part(3 * CHUNK) << 48
}

/// The chunk of a view that begins at `from`.
#[inline(always)]
pub(super) fn chunk<const LENGTH: usize>(view: &[u8; LENGTH], from: usize) -> &Chunk {
    view[from..]
        .first_chunk()
        .expect("a view has a chunk from there on")
}

/// Whether a byte separates tokens: space, tab, newline, vertical tab, form feed or carriage return.
#[inline(always)]
pub(super) const fn is_space(byte: u8) -> bool {
    byte == b' ' || byte.wrapping_sub(b'\t') < 5
}

/// The first byte from `from` on that matches: by `mask` in whole chunks, by `is` in the rest.
#[inline(always)]
fn find(
    window: &[u8],
    from: usize,
    mask: impl Fn(&Chunk) -> u32,
    is: impl Fn(u8) -> bool,
) -> Option<usize> {
    let mut at = from;
    while let Some(chunk) = window.get(at..)?.first_chunk() {
        let found = mask(chunk);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += CHUNK;
    }
    let rest = window.get(at..)?.iter().position(|&byte| is(byte))?;
    Some(at + rest)
}

/// The first space from `from` on.
#[inline]
pub(super) fn find_space(window: &[u8], from: usize) -> Option<usize> {
    find(window, from, arch::spaces, is_space)
}

/// The first newline from `from` on.
#[inline]
pub(super) fn find_newline(window: &[u8], from: usize) -> Option<usize> {
    find(window, from, arch::newlines, |byte| byte == b'\n')
}

/// The number of newlines.
pub(super) fn count_newlines(bytes: &[u8]) -> u64 {
    // Sums of bytes, which the compiler vectorizes: at most 255 fit a byte, and 224 bytes are whole vectors.
    let sum = |bytes: &[u8]| -> u8 { bytes.iter().map(|&byte| u8::from(byte == b'\n')).sum() };
    bytes.chunks(224).map(|part| u64::from(sum(part))).sum()
}

/// A bit for each byte that is not a digit.
#[inline(always)]
pub(super) fn non_digits(chunk: &Chunk) -> u32 {
    arch::non_digits(chunk)
}

/// The value of the last `digits` bytes, all of them digits, at most 16.
#[inline(always)]
pub(super) fn value(chunk: &Chunk, digits: usize) -> u64 {
    debug_assert!(digits <= CHUNK && chunk[CHUNK - digits..].iter().all(u8::is_ascii_digit));
    /// From index `digits` on: a mask of the last `digits` bytes.
    static MASKS: [u8; 2 * CHUNK] = {
        let mut masks = [0; 2 * CHUNK];
        let mut at = CHUNK;
        while at < 2 * CHUNK {
            masks[at] = 0x0f;
            at += 1;
        }
        masks
    };
    let mask = MASKS[digits..].first_chunk().expect("at most 16 digits");
    arch::value(chunk, mask)
}

#[cfg(all(target_arch = "x86_64", not(outpace_portable)))]
#[allow(unsafe_code)]
mod arch {
    // SAFETY of each block: these instructions are part of SSE2, which every x86-64 processor has, and none of them
    // touches memory but `load`'s.
    use super::{CHUNK, Chunk};
    use core::arch::x86_64::*;

    #[inline(always)]
    fn load(chunk: &Chunk) -> __m128i {
        const { assert!(size_of::<__m128i>() == CHUNK) };
        // SAFETY: SSE2, and a chunk has as many bytes as are read; they need not be aligned.
        unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) }
    }

    /// All ones in each byte that is at least `from`, and above it by `limit` at most.
    #[inline(always)]
    fn within(bytes: __m128i, from: u8, limit: u8) -> __m128i {
        // SAFETY: SSE2.
        unsafe {
            let above = _mm_sub_epi8(bytes, _mm_set1_epi8(from as i8));
            _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8(limit as i8)), above)
        }
    }

    #[inline(always)]
    fn bits(mask: __m128i) -> u32 {
        // SAFETY: SSE2.
        unsafe { _mm_movemask_epi8(mask) as u32 }
    }

    #[inline(always)]
    pub(super) fn non_digits(chunk: &Chunk) -> u32 {
        // Digits become the ten largest signed numbers.
        const FIRST: i8 = i8::MAX - 9;
        // SAFETY: SSE2.
        bits(unsafe {
            let moved = _mm_add_epi8(load(chunk), _mm_set1_epi8(FIRST - b'0' as i8));
            _mm_cmplt_epi8(moved, _mm_set1_epi8(FIRST))
        })
    }

    #[inline(always)]
    pub(super) fn spaces(chunk: &Chunk) -> u32 {
        let bytes = load(chunk);
        // SAFETY: SSE2.
        bits(unsafe {
            let space = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b' ' as i8));
            _mm_or_si128(space, within(bytes, b'\t', 4))
        })
    }

    #[inline(always)]
    pub(super) fn newlines(chunk: &Chunk) -> u32 {
        // SAFETY: SSE2.
        bits(unsafe { _mm_cmpeq_epi8(load(chunk), _mm_set1_epi8(b'\n' as i8)) })
    }

    /// Pairs of digits, then pairs of pairs, and so on.
    #[inline(always)]
    pub(super) fn value(chunk: &Chunk, mask: &Chunk) -> u64 {
        // SAFETY: SSE2.
        let both = unsafe {
            let digits = _mm_and_si128(load(chunk), load(mask));
            let tens = _mm_and_si128(digits, _mm_set1_epi16(0xff));
            let ones = _mm_srli_epi16::<8>(digits);
            let by2 = _mm_add_epi16(_mm_mullo_epi16(tens, _mm_set1_epi16(10)), ones);
            let by4 = _mm_madd_epi16(by2, _mm_set1_epi32(1 << 16 | 100));
            let by4 = _mm_packs_epi32(by4, by4);
            let by8 = _mm_madd_epi16(by4, _mm_set1_epi32(1 << 16 | 10_000));
            _mm_cvtsi128_si64(by8) as u64
        };
        (both & 0xffff_ffff) * 100_000_000 + (both >> 32)
    }
}

#[cfg(not(all(target_arch = "x86_64", not(outpace_portable))))]
mod arch {
    use super::Chunk;

    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;

    #[inline(always)]
    fn words(chunk: &Chunk) -> [u64; 2] {
        let (low, high) = chunk.split_at(8);
        let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("half a chunk"));
        [word(low), word(high)]
    }

    /// From the high bit of each byte to one bit a byte.
    #[inline(always)]
    fn bits(words: [u64; 2]) -> u32 {
        let byte = |word: u64| ((word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
        byte(words[0]) | byte(words[1]) << 8
    }

    /// The high bit of each byte that is less than `limit`, at most 0x80 (no carry crosses bytes).
    #[inline(always)]
    fn less(word: u64, limit: u64) -> u64 {
        !(word | ((word & !HIGH) + ONES * (0x80 - limit))) & HIGH
    }

    #[inline(always)]
    fn equal(word: u64, byte: u8) -> u64 {
        less(word ^ (ONES * u64::from(byte)), 1)
    }

    #[inline(always)]
    pub(super) fn non_digits(chunk: &Chunk) -> u32 {
        let digit = |word: u64| less(word, 0x3a) & !less(word, 0x30);
        bits(words(chunk).map(digit)) ^ 0xffff
    }

    #[inline(always)]
    pub(super) fn spaces(chunk: &Chunk) -> u32 {
        let space = |word| equal(word, b' ') | (less(word, 14) & !less(word, 9));
        bits(words(chunk).map(space))
    }

    #[inline(always)]
    pub(super) fn newlines(chunk: &Chunk) -> u32 {
        bits(words(chunk).map(|word| equal(word, b'\n')))
    }

    #[inline(always)]
    pub(super) fn value(chunk: &Chunk, mask: &Chunk) -> u64 {
        let ([low, high], [low_mask, high_mask]) = (words(chunk), words(mask));
        eight(low & low_mask) * 100_000_000 + eight(high & high_mask)
    }

    /// Eight digits, the first one in the lowest byte: pairs, then pairs of pairs, and so on.
    #[inline(always)]
    fn eight(digits: u64) -> u64 {
        let by2 = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
        let by4 = by2.wrapping_mul(100).wrapping_add(by2 >> 16) & 0x0000_ffff_0000_ffff;
        by4.wrapping_mul(10_000).wrapping_add(by4 >> 32) & 0xffff_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::integer::tests::bits;

    /// Numbers without a pattern.
    fn random() -> impl FnMut() -> u64 {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        move || bits(&mut state)
    }

    #[test]
    fn masks_are_those_of_byte_after_byte() {
        let mut next = random();
        let naive = |chunk: &Chunk, is: fn(u8) -> bool| {
            (0..CHUNK).fold(0, |mask, at| mask | u32::from(is(chunk[at])) << at)
        };
        for round in 0..20_000 {
            let mut chunk = [0; CHUNK];
            for byte in &mut chunk {
                // All values, then only those near the limits.
                *byte = match round % 2 {
                    0 => next() as u8,
                    _ => {
                        b"\0\x08\t\n\x0b\x0c\r\x0e\x1f !/09:\x7f\x80\x89\xb0\xb9\xff"
                            [next() as usize % 21]
                    }
                };
            }
            assert_eq!(
                arch::non_digits(&chunk),
                naive(&chunk, |byte| !byte.is_ascii_digit())
            );
            assert_eq!(arch::spaces(&chunk), naive(&chunk, is_space));
            assert_eq!(arch::newlines(&chunk), naive(&chunk, |byte| byte == b'\n'));
        }
    }

    #[test]
    fn digits_come_to_what_parse_says() {
        let mut next = random();
        for _ in 0..20_000 {
            let text = format!("{:016}", next() % 10_u64.pow(16));
            let digits = next() as usize % 17;
            let mut chunk: Chunk = text.as_bytes().try_into().unwrap();
            for byte in &mut chunk[..CHUNK - digits] {
                *byte = next() as u8;
            }
            let expected = text[CHUNK - digits..].parse().unwrap_or(0);
            assert_eq!(value(&chunk, digits), expected);
        }
    }

    #[test]
    fn what_is_looked_for_is_found_at_every_place() {
        for length in 0..70 {
            for place in 0..=length {
                let mut text = vec![b'x'; length];
                if place < length {
                    text[place] = b'\n';
                }
                let found = (place < length).then_some(place);
                for from in 0..=length {
                    let expected = found.filter(|&place| place >= from);
                    assert_eq!(find_space(&text, from), expected);
                    assert_eq!(find_newline(&text, from), expected);
                }
                assert_eq!(count_newlines(&text), u64::from(place < length));
            }
        }
        assert_eq!(count_newlines(&vec![b'\n'; 100_000]), 100_000);
    }
}
