//! Support for musl. Its streams write by an inline system call, and a thread that ends unmaps its stack by another; both are
//! redirected. Its loader passes no arguments to constructors.

use crate::symbols::Symbols;
use core::ffi::c_char;
use core::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    static environ: *mut *const c_char;
}

/// The function by which streams write (`__stdio_write`); 0 where the C library is not musl.
static STREAM_WRITE: AtomicUsize = AtomicUsize::new(0);
/// musl, in a form that is not supported.
const UNKNOWN: usize = usize::MAX;

/// Whether the C library is musl.
pub(crate) fn is_there() -> bool {
    STREAM_WRITE.load(Ordering::Relaxed) != 0
}

/// Detects musl.
pub(crate) fn look(libc: &Symbols) {
    /// The offset of `write` in musl's `struct _IO_FILE`, the same since its first version.
    const WRITE: usize = 72;
    if !libc.find(c"gnu_get_libc_version").is_null() {
        return;
    }
    let stderr = libc.find_variable(c"stderr").cast::<*const u8>();
    let function = if stderr.is_null() {
        UNKNOWN
    } else {
        // SAFETY: the C library's variable points to its stream, which is larger; both are there before any constructor.
        unsafe { stderr.read().add(WRITE).cast::<usize>().read() }
    };
    STREAM_WRITE.store(function, Ordering::Relaxed);
}

/// The environment, which musl's loader does not pass.
pub(crate) fn environment() -> Option<*mut *const c_char> {
    // SAFETY: the C library has set it before any constructor.
    is_there().then(|| unsafe { environ })
}

/// The function by which musl's streams write; of another C library, `None`.
pub(crate) fn stream_write() -> Option<usize> {
    is_there().then(|| STREAM_WRITE.load(Ordering::Relaxed))
}
