//! Code for aarch64: system calls, replacements that go on as the original, and changes of the C library's calls.

use super::{__errno_location, Code, Found};
use core::arch::{asm, naked_asm};

/// `e_machine`; the loaders of C libraries that are known, and what programs call these libraries.
pub(crate) const ELF_MACHINE: usize = 183;
pub(crate) const LOADERS: [&[u8]; 2] = [b"/ld-linux-aarch64.so.1", b"/ld-musl-aarch64.so.1"];
pub(crate) const C_LIBRARIES: [&[u8]; 3] = [b"libc.so.6", b"libc.so", b"libc.musl-aarch64.so.1"];

/// Stands for a function that this C library does not have: answers ENOSYS.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn missing() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "bl {errno}",
        "mov w1, #38",
        "str w1, [x0]",
        "mov x0, #-1",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        errno = sym __errno_location,
    )
}

/// Numbers that the program may pass to `syscall(2)`.
pub(crate) mod numbers {
    pub(crate) const WRITE: usize = 64;
    pub(crate) const IOCTL: usize = 29;
    pub(crate) const WRITEV: usize = 66;
    pub(crate) const SENDMSG: usize = 211;
    pub(crate) const SENDMMSG: usize = 269;
    pub(crate) const PRCTL: usize = 167;
    /// clone, execve, execveat, clone3; unshare, setns, seccomp, io_setup, and those of io_uring.
    pub(crate) const BEHIND: [usize; 11] = [220, 221, 281, 435, 97, 268, 277, 0, 425, 426, 427];
    /// sendfile, splice, tee, vmsplice, copy_file_range, pwritev2.
    pub(crate) const OTHER: [usize; 6] = [71, 76, 77, 75, 285, 287];
    pub(crate) const CLOSE_RANGE: usize = 436;
    /// close, dup3.
    pub(crate) const CLOSE: [usize; 2] = [57, 24];
    /// mmap, mprotect, munmap, brk, mremap, madvise, shmdt, pkey_mprotect.
    pub(crate) const UNMAP: [usize; 8] = [222, 226, 215, 214, 216, 233, 197, 288];
}

/// # Safety
///
/// As that of the system call.
pub(super) unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let result;
    // SAFETY: the caller guarantees that the system call is sound.
    unsafe {
        asm!("svc #0", in("x8") number, inlateout("x0") a as isize => result,
             in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f, options(nostack));
    }
    result
}

pub(super) fn thread() -> u64 {
    let me: u64;
    // SAFETY: reads the thread pointer.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) me, options(nostack, nomem, preserves_flags)) };
    me
}

