//! Code for x86-64: system calls, replacements that go on as the original, and changes of the C library's calls.

use super::Found;
use crate::hooks::Code;
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
        errno = sym crate::hooks::__errno_location,
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
    /// clone, fork, vfork, execve, execveat, clone3; unshare, setns, seccomp, and those of io_uring.
    pub(crate) const BEHIND: [usize; 12] = [56, 57, 58, 59, 322, 435, 272, 308, 317, 425, 426, 427];
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

/// Calls the function with each place that [`look`] may accept.
///
/// # Safety
///
/// The code can be read.
pub(crate) unsafe fn candidates(start: usize, length: usize, mut found: impl FnMut(usize)) {
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    const STEP: usize = 16;
    // The first two bytes of the last words' instructions are rare enough together.
    let mut at = start;
    let end = start + length.saturating_sub(STEP + 2 * LENGTH);
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

/// Redirects the place to other code; false if that is too far away.
///
/// # Safety
///
/// The code there is [`Found`], can be written to, and no thread is executing it.
pub(crate) unsafe fn change(at: usize, found: Found, code: Code) -> bool {
    // SAFETY: the caller's; `mov eax, 20; syscall` has two bytes more than a call.
    unsafe {
        let operation = (at as *const u8).read();
        match found {
            Found::Call(_) => lead(at, operation, code),
            Found::LastWords if operation == NUMBER => replace(at, LENGTH + 2, last_words),
            Found::LastWords => lead(at, CALL, last_words),
        }
    }
}

/// The first bytes of `mov eax, r8d` and its like.
const REX_R: u8 = 0x44;
const MOVE: u8 = 0x89;
/// The first byte of `mov eax, number`.
const NUMBER: u8 = 0xb8;
const WRITEV: u8 = 20;

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

/// Defines a replacement of an inline system call. Like that, it changes only `rax`, `rcx` and `r11`. System calls other than
/// writev(2) are made unchanged.
macro_rules! inline_writev {
    ($name:ident, first: $first:literal, last: $last:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                $first,
                "cmp rax, {writev}",
                "jne 2f",
                "push rax", "push rdi", "push rsi", "push rdx", "push r8", "push r9", "push r10",
                "sub rsp, 272",
                "and rsp, -16",
                "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
                "movups [rsp + 128], xmm8", "movups [rsp + 144], xmm9", "movups [rsp + 160], xmm10", "movups [rsp + 176], xmm11",
                "movups [rsp + 192], xmm12", "movups [rsp + 208], xmm13", "movups [rsp + 224], xmm14", "movups [rsp + 240], xmm15",
                "call {before}",
                "mov r11, rax",
                "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
                "movups xmm8, [rsp + 128]", "movups xmm9, [rsp + 144]", "movups xmm10, [rsp + 160]", "movups xmm11, [rsp + 176]",
                "movups xmm12, [rsp + 192]", "movups xmm13, [rsp + 208]", "movups xmm14, [rsp + 224]", "movups xmm15, [rsp + 240]",
                "lea rsp, [rbp - 56]",
                "pop r10", "pop r9", "pop r8", "pop rdx", "pop rsi", "pop rdi", "pop rax",
                "movabs rcx, {pass}",
                "cmp r11, rcx",
                "je 2f",
                "mov rax, r11",
                "jmp 3f",
                "2:",
                "syscall",
                "3:",
                $last,
                "pop rbp",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                writev = const WRITEV, before = sym crate::writes::before_raw_writev, pass = const crate::writes::PASS,
            )
        }
    };
}
// Replaces the last words' system call and the instruction that loads its number.
inline_writev!(last_words, first: "mov eax, {writev}", last: "");
// Replaces `syscall; mov rdi, rax`.
inline_writev!(stream_writev, first: "", last: "mov rdi, rax");

// ---- musl's inline system calls.

