//! Whether all code of a process makes its system calls through the C library, whose calls the shim sees.
//!
//! Files mapped as code are looked through, each once. Code made while the program runs (by a compiler at run time) is no file, and
//! assumed to call the C library.

use super::program;
use crate::platform::mappings::Mapping;
use crate::platform::procfs;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files looked through, by device and inode, and whether they make system calls of their own.
#[derive(Default)]
pub(super) struct Libraries {
    known: HashMap<(u64, u64), bool>,
}

/// A process. Its program, which was looked through before it got the shim, the shim itself, and the files around `known` (an
/// address in its C library and one in its loader) are left out.
pub(super) struct Process {
    pub(super) number: u32,
    /// The inode of the shim's file, which has no name.
    pub(super) shim: u64,
    pub(super) known: [u64; 2],
}

impl Process {
    /// A process that has ended has no program, even before its parent has waited for it.
    pub(super) fn is_there(&self) -> bool {
        procfs::executable(self.number as i32).is_some()
    }
}

impl Libraries {
    /// Looks through a process's code. An error names the first file that makes system calls of its own, or cannot be read.
    pub(super) fn look(&mut self, process: &Process) -> Result<(), String> {
        let directory = PathBuf::from(format!("/proc/{}", process.number));
        let unreadable = |error: std::io::Error| format!("its mappings: {error}");
        let maps = fs::read_to_string(directory.join("maps")).map_err(unreadable)?;
        let program = fs::read_link(directory.join("exe")).map_err(unreadable)?;
        let mappings = || maps.lines().filter_map(Mapping::of);
        let known: Vec<_> = process
            .known
            .iter()
            .filter_map(|&place| mappings().find(|map| map.holds(place)))
            .map(|map| (map.file, map.base()))
            .collect();
        for map in mappings().filter(|map| map.is_code) {
            let is_file = map.file.1 != 0;
            let is_own = Path::new(map.name) == program
                || map.file.1 == process.shim && map.name.starts_with("/memfd:outpace-shim")
                || known.contains(&(map.file, map.base()));
            if is_file && !is_own && self.makes_calls(&directory, &map)? {
                return Err(format!("{} makes system calls of its own", map.name));
            }
        }
        Ok(())
    }

    fn makes_calls(&mut self, directory: &Path, map: &Mapping<'_>) -> Result<bool, String> {
        if let Some(known) = self.known.get(&map.file) {
            return Ok(*known);
        }
        let unreadable = |error: std::io::Error| format!("{}: {error}", map.name);
        let mut path = directory.join("root").into_os_string();
        path.push(map.name);
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        // The device may have another number there (btrfs).
        if metadata.ino() != map.file.1 {
            return Err(format!("{} is another file now", map.name));
        }
        let makes_calls = program::makes_system_calls(&file, metadata.len()).map_err(unreadable)?;
        self.known.insert(map.file, makes_calls);
        Ok(makes_calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of this test's own process can be read, and its C library makes system calls.
    #[test]
    fn a_c_library_that_the_shim_does_not_know_makes_calls_of_its_own() {
        let process = |known| Process {
            number: std::process::id(),
            shim: 0,
            known,
        };
        let none = Libraries::default().look(&process([0; 2]));
        assert!(none.unwrap_err().contains("makes system calls"));
        let library = libc::write as *const () as u64;
        let with_library = Libraries::default().look(&process([library, 0]));
        let error = with_library.unwrap_err();
        assert!(
            error.contains("/ld-") && error.contains("makes system calls"),
            "{error}"
        );
    }
}
