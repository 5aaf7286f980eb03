//! The C library calls replaced functions directly, not by a name that another library can define. Each such call is redirected
//! in its code, once, while the program has one thread.
//!
//! The search through the code takes longer than most programs take to start, and longer than a server may wait for a line of its log.
//! So the first process [postpones](postpone) it, and searches a piece of the code at each write to the terminal, and the rest before it
//! makes a thread or starts another process. Until then the ring is empty, so none of its writes can overtake another: they go to the
//! terminal. Only the call by which streams write is redirected at once, to notice the first write.

use crate::machine::{Code, Found, REACH, candidates, change, look};
use crate::membership::retire;
use crate::musl;
use crate::originals::{Index, ORIGINALS, is_replaced, is_there, original};
use crate::ring::{self, CallSites, Header};
use crate::settle::ring;
use crate::symbols::each_object;
use crate::system::{self, call, is_alone, protect, with_signals_blocked};
#[cfg(target_arch = "x86_64")]
use crate::watch;
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The targets of redirected calls.
pub(crate) struct Replacements {
    /// By [`Index`]; `None` for functions that the shim only calls.
    pub(crate) functions: [Option<Code>; Index::COUNT as usize],
    /// Redirects the system call of the last words at this place, and of musl's streams and threads: see `inline`.
    pub(crate) last_words: unsafe fn(usize) -> bool,
    pub(crate) streams: unsafe fn(usize, usize) -> bool,
    pub(crate) last_unmap: unsafe fn(usize, usize) -> bool,
}

static REPLACEMENTS: AtomicPtr<Replacements> = AtomicPtr::new(ptr::null_mut());

/// Called once, before all else here.
pub(crate) fn use_replacements(replacements: &'static Replacements) {
    let place = ptr::from_ref(replacements).cast_mut();
    REPLACEMENTS.store(place, Ordering::Release);
}

fn replacements() -> Option<&'static Replacements> {
    // SAFETY: null, or a static.
    unsafe { REPLACEMENTS.load(Ordering::Acquire).as_ref() }
}

/// The replacement of a function, by its [`Index`].
pub(crate) fn replacement(index: usize) -> Option<Code> {
    replacements()?.functions.get(index).copied().flatten()
}

/// The C library's code.
struct TextSegment {
    start: usize,
    length: usize,
    /// The library's build ID.
    build: [u64; 2],
}

impl TextSegment {
    /// The code around a function.
    fn of(function: usize) -> Self {
        const PT_LOAD: u32 = 1;
        const PT_NOTE: u32 = 4;
        const PF_X: u32 = 1;
        let mut text = Self {
            start: 0,
            length: 0,
            build: [0; 2],
        };
        each_object(|object| {
            let mut segments = object.segments().iter();
            let code = segments.find(|segment| {
                segment.kind == PT_LOAD
                    && segment.flags & PF_X != 0
                    && function.wrapping_sub(object.start(segment)) < segment.size
            });
            let Some(code) = code else {
                return false;
            };
            (text.start, text.length) = (object.start(code), code.size);
            for note in object
                .segments()
                .iter()
                .filter(|segment| segment.kind == PT_NOTE)
            {
                // SAFETY: the loader has mapped it.
                let build = unsafe { build_id(object.start(note), note.size) };
                text.build = build.unwrap_or(text.build);
            }
            true
        });
        text
    }
}

/// The first 16 bytes of the build ID that a segment of notes has (elf(5), `Elf64_Nhdr`).
unsafe fn build_id(start: usize, length: usize) -> Option<[u64; 2]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    const NAME: u32 = u32::from_ne_bytes(*b"GNU\0");
    let mut at = start;
    while at + 32 <= start + length {
        // SAFETY: within the segment, whose notes are aligned to four bytes.
        unsafe {
            let word = |index: usize| (at as *const u32).add(index).read_unaligned();
            let (name, description) = (word(0) as usize, word(1) as usize);
            if word(2) == NT_GNU_BUILD_ID && word(3) == NAME && description >= 16 {
                return Some([
                    ((at + 16) as *const u64).read_unaligned(),
                    ((at + 24) as *const u64).read_unaligned(),
                ]);
            }
            at += 12 + name.next_multiple_of(4) + description.next_multiple_of(4);
        }
    }
    None
}

/// Counts the calls found of the functions that must be found.
#[derive(Clone, Copy, Default)]
struct Count {
    writes: u32,
    execs: u32,
    spawns: u32,
    last_words: u32,
}

