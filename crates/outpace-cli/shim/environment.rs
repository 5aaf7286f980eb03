//! The variables that carry the shim to another program: put into its environment when it is started, and taken out before its
//! `main`.

use crate::machine::__errno_location;
use crate::membership::is_copy;
use crate::program::{can_have_shim, is_due};
use crate::ring::{self, Header};
use crate::settle::ring;
use crate::system::{self, FileStatus, can_be_read};
use core::ffi::{c_char, c_int};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering};

/// `OUTPACE_RING=path`.
const RING_VARIABLE: &[u8] = b"OUTPACE_RING=";
const PRELOAD_VARIABLE: &[u8] = b"LD_PRELOAD=";
/// Variables that change how the loader starts a program.
const OTHER_VARIABLES: [&[u8]; 3] = [b"LD_AUDIT=", b"LD_DEBUG=", b"LD_TRACE_LOADED_OBJECTS="];

/// A copy of a text from the environment, over which the program may write.
struct SavedText<const SIZE: usize> {
    bytes: [AtomicU8; SIZE],
}

impl<const SIZE: usize> SavedText<SIZE> {
    const fn new() -> Self {
        Self {
            bytes: [const { AtomicU8::new(0) }; SIZE],
        }
    }

    /// Copies a text; false if it is too long.
    unsafe fn keep(&self, text: *const u8, length: usize) -> bool {
        if length >= SIZE {
            return false;
        }
        for (index, place) in self.bytes.iter().take(length).enumerate() {
            // SAFETY: the caller guarantees that so many bytes can be read.
            place.store(unsafe { text.add(index).read() }, Ordering::Relaxed);
        }
        true
    }

    fn start(&self) -> *const u8 {
        self.bytes.as_ptr().cast()
    }

    fn length(&self) -> usize {
        let bytes = self.bytes.iter();
        bytes
            .take_while(|byte| byte.load(Ordering::Relaxed) != 0)
            .count()
    }
}

static RING_PATH: SavedText<64> = SavedText::new();
static LIBRARY_PATH: SavedText<64> = SavedText::new();
/// The libraries that the user preloads.
static OTHERS: SavedText<512> = SavedText::new();

/// The rest of a text that begins with `start`.
///
/// # Safety
///
/// The text ends with a NUL.
unsafe fn rest(text: *const c_char, start: &[u8]) -> Option<*const c_char> {
    for (index, byte) in start.iter().enumerate() {
        // SAFETY: up to here there was no NUL.
        if unsafe { text.add(index).read() } as u8 != *byte {
            return None;
        }
    }
    // SAFETY: the same.
    Some(unsafe { text.add(start.len()) })
}

/// # Safety
///
/// The text ends with a NUL.
unsafe fn length(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: up to here there was no NUL.
    while unsafe { text.add(length).read() } != 0 {
        length += 1;
    }
    length
}

/// Overwrites a text with zeroes: proc(5) shows the memory of the environment.
///
/// # Safety
///
/// The text ends with a NUL, and is not used any more.
unsafe fn wipe(text: *const c_char) {
    // SAFETY: the caller's.
    unsafe { text.cast_mut().write_bytes(0, length(text)) };
}

