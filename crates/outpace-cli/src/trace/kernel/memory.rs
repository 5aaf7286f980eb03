//! Reading the end of what a thread is writing, from its memory.
#![allow(unsafe_code)]

use crate::trace::kernel::calls::{Call, Payload, WriteCall};

/// The bytes at `address` in another process, when all of them can be read.
fn peek<const N: usize>(process: i32, address: u64) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: N,
    };
    let remote = libc::iovec {
        iov_base: usize::try_from(address).ok()? as *mut _,
        iov_len: N,
    };
    // SAFETY: `local` is memory of ours for the call; the kernel checks the other process's.
    let read =
        unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0) };
    (read == N as isize).then_some(bytes)
}

/// A call that a thread is about to make, with what its memory shows.
pub(crate) fn begun(
    thread: (i32, i32),
    began_ns: u64,
    number: i64,
    arguments: &[u64; 6],
) -> Option<Call> {
    let call = Call::begun(thread, began_ns, number, arguments)?;
    Some(Call {
        ends_line: ends_line(call.process, call.kind, arguments),
        ..call
    })
}

/// Vectors longer than this are not followed.
const LONGEST_VECTOR: u64 = 1024;

/// Whether the bytes a call is about to write end in a newline; `None` when they cannot be seen.
pub(crate) fn ends_line(process: i32, call: &WriteCall, arguments: &[u64; 6]) -> Option<bool> {
    let last = |address: u64, length: u64| {
        let at = address.checked_add(length.checked_sub(1)?)?;
        Some(peek::<1>(process, at)? == *b"\n")
    };
    match call.payload {
        Payload::Buffer => last(arguments[1], arguments[2]),
        Payload::Vector => {
            let count = arguments[2].min(LONGEST_VECTOR);
            (0..count).rev().find_map(|index| {
                let entry = arguments[1].checked_add(index * 16)?;
                let word = |offset| peek::<8>(process, entry + offset).map(u64::from_ne_bytes);
                let (base, length) = (word(0)?, word(8)?);
                (length > 0).then(|| last(base, length))?
            })
        }
        Payload::Elsewhere => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_of_a_buffer_and_of_a_vector_are_seen() {
        let ours = std::process::id() as i32;
        let call = |number: libc::c_long| WriteCall::with_number(number).unwrap();
        for (text, expected) in [("a line\n", true), ("no line", false)] {
            let arguments = [1, text.as_ptr() as u64, text.len() as u64, 0, 0, 0];
            assert_eq!(
                ends_line(ours, call(libc::SYS_write), &arguments),
                Some(expected)
            );
            let vector = [
                std::io::IoSlice::new(text.as_bytes()),
                std::io::IoSlice::new(b""),
            ];
            let arguments = [1, vector.as_ptr() as u64, 2, 0, 0, 0];
            assert_eq!(
                ends_line(ours, call(libc::SYS_writev), &arguments),
                Some(expected)
            );
        }
    }

    #[test]
    fn memory_that_is_not_there_shows_nothing() {
        let call = WriteCall::with_number(libc::SYS_write).unwrap();
        assert_eq!(
            ends_line(std::process::id() as i32, call, &[1, 0, 10, 0, 0, 0]),
            None
        );
    }
}
