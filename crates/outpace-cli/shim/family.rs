//! The processes that share the ring: the program, and its children. Each registers itself, and announces when another program
//! is about to take its place or to be started by it, because that program may not have the shim.
//!
//! A child made by fork(2) inherits the shim with its parent's memory. Another program is given the shim by its environment,
//! where it can have it, and joins when the loader has started it.

use crate::descriptors;
use crate::hooks::{Index, original};
use crate::ring::{self, Header, Member};
use crate::system::{self, FileStatus, Leads, PRCTL, can_be_read, leads, thread};
use crate::writes::{RING, close_and_settle, ring, wake};
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A process's own state. The kernel zeroes this page in a child made by fork(2).
#[repr(C)]
struct Own {
    standing: AtomicU32,
    process: AtomicU32,
    member: AtomicPtr<Member>,
    /// Its number among the members, from 1 on.
    number: AtomicU64,
    /// Counts direct writes beside the closed ring.
    direct: AtomicU32,
}

/// `standing`: not registered, being registered by a thread, registered, without a place among the members.
const NEW: u32 = 0;
const REGISTERING: u32 = 1;
const OURS: u32 = 2;
const OUTSIDE: u32 = 3;

static OWN: AtomicPtr<Own> = AtomicPtr::new(ptr::null_mut());

/// The state before there is a ring.
static UNREGISTERED: Own = Own {
    standing: AtomicU32::new(OUTSIDE),
    process: AtomicU32::new(0),
    member: AtomicPtr::new(ptr::null_mut()),
    number: AtomicU64::new(0),
    direct: AtomicU32::new(0),
};

fn own() -> &'static Own {
    // SAFETY: null, or a page that stays for as long as the process; zeroes are valid for it.
    unsafe { OWN.load(Ordering::Relaxed).as_ref() }.unwrap_or(&UNREGISTERED)
}

/// The calling thread, as the holder of the lock.
pub(crate) fn me() -> u64 {
    ring::holder(own().process.load(Ordering::Relaxed), thread())
}

/// The calling process, if it is registered.
pub(crate) fn member() -> Option<&'static Member> {
    let own = own();
    let is_ours = own.standing.load(Ordering::Acquire) == OURS;
    // SAFETY: in the shared memory, once it is registered.
    unsafe { own.member.load(Ordering::Relaxed).as_ref() }.filter(|_| is_ours)
}

/// Registers this process if it is not registered yet; returns whether it is.
pub(crate) fn is_ours(ring: &Header) -> bool {
    match own().standing.load(Ordering::Acquire) {
        OURS => true,
        NEW => register(ring),
        _ => false,
    }
}

/// Maps the page of [`Own`]; false if the kernel would not zero it in a child.
pub(crate) fn prepare() -> bool {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    const WIPEONFORK: usize = 18;
    // SAFETY: a mapping of our own, at a place that the kernel chooses.
    unsafe {
        let page = system::call(
            system::MMAP,
            0,
            4096,
            READ_WRITE,
            PRIVATE_ANONYMOUS,
            usize::MAX,
            0,
        );
        if page <= 0 || system::call(system::MADVISE, page as usize, 4096, WIPEONFORK, 0, 0, 0) != 0
        {
            return false;
        }
        OWN.store(page as *mut Own, Ordering::Release);
    }
    true
}

fn members(ring: &Header) -> &[Member] {
    // SAFETY: the shared memory has so many behind the header, and all of them are atomics.
    unsafe {
        let first = ptr::from_ref(ring).cast::<u8>().add(ring::MEMBERS);
        core::slice::from_raw_parts(first.cast(), ring::MOST_MEMBERS)
    }
}

/// Registers the calling process.
#[cold]
pub(crate) fn register(ring: &Header) -> bool {
    let own = own();
    let standing = &own.standing;
    let claimed = standing.compare_exchange(NEW, REGISTERING, Ordering::Acquire, Ordering::Relaxed);
    if claimed.is_err() {
        return false;
    }
    let process = system::process();
    let place = system::start_time().and_then(|start| place(ring, process, start));
    let Some(member) = place else {
        standing.store(OUTSIDE, Ordering::Release);
        return false;
    };
    own.process.store(process, Ordering::Relaxed);
    own.member
        .store(ptr::from_ref(member).cast_mut(), Ordering::Relaxed);
    let distance = ptr::from_ref(member).addr() - members(ring).as_ptr().addr();
    let number = (distance / size_of::<Member>() + 1) as u64;
    own.number.store(number, Ordering::Relaxed);
    descriptors::begin_process(ring);
    // The bytes of the process that had this place before are not this one's.
    let author = &ring.head.1.member;
    let _ = author.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed);
    standing.store(OURS, Ordering::Release);
    true
}

