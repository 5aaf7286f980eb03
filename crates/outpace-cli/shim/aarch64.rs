//! Code for aarch64: system calls, replacements that go on as the original, and changes of the C library's calls.

use super::Found;
use crate::hooks::Code;
use crate::system::protect;
use core::arch::{asm, global_asm, naked_asm};
use core::sync::atomic::{AtomicUsize, Ordering};

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
        errno = sym crate::hooks::__errno_location,
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
    /// clone, execve, execveat, clone3; unshare, setns, seccomp, and those of io_uring.
    pub(crate) const BEHIND: [usize; 10] = [220, 221, 281, 435, 97, 268, 277, 425, 426, 427];
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
const LENGTH: usize = 4;
/// `svc #0`.
const SYSTEM_CALL: u32 = 0xd400_0001;

/// # Safety
///
/// The code there can be read.
unsafe fn instruction(at: usize) -> u32 {
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
const NEAR: usize = 12;

/// `mov register, number`.
const fn load(register: u32, number: u32) -> u32 {
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

/// Calls the function with each place that [`look`] may accept.
///
/// # Safety
///
/// The code can be read.
pub(crate) unsafe fn candidates(start: usize, length: usize, mut found: impl FnMut(usize)) {
    let first = start.next_multiple_of(LENGTH);
    for at in (first..(start + length).saturating_sub(LENGTH - 1)).step_by(LENGTH) {
        // SAFETY: the caller's.
        let word = unsafe { instruction(at) };
        if word & 0x7c00_0000 == 0x1400_0000 || word == SYSTEM_CALL {
            found(at);
        }
    }
}

/// Redirects the place to other code; false if that is too far away.
///
/// # Safety
///
/// The code there is [`Found`], can be written to, and no thread is executing it.
pub(crate) unsafe fn change(at: usize, found: Found, code: Code) -> bool {
    // SAFETY: the caller's.
    unsafe {
        match found {
            Found::Call(_) => lead(at, instruction(at) & 0x8000_0000, code as usize),
            Found::LastWords => lead_to_site(at),
        }
    }
}

/// Writes `b`, or `bl` where that is `link`; false if the target is too far away.
///
/// # Safety
///
/// The code can be written to, and no thread is executing it.
unsafe fn lead(at: usize, link: u32, target: usize) -> bool {
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

// ---- Inline system calls.

// A jump replaces the system call, which changes only one register, so no register is free for the way back. Each place
// therefore has a piece of code of its own, which ends with a jump back that is written when the place is known.
const MOST_SITES: usize = 8;
const SITE: usize = 4 * LENGTH;
global_asm!(
    ".pushsection .text",
    ".balign 16",
    ".hidden outpace_inline_sites",
    ".globl outpace_inline_sites",
    "outpace_inline_sites:",
    ".rept {most}",
    "stp x29, x30, [sp, #-16]!",
    "bl {common}",
    "ldp x29, x30, [sp], #16",
    "udf #0",
    ".endr",
    ".popsection",
    most = const MOST_SITES,
    common = sym inline_writev,
);
unsafe extern "C" {
    static outpace_inline_sites: [u32; MOST_SITES * SITE / LENGTH];
}
static SITES: AtomicUsize = AtomicUsize::new(0);

/// Redirects an inline system call to [`inline_writev`], and that back; false if that is impossible.
///
/// # Safety
///
/// As [`change`].
unsafe fn lead_to_site(at: usize) -> bool {
    const READ_WRITE_EXEC: usize = 7;
    const READ_EXEC: usize = 5;
    let number = SITES.fetch_add(1, Ordering::Relaxed);
    if number >= MOST_SITES {
        return false;
    }
    let site = (&raw const outpace_inline_sites).addr() + number * SITE;
    let back = site + SITE - LENGTH;
    // SAFETY: a page of this object's own code, which stays executable; there is one thread.
    unsafe {
        protect(back, LENGTH, READ_WRITE_EXEC)
            && lead(back, 0, at + LENGTH)
            && protect(back, LENGTH, READ_EXEC)
            && lead(at, 0, site)
    }
}

/// Replaces a system call, which changes one register and no flags. System calls other than writev(2) are made unchanged.
#[unsafe(naked)]
unsafe extern "C" fn inline_writev() {
    naked_asm!(
        "sub sp, sp, #688",
        "stp x0, x1, [sp]",
        "stp x2, x3, [sp, #16]",
        "stp x4, x5, [sp, #32]",
        "stp x6, x7, [sp, #48]",
        "stp x8, x9, [sp, #64]",
        "stp x10, x11, [sp, #80]",
        "stp x12, x13, [sp, #96]",
        "stp x14, x15, [sp, #112]",
        "stp x16, x17, [sp, #128]",
        "stp x18, x30, [sp, #144]",
        "mrs x9, nzcv",
        "str x9, [sp, #160]",
        "cmp x8, #{writev}",
        "b.ne 2f",
        "stp q0, q1, [sp, #176]", "stp q2, q3, [sp, #208]", "stp q4, q5, [sp, #240]", "stp q6, q7, [sp, #272]",
        "stp q8, q9, [sp, #304]", "stp q10, q11, [sp, #336]", "stp q12, q13, [sp, #368]", "stp q14, q15, [sp, #400]",
        "stp q16, q17, [sp, #432]", "stp q18, q19, [sp, #464]", "stp q20, q21, [sp, #496]", "stp q22, q23, [sp, #528]",
        "stp q24, q25, [sp, #560]", "stp q26, q27, [sp, #592]", "stp q28, q29, [sp, #624]", "stp q30, q31, [sp, #656]",
        "bl {before}",
        "ldp q0, q1, [sp, #176]", "ldp q2, q3, [sp, #208]", "ldp q4, q5, [sp, #240]", "ldp q6, q7, [sp, #272]",
        "ldp q8, q9, [sp, #304]", "ldp q10, q11, [sp, #336]", "ldp q12, q13, [sp, #368]", "ldp q14, q15, [sp, #400]",
        "ldp q16, q17, [sp, #432]", "ldp q18, q19, [sp, #464]", "ldp q20, q21, [sp, #496]", "ldp q22, q23, [sp, #528]",
        "ldp q24, q25, [sp, #560]", "ldp q26, q27, [sp, #592]", "ldp q28, q29, [sp, #624]", "ldp q30, q31, [sp, #656]",
        "mov x9, #{pass}",
        "cmp x0, x9",
        "b.eq 2f",
        "str x0, [sp]",
        "b 3f",
        "2:",
        "ldp x0, x1, [sp]",
        "ldp x2, x3, [sp, #16]",
        "ldp x4, x5, [sp, #32]",
        "ldr x8, [sp, #64]",
        "svc #0",
        "str x0, [sp]",
        "3:",
        "ldr x9, [sp, #160]",
        "msr nzcv, x9",
        "ldp x0, x1, [sp]",
        "ldp x2, x3, [sp, #16]",
        "ldp x4, x5, [sp, #32]",
        "ldp x6, x7, [sp, #48]",
        "ldp x8, x9, [sp, #64]",
        "ldp x10, x11, [sp, #80]",
        "ldp x12, x13, [sp, #96]",
        "ldp x14, x15, [sp, #112]",
        "ldp x16, x17, [sp, #128]",
        "ldp x18, x30, [sp, #144]",
        "add sp, sp, #688",
        "ret",
        writev = const numbers::WRITEV, before = sym crate::writes::before_raw_writev, pass = const crate::writes::PASS,
    )
}

// ---- musl's inline system calls.

/// Redirects the system calls of the function by which musl's streams write to [`inline_writev`]. Returns false if one of them
/// has an unknown form.
///
/// # Safety
///
/// The code, which ends at `end`, can be written to, and no thread is executing it.
pub(crate) unsafe fn redirect_streams(function: usize, end: usize) -> bool {
    /// The function is shorter. System calls of functions behind it are made unchanged.
    const WINDOW: usize = 512;
    let end = end.min(function + WINDOW);
    let mut count = 0;
    for at in (function..end).step_by(LENGTH) {
        // SAFETY: the caller's.
        if unsafe { instruction(at) } != SYSTEM_CALL {
            continue;
        }
        let start = at.saturating_sub(NEAR * LENGTH).max(function);
        let mut before = (start..at).step_by(LENGTH).rev();
        let number = before.find_map(|place| {
            // SAFETY: the caller's.
            let word = unsafe { instruction(place) };
            (word & 0xffe0_001f == load(8, 0)).then_some((word >> 5 & 0xffff) as usize)
        });
        match number {
            // SAFETY: the caller's.
            Some(numbers::WRITEV) if unsafe { lead_to_site(at) } => count += 1,
            Some(number) if number != numbers::WRITEV => {}
            _ => return false,
        }
    }
    count > 0
}

/// Redirects the system call by which a thread of musl's unmaps its own stack to [`last_unmap`]. Returns false if it is not
/// found.
///
/// # Safety
///
/// As [`redirect_streams`].
pub(crate) unsafe fn redirect_last_unmap(start: usize, end: usize) -> bool {
    /// munmap(2) and exit(2) (`__unmapself`, which is written in assembly language).
    const CODE: [u32; 4] = [load(8, 215), SYSTEM_CALL, load(8, 93), SYSTEM_CALL];
    let first = start.next_multiple_of(LENGTH);
    let mut places = (first..end - size_of_val(&CODE)).step_by(LENGTH);
    // SAFETY: the caller's.
    let found = places.find(|at| unsafe { (*at as *const [u32; 4]).read() == CODE });
    // SAFETY: the caller's.
    found.is_some_and(|at| unsafe { lead(at, 0, last_unmap as *const () as usize) })
}

/// Replaces munmap(2) of the stack that this runs on, and the end of the thread.
#[unsafe(naked)]
unsafe extern "C" fn last_unmap() {
    naked_asm!(
        "mov x19, x0",
        "mov x20, x1",
        "bl {before}",
        "mov x0, x19",
        "mov x1, x20",
        "mov x8, #215",
        "svc #0",
        "mov x0, #0",
        "mov x8, #93",
        "svc #0",
        "udf #0",
        before = sym crate::hooks::before_unmap,
    )
}