impl Count {
    fn add(&mut self, function: usize) {
        let function = function as u32;
        let of = |index: Index| u32::from(function == index as u32);
        self.writes += of(Index::write);
        self.execs += of(Index::execve);
        self.spawns += of(Index::posix_spawn);
        self.last_words += of(Index::COUNT);
    }

    /// Whether the library's form is supported: its streams write by `write`, and its functions start programs by `execve` or
    /// `posix_spawn`.
    fn is_known(&self) -> bool {
        let writes = musl::is_there() || self.writes > 0 && self.last_words > 0;
        writes && self.execs > 2 && self.spawns > 0
    }
}

fn calls(ring: &Header) -> &CallSites {
    // SAFETY: the shared memory has them behind the members, and all of them are atomics.
    unsafe { &*ptr::from_ref(ring).cast::<u8>().add(ring::CALLS).cast() }
}

/// `standing` of the calls.
const NONE: u32 = 0;
const WRITING: u32 = 1;
const THERE: u32 = 2;

/// The lowest and the highest address of the replaced functions; `None` if one is not in the C library's code.
fn bounds(text: &TextSegment) -> Option<(usize, usize)> {
    let (mut lowest, mut highest) = (usize::MAX, 0);
    for (index, original) in ORIGINALS.iter().enumerate() {
        let at = original.load(Ordering::Relaxed) as usize;
        if !is_replaced(index) || !is_there(index) {
            continue;
        }
        if at.wrapping_sub(text.start) >= text.length {
            // Before glibc 2.34 it was in the library of threads.
            if index == Index::pthread_create as usize {
                continue;
            }
            return None;
        }
        (lowest, highest) = (lowest.min(at), highest.max(at));
    }
    Some((lowest, highest))
}

const READ_WRITE_EXEC: usize = 7;
const READ_EXEC: usize = 5;

/// The postponed search. Only the process's one thread uses it, with its signals blocked.
struct Postponed(UnsafeCell<Option<Search>>);

// SAFETY: it is used by one thread at a time, as said there.
unsafe impl Sync for Postponed {}

static POSTPONED: Postponed = Postponed(UnsafeCell::new(None));
static IS_POSTPONED: AtomicBool = AtomicBool::new(false);

/// The code that is searched at one write: a thirtieth of a millisecond's work.
const PIECE: usize = 64 << 10;

/// A place in the code and the index of the function that is called there, as one number.
fn entry(at: usize, index: usize, text: &TextSegment) -> u64 {
    (at - text.start) as u64 | (index as u64) << 32
}

fn of_entry(entry: u64, text: &TextSegment) -> (usize, usize) {
    let distance = (entry & u64::from(u32::MAX)) as usize;
    (text.start + distance, (entry >> 32) as usize)
}

/// Redirects the call by which streams write, and leaves the others to [`search_on`]. Returns whether that was possible.
pub(crate) fn postpone(ring: &Header) -> bool {
    /// The function is shorter. A call behind it is redirected early, which does no harm.
    const WINDOW: usize = 256;
    let function = original(Index::stream_write) as usize;
    if musl::is_there() || function == 0 {
        return false;
    }
    let calls = calls(ring);
    let Some(mut search) = Search::new(TextSegment::of(original(Index::write) as usize), calls)
    else {
        return false;
    };
    if function < search.text.start || function + WINDOW > search.end {
        return false;
    }
    let is_write =
        |index| index == Index::write as usize || index == Index::write_nocancel as usize;
    // SAFETY: within the code; there is one thread.
    let is_redirected = unsafe {
        with_writable(function, WINDOW + REACH, || {
            search.look_through(calls, function, function + WINDOW, is_write)
        })
    };
    let is_good = is_redirected && search.count.writes > 0;
    if is_good {
        // SAFETY: this is the process's one thread, and its program has not begun.
        unsafe { *POSTPONED.0.get() = Some(search) };
    }
    IS_POSTPONED.store(is_good, Ordering::Release);
    is_good
}

pub(crate) fn is_postponed() -> bool {
    IS_POSTPONED.load(Ordering::Relaxed)
}

/// Called at a write to the terminal while the search is postponed: goes on with it. Returns whether all calls are redirected now.
#[cold]
pub(crate) fn search_on(ring: &Header) -> bool {
    let is_at_once = ring.at_once.load(Ordering::Relaxed) != 0;
    search(ring, if is_at_once { usize::MAX } else { PIECE })
}

