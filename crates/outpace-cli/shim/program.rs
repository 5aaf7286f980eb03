//! Whether another program can have the shim, by its file, and by the rights of the thread that is about to start it or to
//! become it. A loader that cannot open the shim complains on the program's stderr.

use crate::machine::{C_LIBRARIES, ELF_MACHINE, LOADERS};
use crate::ring::{self, Header, Starts};
use crate::symbols::gnu_hash;
use crate::system::{self, FileStatus, PRCTL, PRLIMIT};
use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::Ordering;

/// The longest chain of interpreters of scripts.
const MOST_SCRIPTS: u32 = 4;
/// Bytes of a file that are read to tell its kind.
const START: usize = 1024;

/// Whether the loader gives the shim to the program of this file, if it is asked to, and the program is as without it.
pub(crate) fn can_have_shim(path: *const c_char, ring: &Header) -> bool {
    is_fit(path) && is_unlimited() && is_allowed(ring)
}

/// Whether a program's file, or the interpreter of a script, is one to which the loader can give the shim.
#[inline(never)]
fn is_fit(path: *const c_char) -> bool {
    let mut start = [0; START];
    let mut kind = kind(path, &mut start);
    for _ in 0..MOST_SCRIPTS {
        let Some(Kind::Script(from, to)) = kind else {
            break;
        };
        let mut next = [0; START];
        let Some((name, place)) = start.get(from..to).zip(next.get_mut(..to - from)) else {
            return false;
        };
        place.copy_from_slice(name);
        kind = self::kind(next.as_ptr().cast(), &mut start);
    }
    matches!(kind, Some(Kind::Program))
}

// ---- How often.

/// A program that is started again and again, by a script's loop, is given the shim this often at once, and then once in this time:
/// to load it takes as long as to start a small program.
const AT_ONCE: u64 = 16;
const EVERY: u64 = 250_000_000;

/// Whether the program of this file has been given the shim seldom enough. It counts this time.
pub(crate) fn is_due(path: *const c_char, ring: &Header) -> bool {
    // SAFETY: the kernel reads the path, or says that it cannot.
    let Some(file) = (unsafe { FileStatus::by_name(path) }) else {
        return false;
    };
    // SAFETY: the shared memory has them behind the calls, and they are atomics.
    let starts = unsafe {
        &*ptr::from_ref(ring)
            .cast::<u8>()
            .add(ring::STARTS)
            .cast::<Starts>()
    };
    let Some(place) = starts.get(file.inode as usize % starts.len()) else {
        return false;
    };
    let now = system::now();
    let next = |at: u64| {
        let at = at.max(now);
        (at - now < AT_ONCE * EVERY).then_some(at + EVERY)
    };
    place
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .is_ok()
}

// ---- The rights of the calling thread.

/// Whether this thread has one user's rights, and keeps them as another program; and is not traced: a tracer would see the
/// shim's system calls.
#[inline(never)]
fn is_allowed(ring: &Header) -> bool {
    let mut text = [0; 2048];
    // SAFETY: the path ends with a NUL.
    let file = unsafe { system::open(c"/proc/thread-self/status".as_ptr(), 0) };
    if file < 0 {
        return false;
    }
    let read = system::read_at(file, &mut text, 0);
    system::close(file);
    let Some(text) = text.get(..usize::try_from(read).unwrap_or(0)) else {
        return false;
    };
    let field = |name: &[u8]| {
        let mut lines = text.split(|byte| *byte == b'\n');
        lines.find_map(|line| line.strip_prefix(name))
    };
    let is_one = |name: &[u8]| {
        field(name).is_some_and(|line| {
            let mut numbers = line.split(|byte| *byte == b'\t').skip(1);
            let first = numbers.next();
            numbers.all(|number| Some(number) == first)
        })
    };
    if field(b"TracerPid:") != Some(b"\t0") || !is_one(b"Uid:") || !is_one(b"Gid:") {
        return false;
    }
    // proc(5) shows a process's descriptors to processes that have its capabilities.
    let needed = ring.capabilities.load(Ordering::Relaxed);
    let set = |name: &[u8]| field(name).map_or(0, hexadecimal);
    needed == 0 || {
        let kept = if field(b"Uid:").is_some_and(|line| line.starts_with(b"\t0\t")) {
            is_superuser_as_ever()
                .then(|| set(b"CapPrm:") & set(b"CapBnd:"))
                .unwrap_or(0)
        } else {
            set(b"CapAmb:")
        };
        needed & !kept == 0
    }
}

/// Whether the superuser gets its capabilities when it becomes another program (capabilities(7), SECBIT_NOROOT).
fn is_superuser_as_ever() -> bool {
    const PR_GET_SECUREBITS: usize = 27;
    const NO_ROOT: isize = 1;
    // SAFETY: no memory is involved.
    let bits = unsafe { system::call(PRCTL, PR_GET_SECUREBITS, 0, 0, 0, 0, 0) };
    bits >= 0 && bits & NO_ROOT == 0
}

