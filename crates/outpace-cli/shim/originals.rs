//! The places of the C library's functions that the shim replaces or calls.

use crate::machine::missing;
use crate::musl;
use crate::symbols::{Symbols, each_object};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

macro_rules! originals {
    ($($index:ident $name:literal)*) => {
        /// The functions: first those that the shim only calls, then those that it replaces.
        #[repr(usize)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Index { $($index),*, COUNT }
        pub(crate) static NAMES: [&core::ffi::CStr; Index::COUNT as usize] = [$($name),*];
    };
}
originals! {
    testcancel c"pthread_testcancel" register_atfork c"__register_atfork" atfork c"pthread_atfork" stream_write c"_IO_file_write"
    dlopen c"dlopen" dlmopen c"dlmopen" dlsym c"dlsym" dlvsym c"dlvsym"
    close_nocancel c"__close_nocancel" close_nocancel_nostatus c"__close_nocancel_nostatus" mq_close c"mq_close"
    write c"write" writev c"writev" write_nocancel c"__write_nocancel" pthread_create c"pthread_create"
    fork c"fork" Fork c"_Fork" vfork c"vfork" clone c"clone" system c"system" popen c"popen" daemon c"daemon" forkpty c"forkpty" wordexp c"wordexp"
    posix_spawn c"posix_spawn" posix_spawnp c"posix_spawnp"
    execve c"execve" fexecve c"fexecve" execveat c"execveat"
    execv c"execv" execvp c"execvp" execvpe c"execvpe" execl c"execl" execlp c"execlp" execle c"execle"
    unshare c"unshare" setns c"setns" sendmsg c"sendmsg" sendmmsg c"sendmmsg"
    ioctl c"ioctl" tcsetattr c"tcsetattr" tcdrain c"tcdrain" tcflush c"tcflush" tcflow c"tcflow" tcsendbreak c"tcsendbreak"
    splice c"splice" sendfile c"sendfile" sendfile64 c"sendfile64" vmsplice c"vmsplice" tee c"tee"
    copy_file_range c"copy_file_range" vhangup c"vhangup" pwritev2 c"pwritev2" pwritev64v2 c"pwritev64v2" prctl c"prctl" syscall c"syscall"
    close c"close" dup2 c"dup2" dup3 c"dup3" close_range c"close_range" closefrom c"closefrom"
    fclose c"fclose" freopen c"freopen" freopen64 c"freopen64"
    munmap c"munmap" mprotect c"mprotect" pkey_mprotect c"pkey_mprotect" mremap c"mremap" mmap c"mmap" mmap64 c"mmap64"
    brk c"brk" sbrk c"sbrk" shmdt c"shmdt" madvise c"madvise"
}

pub(crate) static ORIGINALS: [AtomicPtr<c_void>; Index::COUNT as usize] =
    [const { AtomicPtr::new(ptr::null_mut()) }; Index::COUNT as usize];
static RESOLVED: AtomicBool = AtomicBool::new(false);

/// Finds the originals. Constructors of other libraries may run before ours and call replaced functions.
#[cold]
fn resolve() {
    let find = |symbols: &Symbols| {
        for (original, name) in ORIGINALS.iter().zip(NAMES) {
            if original.load(Ordering::Relaxed).is_null() {
                original.store(symbols.find(name), Ordering::Relaxed);
            }
        }
    };
    // Before glibc 2.34 some functions are in the library of threads as well; the C library calls its own ones.
    each_object(|object| {
        let symbols = Symbols::of(object);
        let libc = symbols.filter(|symbols| !symbols.find(c"__libc_start_main").is_null());
        if let Some(libc) = &libc {
            find(libc);
            musl::look(libc);
        }
        libc.is_some()
    });
    each_object(|object| {
        let threads = Symbols::of(object);
        let threads = threads.filter(|symbols| !symbols.find(c"pthread_testcancel").is_null());
        threads.as_ref().map(find).is_some()
    });
    for (index, original) in ORIGINALS.iter().enumerate() {
        // The library of threads may be loaded later.
        let is_missing = index != Index::pthread_create as usize && is_replaced(index);
        if original.load(Ordering::Relaxed).is_null() && is_missing {
            original.store(missing as *mut c_void, Ordering::Relaxed);
        }
    }
    RESOLVED.store(true, Ordering::Release);
}

/// Whether the shim replaces a function, and does not only call it.
pub(crate) fn is_replaced(index: usize) -> bool {
    (Index::write as usize..Index::COUNT as usize).contains(&index)
}

/// Whether the C library has a function of that index.
pub(crate) fn is_there(index: usize) -> bool {
    let original = ORIGINALS
        .get(index)
        .map_or(ptr::null_mut(), |place| place.load(Ordering::Relaxed));
    !original.is_null() && original != missing as *mut c_void
}

pub(crate) fn ensure_resolved() {
    if !RESOLVED.load(Ordering::Acquire) {
        resolve();
    }
}

pub(crate) fn original(index: Index) -> *mut c_void {
    ensure_resolved();
    ORIGINALS[index as usize].load(Ordering::Relaxed)
}
