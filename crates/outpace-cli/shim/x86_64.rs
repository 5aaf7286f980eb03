//! Code for x86-64: system calls, replacements that go on as the original, and changes of the C library's calls.

use super::{__errno_location, Code, Found};
use core::arch::{asm, naked_asm};

/// `e_machine`; the loaders of C libraries that are known, and what programs call these libraries.
pub(crate) const ELF_MACHINE: usize = 62;
pub(crate) const LOADERS: [&[u8]; 2] = [b"/ld-linux-x86-64.so.2", b"/ld-musl-x86_64.so.1"];
pub(crate) const C_LIBRARIES: [&[u8]; 3] = [b"libc.so.6", b"libc.so", b"libc.musl-x86_64.so.1"];

/// Stands for a function that this C library does not have: answers ENOSYS.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn missing() {
    naked_asm!(
        ".cfi_startproc",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call qword ptr [rip + {errno}@GOTPCREL]",
        "mov dword ptr [rax], 38",
        "mov rax, -1",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        errno = sym __errno_location,
    )
}

/// Numbers that the program may pass to `syscall(2)`.
pub(crate) mod numbers {
    pub(crate) const WRITE: usize = 1;
    pub(crate) const IOCTL: usize = 16;
    pub(crate) const WRITEV: usize = 20;
    pub(crate) const SENDMSG: usize = 46;
    pub(crate) const SENDMMSG: usize = 307;
    pub(crate) const PRCTL: usize = 157;
    /// clone, fork, vfork, execve, execveat, clone3; unshare, setns, seccomp, io_setup, and those of io_uring.
    pub(crate) const BEHIND: [usize; 13] =
        [56, 57, 58, 59, 322, 435, 272, 308, 317, 206, 425, 426, 427];
    /// sendfile, splice, tee, vmsplice, copy_file_range, pwritev2.
    pub(crate) const OTHER: [usize; 6] = [40, 275, 276, 278, 326, 328];
    pub(crate) const CLOSE_ONE: usize = 3;
    pub(crate) const DUP2: usize = 33;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const CLOSE: [usize; 3] = [CLOSE_ONE, DUP2, DUP3];
    /// mmap, mprotect, munmap, brk, mremap, madvise, shmdt, pkey_mprotect.
    pub(crate) const UNMAP: [usize; 8] = [9, 10, 11, 12, 25, 28, 67, 329];
}

/// # Safety
///
/// As that of the system call.
pub(super) unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let result;
    // SAFETY: the caller guarantees that the system call is sound.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
             in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

pub(super) fn thread() -> u64 {
    let me: u64;
    // SAFETY: reads the first word of the thread control block, which points to itself (x86-64 psABI, TLS).
    unsafe { asm!("mov {}, fs:[0]", out(reg) me, options(nostack, readonly, preserves_flags)) };
    me
}

macro_rules! write_code {
    ($($operand:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "push rdi", "push rsi", "push rdx",
            ".cfi_adjust_cfa_offset 24",
            "cmp qword ptr [rip + {ring}], 0",
            "je 2f",
            "mov r11, qword ptr [rip + {originals} + {testcancel}]",
            "test r11, r11",
            "je 2f",
            "call r11",
            "mov rdi, qword ptr [rsp + 16]", "mov rsi, qword ptr [rsp + 8]", "mov rdx, qword ptr [rsp]",
            "2:",
            "call {before}",
            "pop rdx", "pop rsi", "pop rdi",
            ".cfi_adjust_cfa_offset -24",
            "movabs r11, {pass}",
            "cmp rax, r11",
            "je 3f",
            "ret",
            "3:",
            "jmp qword ptr [rip + {originals} + {original}]",
            ".cfi_endproc",
            $($operand)*
        )
    };
}
macro_rules! before_code {
    ($($operand:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "push rax", "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
            ".cfi_adjust_cfa_offset 56",
            "call {before}",
            "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rax",
            ".cfi_adjust_cfa_offset -56",
            "jmp qword ptr [rip + {originals} + {original}]",
            ".cfi_endproc",
            $($operand)*
        )
    };
}

/// Operations with a displacement of four bytes behind them.
pub(crate) const CALL: u8 = 0xe8;
pub(crate) const JUMP: u8 = 0xe9;
pub(crate) const LENGTH: usize = 5;

/// Writes a jump or a call over instructions of at least its length. False if the code is too far away.
///
/// # Safety
///
/// The code there can be written to, and no thread is executing it.
pub(crate) unsafe fn lead(at: usize, operation: u8, code: Code) -> bool {
    let distance = (code as usize as isize).wrapping_sub((at + LENGTH) as isize);
    let Ok(displacement) = i32::try_from(distance) else {
        return false;
    };
    // SAFETY: the caller's.
    unsafe {
        ((at + 1) as *mut i32).write_unaligned(displacement);
        (at as *mut u8).write(operation);
    }
    true
}

