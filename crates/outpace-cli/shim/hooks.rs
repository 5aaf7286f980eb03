//! The replaced functions of the C library, and what each does before it goes on as the original.

use crate::descriptors;
use crate::environment::{LONGEST_PATH, find, with_environment};
use crate::family::{self, before_copy, before_program};
use crate::inline;
use crate::lookups;
use crate::machine::{Code, missing};
use crate::membership::{come_back, retire};
use crate::originals::{Index, ORIGINALS, ensure_resolved, original};
use crate::ring::{self, Member};
use crate::settle::{ring, settle, settle_for};
use crate::symbols::{Symbols, each_object};
use crate::system::{self, can_be_read};
use crate::text::{self, Replacements};
use crate::writes::{before_write, before_writev};
use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering;

// ---- What runs before the originals.

/// A descriptor may be closed, or lead elsewhere.
pub(crate) extern "C" fn before_close() {
    ensure_resolved();
    descriptors::forget();
}

pub(crate) extern "C" fn before_close_range(_: u32, _: u32, flags: u32) {
    const CLOSE_RANGE_UNSHARE: u32 = 2;
    before_close();
    if flags & CLOSE_RANGE_UNSHARE != 0 {
        retire(ring::BY_BYPASS);
    }
}

/// A page may be unmapped.
pub(crate) extern "C" fn before_unmap() {
    ensure_resolved();
    system::forget_pages();
}

/// `mmap(…, protection, flags, file)`: may map code without the loader.
pub(crate) extern "C" fn before_map(_: usize, _: usize, protection: u32, _: c_int, file: c_int) {
    const PROT_EXEC: u32 = 4;
    before_unmap();
    if protection & PROT_EXEC != 0 && file >= 0 {
        descriptors::code_changes();
    }
}

/// A call that looks at the terminal, or changes it.
pub(crate) extern "C" fn before_terminal(descriptor: c_int) {
    ensure_resolved();
    if let Some(ring) = ring() {
        settle_for(ring, descriptor);
    }
}

/// The same on x86-64 and aarch64, in the kernel and in both C libraries.
const TCGETS: u32 = 0x5401;
const TIOCGPGRP: u32 = 0x540f;
const TIOCGWINSZ: u32 = 0x5413;
const FIONREAD: u32 = 0x541b;
const TCXONC: u32 = 0x540a;
const TCSETS: u32 = 0x5402;
const TCSETSF: u32 = 0x5404;
const TCSETS2: u32 = 0x402c_542b;
const TCSETSF2: u32 = 0x402c_542d;

/// `tcflow(descriptor, action)`: the call that lets stopped output go on must not wait for that output.
pub(crate) extern "C" fn before_flow(descriptor: c_int, action: c_int) {
    const TCOON: c_int = 1;
    if action != TCOON {
        before_terminal(descriptor);
    }
}

pub(crate) extern "C" fn before_ioctl(descriptor: c_int, request: u32, settings: *const u32) {
    ensure_resolved();
    match request {
        // Output does not change the answers.
        TCGETS | TIOCGPGRP | TIOCGWINSZ | FIONREAD => {}
        TCXONC => before_flow(descriptor, settings as usize as c_int),
        TCSETS..=TCSETSF | TCSETS2..=TCSETSF2 => before_settings(descriptor, 0, settings),
        _ => before_terminal(descriptor),
    }
}

/// The kernel's settings and the C library's begin with the same four words of flags.
pub(crate) extern "C" fn before_settings(descriptor: c_int, _: c_int, settings: *const u32) {
    const LOCAL: usize = 3;
    const TOSTOP: u32 = 0o400;
    before_terminal(descriptor);
    let Some(ring) = ring() else {
        return;
    };
    if can_be_read(settings.cast(), 16) && settings.is_aligned() {
        // SAFETY: checked just now.
        let flags = unsafe { settings.add(LOCAL).read() };
        // A write has to stop a job in the background, and only the kernel knows of that. `run` checks TOSTOP before it opens the ring.
        if flags & TOSTOP != 0 {
            ring.close(ring::BY_TERMINAL);
        }
    }
}

/// A call that may write to the terminal by other means.
pub(crate) extern "C" fn before_other() {
    ensure_resolved();
    if let Some(ring) = ring() {
        settle(ring);
    }
}

