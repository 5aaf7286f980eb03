//! The end of a process on Windows.
//!
//! `std::process::exit` is `ExitProcess` there, which calls no function of `atexit`, and ends all other threads before it tells
//! any code of the program: a helper may be in the middle of a write. So the program's import of that function is exchanged
//! for [`drain_and_exit`], which std then calls instead.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::io;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

type ExitProcess = unsafe extern "system" fn(u32) -> !;

struct AtExit {
    drain: fn(Option<i32>),
    exit_process: ExitProcess,
}

static AT_EXIT: OnceLock<AtExit> = OnceLock::new();

unsafe extern "system" {
    fn GetModuleHandleExW(flags: u32, name: *const c_void, module: *mut *const u8) -> i32;
    fn GetModuleHandleA(name: *const c_char) -> *const c_void;
    fn GetProcAddress(module: *const c_void, name: *const c_char) -> Option<ExitProcess>;
    fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
}

const GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT: u32 = 2;
const GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS: u32 = 4;
const PAGE_READWRITE: u32 = 4;

unsafe extern "system" fn drain_and_exit(status: u32) -> ! {
    let at_exit = AT_EXIT.get().expect("set before the import is exchanged");
    (at_exit.drain)(Some(status as i32));
    // SAFETY: the system's function, which takes any status.
    unsafe { (at_exit.exit_process)(status) }
}

/// Calls `drain` before `ExitProcess`, where this module calls that.
pub(super) fn at_exit_process(drain: fn(Option<i32>)) {
    // SAFETY: names of a module that is always loaded, and of a function of this type.
    let exit_process = unsafe {
        let kernel = GetModuleHandleA(c"kernel32.dll".as_ptr());
        GetProcAddress(kernel, c"ExitProcess".as_ptr())
    };
    let Some(exit_process) = exit_process else {
        return;
    };
    let at_exit = AtExit {
        drain,
        exit_process,
    };
    if AT_EXIT.set(at_exit).is_err() {
        return;
    }
    let mut module = ptr::null();
    let flags =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    // SAFETY: the address is one of this module's.
    if unsafe { GetModuleHandleExW(flags, drain_and_exit as *const c_void, &mut module) } == 0 {
        return;
    }
    // SAFETY: the loader has mapped the module from this address on, and this code is in it.
    for import in unsafe { imports(module) } {
        if import.load(Ordering::Relaxed) == exit_process as usize {
            exchange(import);
        }
    }
}

/// The addresses of the functions that a module imports, as the loader has found them.
///
/// # Safety
///
/// A module is mapped at `module`, and stays so.
unsafe fn imports(module: *const u8) -> Vec<&'static AtomicUsize> {
    // Offsets of the fields of the format "PE32+" and "PE32": learn.microsoft.com/windows/win32/debug/pe-format
    const HEAD: usize = 0x3c;
    const IMPORT_TABLE: usize = if cfg!(target_pointer_width = "64") {
        0x90
    } else {
        0x80
    };
    const FIRST_THUNK: usize = 16;
    const DESCRIPTOR: usize = 20;

    // SAFETY: by the contract, all offsets are of the module's own tables.
    let read =
        |offset: usize| unsafe { module.add(offset).cast::<u32>().read_unaligned() } as usize;
    let mut descriptor = read(read(HEAD) + IMPORT_TABLE);
    let mut found = Vec::new();
    if descriptor == 0 {
        return found;
    }
    while read(descriptor + FIRST_THUNK) != 0 {
        let mut slot = read(descriptor + FIRST_THUNK);
        loop {
            // SAFETY: as above; the table is aligned, and the loader has finished with it. It ends in a zero.
            let import = unsafe { &*module.add(slot).cast::<AtomicUsize>() };
            if import.load(Ordering::Relaxed) == 0 {
                break;
            }
            found.push(import);
            slot += size_of::<usize>();
        }
        descriptor += DESCRIPTOR;
    }
    found
}

/// Has `import` lead to [`drain_and_exit`]. The page is read-only.
fn exchange(import: &AtomicUsize) {
    let (page, mut old) = (ptr::from_ref(import).cast_mut().cast(), 0);
    // SAFETY: makes no address invalid, and takes no permission away but for executing, which a table does not need.
    unsafe {
        if VirtualProtect(page, size_of::<usize>(), PAGE_READWRITE, &mut old) == 0 {
            return;
        }
    }
    import.store(drain_and_exit as *const () as usize, Ordering::Relaxed);
    // SAFETY: as before it.
    unsafe { VirtualProtect(page, size_of::<usize>(), old, &mut old) };
}

/// Calls `run` at Ctrl-C, Ctrl-Break and the end of the console or the session, on a thread of the system's, before the process
/// ends. A handler that the program installs later comes first, and decides whether it ends.
pub(crate) fn at_console_event(run: fn()) -> io::Result<()> {
    static RUN: OnceLock<fn()> = OnceLock::new();

    extern "system" fn call(_event: u32) -> i32 {
        if let Some(run) = RUN.get() {
            run();
        }
        // Not handled: the next handler's turn.
        0
    }
    if RUN.set(run).is_err() {
        return Ok(());
    }
    // SAFETY: `call` lives as long as the process: its module is the program, or stays loaded.
    match unsafe { SetConsoleCtrlHandler(call, 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
