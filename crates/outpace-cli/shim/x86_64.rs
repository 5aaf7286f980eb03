//! What is x86-64's own: system calls, the replacements that go on as the original, and the C library's calls.

use crate::hooks::{Code, before_terminal};
use core::arch::{asm, naked_asm};

/// `e_machine`, and the loaders of C libraries that are known.
pub(crate) const ELF_MACHINE: usize = 62;
pub(crate) const LOADERS: [&[u8]; 1] = [b"/ld-linux-x86-64.so.2"];

/// In the place of a function that this C library does not have: it cannot be done (ENOSYS).
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
    /// close, dup2, dup3, close_range.
    pub(crate) const CLOSE: [usize; 4] = [3, 33, 292, 436];
    /// mmap, mprotect, munmap, brk, mremap, madvise, shmdt, pkey_mprotect.
    pub(crate) const UNMAP: [usize; 8] = [9, 10, 11, 12, 25, 28, 67, 329];
}

/// A system call, with the negated error as the result.
///
/// # Safety
///
/// As that of the system call.
pub(crate) unsafe fn call(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let result;
    // SAFETY: the caller answers for what the system call does.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
             in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Tells the threads of this process apart: where its C library keeps what is the thread's own. A number of the kernel's
/// would cost a system call.
pub(crate) fn thread() -> u64 {
    let me: u64;
    // SAFETY: reads the first word of the thread control block, which points to itself (x86-64 psABI, TLS).
    unsafe { asm!("mov {}, fs:[0]", out(reg) me, options(nostack, readonly, preserves_flags)) };
    me
}

/// A thread may be cancelled where it writes. It then unwinds through this frame, and through none of Rust's.
macro_rules! writes {
    ($($name:ident $before:ident)*) => {
        $(
            /// As the C library's.
            ///
            /// # Safety
            ///
            /// As there.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
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
                    ring = sym $crate::writes::RING, originals = sym $crate::hooks::ORIGINALS, before = sym $before, pass = const $crate::writes::PASS,
                    testcancel = const Index::testcancel as usize * 8, original = const Index::$name as usize * 8,
                )
            }
        )*
    };
}
// Each calls what has to come before, with its own arguments, and goes on as the original, whatever that takes.
macro_rules! before {
    ($($before:ident: $($name:ident $(= $index:ident)?),*;)*) => {
        $($(
            /// As the C library's.
            ///
            /// # Safety
            ///
            /// As there.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rax", "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
                    ".cfi_adjust_cfa_offset 56",
                    "call {before}",
                    "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rax",
                    ".cfi_adjust_cfa_offset -56",
                    "jmp qword ptr [rip + {originals} + {original}]",
                    ".cfi_endproc",
                    before = sym $before, originals = sym $crate::hooks::ORIGINALS,
                    original = const before!(@index $name $($index)?) as usize * 8,
                )
            }
        )*)*
    };
    (@index $name:ident $index:ident) => { Index::$index };
    (@index $name:ident) => { Index::$name };
}
/// Operations with a displacement of four bytes behind them: `call`, and with one bit more `jmp`.
const CALL: u8 = 0xe8;
const LENGTH: usize = 5;

/// A place in the C library's code that is to lead elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A call, or a jump, to this function.
    Call(usize),
    /// The system call of the library's last words.
    LastWords,
}

/// What is to be changed at this place, if anything; `first` is the first place of the code, and 8 bytes behind this one
/// are code, too.
///
/// # Safety
///
/// The code can be read.
pub(crate) unsafe fn look(at: usize, first: usize) -> Option<Found> {
    // SAFETY: the caller's.
    unsafe {
        match (at as *const u8).read() {
            operation if operation & 0xfe == CALL => {
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

/// Calls the function with each place that may be one.
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
    // What the operations begin with has the last bit cleared; the first byte of the other is rare enough behind it.
    let mut at = start;
    let end = start + length.saturating_sub(STEP + 2 * LENGTH);
    while at < end {
        // SAFETY: the caller's; SSE2 is part of the architecture.
        let mut hits = unsafe {
            let bytes = _mm_loadu_si128(at as *const __m128i);
            let next = _mm_loadu_si128((at + 1) as *const __m128i);
            let call = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(CALL as i8));
            let jump = _mm_cmpeq_epi8(bytes, _mm_set1_epi8((CALL | 1) as i8));
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

/// Lets the place lead to other code; false if that is too far away.
///
/// # Safety
///
/// The code there is [`Found`], can be written to, and no thread is executing it.
pub(crate) unsafe fn change(at: usize, found: Found, code: Code) -> bool {
    let code: Code = match found {
        Found::Call(_) => code,
        Found::LastWords => before_inline_writev,
    };
    let distance = (code as usize as isize).wrapping_sub((at + LENGTH) as isize);
    let Ok(displacement) = i32::try_from(distance) else {
        return false;
    };
    // SAFETY: the caller's.
    unsafe {
        if found == Found::LastWords {
            if (at as *const u8).read() == NUMBER {
                // It is two bytes longer: an instruction that does nothing.
                ((at + LENGTH) as *mut [u8; 2]).write([0x66, 0x90]);
            }
            (at as *mut u8).write(CALL);
        }
        ((at + 1) as *mut i32).write_unaligned(displacement);
    }
    true
}

/// The first bytes of `mov eax, r8d` and its like.
const REX_R: u8 = 0x44;
const MOVE: u8 = 0x89;
/// That of `mov eax, number`.
const NUMBER: u8 = 0xb8;
const WRITEV: u8 = 20;

/// The last words since glibc 2.42: `mov edi, 2; mov eax, 20; syscall`.
///
/// # Safety
///
/// Seven bytes there, and five before them, are code.
unsafe fn is_plain_writev(at: usize, start: usize) -> bool {
    const CODE: [u8; 12] = [0xbf, 2, 0, 0, 0, NUMBER, WRITEV, 0, 0, 0, 0x0f, 0x05];
    // SAFETY: the caller's.
    at >= start + LENGTH && unsafe { ((at - LENGTH) as *const [u8; 12]).read() } == CODE
}

/// The C library's last words before it aborts the program (`free(): invalid pointer`) are written by a system call in
/// line: `mov r9d, 20`, with `mov eax, r9d; syscall` not far behind it, which has the length of a call.
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

/// In the place of a system call, which changes no register but three.
#[unsafe(naked)]
unsafe extern "C" fn before_inline_writev() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rdi", "push rsi", "push rdx", "push r8", "push r9", "push r10",
        "sub rsp, 272",
        "and rsp, -16",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "movups [rsp + 128], xmm8", "movups [rsp + 144], xmm9", "movups [rsp + 160], xmm10", "movups [rsp + 176], xmm11",
        "movups [rsp + 192], xmm12", "movups [rsp + 208], xmm13", "movups [rsp + 224], xmm14", "movups [rsp + 240], xmm15",
        "call {before}",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "movups xmm8, [rsp + 128]", "movups xmm9, [rsp + 144]", "movups xmm10, [rsp + 160]", "movups xmm11, [rsp + 176]",
        "movups xmm12, [rsp + 192]", "movups xmm13, [rsp + 208]", "movups xmm14, [rsp + 224]", "movups xmm15, [rsp + 240]",
        "lea rsp, [rbp - 48]",
        "pop r10", "pop r9", "pop r8", "pop rdx", "pop rsi", "pop rdi",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "mov eax, 20",
        "syscall",
        "ret",
        ".cfi_endproc",
        before = sym before_terminal,
    )
}
