//! Reading: whether `read(2)` would wait, and files in memory.
#![allow(unsafe_code)]

#[cfg(all(unix, not(outpace_portable)))]
mod imp {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    use std::os::unix::fs::FileExt;
    use std::ptr::{self, NonNull};

    /// A regular file in memory. No process writes to it or shortens it, as the caller of `new` promises.
    pub(crate) struct Mapping {
        start: NonNull<u8>,
        length: usize,
    }

    // SAFETY: no thread writes to the memory, and only this value unmaps it.
    unsafe impl Send for Mapping {}
    // SAFETY: as above.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        /// # Safety
        ///
        /// Until this is dropped, the file is neither written to nor shortened, by any process.
        pub(crate) unsafe fn new(file: &File) -> io::Result<Self> {
            let length = usize::try_from(file.metadata()?.len())
                .ok()
                .filter(|&length| length <= isize::MAX as usize)
                .ok_or(io::ErrorKind::FileTooLarge)?;
            if length == 0 {
                // Files without a length, such as pipes and those in /proc, may have bytes but cannot be mapped.
                if !file.metadata()?.is_file() || file.read_at(&mut [0], 0)? != 0 {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                let start = NonNull::dangling();
                return Ok(Mapping { start, length });
            }
            // SAFETY: makes a new mapping, at an address that the system chooses.
            let start = unsafe {
                let fd = file.as_raw_fd();
                libc::mmap(
                    ptr::null_mut(),
                    length,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE,
                    fd,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the mapping just made. A failure does not matter: it is only advice.
            unsafe { libc::madvise(start, length, libc::MADV_SEQUENTIAL) };
            let start = NonNull::new(start.cast()).expect("not asked for at 0");
            Ok(Mapping { start, length })
        }

        #[inline(always)]
        pub(crate) fn bytes(&self) -> &[u8] {
            // SAFETY: mapped for as long as this lives, or empty; not written to, by the promise to `new`.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            if self.length > 0 {
                // SAFETY: mapped by `new`, and no longer borrowed.
                unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
            }
        }
    }

    /// Whether a read would return at once: with bytes, at the end, or with an error.
    pub(crate) fn is_readable(fd: BorrowedFd<'_>) -> bool {
        poll(fd, 0)
    }

    /// Waits until it would, or until a signal comes.
    pub(crate) fn wait_readable(fd: BorrowedFd<'_>) {
        poll(fd, -1);
    }

    fn poll(fd: BorrowedFd<'_>, milliseconds: i32) -> bool {
        let mut poll = libc::pollfd {
            fd: fd.as_fd().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `poll` is one valid entry.
        unsafe { libc::poll(&mut poll, 1, milliseconds) > 0 }
    }
}

#[cfg(not(all(unix, not(outpace_portable))))]
mod imp {
    use crate::sys::read_at;
    use std::fs::File;
    use std::io;

    /// The file's bytes, where std cannot map.
    pub(crate) struct Mapping(Vec<u8>);

    impl Mapping {
        /// # Safety
        ///
        /// None needed here.
        pub(crate) unsafe fn new(file: &File) -> io::Result<Self> {
            let metadata = file.metadata()?;
            let length = metadata.len();
            // Refuses files that have bytes but no length, as with mappings.
            let lengthless = length == 0 && read_at(file, &mut [0], 0).is_ok();
            if !metadata.is_file() || lengthless {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
            let mut bytes = vec![0; length];
            read_at(file, &mut bytes, 0)?;
            Ok(Mapping(bytes))
        }

        #[inline(always)]
        pub(crate) fn bytes(&self) -> &[u8] {
            &self.0
        }
    }
}

pub(crate) use imp::*;
