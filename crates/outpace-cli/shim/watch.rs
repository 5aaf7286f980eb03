//! Watches the C library's functions that change descriptors, and the loader's function that announces libraries (x86-64, glibc).
//!
//! Each begins with an instruction at least as long as a jump. A jump to a stub takes its place; the stub counts the call, does what
//! that instruction did, and calls the rest of the function. So the call is seen whatever name it is made by, from the C library's
//! other functions and through a pointer from `dlsym` as well. No other instruction is touched, so a signal's handler returns into whole
//! ones. A function of an unknown form is left alone, and each write asks the kernel.

use crate::descriptors::{self, LOADER};
use crate::known::CallCounter;
use crate::machine::{CALL, Code, JUMP, LENGTH, lead, numbers};
use crate::membership::retire;
use crate::originals::{Index, is_there, original};
use crate::ring::{self, Header};
use crate::settle::{ring, settle_for};
use crate::symbols::{Symbols, each_object};
use crate::system::protect;
use core::arch::naked_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// The rest of each function behind the jump, by [`Index`].
static REST: [AtomicUsize; Index::COUNT as usize] =
    [const { AtomicUsize::new(0) }; Index::COUNT as usize];
/// The target of the call within `close`, and the address that its first instruction compares; each where `close` has that form.
static CANCELLABLE: AtomicUsize = AtomicUsize::new(0);
static FLAG: AtomicUsize = AtomicUsize::new(0);

/// A descriptor is about to lead where `source` does. Another thread may be about to write to it by the kernel, because it has led
/// elsewhere: the bytes in the ring come before that write.
extern "C" fn begin_second(source: c_int, descriptor: c_int) -> &'static CallCounter {
    if let Some(ring) = ring() {
        settle_for(ring, source);
    }
    descriptors::begin(descriptor)
}

const UNSHARE: u32 = 2;

extern "C" fn begin_range(_: u32, _: u32, flags: u32) -> &'static CallCounter {
    if flags & UNSHARE != 0 {
        // This thread gets descriptors of its own.
        retire(ring::BY_BYPASS);
    }
    descriptors::begin_all()
}

extern "C" fn begin_unshare() -> &'static CallCounter {
    retire(ring::BY_BYPASS);
    descriptors::begin_all()
}

/// Begins a call by syscall(2); null for one that changes no descriptor.
extern "C" fn begin_number(
    number: usize,
    first: c_int,
    second: c_int,
    third: u32,
) -> Option<&'static CallCounter> {
    match number {
        numbers::CLOSE_ONE => Some(descriptors::begin(first)),
        numbers::DUP2 | numbers::DUP3 => Some(begin_second(first, second)),
        numbers::CLOSE_RANGE => Some(begin_range(0, 0, third)),
        _ => None,
    }
}

