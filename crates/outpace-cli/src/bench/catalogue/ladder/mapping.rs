//! Rungs that write through mapped memory.

use std::fs::File;
use std::io;

use crate::bench::catalogue::lines::bare_stdout;
use crate::bench::experiment::clock::Span;
use window::FileWindow;

/// Maps standard output itself, as published.
pub(crate) fn mappy(span: &mut Span) -> io::Result<()> {
    mapped_from(span, &bare_stdout()?, 0).map(drop)
}

/// Writes the messages through a window of the file that moves on when it is full; returns the
/// number of bytes.
pub(crate) fn mapped_from(span: &mut Span, file: &File, start: u64) -> io::Result<u64> {
    let mut window = FileWindow::open(file, start)?;
    let mut digits = itoa::Buffer::new();
    for index in 0..span.messages {
        window.append(b"Hello, ")?;
        window.append(digits.format(index).as_bytes())?;
        window.append(b"\t")?;
    }
    span.done_calling();
    let end = window.close();
    // The windows made the file longer than its contents.
    file.set_len(end)?;
    Ok(end - start)
}

#[allow(unsafe_code)]
mod window {
    //! A writable window of a file.

    use std::fs::File;
    use std::io;
    use std::ptr::{self, NonNull};

    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

    /// A multiple of every page size in use.
    const LENGTH: usize = 4 << 20;

    pub(super) struct FileWindow<'a> {
        file: &'a File,
        /// Where in the file the mapping begins.
        base: u64,
        memory: NonNull<u8>,
        /// How much of the mapping is filled.
        used: usize,
    }

    impl<'a> FileWindow<'a> {
        /// A window at an offset of the file, which is made longer to hold it.
        pub(super) fn open(file: &'a File, offset: u64) -> io::Result<Self> {
            let base = offset - offset % LENGTH as u64;
            let used = (offset - base) as usize;
            Ok(Self {
                file,
                base,
                memory: map(file, base)?,
                used,
            })
        }

        pub(super) fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
            while !bytes.is_empty() {
                if self.used == LENGTH {
                    self.advance()?;
                }
                let length = bytes.len().min(LENGTH - self.used);
                debug_assert!(self.used + length <= LENGTH);
                // SAFETY: `memory` is LENGTH writable bytes that this window owns, `used + length`
                // is at most LENGTH, and a caller's slice does not lie in a private mapping.
                unsafe {
                    let place = self.memory.as_ptr().add(self.used);
                    ptr::copy_nonoverlapping(bytes.as_ptr(), place, length);
                }
                self.used += length;
                bytes = &bytes[length..];
            }
            Ok(())
        }

        #[cold]
        fn advance(&mut self) -> io::Result<()> {
            let base = self.base + LENGTH as u64;
            let memory = map(self.file, base)?;
            let old = std::mem::replace(&mut self.memory, memory);
            // SAFETY: `old` came from `map`, and no pointer into it is left.
            unsafe { munmap(old.as_ptr().cast(), LENGTH) }?;
            (self.base, self.used) = (base, 0);
            Ok(())
        }

        /// Gives the end of the contents in the file.
        pub(super) fn close(self) -> u64 {
            self.base + self.used as u64
        }
    }

    impl Drop for FileWindow<'_> {
        fn drop(&mut self) {
            // SAFETY: `memory` came from `map`, is unmapped once, and no pointer into it is left.
            // The kernel keeps the bytes; unmapping a valid range cannot fail.
            let _ = unsafe { munmap(self.memory.as_ptr().cast(), LENGTH) };
        }
    }

    fn map(file: &File, base: u64) -> io::Result<NonNull<u8>> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let end = base + LENGTH as u64;
        // SAFETY: the address is the kernel's choice, so no memory of ours is replaced; the memory
        // is not touched before the file is long enough for it.
        let memory = unsafe {
            mmap(
                ptr::null_mut(),
                LENGTH,
                protection,
                MapFlags::SHARED,
                file,
                base,
            )
        }?;
        if file.metadata()?.len() < end {
            file.set_len(end)?;
        }
        NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::message;
    use super::*;

    #[test]
    fn a_mapped_file_has_the_naive_bytes_behind_what_it_had() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, "before ").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let messages = 400_000; // more than one window
        let bytes = mapped_from(&mut Span::new(messages, Duration::ZERO), &file, 7).unwrap();
        let written = std::fs::read(&path).unwrap();
        let mut expected = b"before ".to_vec();
        (0..messages).for_each(|index| message(index, &mut expected));
        assert!(
            written == expected,
            "{} bytes, expected {}",
            written.len(),
            expected.len()
        );
        assert_eq!(bytes, expected.len() as u64 - 7);
    }
}
