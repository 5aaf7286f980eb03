//! Inline system calls of the C library on x86-64: their replacements, and their places.

use crate::machine::{CALL, LENGTH, NUMBER, PASS, WRITEV, replace};
use crate::system::forget_pages;
use crate::writes::before_raw_writev;
use core::arch::naked_asm;

/// A page may be unmapped.
extern "C" fn before_unmap() {
    forget_pages();
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
                writev = const WRITEV, before = sym before_raw_writev, pass = const PASS,
            )
        }
    };
}
// Replaces the last words' system call and the instruction that loads its number.
inline_writev!(last_words, first: "mov eax, {writev}", last: "");
// Replaces `syscall; mov rdi, rax`.
inline_writev!(stream_writev, first: "", last: "mov rdi, rax");

/// Redirects the last words' system call, as [`look`](crate::machine::look) has found it.
///
/// # Safety
///
/// The code there can be written to, and no thread is executing it.
pub(crate) unsafe fn redirect_last_words(at: usize) -> bool {
    // SAFETY: the caller's; `mov eax, 20; syscall` has two bytes more than a call.
    unsafe {
        let is_plain = (at as *const u8).read() == NUMBER;
        replace(at, if is_plain { LENGTH + 2 } else { LENGTH }, last_words)
    }
}

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
        before = sym before_unmap,
    )
}