/// Defines a stub, and the function that it calls: the replaced instructions, and the rest of the original.
macro_rules! stubs {
    ($($stub:ident, $rest:ident: $index:expr, $begin:path, $($replaced:literal),*;)*) => {
        $(
            #[unsafe(naked)]
            unsafe extern "C" fn $rest() {
                naked_asm!(
                    ".cfi_startproc",
                    $($replaced,)*
                    "jmp qword ptr [rip + {rest} + {place}]",
                    "/* {flag} */",
                    ".cfi_endproc",
                    rest = sym REST, place = const $index as usize * 8, flag = sym FLAG,
                )
            }
            #[unsafe(naked)]
            unsafe extern "C" fn $stub() {
                naked_asm!(
                    ".cfi_startproc",
                    "push rdi", "push rsi", "push rdx",
                    ".cfi_adjust_cfa_offset 24",
                    "call {begin}",
                    "pop rdx", "pop rsi", "pop rdi",
                    ".cfi_adjust_cfa_offset -24",
                    "push rax",
                    ".cfi_adjust_cfa_offset 8",
                    "call {rest}",
                    "pop rdi",
                    "push rax",
                    "call {end}",
                    "pop rax",
                    ".cfi_adjust_cfa_offset -8",
                    "ret",
                    ".cfi_endproc",
                    begin = sym $begin, rest = sym $rest, end = sym descriptors::end,
                )
            }
        )*
    };
}
stubs! {
    nocancel, rest_of_nocancel: Index::close_nocancel, descriptors::begin, "mov eax, 3";
    nostatus, rest_of_nostatus: Index::close_nocancel_nostatus, descriptors::begin, "mov eax, 3";
    queue, rest_of_queue: Index::mq_close, descriptors::begin, "mov eax, 3";
    second, rest_of_second: Index::dup2, begin_second, "mov eax, 33";
    third, rest_of_third: Index::dup3, begin_second, "mov eax, 292";
    range, rest_of_range: Index::close_range, begin_range, "mov eax, 436";
    own, rest_of_own: Index::unshare, begin_unshare, "mov eax, 272";
    // glibc before 2.32 tests the count of threads.
    by_thread, rest_by_thread: Index::close, descriptors::begin, "mov eax, dword ptr fs:[0x18]";
    // glibc up to 2.40 tests a flag.
    by_flag, rest_by_flag: Index::close, descriptors::begin, "mov r11, qword ptr [rip + {flag}]", "cmp byte ptr [r11], 0";
}

/// Since glibc 2.41 `close` calls the function that makes cancellable system calls: with six arguments in registers, all but the
/// first zero, and the number on the stack.
#[unsafe(naked)]
unsafe extern "C" fn cancellable() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "call {begin}",
        "mov rdi, qword ptr [rsp]",
        "mov qword ptr [rsp], rax",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "push 3",
        ".cfi_adjust_cfa_offset 8",
        "xor esi, esi",
        "xor edx, edx",
        "xor ecx, ecx",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "call qword ptr [rip + {target}]",
        "mov rdi, qword ptr [rsp + 16]",
        "mov qword ptr [rsp + 16], rax",
        "call {end}",
        "add rsp, 16",
        ".cfi_adjust_cfa_offset -16",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        begin = sym descriptors::begin, end = sym descriptors::end, target = sym CANCELLABLE,
    )
}

/// Replaces the last instruction before the system call in `syscall`, which loads the last argument. A call that changes descriptors is
/// made here, and the one behind it skipped. Other calls are left to `syscall`: they may return twice, or never.
#[unsafe(naked)]
unsafe extern "C" fn by_number() {
    naked_asm!(
        ".cfi_startproc",
        "mov r9, qword ptr [rsp + 16]",
        "push rax", "push rdi", "push rsi", "push rdx", "push r10", "push r8", "push r9",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 64",
        "mov rcx, rdx",
        "mov rdx, rsi",
        "mov rsi, rdi",
        "mov rdi, rax",
        "call {begin}",
        "mov r11, rax",
        "add rsp, 8",
        "pop r9", "pop r8", "pop r10", "pop rdx", "pop rsi", "pop rdi", "pop rax",
        ".cfi_adjust_cfa_offset -64",
        "test r11, r11",
        "jne 2f",
        "ret",
        "2:",
        "push r11",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 16",
        "syscall",
        "mov rdi, qword ptr [rsp + 8]",
        "mov qword ptr [rsp + 8], rax",
        "call {end}",
        "add rsp, 8",
        "pop rax",
        ".cfi_adjust_cfa_offset -16",
        "add qword ptr [rsp], 2",
        "ret",
        ".cfi_endproc",
        begin = sym begin_number, end = sym descriptors::end,
    )
}

// ---- The loader.

/// `struct r_debug`, which debuggers read.
#[repr(C)]
struct Debug {
    version: u32,
    map: usize,
    function: usize,
    state: AtomicU32,
    base: usize,
    /// Of another namespace of libraries (`dlmopen`), from version 2 on.
    next: *const Debug,
}

static DEBUG: AtomicPtr<Debug> = AtomicPtr::new(core::ptr::null_mut());

