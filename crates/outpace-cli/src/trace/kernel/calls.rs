//! The system calls that write to a descriptor: one table, which all mechanisms read.

use crate::platform::doing;

/// Where a call keeps the bytes it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Address in the second argument, length in the third.
    Buffer,
    /// An array of `iovec`, address in the second argument, count in the third.
    Vector,
    /// Not in the caller's memory, or behind more than one pointer.
    Elsewhere,
    /// None: it waits until a device has the bytes of the writes before.
    Synced,
}

/// One system call of the write family.
#[derive(Debug)]
pub(crate) struct WriteCall {
    /// Its name in the manual.
    pub(crate) name: &'static str,
    /// Its number on this architecture.
    pub(crate) number: i64,
    /// Which argument is the descriptor written to.
    pub(crate) descriptor: usize,
    pub(crate) payload: Payload,
}

macro_rules! family {
    ($($name:ident $constant:ident $descriptor:literal $payload:ident;)*) => {
        &[$(WriteCall {
            name: stringify!($name),
            number: libc::$constant as i64,
            descriptor: $descriptor,
            payload: Payload::$payload,
        }),*]
    };
}

/// Every call that can put bytes on a stream, or waits until they are stored. Writes through `io_uring` make no call and are not seen.
pub(crate) static WRITE_FAMILY: &[WriteCall] = family! {
    write SYS_write 0 Buffer;
    writev SYS_writev 0 Vector;
    pwrite64 SYS_pwrite64 0 Buffer;
    pwritev SYS_pwritev 0 Vector;
    pwritev2 SYS_pwritev2 0 Vector;
    sendto SYS_sendto 0 Buffer;
    sendmsg SYS_sendmsg 0 Elsewhere;
    sendmmsg SYS_sendmmsg 0 Elsewhere;
    sendfile SYS_sendfile 0 Elsewhere;
    splice SYS_splice 2 Elsewhere;
    tee SYS_tee 1 Elsewhere;
    vmsplice SYS_vmsplice 0 Elsewhere;
    copy_file_range SYS_copy_file_range 2 Elsewhere;
    fsync SYS_fsync 0 Synced;
    fdatasync SYS_fdatasync 0 Synced;
};

impl WriteCall {
    /// The call with this number, when it is one of the family.
    pub(crate) fn with_number(number: i64) -> Option<&'static WriteCall> {
        WRITE_FAMILY.iter().find(|call| call.number == number)
    }

    /// Whether the kernel counts it among a process's writes.
    pub(crate) fn is_counted(&self) -> bool {
        let uncounted = ["sendto", "sendmsg", "sendmmsg", "splice", "tee", "vmsplice"];
        !uncounted.contains(&self.name)
    }

    /// Whether it writes nothing, but waits for a device.
    pub(crate) fn is_sync(&self) -> bool {
        self.payload == Payload::Synced
    }
}

/// What a call between writes is, if it neither writes, nor reads (the kernel counts those), nor only waits or guards, as libraries
/// do around a write: one that does work, or (1) one that does little more than enter the kernel.
pub(crate) fn other(number: i64) -> Option<usize> {
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 | libc::SYS_preadv => None,
        libc::SYS_preadv2 | libc::SYS_futex | libc::SYS_rt_sigprocmask => None,
        libc::SYS_lseek | libc::SYS_fcntl | libc::SYS_ioctl | libc::SYS_rt_sigaction => Some(1),
        libc::SYS_getpid | libc::SYS_getppid | libc::SYS_clock_gettime => Some(1),
        _ if doing::POLLS.contains(&number) => None,
        _ => WriteCall::with_number(number).is_none().then_some(0),
    }
}

/// A write call, as one of the exact mechanisms saw it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Process (thread group) that made it.
    pub(crate) process: i32,
    pub(crate) thread: i32,
    /// When it began, on the monotonic clock.
    pub(crate) began_ns: u64,
    /// From entering the kernel to leaving it.
    pub(crate) took_ns: u64,
    pub(crate) kind: &'static WriteCall,
    pub(crate) descriptor: i32,
    /// Bytes asked for, where known.
    pub(crate) asked: Option<u64>,
    /// The call's result: bytes, or a negative error number.
    pub(crate) result: i64,
    /// Whether the bytes ended in a newline, where the mechanism shows it.
    pub(crate) ends_line: Option<bool>,
    /// The top of the stack of the thread, where the mechanism shows it.
    pub(crate) stack: Vec<u64>,
}

impl Call {
    /// A call that this thread begins, if its number is one of the family's.
    pub(crate) fn begun(of: (i32, i32), number: i64, arguments: &[u64; 6]) -> Option<Self> {
        let kind = WriteCall::with_number(number)?;
        let (process, thread) = of;
        Some(Self {
            process,
            thread,
            began_ns: 0,
            took_ns: 0,
            kind,
            descriptor: arguments[kind.descriptor] as i32,
            asked: (kind.payload == Payload::Buffer).then_some(arguments[2]),
            result: 0,
            ends_line: None,
            stack: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_for_the_device_is_told_from_a_write() {
        let begun = |number| Call::begun((1, 1), number, &[1, 0, 0, 0, 0, 0]).unwrap();
        for (number, is_sync) in [(libc::SYS_fsync, true), (libc::SYS_write, false)] {
            let call = begun(number);
            assert_eq!((call.descriptor, call.kind.is_sync()), (1, is_sync));
        }
    }

    #[test]
    fn every_call_of_the_family_is_found_by_its_number_once() {
        for call in WRITE_FAMILY {
            let same = WRITE_FAMILY
                .iter()
                .filter(|other| other.number == call.number);
            assert_eq!(same.count(), 1, "{}", call.name);
            assert_eq!(WriteCall::with_number(call.number).unwrap().name, call.name);
        }
        assert!(WriteCall::with_number(libc::SYS_read).is_none());
    }

    #[test]
    fn the_descriptor_of_a_splice_is_the_one_written_to() {
        let splice = Call::begun((1, 1), libc::SYS_splice, &[3, 0, 1, 0, 65536, 0]).unwrap();
        assert_eq!((splice.descriptor, splice.asked), (1, None));
    }
}
