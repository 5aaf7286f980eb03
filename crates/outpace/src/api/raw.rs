//! Standard streams without a buffer, which never close the descriptor.
//!
//! `File::from_raw_fd(1)` gives an unbuffered standard output that closes descriptor 1 when it is dropped: the second
//! one made that way fails with `EBADF`, or writes into a file that was opened in between. The handles here do not own
//! the descriptor, are free to make, and can be made anywhere, any number of times. `examples/raw_forms.rs` shows the
//! forms in circulation, and which of them break.
//!
//! ```
//! use std::io::Write;
//!
//! for _ in 0..3 {
//!     outpace::raw::stdout().write_all(b"one write(2) each\n")?;
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A write here does not wait for bytes buffered in [`stdout()`](crate::stdout()): if the order matters, flush that
//! first.

use std::io::{self, IsTerminal, Read, Write};

#[cfg(all(unix, not(outpace_portable)))]
mod imp {
    #![allow(unsafe_code)]
    use std::fs::File;
    use std::mem::ManuallyDrop;
    use std::os::fd::{BorrowedFd, FromRawFd, RawFd};

    /// A `File` for one call, on a descriptor that it does not own.
    pub(super) fn file(fd: RawFd) -> ManuallyDrop<File> {
        // SAFETY: never dropped, so never closed. If the descriptor is not open, the call fails with EBADF.
        ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
    }

    pub(super) fn borrow(fd: RawFd) -> BorrowedFd<'static> {
        // SAFETY: the standard descriptors belong to the process; code that closes one must expect other users.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

macro_rules! output {
    ($(#[$meta:meta])* $name:ident, $function:ident, $fd:literal, $std:path) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default)]
        #[non_exhaustive]
        pub struct $name;

        #[doc = concat!("The unbuffered [`", stringify!($name), "`]. Costs nothing.")]
        pub const fn $function() -> $name {
            $name
        }

        #[cfg(all(unix, not(outpace_portable)))]
        impl Write for $name {
            #[inline]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                imp::file($fd).write(bytes)
            }

            fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
                imp::file($fd).write_vectored(parts)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        #[cfg(not(all(unix, not(outpace_portable))))]
        impl Write for $name {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let mut stream = $std();
                let written = stream.write(bytes)?;
                stream.flush()?;
                Ok(written)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        descriptor!($name, $fd, $std);
    };
}

macro_rules! descriptor {
    ($name:ident, $fd:literal, $std:path) => {
        impl $name {
            /// Whether this is a terminal.
            pub fn is_terminal(&self) -> bool {
                $std().is_terminal()
            }
        }

        #[cfg(all(unix, not(outpace_portable)))]
        impl std::os::fd::AsFd for $name {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                imp::borrow($fd)
            }
        }

        #[cfg(all(unix, not(outpace_portable)))]
        impl std::os::fd::AsRawFd for $name {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                $fd
            }
        }
    };
}

output! {
    /// Standard output: each `write` is one `write(2)` on descriptor 1.
    Stdout, stdout, 1, io::stdout
}
output! {
    /// Standard error: each `write` is one `write(2)` on descriptor 2.
    Stderr, stderr, 2, io::stderr
}

/// Standard input: each `read` is one `read(2)` on descriptor 0.
///
/// It does not see bytes that [`std::io::stdin`] has read ahead: use one of the two.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Stdin;

/// The unbuffered [`Stdin`]. Costs nothing.
pub const fn stdin() -> Stdin {
    Stdin
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(all(unix, not(outpace_portable)))]
        return imp::file(0).read(buffer);
        #[cfg(not(all(unix, not(outpace_portable))))]
        return io::stdin().read(buffer);
    }
}

descriptor!(Stdin, 0, io::stdin);