/// Whether libraries are coming or going.
fn is_loading() -> bool {
    const CONSISTENT: u32 = 0;
    const WITH_NEXT: u32 = 2;
    let mut at = DEBUG.load(Ordering::Relaxed).cast_const();
    // SAFETY: null, or the loader's list, to which it only appends.
    while let Some(debug) = unsafe { at.as_ref() } {
        if debug.state.load(Ordering::Relaxed) != CONSISTENT {
            return true;
        }
        at = if debug.version >= WITH_NEXT {
            debug.next
        } else {
            core::ptr::null()
        };
    }
    false
}

extern "C" fn libraries_change() {
    descriptors::libraries_change(is_loading());
}

/// Replaces the empty function that the loader calls for debuggers before libraries come or go, and when they have.
#[unsafe(naked)]
unsafe extern "C" fn loader_tells() {
    naked_asm!(
        ".cfi_startproc",
        "push rax", "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push r10", "push r11",
        ".cfi_adjust_cfa_offset 72",
        "call {change}",
        "pop r11", "pop r10", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rax",
        ".cfi_adjust_cfa_offset -72",
        "ret",
        ".cfi_endproc",
        change = sym libraries_change,
    )
}

// ---- The places.

/// Skips the function's landing pad for indirect branches, if it has one.
///
/// # Safety
///
/// The code can be read.
unsafe fn behind_pad(at: usize) -> usize {
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    // SAFETY: the caller's.
    let has_pad = unsafe { (at as *const [u8; 4]).read() } == ENDBR64;
    at + if has_pad { ENDBR64.len() } else { 0 }
}

/// Watches changes of descriptors and libraries that are loaded. Where that is impossible, each write asks the kernel.
///
/// # Safety
///
/// The C library's code, from `start` to `end`, can be written to, and no other thread is executing it.
pub(crate) unsafe fn begin(ring: &Header, start: usize, end: usize) {
    // SAFETY: the caller's.
    unsafe {
        if watch_descriptors(start, end) && watch_loader() {
            descriptors::trust(ring, is_loading());
        }
    }
}

/// # Safety
///
/// That of [`begin`].
unsafe fn watch_descriptors(start: usize, end: usize) -> bool {
    /// `mov eax, number`.
    const NUMBER: u8 = 0xb8;
    let plain: [(Index, u32, Code, bool); 7] = [
        (Index::close_nocancel, 3, nocancel, true),
        (Index::close_nocancel_nostatus, 3, nostatus, false),
        (Index::mq_close, 3, queue, false),
        (Index::dup2, 33, second, true),
        (Index::dup3, 292, third, true),
        (Index::close_range, 436, range, false),
        (Index::unshare, 272, own, true),
    ];
    for (index, number, stub, is_needed) in plain {
        if !is_there(index as usize) && !is_needed {
            continue;
        }
        let Some(at) = place(index, start, end) else {
            return false;
        };
        let mut code = [NUMBER, 0, 0, 0, 0];
        code[1..].copy_from_slice(&number.to_le_bytes());
        // SAFETY: within the code; the caller's.
        unsafe {
            if (at as *const [u8; LENGTH]).read() != code {
                return false;
            }
            REST[index as usize].store(at + LENGTH, Ordering::Relaxed);
            if !lead(at, JUMP, stub) {
                return false;
            }
        }
    }
    // SAFETY: the caller's.
    unsafe { watch_close(start, end) && watch_numbers(start, end) }
}

/// Where a function of the C library begins; `None` if it is not well within the library's code.
fn place(index: Index, start: usize, end: usize) -> Option<usize> {
    const LONGEST: usize = 64;
    let at = original(index) as usize;
    // SAFETY: within the code.
    (is_there(index as usize) && at >= start && at + LONGEST <= end)
        .then(|| unsafe { behind_pad(at) })
}

