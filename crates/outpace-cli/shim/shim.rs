//! The shared object that `outpace run` puts into a program: a short `write` to its terminal becomes a copy into memory
//! that belongs to `run`. Where `run` gives the program a pipe and no terminal, "terminal" means that pipe in all files here.
//!
//! It needs only the program's C library. Each process takes it out of its environment, and hands it on to the programs that it
//! starts, where they can have it. Before another program starts, which may not have the shim, the ring is closed. From then on
//! all writes go to the terminal until `run` has found that all processes that can write there are members.
//!
//! glibc calls its own `write` and its neighbours directly, where interposition by name does not reach: those calls are
//! redirected in its text, once, while the program has one thread. The functions themselves stay as they are, so each
//! replacement can call the original, with its errors and its cancellation. musl's streams write by an inline system call,
//! which is redirected as well.

#![no_std]
#![allow(non_snake_case, non_upper_case_globals)]

/// The atomics and the capacity of the ring.
mod sync {
    pub const CAPACITY: u64 = 1 << 20;
    pub use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    /// A fence behind an atomic change, which on x86-64 is one: its instruction has the prefix `lock`.
    pub fn fence_after_change() {
        if cfg!(target_arch = "x86_64") {
            core::sync::atomic::compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }
}
#[macro_use]
mod machine;
mod descriptors;
mod environment;
mod family;
mod hooks;
#[cfg_attr(target_arch = "x86_64", path = "inline_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "inline_aarch64.rs")]
mod inline;
mod known;
mod lookups;
mod membership;
mod musl;
mod originals;
mod program;
#[allow(dead_code)]
mod ring;
mod settle;
mod symbols;
mod system;
mod text;
#[cfg(target_arch = "x86_64")]
mod watch;
mod writes;

use core::ffi::{c_char, c_int};
use core::ptr;
use core::sync::atomic::Ordering;
use originals::Index;
use ring::Header;
use system::FileStatus;

// The core library's own code, of checks that never fail, refers to it.
core::arch::global_asm!(
    ".pushsection .text",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    "ret",
    ".popsection",
);

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Not reached: no code here panics.
    loop {
        core::hint::spin_loop();
    }
}

/// Called by the loader, after all other libraries' constructors.
extern "C" fn start(_: c_int, _: *const *const c_char, variables: *mut *const c_char) {
    text::use_replacements(&hooks::REPLACEMENTS);
    originals::ensure_resolved();
    let variables = musl::environment().unwrap_or(variables);
    // SAFETY: glibc's loader passes the environment, and the program has not begun.
    let path = unsafe { environment::take_out(variables) };
    if let Some(path) = path {
        attach(path);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn(c_int, *const *const c_char, *mut *const c_char) = start;

fn map(path: *const c_char) -> Option<&'static Header> {
    const READ_WRITE: usize = 3;
    const SHARED: usize = 1;
    const O_RDWR: usize = 2;
    // SAFETY: the path ends with a NUL; the mapping is a new one, of a file that is sealed at its size.
    unsafe {
        let file = system::open(path, O_RDWR);
        if file < 0 {
            return None;
        }
        let memory = system::call(
            system::MMAP,
            0,
            ring::SIZE,
            READ_WRITE,
            SHARED,
            file as usize,
            0,
        );
        let inode = FileStatus::of(file as usize).map(|stat| stat.inode);
        system::close(file);
        if memory < 0 {
            return None;
        }
        let ring = &*ptr::with_exposed_provenance::<Header>(memory as usize);
        let is_one = ring.magic.load(Ordering::Acquire) == ring::MAGIC
            && inode == Some(ring.ring.load(Ordering::Relaxed));
        if !is_one {
            system::call(system::MUNMAP, memory as usize, ring::SIZE, 0, 0, 0, 0);
        }
        is_one.then_some(ring)
    }
}

fn attach(path: *const c_char) {
    let Some(ring) = map(path) else {
        return;
    };
    ring.end_start();
    let process = system::process();
    let state = ring.state();
    let is_first = state == ring::WAITING;
    if state == ring::DEAD {
        return;
    }
    // The program that this process was before may have been replaced in the middle of a write, by one of its threads.
    let holder = ring.lock.0.load(Ordering::Acquire);
    if holder != 0 && ring::process_of(holder) == process {
        ring.take_over(holder);
    }
    // The first process is the one started by `run`.
    let is_in_namespace = || {
        let namespace = || FileStatus::at(c"/proc/self/ns/pid").map(|stat| stat.inode);
        is_first || namespace() == Some(ring.namespace.load(Ordering::Relaxed))
    };
    let refused = if is_first && ring.program.load(Ordering::Acquire) != process {
        ring.reason.store(ring::OTHER_PROGRAM, Ordering::Relaxed);
        return;
    } else if !is_in_namespace() || !membership::prepare() {
        ring::NO_PLACE
    } else if family::EARLY.load(Ordering::Relaxed) != 0 {
        ring::BY_EXEC
    } else if !originals::is_there(Index::write as usize) {
        ring::NO_LIBRARY
    } else if !system::is_alone() || !(is_first && text::postpone(ring) || text::redirect(ring)) {
        ring::NO_TEXT
    } else {
        // From here on the writes of this process keep the order.
        settle::RING.store(ptr::from_ref(ring).cast_mut(), Ordering::Release);
        family::watch_forks();
        // A postponed process registers itself at its first write.
        if text::is_postponed() || family::register(ring) {
            0
        } else {
            ring::NO_PLACE
        }
    };
    if is_first {
        // A process that was redirected and is no member still writes in order.
        ring.reason.store(refused, Ordering::Relaxed);
        ring.begin();
        if refused != 0 {
            ring.close(refused);
        }
    }
}
