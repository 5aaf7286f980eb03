//! Finds the C library's functions in its own symbol table. `dlsym` is not in every program (before glibc 2.34 it was in a
//! library of its own), and finds functions of libraries that come before the C library.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// `dl_phdr_info` (dl_iterate_phdr(3)).
#[repr(C)]
pub(crate) struct Object {
    pub(crate) address: usize,
    name: *const c_char,
    headers: *const Segment,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    offset: u64,
    pub(crate) address: usize,
    physical: usize,
    file_size: usize,
    pub(crate) size: usize,
    align: usize,
}

impl Object {
    pub(crate) fn segments(&self) -> &[Segment] {
        // SAFETY: the loader says how many there are, and keeps them.
        unsafe { core::slice::from_raw_parts(self.headers, self.count.into()) }
    }

    pub(crate) fn start(&self, segment: &Segment) -> usize {
        self.address.wrapping_add(segment.address)
    }

    /// How mmap(2) protects the segment of an address.
    pub(crate) fn protection(&self, at: usize) -> Option<usize> {
        const PT_LOAD: u32 = 1;
        let mut segments = self.segments().iter();
        let it = segments.find(|segment| {
            segment.kind == PT_LOAD && at.wrapping_sub(self.start(segment)) < segment.size
        })?;
        // PF_X, PF_W and PF_R in the order of PROT_EXEC, PROT_WRITE and PROT_READ.
        Some([(1, 4), (2, 2), (4, 1)].iter().fold(0, |sum, (flag, bit)| {
            sum | if it.flags & flag != 0 { *bit } else { 0 }
        }))
    }
}

