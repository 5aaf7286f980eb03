//! Whether a program can have the shim, by its file and the environment.

use super::code;
use object::elf::{DT_NEEDED, FileHeader64, PF_X, PT_INTERP, PT_LOAD};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Variables that change how the loader starts a program.
const LOADER: [&str; 3] = ["LD_AUDIT", "LD_TRACE_LOADED_OBJECTS", "LD_DEBUG"];
/// The processor's number, the loaders of the C libraries that the shim knows, the names of these libraries in programs, and
/// Debian's directories of libraries.
#[cfg(not(target_arch = "aarch64"))]
mod machine {
    pub(super) const NUMBER: object::elf::Machine = object::elf::EM_X86_64;
    pub(super) const LOADERS: [&[u8]; 2] = [b"/ld-linux-x86-64.so.2", b"/ld-musl-x86_64.so.1"];
    pub(super) const C_LIBRARIES: [&[u8]; 3] = [b"libc.so.6", b"libc.so", b"libc.musl-x86_64.so.1"];
    pub(super) const DIRECTORIES: [&str; 2] =
        ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];
}
#[cfg(target_arch = "aarch64")]
mod machine {
    pub(super) const NUMBER: object::elf::Machine = object::elf::EM_AARCH64;
    pub(super) const LOADERS: [&[u8]; 2] = [b"/ld-linux-aarch64.so.1", b"/ld-musl-aarch64.so.1"];
    pub(super) const C_LIBRARIES: [&[u8]; 3] =
        [b"libc.so.6", b"libc.so", b"libc.musl-aarch64.so.1"];
    pub(super) const DIRECTORIES: [&str; 2] =
        ["/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
}
use machine::{C_LIBRARIES, LOADERS};
/// The longest chain of interpreters of scripts.
const MOST_SCRIPTS: u32 = 4;

/// The reason why a command gets no shim.
pub(super) fn refusal(command: &OsStr) -> Option<String> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(name) = LOADER.iter().find(|name| is_set(name)) {
        return Some(format!("{name} is set"));
    }
    let mut path = match find(command) {
        Some(path) => path,
        None => return Some("it is not there".to_owned()),
    };
    for _ in 0..MOST_SCRIPTS {
        let opened = File::open(&path).and_then(|file| Ok((interpreter(&file)?, file)));
        match opened {
            Ok((Some(next), _)) => path = next,
            Ok((None, file)) => return program(&file, &path).err(),
            Err(error) => return Some(format!("{}: {error}", path.display())),
        }
    }
    Some("a script of a script".to_owned())
}

/// The reason why the program of a process does not use the ring.
pub(crate) fn reason_against_shim(path: &Path) -> Option<String> {
    let file = File::open(path);
    let file = file.map_err(|error| format!("{}: {error}", path.display()));
    file.and_then(|file| program(&file, path)).err()
}

/// Checks the user's `LD_PRELOAD`, which stays in front of the shim. An error is the reason why it cannot.
pub(super) fn check_preloaded(others: &OsStr) -> Result<(), String> {
    let names = others.as_bytes();
    let names = names.split(|byte| matches!(byte, b':' | b' '));
    for name in names.filter(|name| !name.is_empty()) {
        let name = OsStr::from_bytes(name);
        let refused =
            |reason: &dyn std::fmt::Display| format!("LD_PRELOAD has {}: {reason}", name.display());
        let path = find_library(name).ok_or_else(|| refused(&"not found"))?;
        let data = fs::read(&path).map_err(|error| refused(&error))?;
        check_library(&data).map_err(|reason| refused(&reason))?;
    }
    Ok(())
}

/// Finds a library as the loader does, without its cache.
fn find_library(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    const USUAL: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];
    let usual = machine::DIRECTORIES.iter().chain(&USUAL).map(PathBuf::from);
    std::env::split_paths(&own)
        .chain(usual)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

fn check_library(data: &[u8]) -> Result<(), String> {
    let unknown = |_| "no library of 64 bits".to_owned();
    let header = FileHeader64::<Endianness>::parse(data).map_err(unknown)?;
    let endian = header.endian().map_err(unknown)?;
    let elf = object::File::parse(data).map_err(unknown)?;
    let is_libc = elf
        .section_by_name(".dynstr")
        .and_then(|section| section.data().ok())
        .is_some_and(|names| code::find(names, b"__libc_start_main").is_some());
    // The C library is loaded in any case.
    if is_libc {
        return Ok(());
    }
    check_names(&elf)?;
    let segments = header.program_headers(endian, data).map_err(unknown)?;
    check_code(segments, endian, data)
}

/// Finds a command as a shell does.
fn find(command: &OsStr) -> Option<PathBuf> {
    if command.as_bytes().contains(&b'/') {
        return Some(command.into());
    }
    let path = std::env::var_os("PATH")?;
    let is_program = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path)
        .map(|directory| directory.join(command))
        .find(is_program)
}

/// The program that a script names in its first line.
fn interpreter(script: &File) -> std::io::Result<Option<PathBuf>> {
    let mut start = [0; 256];
    let length = rustix::io::pread(script, &mut start, 0)?;
    let Some(line) = start[..length].strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let name = words.next().unwrap_or_default();
    Ok(Some(PathBuf::from(OsString::from(OsStr::from_bytes(name)))))
}

