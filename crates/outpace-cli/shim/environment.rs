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

    /// The text, which is stored once, before the program begins.
    fn text(&self) -> &[u8] {
        // SAFETY: so many bytes are there, and none is stored any more.
        unsafe { core::slice::from_raw_parts(self.start(), self.length()) }
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

/// An environment made here: a word, [`MARK`](Table::MARK) with the address of the variables, so a copy of them is not taken for this;
/// the variables, and null.
type Table = [MaybeUninit<*const c_char>];

/// Marks our own environments. The C library's posix_spawnp(3) passes one to execve(2), which has to leave it as it is.
const MARK: usize = 0x6f75_7470_6163_6571;

/// Whether an environment is one of ours.
///
/// # Safety
///
/// As execve(2).
unsafe fn is_ours(environment: *const *const c_char) -> bool {
    let mark = environment.cast::<usize>().wrapping_sub(1);
    environment.is_aligned()
        && can_be_read(mark.cast(), size_of::<usize>())
        // SAFETY: checked just now.
        && unsafe { mark.read() } == MARK ^ environment.addr()
}

/// What an environment holds.
struct Look {
    /// Variables of ours: a constructor may have copied them before they were taken out.
    has_ours: bool,
    /// The user's `LD_PRELOAD`.
    has_others: bool,
    /// Nothing in it speaks against the shim: another `LD_PRELOAD`, a request to the loader, memory that cannot be read.
    is_fit: bool,
}

/// Calls the function with an environment that carries the shim, if the other program can have it, or else with one that does not.
///
/// # Safety
///
/// As execve(2); the path is that of the program, or null for one that is not given the shim.
pub(crate) unsafe fn with_environment(
    path: *const c_char,
    environment: *const *const c_char,
    start: impl Fn(*const *const c_char) -> c_int,
) -> c_int {
    // SAFETY: the caller's, here and below.
    unsafe {
        if is_ours(environment) {
            return start(environment);
        }
        let look = look(environment);
        let ring = ring().filter(|ring| {
            look.is_fit && !path.is_null() && ring.state() != ring::DEAD && is_given(path, ring)
        });
        let result = ring.and_then(|ring| with_shim(environment, &look, ring, &start));
        if result.is_none() && look.has_ours {
            return with_table(environment, &look, false, &start)
                .or_else(|| with_large_table(environment, &look, &start))
                .unwrap_or_else(|| start(environment));
        }
        result.unwrap_or_else(|| start(environment))
    }
}

/// Calls the function with each variable that can be read, until it says that it is enough. Returns whether it has seen all.
///
/// # Safety
///
/// As execve(2).
unsafe fn each_variable(
    environment: *const *const c_char,
    mut look: impl FnMut(*const c_char) -> bool,
) -> bool {
    const LONGEST_NAME: usize = 24;
    let mut at = environment;
    // No environment is an empty one.
    while !at.is_null() {
        if !at.is_aligned() || !can_be_read(at.cast(), size_of::<usize>()) {
            return false;
        }
        // SAFETY: checked just now.
        let variable = unsafe { *at };
        if variable.is_null() {
            break;
        }
        if !can_be_read(variable.cast(), LONGEST_NAME) || !look(variable) {
            return false;
        }
        at = at.wrapping_add(1);
    }
    true
}

/// Whether a variable has this name, and these texts as its value.
///
/// # Safety
///
/// As execve(2).
unsafe fn has_value(variable: *const c_char, name: &[u8], parts: &[&[u8]]) -> bool {
    // SAFETY: the name can be read, and the value up to its NUL.
    unsafe {
        let mut value = rest(variable, name);
        for part in parts {
            value = value
                .filter(|value| can_be_read(value.cast(), part.len().max(1)))
                .and_then(|value| rest(value, part));
        }
        value.is_some_and(|value| can_be_read(value.cast(), 1) && *value == 0)
    }
}

/// Whether a variable is the one that names the ring.
///
/// # Safety
///
/// As execve(2).
unsafe fn is_ring(variable: *const c_char) -> bool {
    let path = RING_PATH.text();
    // SAFETY: the caller's.
    !path.is_empty() && unsafe { has_value(variable, RING_VARIABLE, &[path]) }
}

/// The values of `LD_PRELOAD`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Preload {
    /// The user's libraries, at which `run` has looked.
    Users,
    /// The same, and the shim.
    Joined,
    /// The shim.
    Alone,
    Other,
}

/// `None` for another variable.
///
/// # Safety
///
/// As execve(2).
unsafe fn preload(variable: *const c_char) -> Option<Preload> {
    let (others, own) = (OTHERS.text(), LIBRARY_PATH.text());
    // SAFETY: the caller's.
    let has = |parts: &[&[u8]]| unsafe { has_value(variable, PRELOAD_VARIABLE, parts) };
    // SAFETY: the same.
    unsafe { rest(variable, PRELOAD_VARIABLE) }?;
    Some(if has(&[others]) {
        Preload::Users
    } else if own.is_empty() {
        Preload::Other
    } else if has(&[others, b":", own]) {
        Preload::Joined
    } else if has(&[own]) {
        Preload::Alone
    } else {
        Preload::Other
    })
}

/// # Safety
///
/// As execve(2).
unsafe fn look(environment: *const *const c_char) -> Look {
    let (mut is_fit, mut has_ours, mut preloads) = (true, false, 0);
    let mut has_others = false;
    // SAFETY: the caller's.
    let is_whole = unsafe {
        each_variable(environment, |variable| {
            let mut others = OTHER_VARIABLES.iter();
            is_fit &= !others.any(|name| rest(variable, name).is_some());
            if let Some(preload) = preload(variable) {
                preloads += 1;
                is_fit &= preload != Preload::Other;
                has_ours |= matches!(preload, Preload::Joined | Preload::Alone);
                has_others |= matches!(preload, Preload::Users | Preload::Joined);
            }
            has_ours |= is_ring(variable);
            true
        })
    };
    Look {
        has_ours,
        has_others,
        is_fit: is_fit && is_whole && preloads <= 1,
    }
}

