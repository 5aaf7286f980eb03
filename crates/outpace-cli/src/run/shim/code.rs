//! Whether machine code makes system calls of its own.
//!
//! On aarch64 an instruction is a word. On x86-64 the bytes of `syscall`, `0F 05`, are also parts of other instructions. So each
//! such place is approached from several places before it, an instruction at a time: decoding of x86 code that begins anywhere is
//! in step after a few instructions.

/// Finds bytes. `memchr::memmem` asks the processor for its features first, which in a virtual machine takes as long as the rest of the
/// look at a small program.
#[cfg(target_arch = "x86_64")]
pub(super) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    use memchr::arch::x86_64::sse2::packedpair::Finder;
    let fast = Finder::new(wanted).filter(|finder| bytes.len() >= finder.min_haystack_len());
    match fast {
        Some(finder) => finder.find(bytes, wanted),
        None => bytes.windows(wanted.len()).position(|part| part == wanted),
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use memchr::memmem::find;

/// Whether the code has an instruction that makes a system call.
pub(super) fn makes_system_calls(code: &[u8]) -> bool {
    if cfg!(target_arch = "aarch64") {
        has_svc(code)
    } else {
        has_syscall(code)
    }
}

/// aarch64: `svc`, with any number. Code begins at a multiple of four bytes.
fn has_svc(code: &[u8]) -> bool {
    let mut words = code.as_chunks::<4>().0.iter();
    words.any(|word| u32::from_le_bytes(*word) & 0xffe0_001f == 0xd400_0001)
}

/// x86-64: `syscall`.
fn has_syscall(code: &[u8]) -> bool {
    const CODE: [u8; 2] = [0x0f, 0x05];
    let mut from = 0;
    while let Some(distance) = find(&code[from..], &CODE) {
        let at = from + distance;
        if is_instruction(code, at) {
            return true;
        }
        from = at + CODE.len();
    }
    false
}

/// Decoding begins this far before a place, at most and at least.
const FARTHEST: usize = 96;
const NEAREST: usize = 16;

/// Whether an instruction begins there, by the majority of the approaches.
fn is_instruction(code: &[u8], at: usize) -> bool {
    let starts = at.saturating_sub(FARTHEST)..=at.saturating_sub(NEAREST);
    let (mut arrive, mut miss) = (0, 0);
    for start in starts {
        let mut here = start;
        while here < at {
            match length(&code[here..]) {
                Some(length) => here += length,
                None => break,
            }
        }
        match here.cmp(&at) {
            std::cmp::Ordering::Equal => arrive += 1,
            std::cmp::Ordering::Greater => miss += 1,
            std::cmp::Ordering::Less => {}
        }
    }
    arrive > miss
}

/// The operands behind an operation: a ModRM byte, bytes of an immediate operand.
struct Operands {
    modrm: bool,
    immediate: usize,
}

fn operands(modrm: bool, immediate: usize) -> Option<Operands> {
    Some(Operands { modrm, immediate })
}

/// The length of the first instruction (Intel's manual, volume 2, appendix A); `None` if it is invalid.
fn length(code: &[u8]) -> Option<usize> {
    let byte = |at: usize| code.get(at).copied();
    let (mut at, mut short, mut narrow_address) = (0, false, false);
    loop {
        match byte(at)? {
            0x66 => short = true,
            0x67 => narrow_address = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 | 0xf2 | 0xf3 => {}
            _ => break,
        }
        at += 1;
        if at > 14 {
            return None;
        }
    }
    let mut wide = false;
    if let rex @ 0x40..=0x4f = byte(at)? {
        wide = rex & 8 != 0;
        at += 1;
    }
    let word = if short { 2 } else { 4 };
    let operation = byte(at)?;
    at += 1;
    let operands = match operation {
        0x0f => {
            let second = byte(at)?;
            at += 1;
            match second {
                0x38 => {
                    at += 1;
                    operands(true, 0)
                }
                0x3a => {
                    at += 1;
                    operands(true, 1)
                }
                second => after_0f(second),
            }
        }
        // VEX, EVEX: the map of the operation is in the prefix.
        0xc5 => {
            at += 2;
            after_0f(byte(at - 1)?)
        }
        0xc4 | 0x62 => {
            let map = byte(at)? & if operation == 0xc4 { 0x1f } else { 7 };
            at += if operation == 0xc4 { 3 } else { 4 };
            match map {
                1 | 5 | 6 => after_0f(byte(at - 1)?),
                2 => operands(true, 0),
                3 => operands(true, 1),
                _ => None,
            }
        }
        0x00..=0x3f => match operation & 7 {
            0..=3 => operands(true, 0),
            4 => operands(false, 1),
            5 => operands(false, word),
            _ => None,
        },
        0x50..=0x5f | 0x6c..=0x6f | 0x90..=0x99 | 0x9b..=0x9f => operands(false, 0),
        0xa4..=0xa7 | 0xaa..=0xaf | 0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf | 0xd7 => operands(false, 0),
        0xec..=0xef | 0xf1 | 0xf4 | 0xf5 | 0xf8..=0xfd => operands(false, 0),
        0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => operands(true, 0),
        0x68 | 0xa9 => operands(false, word),
        0x69 | 0x81 | 0xc7 => operands(true, word),
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => operands(false, 1),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => operands(true, 1),
        0xa0..=0xa3 => operands(false, if narrow_address { 4 } else { 8 }),
        0xb8..=0xbf => operands(false, if wide { 8 } else { word }),
        0xc2 | 0xca => operands(false, 2),
        0xc8 => operands(false, 3),
        0xe8 | 0xe9 => operands(false, 4),
        0xf6 | 0xf7 => {
            let is_test = byte(at)? >> 3 & 7 < 2;
            let size = if operation == 0xf6 { 1 } else { word };
            operands(true, if is_test { size } else { 0 })
        }
        _ => None,
    }?;
    if operands.modrm {
        let modrm = byte(at)?;
        at += 1;
        let (mode, register) = (modrm >> 6, modrm & 7);
        let mut displacement = match mode {
            1 => 1,
            2 => 4,
            _ => 0,
        };
        if mode == 0 && register == 5 {
            displacement = 4;
        }
        if mode != 3 && register == 4 {
            if mode == 0 && byte(at)? & 7 == 5 {
                displacement = 4;
            }
            at += 1;
        }
        at += displacement;
    }
    Some(at + operands.immediate)
}

/// The operands behind an operation of two bytes.
fn after_0f(second: u8) -> Option<Operands> {
    match second {
        0x05..=0x09
        | 0x0b
        | 0x0e
        | 0x30..=0x37
        | 0x77
        | 0xa0..=0xa2
        | 0xa8..=0xaa
        | 0xc8..=0xcf => operands(false, 0),
        0x80..=0x8f => operands(false, 4),
        0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => operands(true, 1),
        0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x39 | 0x3b..=0x3f => None,
        _ => operands(true, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_lengths_of_the_manual() {
        for code in [
            &[0x90][..],
            &[0x48, 0x8d, 0x05, 0x0f, 0x05, 0, 0],
            &[0x0f, 0x84, 0x0f, 0x05, 0, 0],
            &[0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x66, 0xb8, 1, 2],
            &[0x48, 0x8b, 0x44, 0x24, 0x08],
            &[0x48, 0x8b, 0x04, 0x25, 1, 2, 3, 4],
            &[0xf6, 0xc1, 0x05],
            &[0xf7, 0xd8],
            &[0xc5, 0xf8, 0x28, 0xc1],
            &[0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01],
            &[0x62, 0xf1, 0x7c, 0x48, 0x10, 0x47, 0x01],
            &[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08],
            &[0x0f, 0x05],
        ] {
            let with_more = [code, &[0xcc; 16]].concat();
            assert_eq!(length(&with_more), Some(code.len()), "{code:02x?}");
        }
    }

    #[test]
    fn a_word_of_aarch64_is_the_instruction_or_not() {
        // mov x8, 66; svc 0; ret.
        let code = [0xd280_0848_u32, 0xd400_0001, 0xd65f_03c0].map(u32::to_le_bytes);
        assert!(has_svc(code.as_flattened()));
        assert!(!has_svc(code[..1].as_flattened()));
        assert!(!has_svc(&code.as_flattened()[2..]));
    }

    #[test]
    fn bytes_are_found_wherever_they_are() {
        let wanted = b"abc";
        for length in 0..80 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(find(&bytes, wanted), None);
            for at in 0..length.saturating_sub(2) {
                bytes[at..at + 3].copy_from_slice(wanted);
                assert_eq!(find(&bytes, wanted), Some(at), "{length}");
                bytes[at..at + 3].copy_from_slice(b"aaa");
            }
        }
    }

    #[test]
    fn the_instruction_is_told_from_its_bytes_in_others() {
        // `mov rax, rbx` stands for the instructions before and after.
        let around = [0x48, 0x89, 0xd8].repeat(40);
        let with = |code: &[u8]| [&around, code, &around].concat();
        assert!(has_syscall(&with(&[0xb8, 1, 0, 0, 0, 0x0f, 0x05])));
        assert!(!has_syscall(&with(&[0x48, 0x8d, 0x05, 0x0f, 0x05, 0, 0])));
        assert!(!has_syscall(&with(&[0x8b, 0x0f, 0x05, 1, 0, 0, 0])));
        assert!(!has_syscall(&with(&[0xe8, 0x0f, 0x05, 0x0f, 0x05])));
        assert!(!has_syscall(&around));
    }
}
