//! Rungs with a buffer of their own.

use std::io;

use rustix::io::write;
use rustix::stdio::stdout;

use super::greeting::{Greeting, LONGEST};
use crate::bench::experiment::clock::Span;

/// As published: 8 KiB a write.
pub(super) const CAPACITY: usize = 8 << 10;

/// `write(2)` until all of it is written.
pub(super) fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(stdout(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

pub(super) fn vecbuf(span: &mut Span) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(CAPACITY);
    let mut greeting = Greeting::first();
    for _ in 0..span.messages {
        let message = greeting.bytes();
        if buffer.len() + message.len() > CAPACITY {
            write_all(&buffer)?;
            buffer.clear();
        }
        buffer.extend_from_slice(message);
        greeting.advance();
    }
    span.done_calling();
    write_all(&buffer)
}

pub(super) fn ludicrous(span: &mut Span) -> io::Result<()> {
    let mut buffer = [0; CAPACITY];
    let mut used = 0;
    let mut greeting = Greeting::first();
    for _ in 0..span.messages {
        let message = greeting.bytes();
        if used + message.len() > CAPACITY {
            write_all(&buffer[..used])?;
            used = 0;
        }
        buffer[used..used + message.len()].copy_from_slice(message);
        used += message.len();
        greeting.advance();
    }
    span.done_calling();
    write_all(&buffer[..used])
}

pub(super) fn naive(span: &mut Span) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(CAPACITY);
    for index in 0..span.messages {
        if buffer.len() + LONGEST > CAPACITY {
            write_all(&buffer)?;
            buffer.clear();
        }
        buffer.extend_from_slice(b"Hello, ");
        let first_digit = buffer.len();
        let mut rest = index;
        loop {
            buffer.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        buffer[first_digit..].reverse();
        buffer.push(b'\t');
    }
    span.done_calling();
    write_all(&buffer)
}
