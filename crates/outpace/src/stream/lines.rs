//! Where a write ends, so that lines stay whole among those of other processes.
//!
//! A line of at most `PIPE_BUF` bytes arrives whole on pipes, terminals and files, whatever other processes write
//! there. The kernel keeps some writes together: to a pipe those of at most `PIPE_BUF` bytes (`pipe(7)`; a longer one
//! is torn at pages once the pipe is full), to a terminal or a regular file each one, to a local socket as much as one
//! of its buffers holds. So a write has to begin and end where lines do, and be no longer than that. [`cut`] is the
//! rule, [`State::write_limit`](super::state::State::write_limit) says how long a write may be, and every drain follows
//! both.
//!
//! The unfinished line behind the last newline waits in the buffer, unless the drain has to include it: for a `flush`,
//! at exit, or after the delay ([`helper`](crate::stream::helper)). A partly written line does not wait: it is no
//! longer whole.
//!
//! A longer line is written by itself: it may be torn, its neighbours are not.

/// A longer unfinished line does not wait for its end.
pub(crate) const LONGEST: usize = 4096;

/// Whether a drain writes a line that has no newline yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unfinished {
    /// It stays, if it is short and no byte of it has been written.
    Waits,
    Goes,
}

/// How much of `bytes` one write of at most `limit` bytes takes: whole lines, or a line that is too long to be kept
/// together. `None` if there is only an unfinished line.
pub(crate) fn cut(bytes: &[u8], limit: usize) -> Option<usize> {
    let window = bytes.get(..limit).unwrap_or(bytes);
    let before = window.len().saturating_sub(LONGEST);
    if let Some(end) = last_end(&window[before..]) {
        return Some(before + end);
    }
    let rest = &bytes[window.len()..];
    if rest.is_empty() {
        return (bytes.len() > LONGEST).then_some(bytes.len());
    }
    Some(window.len() + first_end(rest).unwrap_or(rest.len()))
}

/// Whether the first `length` bytes end a line.
pub(crate) fn ends_line(bytes: &[u8], length: usize) -> bool {
    bytes.get(length.wrapping_sub(1)) == Some(&b'\n')
}

/// How many bytes are compared together.
const CHUNK: usize = 64;

/// Whether a line ends in these bytes. Without a branch per byte, so that the compiler vectorizes it.
fn has_end(bytes: &[u8; CHUNK]) -> bool {
    let newlines = bytes.iter().map(|&byte| u8::from(byte == b'\n'));
    newlines.fold(0, |found, newline| found | newline) != 0
}

/// The end of the last finished line.
pub(crate) fn last_end(bytes: &[u8]) -> Option<usize> {
    let (rest, chunks) = bytes.as_rchunks::<CHUNK>();
    let (start, part) = match chunks.iter().rposition(has_end) {
        Some(index) => (rest.len() + index * CHUNK, &chunks[index][..]),
        None => (0, rest),
    };
    let newline = part.iter().rposition(|&byte| byte == b'\n')?;
    Some(start + newline + 1)
}

/// The end of the first line, if it is finished.
pub(crate) fn first_end(bytes: &[u8]) -> Option<usize> {
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let index = chunks.iter().position(has_end).unwrap_or(chunks.len());
    let part = chunks.get(index).map_or(rest, |chunk| &chunk[..]);
    let newline = part.iter().position(|&byte| byte == b'\n')?;
    Some(index * CHUNK + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_end_is_that_of_the_last_newline() {
        for length in 0..200 {
            for newline in 0..length {
                let mut bytes = vec![b'x'; length];
                bytes[newline] = b'\n';
                assert_eq!(last_end(&bytes), Some(newline + 1));
                assert_eq!(first_end(&bytes), Some(newline + 1));
                bytes[0] = b'\n';
                assert_eq!(last_end(&bytes), Some(newline + 1));
                assert_eq!(first_end(&bytes), Some(1));
            }
            assert_eq!(last_end(&vec![b'x'; length]), None);
        }
    }

    #[test]
    fn a_write_takes_whole_lines() {
        assert_eq!(cut(b"one\ntwo\nthr", 4096), Some(8));
        assert_eq!(cut(b"one\ntwo\nthree\n", 4096), Some(14));
        assert_eq!(cut(b"one\ntwo\nthree\n", 10), Some(8));
        assert_eq!(cut(b"one\ntwo\nthree\n", usize::MAX), Some(14));
        assert_eq!(cut(b"thr", 4096), None);
        assert_eq!(cut(b"", 4096), None);
    }

    #[test]
    fn a_long_line_goes_by_itself() {
        let long = [b"x".repeat(5000), b"\nnext\n".to_vec()].concat();
        assert_eq!(cut(&long, 4096), Some(5001));
        assert_eq!(cut(&long[..4500], 4096), Some(4500));
        assert_eq!(cut(&long[..4096], 4096), None);
        let short_first = [b"short\n".to_vec(), long].concat();
        assert_eq!(cut(&short_first, 4096), Some(6));
        // If a write may be of any length, one takes the long line with its neighbours.
        assert_eq!(cut(&short_first, usize::MAX), Some(short_first.len()));
        assert_eq!(cut(&short_first[..5000], usize::MAX), Some(5000));
        // The unfinished line behind it waits.
        let unfinished = [&short_first[..], b"more"].concat();
        assert_eq!(cut(&unfinished, usize::MAX), Some(short_first.len()));
    }
}