/// Calls the function with the shim's variables added; `None` if the environment has no room for them, or `run` ends.
unsafe fn with_shim(
    environment: *const *const c_char,
    look: &Look,
    ring: &Header,
    start: &impl Fn(*const *const c_char) -> c_int,
) -> Option<c_int> {
    const E2BIG: c_int = 7;
    if !ring.begin_start() {
        return None;
    }
    // SAFETY: the caller's.
    let result = unsafe { with_table(environment, look, true, start) };
    if result != Some(0) {
        ring.end_start();
    }
    // SAFETY: the C library's errno of this thread.
    let is_too_big =
        |result| result == E2BIG || result == -1 && unsafe { *__errno_location() } == E2BIG;
    result.filter(|result| !is_too_big(*result))
}

/// Calls the function with a copy of the environment, without our variables, or with those that the program is to have; `None` if
/// there is no room for it.
#[inline(never)]
unsafe fn with_table(
    environment: *const *const c_char,
    look: &Look,
    is_given: bool,
    start: &impl Fn(*const *const c_char) -> c_int,
) -> Option<c_int> {
    let mut table = [const { MaybeUninit::uninit() }; 1 + VARIABLES];
    // SAFETY: the caller's.
    unsafe { in_table(&mut table, environment, look, is_given, start) }
}

/// As [`with_table`], without our variables, in memory of its own, for any number of variables. A child made by vfork(2) that becomes
/// another program leaves this memory to its parent.
#[cold]
unsafe fn with_large_table(
    environment: *const *const c_char,
    look: &Look,
    start: &impl Fn(*const *const c_char) -> c_int,
) -> Option<c_int> {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    let mut count = 0;
    // SAFETY: the caller's.
    unsafe {
        each_variable(environment, |_| {
            count += 1;
            true
        });
    }
    let places = count + 2;
    let length = places * size_of::<usize>();
    // SAFETY: a mapping of our own, at a place that the kernel chooses; no reference to it is left when it is unmapped.
    unsafe {
        let memory = system::call(
            system::MMAP,
            0,
            length,
            READ_WRITE,
            PRIVATE_ANONYMOUS,
            usize::MAX,
            0,
        );
        if memory <= 0 {
            return None;
        }
        let first = ptr::with_exposed_provenance_mut(memory as usize);
        let table = core::slice::from_raw_parts_mut(first, places);
        let result = in_table(table, environment, look, false, start);
        system::call(system::MUNMAP, memory as usize, length, 0, 0, 0, 0);
        result
    }
}

/// Fills the table, and calls the function with it.
unsafe fn in_table(
    table: &mut Table,
    environment: *const *const c_char,
    look: &Look,
    is_given: bool,
    start: &impl Fn(*const *const c_char) -> c_int,
) -> Option<c_int> {
    let mut text = [const { MaybeUninit::<u8>::uninit() }; BYTES];
    let (mark, variables) = table.split_first_mut()?;
    // SAFETY: the caller's.
    if !unsafe { fill(environment, look, is_given, variables, &mut text) } {
        return None;
    }
    let variables = variables.as_ptr().cast::<*const c_char>();
    mark.write(ptr::without_provenance(MARK ^ variables.addr()));
    Some(start(variables))
}

/// Makes the environment of [`with_table`]; false if it has no room.
unsafe fn fill(
    environment: *const *const c_char,
    look: &Look,
    is_given: bool,
    table: &mut Table,
    text: &mut [MaybeUninit<u8>; BYTES],
) -> bool {
    let (mut used, mut is_whole) = (0, true);
    let mut append = |part: &[u8]| {
        let start = text.as_ptr().wrapping_add(used).cast::<c_char>();
        is_whole &= used + part.len() <= BYTES;
        if is_whole {
            for byte in part {
                text[used].write(*byte);
                used += 1;
            }
        }
        start
    };
    let preload_text = append(PRELOAD_VARIABLE);
    if look.has_others {
        append(OTHERS.text());
    }
    if is_given {
        append(if look.has_others { b":" } else { b"" });
        append(LIBRARY_PATH.text());
    }
    append(b"\0");
    let ring_text = append(RING_VARIABLE);
    append(RING_PATH.text());
    append(b"\0");
    let mut count = 0;
    // SAFETY: the caller's.
    let is_copied = unsafe {
        each_variable(environment, |variable| {
            let preload = preload(variable);
            if is_ring(variable) || preload == Some(Preload::Alone) {
                return true;
            }
            // In its place: the order of variables stays.
            let is_replaced = match preload {
                Some(Preload::Users) => is_given,
                preload => preload == Some(Preload::Joined),
            };
            let place = table.get_mut(count);
            count += 1;
            let text = if is_replaced { preload_text } else { variable };
            place.map(|place| place.write(text)).is_some()
        })
    };
    let more = [
        (preload_text, is_given && !look.has_others),
        (ring_text, is_given),
    ];
    for (text, _) in more.iter().filter(|(_, is_added)| *is_added) {
        if let Some(place) = table.get_mut(count) {
            place.write(*text);
        }
        count += 1;
    }
    let end = table.get_mut(count).map(|place| place.write(ptr::null()));
    is_copied && is_whole && end.is_some()
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
    (!is_copy() || is_due(path, ring))
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