/// Calls the function with each object of the program, in the loader's order, until it says that it is enough.
pub(crate) fn each_object<F: FnMut(&Object) -> bool>(mut look: F) {
    unsafe extern "C" fn call<F: FnMut(&Object) -> bool>(
        object: *const Object,
        _: usize,
        look: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid object, and we our own function.
        unsafe { c_int::from((*look.cast::<F>())(&*object)) }
    }
    // SAFETY: the callback gets the function of its type.
    unsafe { dl_iterate_phdr(call::<F>, (&raw mut look).cast()) };
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

/// The hash of a symbol's name in a table of the kind `DT_GNU_HASH`.
pub(crate) fn gnu_hash(name: &[u8]) -> u32 {
    let next = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add((*byte).into());
    name.iter().fold(5381, next)
}

/// An object's symbols.
pub(crate) struct Symbols {
    address: usize,
    names: *const c_char,
    table: *const Symbol,
    versions: *const u16,
    /// `DT_GNU_HASH`, or `DT_HASH`.
    hash: *const u32,
    is_gnu: bool,
}

impl Symbols {
    pub(crate) fn of(object: &Object) -> Option<Self> {
        const PT_DYNAMIC: u32 = 2;
        let (hash, names, table, gnu_hash, versions) = (4, 5, 6, 0x6fff_fef5, 0x6fff_fff0);
        let dynamic = object
            .segments()
            .iter()
            .find(|segment| segment.kind == PT_DYNAMIC)?;
        let mut entry = object.start(dynamic) as *const [usize; 2];
        let mut found = [0; 5];
        loop {
            // SAFETY: the list ends with a zero.
            let [tag, value] = unsafe { entry.read() };
            if tag == 0 {
                break;
            }
            let tags = [hash, names, table, gnu_hash, versions];
            if let Some(index) = tags.iter().position(|one| *one == tag) {
                // glibc's loader has added the object's address, musl's has not.
                let is_relative = value < object.address;
                found[index] = if is_relative {
                    value.wrapping_add(object.address)
                } else {
                    value
                };
            }
            // SAFETY: the same.
            entry = unsafe { entry.add(1) };
        }
        let [hash, names, table, gnu_hash, versions] = found;
        let is_gnu = gnu_hash != 0;
        let hash = if is_gnu { gnu_hash } else { hash };
        (names != 0 && table != 0 && hash != 0).then_some(Self {
            address: object.address,
            names: names as *const c_char,
            table: table as *const Symbol,
            versions: versions as *const u16,
            hash: hash as *const u32,
            is_gnu,
        })
    }

    /// The function of that name, in its default version; null if there is none.
    pub(crate) fn find(&self, name: &CStr) -> *mut c_void {
        self.address_of(self.find_kind(name, Self::FUNCTION))
    }

    /// The place of the distance of that function from the object's address.
    pub(crate) fn place(&self, name: &CStr) -> Option<usize> {
        let symbol = self.find_kind(name, Self::FUNCTION)?;
        Some((&raw const symbol.value).addr())
    }

    const FUNCTION: u8 = 2;

    fn address_of(&self, symbol: Option<&Symbol>) -> *mut c_void {
        symbol.map_or(ptr::null_mut(), |symbol| {
            ptr::without_provenance_mut(self.address.wrapping_add(symbol.value))
        })
    }

    /// The variable of that name in this object; the program may have a copy of its own.
    pub(crate) fn find_variable(&self, name: &CStr) -> *mut c_void {
        const OBJECT: u8 = 1;
        self.address_of(self.find_kind(name, OBJECT))
    }

    fn find_kind(&self, name: &CStr, kind: u8) -> Option<&Symbol> {
        if self.is_gnu {
            self.find_by_gnu_hash(name, kind)
        } else {
            self.find_by_hash(name, kind)
        }
    }

    /// The symbol, if its name and kind match and it is the default version.
    ///
    /// # Safety
    ///
    /// There is a symbol of that number.
    unsafe fn symbol(&self, number: usize, name: &CStr, kind: u8) -> Option<&Symbol> {
        const HIDDEN: u16 = 0x8000;
        // SAFETY: the caller's; names end with a NUL.
        unsafe {
            let symbol = &*self.table.add(number);
            let is_it = symbol.section != 0
                && symbol.info & 0xf == kind
                && CStr::from_ptr(self.names.add(symbol.name as usize)) == name
                && (self.versions.is_null() || self.versions.add(number).read() & HIDDEN == 0);
            is_it.then_some(symbol)
        }
    }

    fn find_by_gnu_hash(&self, name: &CStr, kind: u8) -> Option<&Symbol> {
        let wanted = gnu_hash(name.to_bytes());
        // SAFETY: the table is as the loader uses it: four words, words of 64 bits, buckets, and a hash for each symbol
        // from the first one on, the last of each bucket with its last bit set.
        unsafe {
            let word = |at: usize| self.hash.add(at).read();
            let (buckets, first, words) = (word(0) as usize, word(1) as usize, word(2) as usize);
            let table = 4 + 2 * words;
            let mut number = word(table + wanted as usize % buckets.max(1)) as usize;
            if buckets == 0 || number < first {
                return None;
            }
            loop {
                let hash = word(table + buckets + number - first);
                let found = (hash | 1 == wanted | 1)
                    .then(|| self.symbol(number, name, kind))
                    .flatten();
                if found.is_some() {
                    return found;
                }
                if hash & 1 != 0 {
                    return None;
                }
                number += 1;
            }
        }
    }

    fn find_by_hash(&self, name: &CStr, kind: u8) -> Option<&Symbol> {
        let hash = |hash: u32, byte: &u8| {
            let sum = (hash << 4).wrapping_add((*byte).into());
            (sum ^ (sum >> 28 << 4)) & 0x0fff_ffff
        };
        let wanted = name.to_bytes().iter().fold(0, hash);
        // SAFETY: the table is as the loader uses it (System V ABI): how many buckets and symbols, the buckets, and for each
        // symbol the next one.
        unsafe {
            let word = |at: usize| self.hash.add(at).read() as usize;
            let buckets = word(0);
            let mut number = if buckets == 0 {
                0
            } else {
                word(2 + wanted as usize % buckets)
            };
            while number != 0 {
                let found = self.symbol(number, name, kind);
                if found.is_some() {
                    return found;
                }
                number = word(2 + buckets + number);
            }
        }
        None
    }
}