/// `syscall`.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// Redirects the system calls of the function by which musl's streams write to [`stream_writev`]. Returns false, and leaves the
/// code as it is, if one of them has an unknown form.
///
/// # Safety
///
/// The code, which ends at `end`, can be written to, and no thread is executing it.
pub(crate) unsafe fn redirect_streams(function: usize, end: usize) -> bool {
    /// The function is shorter. System calls of functions behind it are made unchanged.
    const WINDOW: usize = 512;
    const MOST: usize = 8;
    let end = end.min(function + WINDOW);
    let byte = |at: usize| {
        // SAFETY: within the code; zeroes behind it.
        if at < end {
            unsafe { (at as *const u8).read() }
        } else {
            0
        }
    };
    let is = |at: usize, code: &[u8]| {
        code.iter()
            .enumerate()
            .all(|(index, part)| byte(at + index) == *part)
    };
    // `mov rdi, rax; call __syscall_ret` behind it; clang puts `fwait` between.
    let length = |at: usize| {
        const AND_RETURN: [u8; 4] = [0x48, 0x89, 0xc7, CALL];
        let behind = at + SYSCALL.len() + usize::from(byte(at + SYSCALL.len()) == 0x9b);
        is(behind, &AND_RETURN).then_some(behind + 3 - at)
    };
    // `mov eax, number` close before it, of another system call.
    let is_other = |at: usize| {
        let places = at.saturating_sub(16).max(function)..at;
        places.into_iter().any(|place| {
            byte(place) == NUMBER && byte(place + 1) != WRITEV && is(place + 2, &[0, 0, 0])
        })
    };
    // `mov register, 20` anywhere before it.
    let has_number = |at: usize| {
        (function..at)
            .any(|place| byte(place) & 0xf8 == NUMBER && is(place + 1, &[WRITEV, 0, 0, 0]))
    };
    // Any bytes that may be a jump into the middle of the changed instructions.
    let is_entered = |at: usize, length: usize| {
        (function..end).any(|place| {
            // Part of `movsxd rdi, [rdi + 0x78]`, of the stream's descriptor: 48 63 7f 78.
            let is_movsxd = |at: usize| byte(at) & 0xf0 == 0x40 && byte(at + 1) == 0x63;
            if (2..=3).any(|back| place >= function + back && is_movsxd(place - back)) {
                return false;
            }
            let near = place
                .wrapping_add(2)
                .wrapping_add_signed(byte(place + 1) as i8 as isize);
            let word = [1, 2, 3, 4].map(|index| byte(place + index));
            let far = place
                .wrapping_add(5)
                .wrapping_add_signed(i32::from_le_bytes(word) as isize);
            let into = |target: usize| target > at && target < at + length;
            matches!(byte(place), 0x70..=0x7f | 0xe3 | 0xeb) && into(near)
                || (byte(place) & 0xf0 == 0x80 || byte(place) == 0xe9) && into(far)
        })
    };
    let mut sites = [(0, 0); MOST];
    let mut count = 0;
    for at in (function..end).filter(|at| is(*at, &SYSCALL)) {
        match length(at) {
            Some(length) if has_number(at) && !is_entered(at, length) && count < MOST => {
                sites[count] = (at, length);
                count += 1;
            }
            None if is_other(at) => {}
            _ => return false,
        }
    }
    let sites = sites.get(..count).unwrap_or_default();
    !sites.is_empty()
        && sites.iter().all(|(at, length)| {
            // SAFETY: the caller's; these are whole instructions, and no jump leads into them.
            unsafe { replace(*at, *length, stream_writev) }
        })
}

/// Redirects the system call by which a thread of musl's unmaps its own stack to [`last_unmap`]. Returns false if it is not
/// found.
///
/// # Safety
///
/// As [`redirect_streams`].
pub(crate) unsafe fn redirect_last_unmap(start: usize, end: usize) -> bool {
    /// `mov eax, 11; syscall; xor rdi, rdi; mov eax, 60; syscall` (`__unmapself`, which is written in assembly language).
    const CODE: [u8; 17] = [
        0xb8, 11, 0, 0, 0, 0x0f, 0x05, 0x48, 0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05,
    ];
    let mut places = start..end - CODE.len();
    // SAFETY: the caller's.
    let found = places.find(|at| unsafe { (*at as *const [u8; 17]).read() == CODE });
    // SAFETY: the caller's; these are the first two instructions.
    found.is_some_and(|at| unsafe { replace(at, 7, last_unmap) })
}

/// Writes a call, and `nop`s, over instructions of this length; false if the code is too far away.
///
/// # Safety
///
/// As [`redirect_streams`]; no jump leads behind the first of them.
unsafe fn replace(at: usize, length: usize, code: Code) -> bool {
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

/// Replaces munmap(2) of the stack that this runs on, and the end of the thread.
#[unsafe(naked)]
unsafe extern "C" fn last_unmap() {
    naked_asm!(
        "mov r12, rdi",
        "mov r13, rsi",
        "and rsp, -16",
        "call {before}",
        "mov rdi, r12",
        "mov rsi, r13",
        "mov eax, 11",
        "syscall",
        "xor edi, edi",
        "mov eax, 60",
        "syscall",
        "ud2",
        before = sym crate::hooks::before_unmap,
    )
}