/// Checks the program's file. An error is the reason why it gets no shim.
fn program(file: &File, path: &Path) -> Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if metadata.permissions().mode() & 0o6000 != 0 {
        return Err("it runs with another user's rights".to_owned());
    }
    if rustix::fs::fgetxattr(file, "security.capability", &mut [0_u8; 64][..]).is_ok() {
        return Err("it has capabilities of its own".to_owned());
    }
    let data = Mapped::new(file, metadata.len()).map_err(|error| unreadable(&error))?;
    check(data.bytes())
}

fn check(data: &[u8]) -> Result<(), String> {
    let not_a_program = |_| "it is no program of 64 bits".to_owned();
    let header = FileHeader64::<Endianness>::parse(data).map_err(not_a_program)?;
    let endian = header.endian().map_err(not_a_program)?;
    if header.e_machine(endian) != machine::NUMBER || endian != Endianness::Little {
        return Err("it is for another processor".to_owned());
    }
    let segments = header
        .program_headers(endian, data)
        .map_err(not_a_program)?;
    let of_kind = |kind| {
        segments
            .iter()
            .filter(move |segment| segment.p_type(endian) == kind)
    };
    let loader = of_kind(PT_INTERP)
        .find_map(|segment| segment.interpreter(endian, data).ok().flatten())
        .ok_or("it is linked statically")?;
    if !LOADERS.iter().any(|known| loader.ends_with(known)) {
        return Err("its C library is neither glibc nor musl".to_owned());
    }
    let elf = object::File::parse(data).map_err(not_a_program)?;
    if [".go.buildinfo", ".note.go.buildid"]
        .iter()
        .any(|name| elf.section_by_name(name).is_some())
    {
        return Err("Go makes system calls of its own".to_owned());
    }
    check_names(&elf)?;
    let names = dynamic_names(&elf);
    let needed = segments
        .iter()
        .find_map(|segment| segment.dynamic(endian, data).ok().flatten())
        .unwrap_or_default();
    let libraries = needed
        .iter()
        .filter(|entry| entry.d_tag(endian) == DT_NEEDED);
    let mut libraries = libraries.filter_map(|entry| {
        let name = names.get(entry.d_val(endian) as usize..)?;
        name.split(|byte| *byte == 0).next()
    });
    if !libraries.any(|name| C_LIBRARIES.contains(&name)) {
        return Err("it does not use its C library by itself".to_owned());
    }
    check_code(segments, endian, data)
}

fn dynamic_names<'a>(elf: &object::File<'a>) -> &'a [u8] {
    let names = elf
        .section_by_name(".dynstr")
        .and_then(|section| section.data().ok());
    names.unwrap_or_default()
}

/// Refuses programs with sanitizers, which replace functions of the C library themselves.
fn check_names(elf: &object::File<'_>) -> Result<(), String> {
    const SANITIZERS: [&str; 6] = [
        "__asan_",
        "__tsan_",
        "__msan_",
        "__hwasan_",
        "__lsan_",
        "__ubsan_",
    ];
    let names = dynamic_names(elf);
    let has = |name: &&str| code::find(names, name.as_bytes()).is_some();
    if SANITIZERS.iter().any(has) {
        return Err("it has a sanitizer".to_owned());
    }
    Ok(())
}

/// Whether a file's code makes system calls of its own.
pub(super) fn makes_system_calls(file: &File, length: u64) -> std::io::Result<bool> {
    let data = Mapped::new(file, length)?;
    let unknown = std::io::Error::other;
    let header = FileHeader64::<Endianness>::parse(data.bytes()).map_err(unknown)?;
    let endian = header.endian().map_err(unknown)?;
    let segments = header
        .program_headers(endian, data.bytes())
        .map_err(unknown)?;
    Ok(check_code(segments, endian, data.bytes()).is_err())
}

fn check_code(
    segments: &[object::elf::ProgramHeader64<Endianness>],
    endian: Endianness,
    data: &[u8],
) -> Result<(), String> {
    let is_code = |segment: &&object::elf::ProgramHeader64<Endianness>| {
        segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).0 & PF_X.0 != 0
    };
    for segment in segments.iter().filter(is_code) {
        let code = segment.data(endian, data).unwrap_or_default();
        if code::makes_system_calls(code) {
            return Err("it makes system calls of its own".to_owned());
        }
    }
    Ok(())
}

/// A file's bytes, mapped.
struct Mapped {
    start: *mut std::ffi::c_void,
    length: usize,
}

#[allow(unsafe_code)]
impl Mapped {
    fn new(file: &File, length: u64) -> std::io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let length = length as usize;
        // SAFETY: a mapping of our own, at a place that the kernel chooses; it is only read. If the program's file
        // shrinks meanwhile, SIGBUS ends this process, as it ends the program itself.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                file,
                0,
            )
        }?;
        Ok(Self { start, length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped until this is dropped.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

#[allow(unsafe_code)]
impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: our mapping, of which no part is borrowed any more.
        let _ = unsafe { rustix::mm::munmap(self.start, self.length) };
    }
}