/// # Safety
///
/// That of [`begin`].
unsafe fn watch_close(start: usize, end: usize) -> bool {
    const BY_THREAD: [u8; 8] = [0x64, 0x8b, 0x04, 0x25, 0x18, 0, 0, 0];
    /// `cmp byte ptr [rip + …], 0`
    const BY_FLAG: [u8; 2] = [0x80, 0x3d];
    const BY_FLAG_LENGTH: usize = 7;
    /// `sub rsp, 16; movsxd rdi, edi; xor r9d, r9d; xor r8d, r8d; push 3; xor ecx, ecx; xor edx, edx; xor esi, esi; call …`
    const BY_CALL: [u8; 22] = [
        0x48, 0x83, 0xec, 0x10, 0x48, 0x63, 0xff, 0x45, 0x31, 0xc9, 0x45, 0x31, 0xc0, 0x6a, 3,
        0x31, 0xc9, 0x31, 0xd2, 0x31, 0xf6, CALL,
    ];
    let Some(at) = place(Index::close, start, end) else {
        return false;
    };
    let rest = &REST[Index::close as usize];
    // SAFETY: within the code; the caller's.
    unsafe {
        if (at as *const [u8; 8]).read() == BY_THREAD {
            rest.store(at + BY_THREAD.len(), Ordering::Relaxed);
            return lead(at, JUMP, by_thread);
        }
        let behind = at + BY_FLAG_LENGTH;
        if (at as *const [u8; 2]).read() == BY_FLAG && ((behind - 1) as *const u8).read() == 0 {
            let displacement = ((at + 2) as *const i32).read_unaligned();
            let flag = behind.wrapping_add_signed(displacement as isize);
            FLAG.store(flag, Ordering::Relaxed);
            rest.store(behind, Ordering::Relaxed);
            return lead(at, JUMP, by_flag);
        }
        if (at as *const [u8; 22]).read() == BY_CALL {
            let call = at + BY_CALL.len() - 1;
            let displacement = ((call + 1) as *const i32).read_unaligned();
            let target = (call + LENGTH).wrapping_add_signed(displacement as isize);
            CANCELLABLE.store(target, Ordering::Relaxed);
            return lead(call, CALL, cancellable);
        }
    }
    false
}

/// # Safety
///
/// That of [`begin`].
unsafe fn watch_numbers(start: usize, end: usize) -> bool {
    /// Six moves of arguments to where the kernel expects them; `mov r9, [rsp + 8]; syscall`.
    const CODE: [u8; 25] = [
        0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2,
        0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x0f, 0x05,
    ];
    const LAST_MOVE: usize = 18;
    // SAFETY: within the code; the caller's.
    place(Index::syscall, start, end).is_some_and(|at| unsafe {
        (at as *const [u8; 25]).read() == CODE && lead(at + LAST_MOVE, CALL, by_number)
    })
}

/// # Safety
///
/// No other thread is executing the loader's code.
unsafe fn watch_loader() -> bool {
    /// `ret`, and the alignment of the next function.
    const RET: u8 = 0xc3;
    const ALIGNMENT: usize = 16;
    const READ_WRITE_EXEC: usize = 7;
    const READ_EXEC: usize = 5;
    let mut found = None;
    each_object(|object| {
        let places = Symbols::of(object).map(|symbols| {
            (
                symbols.find(c"_dl_debug_state") as usize,
                symbols.find_variable(c"_r_debug"),
            )
        });
        found = places.filter(|(function, debug)| *function != 0 && !debug.is_null());
        found.is_some()
    });
    let Some((function, debug)) = found else {
        return false;
    };
    // SAFETY: the loader's function and the padding behind it; the caller's.
    unsafe {
        let at = behind_pad(function);
        let is_empty = (at as *const u8).read() == RET
            && function % ALIGNMENT == 0
            && at + LENGTH <= function + ALIGNMENT;
        if !is_empty || !protect(function, ALIGNMENT, READ_WRITE_EXEC) {
            return false;
        }
        DEBUG.store(debug.cast(), Ordering::Relaxed);
        LOADER.store(function as u64, Ordering::Relaxed);
        let is_led = lead(at, JUMP, loader_tells);
        protect(function, ALIGNMENT, READ_EXEC) && is_led
    }
}
