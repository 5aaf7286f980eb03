//! Inline system calls of the C library on aarch64: their replacements, and their places.

use crate::machine::{LENGTH, NEAR, PASS, SYSTEM_CALL, instruction, lead, load, numbers};
use crate::system::{forget_pages, protect};
use crate::writes::before_raw_writev;
use core::arch::{global_asm, naked_asm};
use core::sync::atomic::{AtomicUsize, Ordering};

/// A page may be unmapped.
extern "C" fn before_unmap() {
    forget_pages();
}

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
/// As [`change`](crate::machine::change).
pub(crate) unsafe fn redirect_last_words(at: usize) -> bool {
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
        writev = const numbers::WRITEV, before = sym before_raw_writev, pass = const PASS,
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
            Some(numbers::WRITEV) if unsafe { redirect_last_words(at) } => count += 1,
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
        before = sym before_unmap,
    )
}
