//! Reading the end of what a thread is writing, from its memory.

use crate::platform::procfs::peek;
use crate::trace::kernel::calls::{Call, Payload};

/// A call that a thread is about to make, with the size and the last byte of its text from the thread's memory.
pub(crate) fn begun(thread: (i32, i32), number: i64, arguments: &[u64; 6]) -> Option<Call> {
    let mut call = Call::begun(thread, number, arguments)?;
    let process = call.process;
    let [_, at, length, ..] = *arguments;
    let last = match call.kind.payload {
        Payload::Buffer => Some((at, length)),
        Payload::Vector if length <= LONGEST_VECTOR => {
            let shown = peek(process, at, 16 * length);
            let words = words(shown.as_deref().unwrap_or_default());
            let entries = words.chunks_exact(2).map(|entry| (entry[0], entry[1]));
            let lengths = entries.clone().map(|entry| entry.1);
            call.asked = shown.as_ref().map(|_| lengths.fold(0, u64::saturating_add));
            entries.rev().find(|entry| entry.1 > 0)
        }
        _ => None,
    };
    if let Some((at, length)) = last.filter(|last| last.1 > 0) {
        let shown = peek(process, at.checked_add(length - 1)?, 1);
        call.ends_line = shown.map(|byte| byte == b"\n");
    }
    Some(call)
}

/// So many words at the top of a stack hold the return addresses of the functions that lead to a system call: to the C library's caller, but
/// with its stdio not to the caller of that.
pub(crate) const STACK: u32 = 24;

/// Bytes of the kernel or of a program as numbers of its size.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.as_chunks().0.iter().copied();
    words.map(u64::from_ne_bytes).collect()
}

/// Longer vectors are not followed.
const LONGEST_VECTOR: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(number: libc::c_long, arguments: [u64; 6]) -> (Option<u64>, Option<bool>) {
        let call = begun((std::process::id() as i32, 0), number, &arguments).unwrap();
        (call.asked, call.ends_line)
    }

    #[test]
    fn the_length_and_the_last_byte_of_a_buffer_and_of_a_vector_are_seen() {
        for (text, ends_line) in [("a line\n", true), ("no line", false)] {
            let buffer = [1, text.as_ptr() as u64, text.len() as u64, 0, 0, 0];
            assert_eq!(shown(libc::SYS_write, buffer), (Some(7), Some(ends_line)));
            let parts = [b"part ", text.as_bytes(), b""];
            let vector = parts.map(std::io::IoSlice::new);
            let vector = [1, vector.as_ptr() as u64, 3, 0, 0, 0];
            assert_eq!(shown(libc::SYS_writev, vector), (Some(12), Some(ends_line)));
        }
    }

    #[test]
    fn memory_that_is_not_there_shows_nothing() {
        assert_eq!(
            shown(libc::SYS_write, [1, 0, 10, 0, 0, 0]),
            (Some(10), None)
        );
        assert_eq!(shown(libc::SYS_writev, [1, 0, 10, 0, 0, 0]), (None, None));
    }
}
