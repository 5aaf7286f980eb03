//! The end of a process on Windows.
//!
//! `std::process::exit` is `ExitProcess` there, which calls no function of `atexit`, and ends all other threads before it tells
//! any code of the program: a helper may be in the middle of a write. So the program's import of that function is exchanged
//! for [`drain_and_exit`], which std then calls instead.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
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
    fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
}

const GET_MODULE_HANDLE_EX_FLAG_PIN: u32 = 1;
const GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS: u32 = 4;
const PAGE_READWRITE: u32 = 4;

unsafe extern "system" fn drain_and_exit(status: u32) -> ! {
    let at_exit = AT_EXIT.get().expect("set before the import is exchanged");
    (at_exit.drain)(Some(status as i32));
    // SAFETY: what the import was before: the system's function, which takes any status, or one in its place.
    unsafe { (at_exit.exit_process)(status) }
}

/// Calls `drain` before `ExitProcess`, where this module calls that.
pub(super) fn at_exit_process(drain: fn(Option<i32>)) {
    let Some(module) = stay_loaded() else {
        return;
    };
    // SAFETY: this module, which stays loaded.
    let imports = unsafe { imports(module, c"ExitProcess") };
    let Some(first) = imports.first() else {
        return;
    };
    // The import and not the system's own function: another copy of this library may have exchanged it before, and drains next.
    let address = first.load(Ordering::Relaxed);
    // SAFETY: the address of a function of that name and type, by the loader or by such a copy.
    let exit_process = unsafe { std::mem::transmute::<usize, ExitProcess>(address) };
    let at_exit = AtExit {
        drain,
        exit_process,
    };
    // Set already by a second call, which leaves all as it is.
    let _ = AT_EXIT.set(at_exit);
    imports.into_iter().for_each(exchange);
}

/// Where this module begins. It stays loaded from now on, although a program may unload the library that it is: threads run
/// its code, and the system calls it.
fn stay_loaded() -> Option<*const u8> {
    let mut module = ptr::null();
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    // SAFETY: the address is one of this module's.
    let found = unsafe { GetModuleHandleExW(flags, drain_and_exit as *const c_void, &mut module) };
    (found != 0).then_some(module)
}

/// Where a module has the addresses of the functions of this name that it imports.
///
/// # Safety
///
/// A module is mapped at `module`, and stays so.
unsafe fn imports(module: *const u8, name: &CStr) -> Vec<&'static AtomicUsize> {
    // Offsets of the fields of the format "PE32+" and "PE32": learn.microsoft.com/windows/win32/debug/pe-format
    const HEAD: usize = 0x3c;
    const IMPORT_TABLE: usize = if cfg!(target_pointer_width = "64") {
        0x90
    } else {
        0x80
    };
    const NAMES: usize = 0;
    const ADDRESSES: usize = 16;
    const DESCRIPTOR: usize = 20;
    /// Of a function that is imported by its number.
    const NO_NAME: usize = 1 << (usize::BITS - 1);
    /// Before a name there is a hint of two bytes.
    const HINT: usize = 2;

    // SAFETY: by the contract, all offsets are of the module's own tables.
    let read =
        |offset: usize| unsafe { module.add(offset).cast::<u32>().read_unaligned() } as usize;
    let mut found = Vec::new();
    let mut descriptor = read(read(HEAD) + IMPORT_TABLE);
    // The last descriptor is of zeros.
    while descriptor != 0 && read(descriptor + ADDRESSES) != 0 {
        let mut names = read(descriptor + NAMES);
        let mut addresses = read(descriptor + ADDRESSES);
        // Some linkers leave the names out.
        while names != 0 {
            // SAFETY: as above; both tables are aligned, and that of the names ends in a zero.
            let import = unsafe { module.add(names).cast::<usize>().read() };
            if import == 0 {
                break;
            }
            // SAFETY: as above; a name ends in a zero.
            let is_called = |name| unsafe {
                CStr::from_ptr(module.add(import + HINT).cast::<c_char>()) == name
            };
            if import & NO_NAME == 0 && is_called(name) {
                // SAFETY: as above; the loader has finished with the table.
                found.push(unsafe { &*module.add(addresses).cast::<AtomicUsize>() });
            }
            names += size_of::<usize>();
            addresses += size_of::<usize>();
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
    stay_loaded().ok_or_else(io::Error::last_os_error)?;
    // SAFETY: `call` lives as long as the process: its module stays loaded.
    match unsafe { SetConsoleCtrlHandler(call, 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_found_by_its_name_wherever_it_leads() {
        let module = stay_loaded().unwrap();
        // SAFETY: this module.
        let imports = |name| unsafe { imports(module, name) };
        let address = |import: &AtomicUsize| ptr::from_ref(import);
        let before = imports(c"ExitProcess");
        assert!(!before.is_empty());
        let before: Vec<_> = before.into_iter().map(address).collect();
        at_exit_process(|_| {});
        let after = imports(c"ExitProcess");
        let ours = drain_and_exit as *const () as usize;
        assert!(after.iter().all(|it| it.load(Ordering::Relaxed) == ours));
        assert_eq!(after.into_iter().map(address).collect::<Vec<_>>(), before);
        assert!(imports(c"ExitProces").is_empty());
    }
}