/// Called before another thread, or a process that is not announced otherwise, is made: ends the postponed search.
pub(crate) fn complete_if_postponed() {
    if is_postponed()
        && let Some(ring) = ring()
    {
        search(ring, usize::MAX);
    }
}

/// Searches through so many bytes of code more, if that is still possible. If not, this process gives the ring up. Returns whether all
/// calls are redirected.
#[cold]
fn search(ring: &Header, most: usize) -> bool {
    let is_redirected = with_signals_blocked(|| {
        if !is_postponed() {
            return Some(true);
        }
        // SAFETY: this is the process's one thread, and no handler of a signal interrupts it.
        let search = unsafe { &mut *POSTPONED.0.get() };
        let searched = search.as_mut().filter(|_| is_alone());
        let is_over = searched.and_then(|search| search.go_on(ring, most));
        if is_over != Some(false) {
            IS_POSTPONED.store(false, Ordering::Release);
        }
        is_over
    });
    if is_redirected.is_none() {
        retire(ring::NO_TEXT);
    }
    is_redirected == Some(true)
}

/// Redirects the C library's own calls of replaced functions. Returns whether that was possible.
pub(crate) fn redirect(ring: &Header) -> bool {
    let (text, calls) = (
        TextSegment::of(original(Index::write) as usize),
        calls(ring),
    );
    if is_known(&text, calls) {
        // SAFETY: the C library's code; there is one thread.
        return bounds(&text).is_some()
            && unsafe {
                with_writable(text.start, text.length, || {
                    by_list(&text, calls) && finish(ring, &text)
                })
            };
    }
    let search = Search::new(text, calls);
    search.is_some_and(|mut search| search.go_on(ring, usize::MAX).is_some())
}

/// The build ID of the library, and the length and the place of its code.
fn key(text: &TextSegment) -> [u64; 4] {
    let [build, rest] = text.build;
    let place = original(Index::write) as usize - text.start;
    [build, rest, text.length as u64, place as u64]
}

/// Whether the first process has listed the calls of this library.
fn is_known(text: &TextSegment, calls: &CallSites) -> bool {
    let key = key(text);
    let mut pairs = calls.key.iter().zip(key);
    calls.standing.load(Ordering::Acquire) == THERE
        && text.build != [0; 2]
        && pairs.all(|(place, part)| place.load(Ordering::Relaxed) == part)
}

/// Calls the function while this code can be written to, and returns whether it and that were possible. The code stays executable, and
/// only changed pages are copied. This object's own code lies elsewhere.
///
/// # Safety
///
/// It is code of the C library's, and there is one thread.
unsafe fn with_writable(start: usize, length: usize, change: impl FnOnce() -> bool) -> bool {
    // SAFETY: the caller's.
    unsafe {
        protect(start, length, READ_WRITE_EXEC) && {
            let is_changed = change();
            protect(start, length, READ_EXEC) && is_changed
        }
    }
}