/// Takes a place among the members.
fn place(ring: &Header, process: u32, start: u64) -> Option<&Member> {
    let members = members(ring);
    for old in members {
        // The place of the program that this process was before.
        let is_ours = old.process.load(Ordering::Relaxed) == process;
        if is_ours && old.standing.load(Ordering::Acquire) == ring::MEMBER {
            old.standing.store(ring::FREE, Ordering::Release);
        }
    }
    let claim = |member: &&Member, from: u32| {
        let (to, order) = (ring::CLAIMED, Ordering::Acquire);
        member
            .standing
            .compare_exchange(from, to, order, Ordering::Relaxed)
            .is_ok()
    };
    let has_ended = |member: &&Member| {
        member.standing.load(Ordering::Acquire) == ring::MEMBER
            && system::is_dead(member.process.load(Ordering::Relaxed))
            && claim(member, ring::MEMBER)
    };
    // Unused places come first: `-v` reports on the processes in the others.
    let is_fresh = |member: &&Member| member.process.load(Ordering::Relaxed) == 0;
    let member = members
        .iter()
        .find(|member| is_fresh(member) && claim(member, ring::FREE))
        .or_else(|| members.iter().find(|member| claim(member, ring::FREE)))
        .or_else(|| members.iter().find(has_ended))?;
    const PR_GET_NAME: usize = 16;
    let mut name = [0_u64; 2];
    // SAFETY: the kernel writes 16 bytes.
    unsafe { system::call(PRCTL, PR_GET_NAME, name.as_mut_ptr() as usize, 0, 0, 0, 0) };
    for (place, part) in member.name.iter().zip(name) {
        place.store(part, Ordering::Relaxed);
    }
    member.process.store(process, Ordering::Relaxed);
    member.start.store(start, Ordering::Relaxed);
    member.away.store(0, Ordering::Relaxed);
    member.fitness.store(ring::UNSEEN, Ordering::Relaxed);
    member.bytes.store(0, Ordering::Relaxed);
    member.reason.store(0, Ordering::Relaxed);
    member.code.store(0, Ordering::Relaxed);
    member.plain.store(0, Ordering::Relaxed);
    member.standing.store(ring::MEMBER, Ordering::Release);
    Some(member)
}

/// Counts bytes just written through the ring. The caller holds its lock.
pub(crate) fn count(ring: &Header, length: usize) {
    let number = own().number.load(Ordering::Relaxed);
    let author = &ring.head.1;
    let before = author.member.load(Ordering::Relaxed);
    if before == number {
        return;
    }
    let from = ring.published() - length as u64;
    if let Some(member) = members(ring).get(before.wrapping_sub(1) as usize) {
        let more = from.wrapping_sub(author.from.load(Ordering::Relaxed));
        let bytes = member.bytes.load(Ordering::Relaxed).wrapping_add(more);
        member.bytes.store(bytes, Ordering::Relaxed);
    }
    author.from.store(from, Ordering::Relaxed);
    author.member.store(number, Ordering::Relaxed);
}

/// After so many direct writes beside the closed ring, `run` is asked to open it.
const ASK_AFTER: u32 = 64;

/// Called when a short write goes to the terminal because the ring is closed.
#[cold]
pub(crate) fn ask_for_ring(ring: &Header, descriptor: c_int) {
    if ring.state() != ring::CLOSED || !is_ours(ring) {
        return;
    }
    let direct = own().direct.load(Ordering::Relaxed).wrapping_add(1);
    own().direct.store(direct, Ordering::Relaxed);
    if direct % ASK_AFTER == 0 && leads(descriptor, ring) == Leads::Here {
        ring.ask();
        wake(ring);
    }
}

/// Closes the ring before another program is started, or takes this process's place. It stays closed until [`come_back`], or
/// until `run` finds that program among the members.
pub(crate) fn go_away(ring: &Header, reason: u32) -> Option<&'static Member> {
    // A child made by vfork(2) shares its parent's memory, but is not registered.
    let is_itself = |_: &&Member| own().process.load(Ordering::Relaxed) == system::process();
    let member = member().filter(is_itself);
    if let Some(member) = member {
        member.away.fetch_add(1, Ordering::SeqCst);
    }
    close_and_settle(ring, reason);
    member
}

/// Whether other programs are given the shim. If not, this process alone uses the ring, and gives it up for good before it
/// starts or becomes another.
fn is_handed_on(ring: &Header) -> bool {
    ring.library.load(Ordering::Relaxed) != 0
}

