//! A shared object that prints, for a host in any language: as a plugin of an editor, or a module of PAM.
//!
//! ```sh
//! cargo build -p outpace --example plugin
//! python3 -c 'import ctypes; ctypes.CDLL("target/debug/examples/libplugin.so").print_lines(b"plugin", 3)'
//! ```
//!
//! Its host may unload it: it stays in memory, since it has a thread that prints, and all lines arrive.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

/// Prints `count` lines that begin with `name`, a C string.
///
/// # Safety
///
/// `name` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn print_lines(name: *const c_char, count: c_int) {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    for i in 0..count {
        outpace::stdout()
            .lock()
            .str(&name)
            .char(' ')
            .int(i)
            .char('\n');
    }
}

/// Makes signals and faults drain pending output before they end the process.
#[unsafe(no_mangle)]
pub extern "C" fn survive_signals() {
    outpace::init();
    if let Err(error) = outpace::init::fatal_faults() {
        eprintln!("a crash may lose output: {error}");
    }
}