/// Called when all calls are redirected, while the code can be written to.
fn finish(ring: &Header, text: &TextSegment) -> bool {
    let end = text.start + text.length;
    // SAFETY: the caller's; there is one thread.
    if !unsafe { redirect_musl(text.start, end) } {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if !musl::is_there() {
        // SAFETY: the same.
        unsafe { watch::begin(ring, text.start, end) };
    }
    CHANGED[0].store(text.start as u64, Ordering::Relaxed);
    CHANGED[1].store(text.length as u64, Ordering::Release);
    true
}

// ---- Forks.

/// The start and the length of the code, when all calls in it are redirected.
static CHANGED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// After so many forks the changed code is moved into a file.
const MANY_FORKS: u32 = 8;

/// Called before this process is copied.
///
/// When one page of code was changed, each fork copies the page table of all of it, and the child's end takes that apart: a quarter
/// of what a fork costs. Code that is a file's, as before the change, costs neither. So the changed code of a process that forks
/// again and again becomes a file of its own.
pub(crate) fn before_copy() {
    static FORKS: AtomicU32 = AtomicU32::new(0);
    let [start, length] = CHANGED
        .each_ref()
        .map(|it| it.load(Ordering::Acquire) as usize);
    if length != 0 && FORKS.fetch_add(1, Ordering::Relaxed) == MANY_FORKS {
        with_signals_blocked(|| move_to_file(start, length));
    }
}

/// Replaces code by a file of the same bytes. Other threads may be executing it. Where that is not possible, the code stays.
#[cold]
fn move_to_file(start: usize, length: usize) {
    const PAGE: usize = 4096;
    const CLOEXEC_SEALABLE: usize = 3;
    const EXECUTABLE: usize = 0x10;
    const ADD_SEALS: usize = 1033;
    /// Against another seal, another length, and writing.
    const ALL_SEALS: usize = 15;
    const PRIVATE: usize = 2;
    const TO_FIXED_PLACE: usize = 3;
    if cfg!(not(target_arch = "x86_64")) {
        // Pages may be larger.
        return;
    }
    let from = start & !(PAGE - 1);
    let length = (start + length).next_multiple_of(PAGE) - from;
    // SAFETY: whole pages of code are read, which stay mapped. They are replaced by a mapping of the same bytes, at once for all
    // threads, or not at all.
    unsafe {
        let name = c"outpace-text".as_ptr() as usize;
        let create = |flags| call(system::MEMFD_CREATE, name, flags, 0, 0, 0, 0);
        // Systems may require that code is announced (vm.memfd_noexec); older kernels do not know the flag.
        let file = match create(CLOEXEC_SEALABLE | EXECUTABLE) {
            file if file >= 0 => file as usize,
            _ => match create(CLOEXEC_SEALABLE) {
                file if file >= 0 => file as usize,
                _ => return,
            },
        };
        let is_written = call(system::WRITE, file, from, length, 0, 0, 0) == length as isize
            && call(system::FCNTL, file, ADD_SEALS, ALL_SEALS, 0, 0, 0) == 0;
        let copy = if is_written {
            call(system::MMAP, 0, length, READ_EXEC, PRIVATE, file, 0)
        } else {
            -1
        };
        system::close(file as isize);
        if copy < 0 {
            return;
        }
        // Another process could have changed the file before it was sealed.
        let bytes = |at: usize| core::slice::from_raw_parts(at as *const u8, length);
        let is_moved = bytes(copy as usize) == bytes(from) && {
            let copy = copy as usize;
            call(
                system::MREMAP,
                copy,
                length,
                length,
                TO_FIXED_PLACE,
                from,
                0,
            ) == from as isize
        };
        if !is_moved {
            call(system::MUNMAP, copy as usize, length, 0, 0, 0, 0);
        }
    }
}

/// The replaced function that is called at a place, if there is one; [`Index::COUNT`] for the last words.
unsafe fn function_at(at: usize, text: &TextSegment) -> Option<usize> {
    // SAFETY: the caller's.
    let found = unsafe { look(at, text.start) }?;
    let target = match found {
        Found::LastWords => return Some(Index::COUNT as usize),
        Found::Call(target) => target,
    };
    let mut originals = ORIGINALS.iter().enumerate();
    let (index, _) = originals.find(|(index, original)| {
        original.load(Ordering::Relaxed) as usize == target && is_replaced(*index)
    })?;
    Some(index)
}

/// Redirects what [`function_at`] has found; false if that is impossible.
///
/// # Safety
///
/// The code there can be written to, and no thread is executing it.
unsafe fn redirect_at(at: usize, index: usize) -> bool {
    let Some(all) = replacements() else {
        return false;
    };
    // SAFETY: the caller's.
    unsafe {
        if index == Index::COUNT as usize {
            return (all.last_words)(at);
        }
        replacement(index).is_some_and(|code| change(at, code))
    }
}

/// Redirects the system calls in musl's code. Returns whether its form is supported; true for another C library.
///
/// # Safety
///
/// The code can be written to, and no thread is executing it.
unsafe fn redirect_musl(start: usize, end: usize) -> bool {
    let Some(function) = musl::stream_write() else {
        return true;
    };
    // SAFETY: the caller's; the function is checked to be within the code.
    (start..end).contains(&function)
        && replacements().is_some_and(|all| unsafe {
            (all.streams)(function, end) && (all.last_unmap)(start, end)
        })
}

/// Tells which addresses may be those of replaced functions, and rejects most of some thirty thousand calls.
struct Sieve([u64; Self::WORDS]);

impl Sieve {
    const WORDS: usize = 32;

    fn new() -> Self {
        let mut sieve = Self([0; Self::WORDS]);
        for (index, original) in ORIGINALS.iter().enumerate() {
            if is_replaced(index) {
                let (word, bit) = Self::place(original.load(Ordering::Relaxed) as usize);
                if let Some(word) = sieve.0.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        sieve
    }

    /// Most functions begin at multiples of 16.
    fn place(at: usize) -> (usize, u64) {
        (at >> 10 & (Self::WORDS - 1), 1 << (at >> 4 & 63))
    }

    fn may_be(&self, at: usize) -> bool {
        let (word, bit) = Self::place(at);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

/// A search through the code for calls of replaced functions, as far as it has come. Each call is redirected when it is found.
struct Search {
    text: TextSegment,
    sieve: Sieve,
    /// The lowest and the highest address of the replaced functions.
    bounds: (usize, usize),
    /// The next place to look at, and the end of these places.
    next: usize,
    end: usize,
    count: Count,
    /// It lists the calls for other processes; so many are stored.
    is_listing: bool,
    stored: usize,
}

impl Search {
    fn new(text: TextSegment, calls: &CallSites) -> Option<Self> {
        // In musl more than calls is changed, so a list does not suffice.
        let is_listing = || {
            let (from, to, order) = (NONE, WRITING, Ordering::Acquire);
            let claimed = calls
                .standing
                .compare_exchange(from, to, order, Ordering::Relaxed);
            claimed.is_ok()
        };
        Some(Self {
            bounds: bounds(&text)?,
            sieve: Sieve::new(),
            next: text.start,
            end: text.start + text.length.saturating_sub(REACH),
            text,
            count: Count::default(),
            is_listing: !musl::is_there() && is_listing(),
            stored: 0,
        })
    }

    /// Redirects the calls in the next bytes. `None` if that is impossible, or the library has an unknown form; else whether the search is
    /// over.
    fn go_on(&mut self, ring: &Header, most: usize) -> Option<bool> {
        let calls = calls(ring);
        let from = self.next;
        self.next = self.end.min(from.saturating_add(most));
        let (to, is_over) = (self.next, self.next == self.end);
        // SAFETY: the C library's code; there is one thread.
        let is_redirected = unsafe {
            if is_over {
                with_writable(self.text.start, self.text.length, || {
                    self.look_through(calls, from, to, |_| true)
                        && self.count.is_known()
                        && finish(ring, &self.text)
                })
            } else {
                with_writable(from, to - from + REACH, || {
                    self.look_through(calls, from, to, |_| true)
                })
            }
        };
        if is_redirected && is_over {
            self.publish(calls);
        }
        is_redirected.then_some(is_over)
    }

    /// Redirects the calls from one place to another that are of a wanted function; false if one cannot be redirected.
    ///
    /// # Safety
    ///
    /// The code there can be written to, and no thread is executing it.
    unsafe fn look_through(
        &mut self,
        calls: &CallSites,
        from: usize,
        to: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> bool {
        let (lowest, highest) = self.bounds;
        let mut is_whole = true;
        // SAFETY: the caller's.
        unsafe {
            candidates(from, to, |at| {
                if let Some(Found::Call(target)) = look(at, self.text.start)
                    && (target < lowest || target > highest || !self.sieve.may_be(target))
                {
                    return;
                }
                let found = function_at(at, &self.text);
                let Some(index) = found.filter(|index| is_wanted(*index)) else {
                    return;
                };
                self.count.add(index);
                is_whole &= redirect_at(at, index);
                if let Some(place) = calls.list.get(self.stored).filter(|_| self.is_listing) {
                    place.store(entry(at, index, &self.text), Ordering::Relaxed);
                }
                self.stored += 1;
            });
        }
        is_whole
    }

    /// Gives other processes the list, if it has all calls.
    fn publish(&self, calls: &CallSites) {
        if !self.is_listing || self.stored > calls.list.len() {
            return;
        }
        for (place, part) in calls.key.iter().zip(key(&self.text)) {
            place.store(part, Ordering::Relaxed);
        }
        calls.count.store(self.stored as u32, Ordering::Relaxed);
        calls.standing.store(THERE, Ordering::Release);
    }
}

/// Redirects the calls that the first process has found in the same library; each is checked before it is changed.
unsafe fn by_list(text: &TextSegment, calls: &CallSites) -> bool {
    let list = calls
        .list
        .get(..calls.count.load(Ordering::Relaxed) as usize)
        .unwrap_or_default();
    let mut count = Count::default();
    for entry in list {
        let (at, index) = of_entry(entry.load(Ordering::Relaxed), text);
        if at + 16 > text.start + text.length {
            return false;
        }
        // SAFETY: within the code; the caller's.
        let is_changed = unsafe { function_at(at, text) == Some(index) && redirect_at(at, index) };
        if !is_changed {
            return false;
        }
        count.add(index);
    }
    count.is_known()
}
