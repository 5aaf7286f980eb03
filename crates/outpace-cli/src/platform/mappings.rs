//! The memory mappings of a process.

use object::{Object, ObjectSymbol, ReadCache};
use std::fs::{self, File};
use std::path::PathBuf;

/// A mapping of a process: a line of `maps` (proc(5)).
pub(crate) struct Mapping<'a> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    offset: u64,
    pub(crate) is_code: bool,
    /// Device and inode; 0 where it is of no file.
    pub(crate) file: (u64, u64),
    pub(crate) name: &'a str,
}

impl<'a> Mapping<'a> {
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let (start, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?;
        let offset = hexadecimal(fields.next()?)?;
        let (major, minor) = fields.next()?.split_once(':')?;
        let device = rustix::fs::makedev(hexadecimal(major)? as u32, hexadecimal(minor)? as u32);
        Some(Self {
            start: hexadecimal(start)?,
            end: hexadecimal(end)?,
            offset,
            is_code: permissions.contains('x'),
            file: (device, fields.next()?.parse().ok()?),
            name: fields.next().unwrap_or_default().trim_start(),
        })
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// Where the file would begin.
    pub(crate) fn base(&self) -> u64 {
        self.start.wrapping_sub(self.offset)
    }
}

/// The files of a process that have code at any of these addresses.
pub(crate) fn with_code_at(process: i32, addresses: &[u64]) -> Vec<PathBuf> {
    if addresses.is_empty() {
        return Vec::new();
    }
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let is_there = |map: &Mapping<'_>| {
        let mut addresses = addresses.iter();
        map.is_code && map.file.1 != 0 && addresses.any(|&at| map.holds(at))
    };
    let files = maps.lines().filter_map(Mapping::of).filter(is_there);
    let path = |map: Mapping<'_>| map.name.trim_end_matches(" (deleted)").into();
    files.map(path).collect()
}

/// Where the C library's functions of these names begin in a process, if it has loaded one.
pub(crate) fn c_functions<const N: usize>(
    process: i32,
    names: [&str; N],
) -> Option<[Option<u64>; N]> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let is_libc = |mapping: &Mapping<'_>| {
        let name = mapping.name.rsplit('/').next().unwrap_or_default();
        let mut files = ["libc.so", "libc-2.", "ld-musl-"].iter();
        files.any(|libc| name.starts_with(libc))
    };
    let library = maps.lines().filter_map(Mapping::of).find(is_libc)?;
    let file = File::open(format!("/proc/{process}/root{}", library.name)).ok()?;
    let cache = ReadCache::new(file);
    let base = library.base();
    let library = object::File::parse(&cache).ok()?;
    let mut found = [None; N];
    for symbol in library.dynamic_symbols().filter(|it| it.is_definition()) {
        if let Some(at) = names.iter().position(|name| symbol.name() == Ok(name)) {
            found[at] = base.checked_add(symbol.address());
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_c_library_are_where_they_are_called() {
        let own = c_functions(std::process::id() as i32, ["no such function", "write"]);
        // A static one is in no library.
        if let Some(own) = own {
            assert_eq!(own, [None, Some(libc::write as *const () as u64)]);
        }
    }

    #[test]
    fn a_line_of_maps_is_read() {
        let line = "7f5a3c028000-7f5a3c1bd000 r-xp 00028000 fe:01 2097  /usr/lib/a b.so (deleted)";
        let map = Mapping::of(line).unwrap();
        assert_eq!((map.start, map.end), (0x7f5a_3c02_8000, 0x7f5a_3c1b_d000));
        assert_eq!(map.file, (rustix::fs::makedev(0xfe, 1), 2097));
        assert_eq!(map.base(), 0x7f5a_3c00_0000);
        assert!(map.is_code && map.name == "/usr/lib/a b.so (deleted)");
        let line = "7ffc9b1d4000-7ffc9b1d6000 rw-p 00000000 00:00 0";
        let map = Mapping::of(line).unwrap();
        assert!(!map.is_code && map.name.is_empty() && map.file.1 == 0);
    }
}
