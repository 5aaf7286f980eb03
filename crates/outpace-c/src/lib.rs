//! The functions behind `include/outpace.h`, which documents them.
//!
//! Errors are returned, as numbers of `errno.h`. No function panics for arguments that the header allows; if one did, the
//! process would abort (`extern "C"`), not unwind into C.
#![cfg(unix)]
#![allow(unsafe_code, non_camel_case_types)]

#[cfg(outpace_portable)]
compile_error!("the header's inline functions are for the system's own path");

use outpace::ffi::{self, Appender};
use outpace::{Buffering, Overflow, Stream};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};
use std::{ptr, slice};

/// A stream.
pub enum outpace_stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Any other descriptor.
    Other(Stream<OwnedFd>),
}

/// When bytes go to the kernel: `struct outpace_buffering`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct outpace_buffering {
    kind: c_int,
    overflow: c_int,
    capacity: usize,
    max_delay_ns: u64,
    spill_directory: *const c_char,
    spill_limit: u64,
}

/// Counters: `struct outpace_stats`.
#[repr(C)]
pub struct outpace_stats {
    messages_accepted: u64,
    bytes_accepted: u64,
    bytes_written: u64,
    bytes_queued: u64,
    messages_dropped: u64,
    bytes_dropped: u64,
    bytes_spilled: u64,
    write_calls: u64,
    longest_wait_ns: u64,
}

static STDOUT: outpace_stream = outpace_stream::Stdout;
static STDERR: outpace_stream = outpace_stream::Stderr;

const UNBUFFERED: c_int = 0;
const LINE: c_int = 1;
const BLOCK: c_int = 2;
const PROMPT: c_int = 3;
const BACKGROUND: c_int = 4;

const WAIT: c_int = 0;
const DROP_NEWEST: c_int = 1;
const DROP_OLDEST: c_int = 2;
const SPILL: c_int = 3;

/// Calls the same method on any kind of stream, which must not be `NULL`.
macro_rules! on {
    ($stream:expr, $handle:ident => $do:expr) => {
        // SAFETY: the caller passes a stream from this interface that is not closed.
        match unsafe { &*$stream } {
            outpace_stream::Stdout => {
                let $handle = &outpace::stdout();
                $do
            }
            outpace_stream::Stderr => {
                let $handle = &outpace::stderr();
                $do
            }
            outpace_stream::Other($handle) => $do,
        }
    };
}

fn errno(error: &io::Error) -> c_int {
    match error.kind() {
        io::ErrorKind::TimedOut => libc::ETIMEDOUT,
        _ => error.raw_os_error().unwrap_or(libc::EIO),
    }
}

fn status(result: io::Result<()>) -> c_int {
    result.map_or_else(|error| errno(&error), |()| 0)
}

impl outpace_buffering {
    /// `None` if the library would refuse it.
    fn read(&self) -> Option<Buffering> {
        let capacity = Some(self.capacity).filter(|&capacity| capacity <= ffi::MAX_CAPACITY)?;
        Some(match self.kind {
            UNBUFFERED => Buffering::Unbuffered,
            LINE => Buffering::Line,
            BLOCK => Buffering::Block { capacity },
            PROMPT => Buffering::Prompt {
                capacity,
                max_delay: match self.max_delay_ns {
                    0 => Buffering::DEFAULT_MAX_DELAY,
                    nanos => Duration::from_nanos(nanos),
                },
            },
            BACKGROUND => Buffering::Background {
                capacity: match capacity {
                    0 => Buffering::DEFAULT_BACKGROUND_CAPACITY,
                    capacity => capacity,
                },
                overflow: match self.overflow {
                    WAIT => Overflow::Block,
                    DROP_NEWEST => Overflow::DropNewest,
                    DROP_OLDEST => Overflow::DropOldest,
                    SPILL if !self.spill_directory.is_null() => Overflow::Spill {
                        // SAFETY: the caller passes a text that ends in NUL.
                        directory: OsStr::from_bytes(
                            unsafe { CStr::from_ptr(self.spill_directory) }.to_bytes(),
                        )
                        .into(),
                        limit: self.spill_limit,
                    },
                    _ => return None,
                },
            },
            _ => return None,
        })
    }

    fn of(buffering: &Buffering) -> Option<Self> {
        let none = outpace_buffering {
            kind: UNBUFFERED,
            overflow: WAIT,
            capacity: 0,
            max_delay_ns: 0,
            spill_directory: ptr::null(),
            spill_limit: 0,
        };
        Some(match *buffering {
            Buffering::Unbuffered => none,
            Buffering::Line => outpace_buffering { kind: LINE, ..none },
            Buffering::Block { capacity } => outpace_buffering {
                kind: BLOCK,
                capacity,
                ..none
            },
            Buffering::Prompt {
                capacity,
                max_delay,
            } => outpace_buffering {
                kind: PROMPT,
                capacity,
                max_delay_ns: max_delay.as_nanos().try_into().unwrap_or(u64::MAX),
                ..none
            },
            Buffering::Background { capacity, .. } => outpace_buffering {
                kind: BACKGROUND,
                capacity,
                ..none
            },
            _ => return None,
        })
    }
}