macro_rules! write_code {
    ($($operand:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "stp x29, x30, [sp, #-48]!",
            ".cfi_def_cfa_offset 48",
            ".cfi_offset x29, -48",
            ".cfi_offset x30, -40",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "str x2, [sp, #32]",
            "adrp x9, {ring}",
            "ldr x9, [x9, #:lo12:{ring}]",
            "cbz x9, 2f",
            "adrp x9, {originals}",
            "add x9, x9, #:lo12:{originals}",
            "ldr x9, [x9, #{testcancel}]",
            "cbz x9, 2f",
            "blr x9",
            "ldp x0, x1, [sp, #16]",
            "ldr x2, [sp, #32]",
            "2:",
            "bl {before}",
            "mov x9, #{pass}",
            "cmp x0, x9",
            "b.eq 3f",
            ".cfi_remember_state",
            "ldp x29, x30, [sp], #48",
            ".cfi_restore x29",
            ".cfi_restore x30",
            ".cfi_def_cfa_offset 0",
            "ret",
            "3:",
            ".cfi_restore_state",
            "ldp x0, x1, [sp, #16]",
            "ldr x2, [sp, #32]",
            "ldp x29, x30, [sp], #48",
            ".cfi_restore x29",
            ".cfi_restore x30",
            ".cfi_def_cfa_offset 0",
            "adrp x16, {originals}",
            "add x16, x16, #:lo12:{originals}",
            "ldr x16, [x16, #{original}]",
            "br x16",
            ".cfi_endproc",
            $($operand)*
        )
    };
}
macro_rules! before_code {
    ($($operand:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "stp x29, x30, [sp, #-96]!",
            ".cfi_def_cfa_offset 96",
            ".cfi_offset x29, -96",
            ".cfi_offset x30, -88",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "str x8, [sp, #80]",
            "bl {before}",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldr x8, [sp, #80]",
            "ldp x29, x30, [sp], #96",
            ".cfi_restore x29",
            ".cfi_restore x30",
            ".cfi_def_cfa_offset 0",
            "adrp x16, {originals}",
            "add x16, x16, #:lo12:{originals}",
            "ldr x16, [x16, #{original}]",
            "br x16",
            ".cfi_endproc",
            $($operand)*
        )
    };
}

/// Every instruction has this length.
pub(crate) const LENGTH: usize = 4;
/// `svc #0`.
pub(crate) const SYSTEM_CALL: u32 = 0xd400_0001;

/// # Safety
///
/// The code there can be read.
pub(crate) unsafe fn instruction(at: usize) -> u32 {
    // SAFETY: the caller's; instructions are aligned.
    unsafe { (at as *const u32).read() }
}

/// What can be changed at this place, if anything. The code begins at `first`.
///
/// # Safety
///
/// The code can be read.
pub(crate) unsafe fn look(at: usize, first: usize) -> Option<Found> {
    // SAFETY: the caller's.
    let word = unsafe { instruction(at) };
    match word {
        // `bl`, `b`: the distance in instructions, 26 bits with a sign.
        word if word & 0x7c00_0000 == 0x1400_0000 => {
            let distance = ((word << 6) as i32 >> 6) as isize * LENGTH as isize;
            Some(Found::Call(at.wrapping_add_signed(distance)))
        }
        SYSTEM_CALL => {
            // SAFETY: the caller's.
            let is_it = unsafe { is_last_words(at, first) };
            is_it.then_some(Found::LastWords)
        }
        _ => None,
    }
}

/// So many instructions before a system call its number may be loaded.
pub(crate) const NEAR: usize = 12;

/// `mov register, number`.
pub(crate) const fn load(register: u32, number: u32) -> u32 {
    0xd280_0000 | number << 5 | register
}

/// Whether the C library or its loader writes its last words before it aborts the program (`free(): invalid pointer`) here, by an
/// inline system call, to descriptor 2: `mov x0, 2`, `mov x8, 66`, `svc 0`.
///
/// # Safety
///
/// The code from `first` on can be read.
unsafe fn is_last_words(at: usize, first: usize) -> bool {
    let start = at.saturating_sub(NEAR * LENGTH).max(first);
    let (mut is_writev, mut is_error) = (false, false);
    for place in (start..at).step_by(LENGTH).rev() {
        // SAFETY: the caller's.
        match unsafe { instruction(place) } {
            SYSTEM_CALL => break,
            word if word == load(8, numbers::WRITEV as u32) => is_writev = true,
            word if word == load(0, 2) => is_error = true,
            _ => {}
        }
    }
    is_writev && is_error
}

/// So many bytes behind the last place that is looked at are code, too.
pub(crate) const REACH: usize = LENGTH - 1;

/// Calls the function with each place from `start` on and before `end` that [`look`] may accept.
///
/// # Safety
///
/// The code can be read, up to [`REACH`] bytes behind `end`.
pub(crate) unsafe fn candidates(start: usize, end: usize, mut found: impl FnMut(usize)) {
    for at in (start.next_multiple_of(LENGTH)..end).step_by(LENGTH) {
        // SAFETY: the caller's.
        let word = unsafe { instruction(at) };
        if word & 0x7c00_0000 == 0x1400_0000 || word == SYSTEM_CALL {
            found(at);
        }
    }
}

/// Redirects the call at this place to other code; false if that is too far away.
///
/// # Safety
///
/// There is a call or a jump, which can be written to, and no thread is executing it.
pub(crate) unsafe fn change(at: usize, code: Code) -> bool {
    // SAFETY: the caller's.
    unsafe { lead(at, instruction(at) & 0x8000_0000, code as usize) }
}

/// Writes `b`, or `bl` where that is `link`; false if the target is too far away.
///
/// # Safety
///
/// The code can be written to, and no thread is executing it.
pub(crate) unsafe fn lead(at: usize, link: u32, target: usize) -> bool {
    let distance = (target as isize).wrapping_sub(at as isize);
    const FARTHEST: isize = 1 << 27;
    if !(-FARTHEST..FARTHEST).contains(&distance) {
        return false;
    }
    let word = 0x1400_0000 | link | (distance / LENGTH as isize) as u32 & 0x03ff_ffff;
    // SAFETY: the caller's; the instruction caches are synchronised (Arm ARM, B2.4.4).
    unsafe {
        (at as *mut u32).write_volatile(word);
        asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) at, options(nostack));
    }
    true
}