fn hexadecimal(text: &[u8]) -> u64 {
    let digits = text.iter().filter_map(|byte| (*byte as char).to_digit(16));
    digits.fold(0, |sum, digit| sum << 4 | u64::from(digit))
}

/// Whether the address space is unlimited. The shim's memory would count.
fn is_unlimited() -> bool {
    const RLIMIT_AS: usize = 9;
    const INFINITY: u64 = u64::MAX;
    let mut limits = [0_u64; 2];
    let place = limits.as_mut_ptr() as usize;
    // SAFETY: the kernel writes two words.
    let result = unsafe { system::call(PRLIMIT, 0, RLIMIT_AS, 0, place, 0, 0) };
    result == 0 && limits[0] == INFINITY
}

// ---- The file.

enum Kind {
    /// One of this processor that a loader of the C library's starts, with the rights of its user.
    Program,
    /// A script: where its interpreter's name is.
    Script(usize, usize),
}

/// A file that is read.
struct File(isize);

impl Drop for File {
    fn drop(&mut self) {
        system::close(self.0);
    }
}

impl File {
    fn open(path: *const c_char) -> Option<Self> {
        // SAFETY: the kernel reads the path, or says that it cannot.
        let file = unsafe { system::open(path, 0) };
        (file >= 0).then_some(Self(file))
    }

    /// Whether the file adds no rights to its user's.
    fn has_no_rights(&self) -> bool {
        const RIGHTS: u32 = 0o6000;
        const CAPABILITIES: &CStr = c"security.capability";
        let (file, attribute) = (self.0 as usize, CAPABILITIES.as_ptr() as usize);
        let rights = FileStatus::of(file).map_or(RIGHTS, |stat| stat.mode & RIGHTS);
        // SAFETY: the kernel is asked only whether it is there.
        let found = unsafe { system::call(system::FGETXATTR, file, attribute, 0, 0, 0, 0) };
        rights == 0 && found < 0
    }

    fn read<const SIZE: usize>(&self, at: usize) -> Option<[u8; SIZE]> {
        let mut bytes = [0; SIZE];
        (system::read_at(self.0, &mut bytes, at) == SIZE as isize).then_some(bytes)
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.read(at).map(u32::from_le_bytes)
    }

    fn long(&self, at: usize) -> Option<usize> {
        self.read(at).map(usize::from_le_bytes)
    }

    /// The beginning of a text that ends with a NUL, in the buffer.
    fn text<'a>(&self, at: usize, buffer: &'a mut [u8; 64]) -> Option<&'a [u8]> {
        let read = system::read_at(self.0, buffer, at);
        let text = buffer.get(..usize::try_from(read).ok()?)?;
        text.split(|byte| *byte == 0).next()
    }
}

/// Tells the kind of a file by its first bytes, which stay in the buffer.
fn kind(path: *const c_char, start: &mut [u8; START]) -> Option<Kind> {
    let file = File::open(path)?;
    let read = system::read_at(file.0, start, 0);
    let start = start.get(..usize::try_from(read).unwrap_or(0))?;
    if !file.has_no_rights() {
        return None;
    }
    if let Some(line) = start.strip_prefix(b"#!") {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let from = 2 + line.iter().position(|byte| !is_space(byte))?;
        let word = start.get(from..)?;
        let length = word
            .iter()
            .position(|byte| is_space(byte) || *byte == b'\n')?;
        return Some(Kind::Script(from, from + length));
    }
    Image::of(&file, start)?.is_fit().then_some(Kind::Program)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + size)?.iter();
    Some(
        bytes
            .rev()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    )
}

/// A program's file (elf(5)).
struct Image<'a> {
    file: &'a File,
    start: &'a [u8],
    /// The place of the list of segments, the size of an entry, and their number.
    segments: (usize, usize, usize),
}

impl<'a> Image<'a> {
    fn of(file: &'a File, start: &'a [u8]) -> Option<Self> {
        // Elf64_Ehdr: 64 bits, little-endian; e_machine, e_phoff, e_phentsize, e_phnum.
        const MAGIC: &[u8] = b"\x7fELF\x02\x01";
        if !start.starts_with(MAGIC) || number(start, 18, 2)? != ELF_MACHINE {
            return None;
        }
        let segments = (
            number(start, 32, 8)?,
            number(start, 54, 2)?,
            number(start, 56, 2)?.min(64),
        );
        Some(Self {
            file,
            start,
            segments,
        })
    }

    /// The segments of a kind: their places in the file and in memory, and their lengths there (p_offset, p_vaddr, p_filesz).
    fn segments(&self, kind: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let (table, size, count) = self.segments;
        (0..count).filter_map(move |index| {
            let at = table.wrapping_add(index * size);
            let word = |from: usize, size| number(self.start, at.wrapping_add(from), size);
            let found = (word(8, 8)?, word(16, 8)?, word(32, 8)?);
            (word(0, 4)? == kind).then_some(found)
        })
    }

