//! A program reaches the C library's functions also by a handle of that library (`dlsym(dlopen("libc.so.6"), "write")`, as foreign function
//! interfaces do, or `RTLD_NEXT`). So the library's own symbols of replaced functions lead to the replacements, from the first call on
//! that opens a library or looks up a symbol: programs that make none are not held up at their start.

use crate::machine::missing;
use crate::originals::{Index, NAMES, ORIGINALS, ensure_resolved, is_replaced, is_there};
use crate::symbols::{Object, Symbols, each_object};
use crate::system::{SCHED_YIELD, call, protect, with_signals_blocked};
use crate::text::replacement;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

const NOT_YET: u32 = 0;
const CHANGING: u32 = 1;
const CHANGED: u32 = 2;
static STANDING: AtomicU32 = AtomicU32::new(NOT_YET);

/// Called before a library is opened, or a symbol is looked up.
pub(crate) fn begin(index: Index, own: *const c_void) {
    ensure_resolved();
    find_original(index, own);
    if STANDING.load(Ordering::Acquire) == CHANGED {
        return;
    }
    let order = Ordering::Acquire;
    if STANDING
        .compare_exchange(NOT_YET, CHANGING, order, order)
        .is_ok()
    {
        with_signals_blocked(change);
        STANDING.store(CHANGED, Ordering::Release);
        return;
    }
    /// Another thread changes the symbols, in less time. It does so never in a copy of the process that was made meanwhile.
    const LOOKS: u32 = 1000;
    for _ in 0..LOOKS {
        if STANDING.load(Ordering::Acquire) == CHANGED {
            break;
        }
        // SAFETY: no memory is involved.
        unsafe { call(SCHED_YIELD, 0, 0, 0, 0, 0, 0) };
    }
}

/// Before glibc 2.34 these functions are in a library of their own, which may have been loaded since.
fn find_original(index: Index, own: *const c_void) {
    let Some((place, name)) = ORIGINALS.get(index as usize).zip(NAMES.get(index as usize)) else {
        return;
    };
    if !place.load(Ordering::Relaxed).is_null() {
        return;
    }
    let mut found = missing as *mut c_void;
    each_object(|object| {
        let function = Symbols::of(object).map(|symbols| symbols.find(name));
        let function = function.filter(|at| !at.is_null() && at.cast_const() != own);
        found = function.unwrap_or(found);
        function.is_some()
    });
    place.store(found, Ordering::Relaxed);
}

/// Has lookups in the C library find the replacements.
fn change() {
    each_object(|object| {
        let symbols = Symbols::of(object);
        let libc = symbols.filter(|symbols| !symbols.find(c"__libc_start_main").is_null());
        if let Some(libc) = &libc {
            change_in(object, libc);
        }
        libc.is_some()
    });
}

fn change_in(object: &Object, libc: &Symbols) {
    const WRITE: usize = 2;
    let wanted = || {
        let all = NAMES.iter().enumerate();
        all.filter(|(index, _)| is_replaced(*index) && is_there(*index))
            .filter_map(|(index, name)| Some((libc.place(name)?, replacement(index)?)))
    };
    let (lowest, highest) = wanted().fold((usize::MAX, 0), |(low, high), (place, _)| {
        (low.min(place), high.max(place))
    });
    let Some(protection) = object.protection(lowest) else {
        return;
    };
    let length = highest + size_of::<u64>() - lowest;
    // SAFETY: the symbols lie in the library's memory, which is as readable as before. Each address is changed at once.
    unsafe {
        if !protect(lowest, length, protection | WRITE) {
            return;
        }
        for (place, code) in wanted() {
            let value = (code as usize).wrapping_sub(object.address);
            (place as *mut usize).write_volatile(value);
        }
        protect(lowest, length, protection);
    }
}
