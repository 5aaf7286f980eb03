//! Results on stdout and in files.

use super::failure::Failure;
use crate::platform::ending::Ending;
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
    fill(create(path)?, path, text.as_bytes())
}

/// Writes a value and a newline to a file that was created.
pub(crate) fn fill_json(file: File, path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| not_written(path, error))?;
    fill(file, path, format!("{text}\n").as_bytes())
}

/// Writes all of a file that was created.
fn fill(mut file: File, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    file.write_all(bytes)
        .map_err(|error| not_written(path, error))
}

/// The failure that a file of the user's cannot be written.
pub(crate) fn not_written(path: &Path, error: impl fmt::Display) -> Failure {
    Failure::failed(path.display(), error).remedy("name a file that can be written")
}
