//! Ways to an unbuffered standard output in circulation, and which of them break.
//!
//! ```text
//! cargo run -p outpace --example raw_forms
//! ```
//!
//! | form | first use | second use |
//! |---|---|---|
//! | `File::from_raw_fd(1)`, made where it is needed | works | `EBADF` |
//! | a `File` made once, in a global `Mutex` | works | works |
//! | an `OwnedFd` made once from 1, cloned for each use | works | works |
//! | the same, made from `stdout().as_raw_fd()` | works | works |
//! | `outpace::raw::stdout()` | works | works |
//!
//! The first form breaks because the file owns descriptor 1 and closes it when it is dropped. From then on every print
//! of the program is lost or, worse, goes to the next file that is opened, which gets the number 1. (A debug build
//! aborts when the second such file is dropped: std notices that the descriptor is closed already.)
//!
//! The next three never drop the owner of the descriptor. They need `unsafe`, a global and a lock or a system call
//! (`dup`) for each use. outpace's handle does not own the descriptor: it needs none of that, and can be made anywhere,
//! any number of times.

#![allow(unsafe_code)]

#[cfg(unix)]
pub(crate) mod forms {
    use std::fs::File;
    use std::io::{self, Write};
    use std::mem::ManuallyDrop;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::sync::{LazyLock, Mutex};

    /// Broken: every call but the first fails.
    fn file_made_where_it_is_needed(text: &str) -> io::Result<()> {
        // SAFETY: not sound, as the example shows: descriptor 1 belongs to the process, and not to this file.
        let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
        let result = writeln!(file, "{text}");
        if result.is_ok() {
            // As at the end of the scope. Not after a failure, because std would abort.
            drop(ManuallyDrop::into_inner(file));
        }
        result
    }

    /// Works: the file is never dropped. One use at a time.
    fn file_in_a_global_mutex(text: &str) -> io::Result<()> {
        static FILE: LazyLock<Mutex<File>> = LazyLock::new(|| {
            // SAFETY: a static is never dropped, so the descriptor is never closed by it.
            Mutex::new(unsafe { File::from_raw_fd(1) })
        });
        let mut file = FILE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        writeln!(file, "{text}")
    }

    /// Works: only a duplicate is dropped. Two system calls more for each use.
    fn cloned_descriptor(text: &str) -> io::Result<()> {
        static FD: LazyLock<OwnedFd> = LazyLock::new(|| {
            // SAFETY: as above.
            unsafe { OwnedFd::from_raw_fd(1) }
        });
        writeln!(File::from(FD.try_clone()?), "{text}")
    }

    /// The same; `as_raw_fd` is 1, under another name.
    fn cloned_descriptor_of_stdout(text: &str) -> io::Result<()> {
        static FD: LazyLock<OwnedFd> = LazyLock::new(|| {
            // SAFETY: as above.
            unsafe { OwnedFd::from_raw_fd(io::stdout().as_raw_fd()) }
        });
        writeln!(File::from(FD.try_clone()?), "{text}")
    }

    /// Works, and does not own the descriptor.
    fn outpace_raw(text: &str) -> io::Result<()> {
        writeln!(outpace::raw::stdout(), "{text}")
    }

    type Form = fn(&str) -> io::Result<()>;

    const FORMS: [(&str, Form); 5] = [
        ("File::from_raw_fd(1)", file_made_where_it_is_needed),
        ("Mutex<File>", file_in_a_global_mutex),
        ("OwnedFd, cloned", cloned_descriptor),
        ("OwnedFd of stdout(), cloned", cloned_descriptor_of_stdout),
        ("outpace::raw::stdout()", outpace_raw),
    ];

    /// Uses each form twice; reports the results on standard error.
    pub(crate) fn run() -> io::Result<()> {
        // A second descriptor of the same output, from which the first is brought back.
        let kept = io::stdout().lock().as_raw_fd();
        // SAFETY: descriptor 1 is open, and no other code owns the duplicate.
        let kept = unsafe { OwnedFd::from_raw_fd(libc::dup(kept)) };
        for (name, form) in FORMS {
            for use_of_it in ["first", "second"] {
                let found = match form(&format!("{name}: {use_of_it} use")) {
                    Ok(()) => "works".to_owned(),
                    Err(error) => error.to_string(),
                };
                eprintln!("{name:30}{use_of_it:>7} use: {found}");
            }
            // SAFETY: both are plain descriptor numbers; 1 may be closed or open.
            if unsafe { libc::dup2(kept.as_raw_fd(), 1) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
pub(crate) fn main() -> std::io::Result<()> {
    forms::run()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("the forms are about file descriptors, which this system does not have");
}