/// Called before the calling process starts or becomes another program.
pub(crate) fn before_program(ring: &Header) -> Option<&'static Member> {
    if is_handed_on(ring) {
        // This process must not overtake what that program leaves in the ring.
        crate::text::complete_if_postponed();
        return go_away(ring, ring::BY_EXEC);
    }
    retire(ring::BY_EXEC);
    None
}

pub(crate) fn come_back(member: Option<&Member>) {
    if let Some(member) = member {
        member.away.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Gives the ring up in this process, which makes no system calls for it any more.
pub(crate) fn retire(reason: u32) {
    if let Some(ring) = ring() {
        if let Some(member) = go_away(ring, reason) {
            member.reason.store(reason, Ordering::Relaxed);
        }
        RING.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Called before another thread is made. Does what has to be done once, because a thread that finds it half done writes to the
/// terminal.
pub(crate) fn before_thread() {
    crate::text::complete_if_postponed();
    if let Some(ring) = ring() {
        is_ours(ring);
    }
}

/// Called before this process is copied. The copy would also finish a write that the calling thread has interrupted.
pub(crate) extern "C" fn before_fork() {
    crate::hooks::ensure_resolved();
    let Some(ring) = ring() else {
        EARLY.store(1, Ordering::Relaxed);
        return;
    };
    if !is_handed_on(ring) {
        retire(ring::BY_EXEC);
        return;
    }
    crate::text::complete_if_postponed();
    // Registers the parent now: a child made by vfork(2) must not do so in its place.
    is_ours(ring);
    if ring.lock.0.load(Ordering::Relaxed) == me() {
        retire(ring::BY_LOCK);
    }
}

/// Not 0 if a process was made before the ring was attached.
pub(crate) static EARLY: AtomicU8 = AtomicU8::new(0);

/// Called in a child made by fork(2).
unsafe extern "C" fn after_fork() {
    if let Some(ring) = ring() {
        is_ours(ring);
    }
}

/// Has children register themselves, whether they write or not.
pub(crate) fn watch_forks() {
    type Handler = Option<unsafe extern "C" fn()>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    let register = original(Index::register_atfork);
    if !register.is_null() {
        // SAFETY: the C library's function has this type (Linux Standard Base, __register_atfork).
        unsafe {
            let register = core::mem::transmute::<*mut c_void, Register>(register);
            register(None, None, Some(after_fork), ptr::null_mut());
        }
        return;
    }
    type Atfork = unsafe extern "C" fn(Handler, Handler, Handler) -> c_int;
    let atfork = original(Index::atfork);
    if !atfork.is_null() {
        // SAFETY: the function of that name has this type (POSIX); musl has it in its one library.
        unsafe {
            let atfork = core::mem::transmute::<*mut c_void, Atfork>(atfork);
            atfork(None, None, Some(after_fork));
        }
    }
}

// ---- Another program.

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
            let goes = rest(*from, RING_VARIABLE).is_some() || is_preload && ours.is_none();
            if let Some(at) = ours.filter(|_| is_preload) {
                preload.add(at).cast_mut().write(0);
            }
            if !goes {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = ptr::null();
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
#[inline(never)]
pub(crate) unsafe fn with_environment(
    path: *const c_char,
    environment: *const *const c_char,
    start: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    let mut table = [const { MaybeUninit::<*const c_char>::uninit() }; VARIABLES];
    let mut text = [const { MaybeUninit::<u8>::uninit() }; BYTES];
    // SAFETY: the caller's.
    let fits = unsafe { fits(path) && extend(environment, &mut table, &mut text) };
    if fits {
        start(table.as_ptr().cast())
    } else {
        start(environment)
    }
}

/// Makes the environment with the two variables; false if it has no room, has one of them already, or asks the loader for
/// something else.
unsafe fn extend(
    environment: *const *const c_char,
    table: &mut [MaybeUninit<*const c_char>; VARIABLES],
    text: &mut [MaybeUninit<u8>; BYTES],
) -> bool {
    let mut count = 0;
    let mut preloads = false;
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
            if is_other || rest(variable, RING_VARIABLE).is_some() {
                return false;
            }
            if let Some(value) = rest(variable, PRELOAD_VARIABLE) {
                let others = core::slice::from_raw_parts(OTHERS.start(), OTHERS.length() + 1);
                if preloads
                    || !can_be_read(value.cast(), others.len())
                    || rest(value, others).is_none()
                {
                    // Not the libraries that `run` has looked at.
                    return false;
                }
                preloads = true;
            } else {
                table[count].write(variable);
                count += 1;
            }
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
    if preloads && OTHERS.length() > 0 {
        append(OTHERS.start(), OTHERS.length());
        append(b":".as_ptr(), 1);
    }
    append(LIBRARY_PATH.start(), LIBRARY_PATH.length() + 1);
    let (ring, _) = append(RING_VARIABLE.as_ptr(), RING_VARIABLE.len());
    let (_, is_whole) = append(RING_PATH.start(), RING_PATH.length() + 1);
    table[count].write(preload);
    table[count + 1].write(ring);
    table[count + 2].write(ptr::null());
    is_whole
}

/// Whether the loader would give the shim to a program, and can: checks the program's file and our two.
fn fits(path: *const c_char) -> bool {
    let Some(ring) = ring() else {
        return false;
    };
    let library = ring.library.load(Ordering::Relaxed);
    if !is_handed_on(ring) || ring.state() == ring::DEAD || can_be_had(path, 0).is_none() {
        return false;
    }
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
    is_there(LIBRARY_PATH.start(), library)
        && is_there(RING_PATH.start(), ring.ring.load(Ordering::Relaxed))
}

/// The longest chain of interpreters of scripts.
const MOST_SCRIPTS: u32 = 4;
/// Bytes of a file that are read to tell its kind.
const START: usize = 1024;

/// Whether a program's file is for this processor, is started by a known loader and has no rights of its own; or is a script
/// for such a program.
#[inline(never)]
fn can_be_had(path: *const c_char, scripts: u32) -> Option<()> {
    const RIGHTS: u32 = 0o6000;
    const CAPABILITIES: &core::ffi::CStr = c"security.capability";
    let mut start = [0; START];
    // SAFETY: the kernel reads the path, or says that it cannot.
    let file = unsafe { system::open(path, 0) };
    if file < 0 {
        return None;
    }
    let read = system::read_at(file, &mut start, 0);
    let rights = FileStatus::of(file as usize).map_or(RIGHTS, |stat| stat.mode & RIGHTS);
    let attribute = CAPABILITIES.as_ptr() as usize;
    // SAFETY: with a size of 0 the kernel writes no value.
    let capabilities =
        unsafe { system::call(system::FGETXATTR, file as usize, attribute, 0, 0, 0, 0) };
    let interpreter = interpreter(file, start.get(..usize::try_from(read).unwrap_or(0))?);
    system::close(file);
    if rights != 0 || capabilities >= 0 {
        return None;
    }
    match interpreter? {
        Interpreter::Loader => Some(()),
        Interpreter::Program(from, to) if scripts < MOST_SCRIPTS => {
            *start.get_mut(to)? = 0;
            can_be_had(start.get(from..=to)?.as_ptr().cast(), scripts + 1)
        }
        Interpreter::Program(..) => None,
    }
}

enum Interpreter {
    /// The C library's loader.
    Loader,
    /// A script's interpreter: where its name begins and ends.
    Program(usize, usize),
}

/// Tells the interpreter by the first bytes of a file.
fn interpreter(file: isize, start: &[u8]) -> Option<Interpreter> {
    if let Some(line) = start.strip_prefix(b"#!") {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let from = 2 + line.iter().position(|byte| !is_space(byte))?;
        let word = start.get(from..)?;
        let length = word
            .iter()
            .position(|byte| is_space(byte) || *byte == b'\n')?;
        return Some(Interpreter::Program(from, from + length));
    }
    let word = |at: usize, size: usize| {
        let bytes = start.get(at..at + size)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)),
        )
    };
    // Elf64_Ehdr: 64 bits, little-endian; e_machine, e_phoff, e_phentsize, e_phnum.
    if !start.starts_with(b"\x7fELF\x02\x01") || word(18, 2)? != crate::machine::ELF_MACHINE {
        return None;
    }
    let (table, size, count) = (word(32, 8)?, word(54, 2)?, word(56, 2)?);
    const PT_INTERP: usize = 3;
    let mut headers = (0..count.min(64)).map(|index| table.wrapping_add(index * size));
    let header = headers.find(|at| word(*at, 4) == Some(PT_INTERP))?;
    // Elf64_Phdr: p_offset, p_filesz.
    let (place, length) = (word(header + 8, 8)?, word(header + 32, 8)?);
    let mut name = [0; 128];
    let name = name.get_mut(..length)?;
    let is_whole = system::read_at(file, name, place) == length as isize;
    let name = name.strip_suffix(b"\0")?;
    let is_known = crate::machine::LOADERS
        .iter()
        .any(|loader| name.ends_with(loader));
    (is_whole && is_known).then_some(Interpreter::Loader)
}

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
}

/// The path of a program, as posix_spawnp(3) finds it; in the buffer, if it is looked for.
///
/// # Safety
///
/// The file ends with a NUL.
pub(crate) unsafe fn find(file: *const c_char, buffer: &mut [u8; START]) -> Option<*const c_char> {
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
        if parts.iter().map(|part| part.len()).sum::<usize>() > START {
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