pub(crate) extern "C" fn before_prctl(option: c_int) {
    const PR_SET_SECCOMP: c_int = 22;
    ensure_resolved();
    // Afterwards the shim's system calls may be forbidden.
    if option == PR_SET_SECCOMP {
        retire(ring::BY_BYPASS);
    }
}

/// Process numbers may mean other processes from now on, or the terminal may be hung up.
pub(crate) extern "C" fn before_namespace() {
    ensure_resolved();
    retire(ring::BY_BYPASS);
}

const NAMESPACES: usize = 0x7e02_0080;

/// `clone(function, stack, flags, …)`.
pub(crate) extern "C" fn before_clone(_: usize, _: usize, flags: c_int) {
    const CLONE_THREAD: c_int = 0x1_0000;
    const CLONE_VM: c_int = 0x100;
    const CLONE_FILES: c_int = 0x400;
    // A thread of this process: the C library makes threads so where there is no clone3(2).
    if flags & CLONE_THREAD != 0 {
        ensure_resolved();
        if flags & CLONE_FILES == 0 {
            // The thread has descriptors of its own.
            retire(ring::BY_BYPASS);
        }
        return family::before_thread();
    }
    family::before_fork();
    if flags & (CLONE_VM | CLONE_FILES) != 0 {
        descriptors::mistrust();
    }
    if flags as usize & NAMESPACES != 0 {
        retire(ring::BY_BYPASS);
    }
}

/// The child shares its parent's memory, with the answers about descriptors there, but has descriptors of its own.
pub(crate) extern "C" fn before_vfork() {
    family::before_fork();
    descriptors::mistrust();
}

/// Another thread is about to be made.
pub(crate) extern "C" fn before_thread() {
    ensure_resolved();
    family::before_thread();
    let place = &ORIGINALS[Index::pthread_create as usize];
    if place.load(Ordering::Relaxed).is_null() {
        each_object(|object| {
            let function = Symbols::of(object).map(|symbols| symbols.find(c"pthread_create"));
            // This object defines the same name.
            let is_original = |at: &*mut c_void| {
                !at.is_null() && *at as usize != pthread_create as unsafe extern "C" fn() as usize
            };
            let original = function.filter(is_original);
            if let Some(function) = original {
                place.store(function, Ordering::Relaxed);
            }
            original.is_some()
        });
    }
    if place.load(Ordering::Relaxed).is_null() {
        place.store(missing as *mut c_void, Ordering::Relaxed);
    }
}

/// Another program takes this one's place, by the C library's own call of `execve`.
pub(crate) extern "C" fn before_exec() {
    ensure_resolved();
    text::complete_if_postponed();
}

/// The C library makes a process by itself: by `posix_spawn`, or at a moment that cannot be seen.
pub(crate) extern "C" fn before_system() {
    ensure_resolved();
    text::complete_if_postponed();
    if ring().is_none() {
        family::EARLY.store(1, Ordering::Relaxed);
    }
}

/// `sendmsg(socket, message, …)`: a descriptor of the terminal may go to a process that is no member.
pub(crate) extern "C" fn before_message(_: c_int, message: *const usize) {
    /// `msg_control`, `msg_controllen` (`struct msghdr`).
    const CONTROL: usize = 4;
    const CONTROL_LENGTH: usize = 5;
    const MOST: usize = 4096;
    ensure_resolved();
    let Some(ring) = ring() else {
        return;
    };
    if !message.is_aligned() || !can_be_read(message.cast(), (CONTROL_LENGTH + 1) * 8) {
        return;
    }
    // SAFETY: checked just now.
    let (control, length) = unsafe {
        (
            message.add(CONTROL).read() as *const u32,
            message.add(CONTROL_LENGTH).read(),
        )
    };
    if length == 0 {
        return;
    }
    let has_terminal = length > MOST || !control.is_aligned() || {
        // Any word may be the number of a descriptor.
        can_be_read(control.cast(), length)
            && (0..length / 4).any(|index| {
                // SAFETY: checked just now.
                let word = unsafe { control.add(index).read() };
                word < 1 << 20 && system::leads(word as c_int, ring).may_be_here()
            })
    };
    if has_terminal {
        retire(ring::BY_BYPASS);
    }
}