/// Takes `run`'s variables out of the environment; returns the path of the ring's memory.
///
/// # Safety
///
/// The environment ends with a null, each variable with a NUL; the program does not use them yet.
pub(crate) unsafe fn take_out(environment: *mut *const c_char) -> Option<*const c_char> {
    let (mut preload, mut path) = (None, None);
    // SAFETY: the caller's promise, here and below.
    unsafe {
        let mut at = environment;
        while !(*at).is_null() {
            path = path.or(rest(*at, RING_VARIABLE));
            preload = preload.or(rest(*at, PRELOAD_VARIABLE));
            at = at.add(1);
        }
        let (path, preload) = (path?, preload?);
        // The shim is the last library.
        let whole = length(preload);
        let is_separator = |at: usize| matches!(preload.add(at).read() as u8, b':' | b' ');
        let ours = (0..whole).rev().find(|at| is_separator(*at));
        let from = ours.map_or(0, |at| at + 1);
        let fits = RING_PATH.keep(path.cast(), length(path))
            && LIBRARY_PATH.keep(preload.add(from).cast(), whole - from)
            && OTHERS.keep(preload.cast(), ours.unwrap_or(0));
        let (mut from, mut to) = (environment, environment);
        while !(*from).is_null() {
            let is_preload = rest(*from, PRELOAD_VARIABLE).is_some();
            if let Some(at) = ours.filter(|_| is_preload) {
                wipe(preload.add(at));
            }
            if rest(*from, RING_VARIABLE).is_some() || is_preload && ours.is_none() {
                wipe(*from);
            } else {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = ptr::null();
        system::cut_environment();
        fits.then_some(RING_PATH.start().cast())
    }
}

/// The limits of an environment to which two variables can be added: variables, and bytes of those two.
const VARIABLES: usize = 512;
const BYTES: usize = 768;

/// Calls the function with an environment that carries the shim, if the other program can have it.
///
/// # Safety
///
/// As execve(2).
pub(crate) unsafe fn with_environment(
    path: *const c_char,
    environment: *const *const c_char,
    start: impl Fn(*const *const c_char) -> c_int,
) -> c_int {
    // The C library's posix_spawnp(3) calls execve(2) in its turn.
    // SAFETY: the caller's, here and below.
    let is_new = !unsafe { carries_ring(environment) };
    let ring = ring().filter(|ring| is_new && is_given(path, ring));
    let result = ring.and_then(|ring| unsafe { with_more(environment, ring, &start) });
    result.unwrap_or_else(|| start(environment))
}

/// Whether an environment has the ring's variable already.
///
/// # Safety
///
/// As execve(2).
unsafe fn carries_ring(environment: *const *const c_char) -> bool {
    let mut at = environment;
    // SAFETY: checked before each read.
    unsafe {
        while at.is_aligned() && can_be_read(at.cast(), size_of::<usize>()) && !(*at).is_null() {
            let variable = *at;
            let is_it = || rest(variable, RING_VARIABLE).is_some();
            if can_be_read(variable.cast(), RING_VARIABLE.len()) && is_it() {
                return true;
            }
            at = at.add(1);
        }
    }
    false
}

/// Calls the function with the two variables added; `None` if the environment has no room for them, or `run` ends.
#[inline(never)]
unsafe fn with_more(
    environment: *const *const c_char,
    ring: &Header,
    start: &impl Fn(*const *const c_char) -> c_int,
) -> Option<c_int> {
    const E2BIG: c_int = 7;
    let mut table = [const { MaybeUninit::<*const c_char>::uninit() }; VARIABLES];
    let mut text = [const { MaybeUninit::<u8>::uninit() }; BYTES];
    // SAFETY: the caller's.
    if !unsafe { extend(environment, &mut table, &mut text) } || !ring.begin_start() {
        return None;
    }
    let result = start(table.as_ptr().cast());
    if result != 0 {
        ring.end_start();
    }
    // SAFETY: the C library's errno of this thread.
    let is_too_big = result == E2BIG || result == -1 && unsafe { *__errno_location() } == E2BIG;
    (!is_too_big).then_some(result)
}

/// Makes the environment with the two variables; false if it has no room, has another LD_PRELOAD, or asks the loader for something
/// else.
unsafe fn extend(
    environment: *const *const c_char,
    table: &mut [MaybeUninit<*const c_char>; VARIABLES],
    text: &mut [MaybeUninit<u8>; BYTES],
) -> bool {
    let mut count = 0;
    // The place of LD_PRELOAD: the order of variables stays.
    let mut preload_at = None;
    let mut at = environment;
    while !at.is_null() {
        // SAFETY: checked before each read; the kernel refuses what cannot be read.
        unsafe {
            if !at.is_aligned() || !can_be_read(at.cast(), size_of::<usize>()) {
                return false;
            }
            let variable = *at;
            if variable.is_null() {
                break;
            }
            const LONGEST_NAME: usize = 24;
            if !can_be_read(variable.cast(), LONGEST_NAME) || count + 3 > VARIABLES {
                return false;
            }
            let is_other = OTHER_VARIABLES
                .iter()
                .any(|name| rest(variable, name).is_some());
            if is_other {
                return false;
            }
            if let Some(value) = rest(variable, PRELOAD_VARIABLE) {
                let others = core::slice::from_raw_parts(OTHERS.start(), OTHERS.length() + 1);
                if preload_at.is_some()
                    || !can_be_read(value.cast(), others.len())
                    || rest(value, others).is_none()
                {
                    // Not the libraries that `run` has looked at.
                    return false;
                }
                preload_at = Some(count);
            }
            table[count].write(variable);
            count += 1;
            at = at.add(1);
        }
    }
    let (mut used, mut is_whole) = (0, true);
    let mut append = |from: *const u8, length: usize| {
        let start = text.as_ptr().wrapping_add(used).cast();
        is_whole &= used + length <= BYTES;
        if is_whole {
            for index in 0..length {
                // SAFETY: the texts have so many bytes.
                text[used + index].write(unsafe { from.add(index).read() });
            }
            used += length;
        }
        (start, is_whole)
    };
    let (preload, _) = append(PRELOAD_VARIABLE.as_ptr(), PRELOAD_VARIABLE.len());
    if preload_at.is_some() {
        append(OTHERS.start(), OTHERS.length());
        append(b":".as_ptr(), 1);
    }
    append(LIBRARY_PATH.start(), LIBRARY_PATH.length() + 1);
    let (ring, _) = append(RING_VARIABLE.as_ptr(), RING_VARIABLE.len());
    let (_, is_whole) = append(RING_PATH.start(), RING_PATH.length() + 1);
    for (variable, place) in [(preload, preload_at), (ring, None)] {
        let place = place.unwrap_or(count);
        table[place].write(variable);
        count = count.max(place + 1);
    }
    table[count].write(ptr::null());
    is_whole
}

/// Whether a program is given the shim: it can have it, is not started too often, and the loader can open our two files.
fn is_given(path: *const c_char, ring: &Header) -> bool {
    // They are not found in another root directory, nor with another user's rights.
    let is_there = |path: *const u8, inode: u64| {
        // SAFETY: it ends with a NUL.
        let file = unsafe { system::open(path.cast(), 0) };
        if file < 0 {
            return false;
        }
        let stat = FileStatus::of(file as usize);
        system::close(file);
        stat.is_some_and(|stat| stat.inode == inode)
    };
    ring.state() != ring::DEAD
        && (!is_copy() || is_due(path, ring))
        && can_have_shim(path, ring)
        && is_there(LIBRARY_PATH.start(), ring.library.load(Ordering::Relaxed))
        && is_there(RING_PATH.start(), ring.ring.load(Ordering::Relaxed))
}

/// The longest path that is searched for.
pub(crate) const LONGEST_PATH: usize = 1024;

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

/// The path of a program, as posix_spawnp(3) finds it; in the buffer, if it is looked for.
///
/// # Safety
///
/// The file ends with a NUL.
pub(crate) unsafe fn find(
    file: *const c_char,
    buffer: &mut [u8; LONGEST_PATH],
) -> Option<*const c_char> {
    if !can_be_read(file.cast(), 1) {
        return None;
    }
    // SAFETY: the caller's, and the C library's.
    let (name, path) = unsafe {
        let path = getenv(c"PATH".as_ptr());
        let path = (!path.is_null()).then(|| (path.cast(), length(path)))?;
        let name = core::slice::from_raw_parts(file.cast::<u8>(), length(file));
        (name, core::slice::from_raw_parts(path.0, path.1))
    };
    if name.contains(&b'/') {
        return Some(file);
    }
    for directory in path.split(|byte| *byte == b':') {
        let parts = [directory, b"/", name, b"\0"];
        if parts.iter().map(|part| part.len()).sum::<usize>() > LONGEST_PATH {
            return None;
        }
        let mut at = 0;
        for part in parts {
            buffer.get_mut(at..at + part.len())?.copy_from_slice(part);
            at += part.len();
        }
        // SAFETY: it ends with a NUL.
        let found = unsafe { system::open(buffer.as_ptr().cast(), 0) };
        if found >= 0 {
            system::close(found);
            return Some(buffer.as_ptr().cast());
        }
    }
    None
}
