//! Placement of a loop.
//!
//! Compilers begin a loop at a multiple of 16 bytes. Where that leaves a short loop across the end of a cache line
//! of 64, its messages take 0.3 to 0.4 ns more each; any change in the program may move it there. A contestant in
//! another language is a small program that never changes; the loops that are compared with it begin at a line.
#![allow(unsafe_code)]

/// Makes the next loop begin at a cache line: the rest of this line has room for the instructions in between.
#[inline(always)]
pub(super) fn begin_line() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only no-ops are executed.
    unsafe {
        std::arch::asm!(
            ".p2align 6",
            ".nops 49",
            options(nomem, nostack, preserves_flags)
        );
    }
}