/// Standard output.
#[unsafe(no_mangle)]
pub extern "C" fn outpace_stdout() -> *const outpace_stream {
    ffi::serve_c();
    &raw const STDOUT
}

/// Standard error.
#[unsafe(no_mangle)]
pub extern "C" fn outpace_stderr() -> *const outpace_stream {
    ffi::serve_c();
    &raw const STDERR
}

/// The number of a stream's descriptor; -1 for `NULL`.
///
/// # Safety
///
/// A stream that is not closed, or `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_fd(stream: *const outpace_stream) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { stream.as_ref() } {
        None => -1,
        Some(outpace_stream::Stdout) => libc::STDOUT_FILENO,
        Some(outpace_stream::Stderr) => libc::STDERR_FILENO,
        Some(outpace_stream::Other(stream)) => stream.get_ref().as_raw_fd(),
    }
}

/// See `outpace::init`.
#[unsafe(no_mangle)]
pub extern "C" fn outpace_init() {
    outpace::init();
}

/// See `outpace::init::fatal_faults`.
#[unsafe(no_mangle)]
pub extern "C" fn outpace_fatal_faults() -> c_int {
    status(outpace::init::fatal_faults())
}

/// Makes a stream of a descriptor, which it owns.
///
/// # Safety
///
/// `buffering` is valid or `NULL`, `stream` as well; the caller owns `fd`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_open(
    fd: c_int,
    buffering: *const outpace_buffering,
    stream: *mut *const outpace_stream,
) -> c_int {
    ffi::serve_c();
    // SAFETY: accesses no memory.
    if fd < 0 || unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return libc::EBADF;
    }
    // SAFETY: the caller's promise.
    let chosen = match unsafe { buffering.as_ref() } {
        Some(buffering) => buffering.read(),
        // SAFETY: open, as checked above.
        None => ffi::default_buffering(unsafe { BorrowedFd::borrow_raw(fd) }).ok(),
    };
    let Some(buffering) = chosen.filter(|_| !stream.is_null()) else {
        return libc::EINVAL;
    };
    // SAFETY: open, as checked above, and the caller gives it away.
    let owned = unsafe { OwnedFd::from_raw_fd(fd) };
    match Stream::new(owned, buffering) {
        Ok(opened) => {
            let opened = Box::into_raw(Box::new(outpace_stream::Other(opened)));
            // SAFETY: the caller's promise.
            unsafe { stream.write(opened) };
            0
        }
        Err(error) => errno(&error),
    }
}

/// Drains a stream and closes its descriptor; standard streams are flushed.
///
/// # Safety
///
/// The stream is not locked, and not used any more, unless it is a standard one or `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_close(stream: *const outpace_stream) -> c_int {
    if stream.is_null() {
        return libc::EINVAL;
    }
    if ptr::eq(stream, &raw const STDOUT) || ptr::eq(stream, &raw const STDERR) {
        // SAFETY: a standard stream is never closed.
        return unsafe { outpace_flush(stream) };
    }
    // SAFETY: made by `outpace_open`, and given back here.
    match *unsafe { Box::from_raw(stream.cast_mut()) } {
        outpace_stream::Other(stream) => status(stream.close().map(drop)),
        _ => 0,
    }
}

/// # Safety
///
/// A stream that is not closed, or `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_flush(stream: *const outpace_stream) -> c_int {
    if stream.is_null() {
        return libc::EINVAL;
    }
    status(on!(stream, handle => handle.flush()))
}

/// # Safety
///
/// A stream that is not closed, or `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_flush_before_read(
    stream: *const outpace_stream,
    fd: c_int,
) -> c_int {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // Also true of a closed descriptor, because reading it does not wait. SAFETY: `poll` is one valid entry.
    if fd >= 0 && unsafe { libc::poll(&mut poll, 1, 0) } > 0 {
        return 0;
    }
    // The helper drains such a stream anyway, and its reader may be stalled.
    if !stream.is_null()
        && on!(stream, handle => matches!(handle.buffering(), Buffering::Background { .. }))
    {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { outpace_flush(stream) }
}

/// # Safety
///
/// A stream that is not closed, or `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_flush_within(
    stream: *const outpace_stream,
    milliseconds: u64,
) -> c_int {
    if stream.is_null() {
        return libc::EINVAL;
    }
    let Some(deadline) = Instant::now().checked_add(Duration::from_millis(milliseconds)) else {
        // SAFETY: the caller's promise.
        return unsafe { outpace_flush(stream) };
    };
    status(on!(stream, handle => handle.flush_until(deadline)))
}