    /// The place in the file of an address of the program.
    fn place(&self, address: usize) -> Option<usize> {
        const PT_LOAD: usize = 1;
        let mut segments = self.segments(PT_LOAD);
        let within = |(offset, start, size): (usize, usize, usize)| {
            let distance = address.wrapping_sub(start);
            (distance < size).then(|| offset + distance)
        };
        segments.find_map(within)
    }

    /// Whether a known loader starts it, with the C library and without a sanitizer, whose library has to come first.
    fn is_fit(&self) -> bool {
        self.has_known_loader() && self.has_known_libraries().unwrap_or(false)
    }

    fn has_known_loader(&self) -> bool {
        const PT_INTERP: usize = 3;
        let mut name = [0; 128];
        let Some((at, _, length)) = self.segments(PT_INTERP).next() else {
            return false;
        };
        let Some(name) = name.get_mut(..length) else {
            return false;
        };
        let is_whole = system::read_at(self.file.0, name, at) == length as isize;
        let name = name.strip_suffix(b"\0").unwrap_or_default();
        is_whole && LOADERS.iter().any(|loader| name.ends_with(loader))
    }

    /// The entries for the loader: their tags and values.
    fn dynamic(&self) -> impl Iterator<Item = (usize, usize)> {
        const PT_DYNAMIC: usize = 2;
        const DT_NULL: usize = 0;
        let (from, _, length) = self.segments(PT_DYNAMIC).next().unwrap_or_default();
        let places = (from..from.saturating_add(length)).step_by(16);
        let entries = places.map_while(|at| {
            let entry = self.file.read::<16>(at)?;
            Some((number(&entry, 0, 8)?, number(&entry, 8, 8)?))
        });
        entries.take_while(|(what, _)| *what != DT_NULL)
    }

    fn has_known_libraries(&self) -> Option<bool> {
        const DT_NEEDED: usize = 1;
        const DT_STRTAB: usize = 5;
        const DT_GNU_HASH: usize = 0x6fff_fef5;
        let value = |wanted: usize| {
            let mut entries = self.dynamic();
            entries.find_map(|(what, value)| (what == wanted).then_some(value))
        };
        let names = self.place(value(DT_STRTAB)?)?;
        let (mut has_c_library, mut has_sanitizer) = (false, false);
        for (_, name) in self.dynamic().filter(|(what, _)| *what == DT_NEEDED) {
            let mut buffer = [0; 64];
            let name = self.file.text(names.checked_add(name)?, &mut buffer)?;
            has_c_library |= C_LIBRARIES.contains(&name);
            has_sanitizer |= SANITIZERS.iter().any(|start| name.starts_with(start));
        }
        if let Some(table) = value(DT_GNU_HASH) {
            let table = self.place(table)?;
            for name in SANITIZER_STARTS {
                has_sanitizer |= self.defines(table, name)?;
            }
        }
        Some(has_c_library && !has_sanitizer)
    }

    /// Whether the program defines a symbol, by a table of the kind `DT_GNU_HASH`: four words, words of 64 bits of a filter,
    /// buckets, and a hash for each symbol from the first one on, the last of each bucket with its last bit set.
    fn defines(&self, table: usize, name: &[u8]) -> Option<bool> {
        let hash = gnu_hash(name);
        let word = |index: usize| self.file.word(table.checked_add(4 * index)?);
        let [buckets, first, words, shift] = [word(0)?, word(1)?, word(2)?, word(3)?];
        let filter = (hash / 64 % words.max(1)) as usize;
        let bits = self.file.long(table.checked_add(16 + 8 * filter)?)?;
        let bit = |hash: u32| bits >> (hash % 64) & 1 != 0;
        if buckets == 0 || !bit(hash) || !bit(hash.checked_shr(shift)?) {
            return Some(false);
        }
        let start = 4 + 2 * words as usize;
        let mut symbol = word(start + (hash % buckets) as usize)?;
        while symbol >= first {
            let other = word(start + buckets as usize + (symbol - first) as usize)?;
            if other | 1 == hash | 1 {
                return Some(true);
            }
            if other & 1 != 0 {
                break;
            }
            symbol = symbol.checked_add(1)?;
        }
        Some(false)
    }
}

/// The names of sanitizers' libraries, gcc's and clang's.
const SANITIZERS: [&[u8]; 7] = [
    b"libasan.",
    b"libtsan.",
    b"liblsan.",
    b"libhwasan.",
    b"libubsan.",
    b"libmsan.",
    b"libclang_rt.",
];
/// The functions of sanitizers that are linked into a program.
const SANITIZER_STARTS: [&[u8]; 5] = [
    b"__asan_init",
    b"__tsan_init",
    b"__msan_init",
    b"__hwasan_init",
    b"__lsan_init",
];