/// Several messages at once.
pub(crate) extern "C" fn before_messages(_: c_int, messages: *const usize, count: u32) {
    const SIZE: usize = 8;
    for index in 0..count as usize {
        before_message(0, messages.wrapping_add(index * SIZE));
    }
}

pub(crate) extern "C" fn before_syscall(
    number: usize,
    descriptor: usize,
    third: usize,
    fourth: usize,
) {
    use crate::machine::numbers::*;
    ensure_resolved();
    match number {
        WRITE | WRITEV => before_terminal(descriptor as c_int),
        IOCTL => before_ioctl(descriptor as c_int, third as u32, fourth as *const u32),
        PRCTL => before_prctl(descriptor as c_int),
        SENDMSG => before_message(0, third as *const usize),
        SENDMMSG => before_messages(0, third as *const usize, fourth as u32),
        number if BEHIND.contains(&number) => retire(ring::BY_BYPASS),
        number if OTHER.contains(&number) => before_other(),
        CLOSE_RANGE => before_close_range(0, 0, fourth as u32),
        number if CLOSE.contains(&number) => before_close(),
        number if UNMAP.contains(&number) => before_unmap(),
        _ => {}
    }
}

pub(crate) extern "C" fn before_dlopen() {
    lookups::begin(Index::dlopen, dlopen as *const c_void);
}

pub(crate) extern "C" fn before_dlmopen() {
    lookups::begin(Index::dlmopen, dlmopen as *const c_void);
}

pub(crate) extern "C" fn before_dlsym() {
    lookups::begin(Index::dlsym, dlsym as *const c_void);
}

pub(crate) extern "C" fn before_dlvsym() {
    lookups::begin(Index::dlvsym, dlvsym as *const c_void);
}

// ---- The replacements.

writes! { write before_write writev before_writev }

before! {
    before_copy: fork, _Fork = Fork;
    before_vfork: vfork;
    before_clone: clone;
    before_system: system, popen, daemon, forkpty, wordexp;
    before_thread: pthread_create;
    before_exec: execv, execvp, execvpe, execl, execlp, execle;
    before_namespace: unshare, setns, vhangup;
    before_message: sendmsg;
    before_messages: sendmmsg;
    before_ioctl: ioctl;
    before_settings: tcsetattr;
    before_terminal: tcdrain, tcflush, tcsendbreak, __write_nocancel = write_nocancel;
    before_flow: tcflow;
    before_other: splice, sendfile, sendfile64, vmsplice, tee, copy_file_range, pwritev2, pwritev64v2;
    before_prctl: prctl;
    before_close: close, dup2, dup3, closefrom, fclose, freopen, freopen64;
    before_close_range: close_range;
    before_map: mmap, mmap64;
    before_unmap: munmap, mprotect, pkey_mprotect, mremap, brk, sbrk, shmdt, madvise;
    before_syscall: syscall;
    before_dlopen: dlopen;
    before_dlmopen: dlmopen;
    before_dlsym: dlsym;
    before_dlvsym: dlvsym;
}

type Texts = *const *const c_char;

/// As the C library's.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, words: Texts, environment: Texts) -> c_int {
    type Execve = unsafe extern "C" fn(*const c_char, Texts, Texts) -> c_int;
    // SAFETY: the function of that name has this type.
    let original: Execve = unsafe { core::mem::transmute(original(Index::execve)) };
    let away = ring().and_then(before_program);
    // SAFETY: the caller's.
    let failed = unsafe {
        with_environment(path, environment, |environment| {
            original(path, words, environment)
        })
    };
    come_back(away);
    failed
}

/// As the C library's.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(descriptor: c_int, words: Texts, environment: Texts) -> c_int {
    type Fexecve = unsafe extern "C" fn(c_int, Texts, Texts) -> c_int;
    // SAFETY: the function of that name has this type.
    let original: Fexecve = unsafe { core::mem::transmute(original(Index::fexecve)) };
    let away = ring().and_then(before_program);
    // SAFETY: the caller's.
    let failed = unsafe {
        with_environment(ptr::null(), environment, |environment| {
            original(descriptor, words, environment)
        })
    };
    come_back(away);
    failed
}