/// # Safety
///
/// A stream that is not closed, or `NULL`; `bytes` is readable for `length` bytes, or `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_write(
    stream: *const outpace_stream,
    bytes: *const u8,
    length: usize,
) -> c_int {
    if stream.is_null() || (bytes.is_null() && length > 0) {
        return libc::EINVAL;
    }
    let bytes = match length {
        0 => &[][..],
        // SAFETY: the caller's promise.
        _ => unsafe { slice::from_raw_parts(bytes, length) },
    };
    status(on!(stream, handle => {
        let mut handle = handle;
        handle.write_all(bytes)
    }))
}

/// # Safety
///
/// A stream that is not closed; `buffering` is valid. Or either is `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_set_buffering(
    stream: *const outpace_stream,
    buffering: *const outpace_buffering,
) -> c_int {
    if stream.is_null() || buffering.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    match unsafe { &*buffering }.read() {
        Some(buffering) => on!(stream, handle => handle.set_buffering(buffering)),
        None => return libc::EINVAL,
    }
    0
}

/// # Safety
///
/// `text` ends in NUL; `buffering` is valid for writes. Or either is `NULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_buffering_from(
    text: *const c_char,
    buffering: *mut outpace_buffering,
) -> c_int {
    if text.is_null() || buffering.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("");
    match text.parse().ok().as_ref().and_then(outpace_buffering::of) {
        // SAFETY: the caller's promise.
        Some(parsed) => unsafe { buffering.write(parsed) },
        None => return libc::EINVAL,
    }
    0
}

/// # Safety
///
/// A stream that is not closed; `stats` is valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_get_stats(
    stream: *const outpace_stream,
    stats: *mut outpace_stats,
) {
    let found = on!(stream, handle => handle.stats());
    let found = outpace_stats {
        messages_accepted: found.messages_accepted,
        bytes_accepted: found.bytes_accepted,
        bytes_written: found.bytes_written,
        bytes_queued: found.bytes_queued,
        messages_dropped: found.messages_dropped,
        bytes_dropped: found.bytes_dropped,
        bytes_spilled: found.bytes_spilled,
        write_calls: found.write_calls,
        longest_wait_ns: found.longest_wait.as_nanos().try_into().unwrap_or(u64::MAX),
    };
    // SAFETY: the caller's promise.
    unsafe { stats.write(found) };
}

/// # Safety
///
/// A stream that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_clear_error(stream: *const outpace_stream) {
    on!(stream, handle => handle.clear_error());
}

/// # Safety
///
/// A stream that is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_redetect(stream: *const outpace_stream) {
    on!(stream, handle => handle.redetect());
}

/// # Safety
///
/// A stream that is not closed until the guard is unlocked; `guard` stays where it is until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_guard_enter(stream: *const outpace_stream, guard: *mut Appender) {
    let locked = on!(stream, handle => handle.lock());
    // SAFETY: the caller's promise.
    unsafe { ffi::enter(locked, guard) };
}

/// # Safety
///
/// A guard locked by this thread, without a begun message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_guard_leave(guard: &mut Appender) {
    // SAFETY: the caller's promise.
    unsafe { ffi::leave(guard) }
}

/// # Safety
///
/// A guard locked by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_guard_room(guard: &mut Appender, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { ffi::room(guard, bytes) }
}

/// # Safety
///
/// A guard locked by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_guard_ask(guard: &mut Appender) {
    // SAFETY: the caller's promise.
    unsafe { ffi::ask(guard) }
}

/// The shortest digits that read back as the same number; returns the length, at most 32.
///
/// # Safety
///
/// `to` has room for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn outpace_double_digits(number: f64, to: *mut u8) -> usize {
    let mut bytes = [0; 32];
    let mut rest = &mut bytes[..];
    // With an exponent where that is shorter, as in Rust's Debug: at most 24 characters.
    let _ = write!(rest, "{number:?}");
    let length = 32 - rest.len();
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, length) };
    length
}

/// The four digits of each number below 10,000, a byte each, the first in the lowest one.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static outpace_four_digits: [u32; 10_000] = {
    let mut table = [0; 10_000];
    let mut n = 0;
    while n < 10_000 {
        let number = n as u32;
        table[n] = u32::from_le_bytes([
            (number / 1_000) as u8,
            (number / 100 % 10) as u8,
            (number / 10 % 10) as u8,
            (number % 10) as u8,
        ]);
        n += 1;
    }
    table
};