/// What can be changed at this place, if anything. The code begins at `first`, and 8 bytes behind `at` belong to it.
///
/// # Safety
///
/// The code can be read.
pub(crate) unsafe fn look(at: usize, first: usize) -> Option<Found> {
    // SAFETY: the caller's.
    unsafe {
        match (at as *const u8).read() {
            CALL | JUMP => {
                let displacement = ((at + 1) as *const i32).read_unaligned();
                Some(Found::Call(
                    (at + LENGTH).wrapping_add_signed(displacement as isize),
                ))
            }
            REX_R => is_inline_writev(at, first).then_some(Found::LastWords),
            NUMBER => is_plain_writev(at, first).then_some(Found::LastWords),
            _ => None,
        }
    }
}

/// So many bytes behind the last place that is looked at are code, too.
pub(crate) const REACH: usize = STEP + 2 * LENGTH;
/// Bytes looked at in one step.
const STEP: usize = 16;

/// Calls the function with each place from `start` on that [`look`] may accept. Those before `end`, and up to the end of a step.
///
/// # Safety
///
/// The code can be read, up to [`REACH`] bytes behind `end`.
pub(crate) unsafe fn candidates(start: usize, end: usize, mut found: impl FnMut(usize)) {
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // The first two bytes of the last words' instructions are rare enough together.
    let mut at = start;
    while at < end {
        // SAFETY: the caller's; SSE2 is part of the architecture.
        let mut hits = unsafe {
            let bytes = _mm_loadu_si128(at as *const __m128i);
            let next = _mm_loadu_si128((at + 1) as *const __m128i);
            let call = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(CALL as i8));
            let jump = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(JUMP as i8));
            let wide = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(REX_R as i8));
            let moves = _mm_cmpeq_epi8(next, _mm_set1_epi8(MOVE as i8));
            let number = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(NUMBER as i8));
            let writev = _mm_cmpeq_epi8(next, _mm_set1_epi8(WRITEV as i8));
            let last_words =
                _mm_or_si128(_mm_and_si128(wide, moves), _mm_and_si128(number, writev));
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(call, jump), last_words)) as u32
        };
        while hits != 0 {
            found(at + hits.trailing_zeros() as usize);
            hits &= hits - 1;
        }
        at += STEP;
    }
}

/// Redirects the call at this place to other code; false if that is too far away.
///
/// # Safety
///
/// There is a call or a jump, which can be written to, and no thread is executing it.
pub(crate) unsafe fn change(at: usize, code: Code) -> bool {
    // SAFETY: the caller's.
    unsafe { lead(at, (at as *const u8).read(), code) }
}

/// Writes a call, and `nop`s, over instructions of this length; false if the code is too far away.
///
/// # Safety
///
/// As [`change`]; no jump leads behind the first of them.
pub(crate) unsafe fn replace(at: usize, length: usize, code: Code) -> bool {
    const NOP: u8 = 0x90;
    debug_assert!(length >= LENGTH);
    // SAFETY: the caller's.
    unsafe {
        let is_led = lead(at, CALL, code);
        if is_led {
            ((at + LENGTH) as *mut u8).write_bytes(NOP, length - LENGTH);
        }
        is_led
    }
}

/// The first bytes of `mov eax, r8d` and its like.
const REX_R: u8 = 0x44;
const MOVE: u8 = 0x89;
/// The first byte of `mov eax, number`.
pub(crate) const NUMBER: u8 = 0xb8;
pub(crate) const WRITEV: u8 = 20;

/// Whether the last words are written here, as since glibc 2.42: `mov edi, 2; mov eax, 20; syscall`.
///
/// # Safety
///
/// Seven bytes there, and five before them, are code.
unsafe fn is_plain_writev(at: usize, start: usize) -> bool {
    const CODE: [u8; 12] = [0xbf, 2, 0, 0, 0, NUMBER, WRITEV, 0, 0, 0, 0x0f, 0x05];
    // SAFETY: the caller's.
    at >= start + LENGTH && unsafe { ((at - LENGTH) as *const [u8; 12]).read() } == CODE
}

/// Whether the C library's last words before it aborts the program (`free(): invalid pointer`) are written here, by an inline
/// system call: `mov r9d, 20`, and not far behind it `mov eax, r9d; syscall`, which has the length of a call.
fn is_inline_writev(at: usize, start: usize) -> bool {
    const DISTANCE: usize = 40;
    // SAFETY: five bytes at most behind `at`, and those before it, which are within the segment.
    unsafe {
        let byte = |at: usize| (at as *const u8).read();
        let is_move = byte(at + 1) == MOVE && byte(at + 2) & 0xc7 == 0xc0;
        if !is_move || byte(at + 3) != 0x0f || byte(at + 4) != 0x05 {
            return false;
        }
        let register = byte(at + 2) >> 3 & 7;
        let number = [0x41, NUMBER + register, WRITEV, 0, 0, 0];
        (start.max(at - DISTANCE)..at - number.len()).any(|place| {
            number
                .iter()
                .enumerate()
                .all(|(index, part)| byte(place + index) == *part)
        })
    }
}
