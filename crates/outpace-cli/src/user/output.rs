//! Results on stdout and in files.

use super::failure::Failure;
use crate::platform::ending::Ending;
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

/// Prints a text to stdout, and flushes. When its reader is gone, the program ends as by default: by SIGPIPE, silently.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = outpace::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(not_printed)
}

/// The error of a print. A pipe without a reader ends the program by SIGPIPE.
pub(crate) fn not_printed(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        // Does not return, since the signal ends the program.
        let _ = Ending::Killed(libc::SIGPIPE).repeat();
    }
    Failure::failed("stdout", error)
}

/// The parser of a file to be written.
pub(crate) fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str() {
        Some("-") => Err("for standard output name /dev/stdout"),
        _ => Ok(path),
    })
}

/// Refuses a file that two options name: the results of one would replace those of the other.
pub(crate) fn distinct(files: &[(&'static str, &Option<PathBuf>)]) -> Result<(), Failure> {
    let mut named: Vec<(&str, &Path)> = Vec::new();
    for (option, path) in files {
        let Some(path) = path.as_deref() else {
            continue;
        };
        let is_device = path.metadata().is_ok_and(|file| !file.is_file());
        let same = named.iter().find(|(_, other)| *other == path && !is_device);
        if let Some((other, _)) = same {
            return Err(Failure::usage(option, format!("the same file as {other}"))
                .remedy("name another file"));
        }
        named.push((option, path));
    }
    Ok(())
}

/// A file that the user asked for, whose text comes later. Until then, what it had stays, and an empty one is not left behind.
pub(crate) struct Reserved {
    file: File,
    path: PathBuf,
    is_new: bool,
}

impl Reserved {
    /// Opens it now: a wrong name must not cost the work whose results it shall have.
    pub(crate) fn at(path: &Path) -> Result<Self, Failure> {
        // Streams that have been opened already get it behind what they have.
        let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
        let is_stream = streams.iter().any(|place| path.starts_with(place));
        let mut how = File::options();
        how.write(true).append(is_stream);
        let (opened, is_new) = match how.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A link may lead to none.
                (how.create(true).truncate(false).open(path), false)
            }
            opened => (opened, true),
        };
        let file = opened.map_err(|error| not_written(path, error))?;
        let path = path.to_owned();
        Ok(Self { file, path, is_new })
    }

    /// Writes a value and a newline, in the place of what it had.
    pub(crate) fn fill_json(mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value);
        let text = text.map_err(|error| not_written(&self.path, error))?;
        self.fill(format!("{text}\n").as_bytes())
            .map_err(|error| not_written(&self.path, error))
    }

    fn fill(&mut self, text: &[u8]) -> io::Result<()> {
        let is_kept = rustix::fs::fcntl_getfl(&self.file)?.contains(OFlags::APPEND);
        let is_file = self.file.metadata()?.is_file();
        if is_kept || !is_file {
            return self.file.write_all(text);
        }
        // A full disk is known before the old text is gone, where the file system can tell.
        let length = text.len() as u64;
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, length) {
            Err(Errno::NOSPC | Errno::DQUOT) => return Err(Errno::NOSPC.into()),
            _ => self.file.write_all(text)?,
        }
        self.file.set_len(length)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.is_new && self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Creates a file that the user asked for.
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| not_written(path, error))
}

/// Checks that a file can be written, before the work whose results it shall have.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    let opened = File::options().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| not_written(path, error))
}

/// Creates and writes one.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    create(path)?
        .write_all(text.as_bytes())
        .map_err(|error| not_written(path, error))
}

/// The failure that a file of the user's cannot be written.
pub(crate) fn not_written(path: &Path, error: impl fmt::Display) -> Failure {
    Failure::failed(path.display(), error).remedy("name a file that can be written")
}