/// As the C library's.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    words: Texts,
    environment: Texts,
    flags: c_int,
) -> c_int {
    type Execveat = unsafe extern "C" fn(c_int, *const c_char, Texts, Texts, c_int) -> c_int;
    // SAFETY: the function of that name has this type.
    let original: Execveat = unsafe { core::mem::transmute(original(Index::execveat)) };
    let away = ring().and_then(before_program);
    // SAFETY: the caller's.
    let failed = unsafe {
        with_environment(ptr::null(), environment, |environment| {
            original(directory, path, words, environment, flags)
        })
    };
    come_back(away);
    failed
}

/// Called before a program is started.
fn before_spawn() -> Option<&'static Member> {
    let Some(ring) = ring() else {
        family::EARLY.store(1, Ordering::Relaxed);
        return None;
    };
    before_program(ring)
}

/// The path that tells the program's file here as in the child, which may have another working directory by its actions; else null.
///
/// # Safety
///
/// The path ends with a NUL, or cannot be read.
unsafe fn file_of(path: *const c_char, actions: *const c_void) -> *const c_char {
    // SAFETY: checked just before.
    let is_absolute = can_be_read(path.cast(), 1) && unsafe { *path } as u8 == b'/';
    if actions.is_null() || is_absolute {
        path
    } else {
        ptr::null()
    }
}

type Spawn = unsafe extern "C" fn(
    *mut c_int,
    *const c_char,
    *const c_void,
    *const c_void,
    Texts,
    Texts,
) -> c_int;

/// As the C library's.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    process: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    words: Texts,
    environment: Texts,
) -> c_int {
    // SAFETY: the function of that name has this type.
    let original: Spawn = unsafe { core::mem::transmute(original(Index::posix_spawn)) };
    let away = before_spawn();
    // SAFETY: the caller's.
    let result = unsafe {
        with_environment(file_of(path, actions), environment, |environment| {
            original(process, path, actions, attributes, words, environment)
        })
    };
    come_back(away);
    result
}

/// As the C library's.
///
/// # Safety
///
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    process: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    words: Texts,
    environment: Texts,
) -> c_int {
    // SAFETY: the function of that name has this type.
    let original: Spawn = unsafe { core::mem::transmute(original(Index::posix_spawnp)) };
    let away = before_spawn();
    let mut buffer = [0; LONGEST_PATH];
    // SAFETY: the caller's.
    let result = unsafe {
        let path = find(file, &mut buffer).unwrap_or(ptr::null());
        with_environment(file_of(path, actions), environment, |environment| {
            original(process, file, actions, attributes, words, environment)
        })
    };
    come_back(away);
    result
}

/// A replacement, of which only the address is used, as the target of calls that pass what the function takes.
macro_rules! code {
    ($function:ident: fn($($type:ty),*)) => {
        // SAFETY: both are pointers to functions; it is not called by this type.
        unsafe {
            core::mem::transmute::<unsafe extern "C" fn($($type),*) -> c_int, Code>($function)
        }
    };
}

/// The targets of the C library's own calls.
pub(crate) static REPLACEMENTS: Replacements = Replacements {
    functions: {
        let mut all = [None; Index::COUNT as usize];
        let mut at = 0;
        while at < WRITES.len() {
            all[WRITES[at].0 as usize] = Some(WRITES[at].1);
            at += 1;
        }
        at = 0;
        while at < BEFORE.len() {
            all[BEFORE[at].0 as usize] = Some(BEFORE[at].1);
            at += 1;
        }
        all[Index::execve as usize] = Some(code!(execve: fn(*const c_char, Texts, Texts)));
        all[Index::fexecve as usize] = Some(code!(fexecve: fn(c_int, Texts, Texts)));
        all[Index::execveat as usize] =
            Some(code!(execveat: fn(c_int, *const c_char, Texts, Texts, c_int)));
        all[Index::posix_spawn as usize] = Some(code!(
            posix_spawn: fn(*mut c_int, *const c_char, *const c_void, *const c_void, Texts, Texts)
        ));
        all[Index::posix_spawnp as usize] = Some(code!(
            posix_spawnp: fn(*mut c_int, *const c_char, *const c_void, *const c_void, Texts, Texts)
        ));
        all
    },
    last_words: inline::redirect_last_words,
    streams: inline::redirect_streams,
    last_unmap: inline::redirect_last_unmap,
};
