//! `serious`: the buffer and the message by raw pointers, as published.

use std::io;
use std::ptr;

use super::buffers::{CAPACITY, write_all};
use super::greeting::{Greeting, LONGEST};
use crate::bench::experiment::clock::Span;

pub(super) fn serious(span: &mut Span) -> io::Result<()> {
    let mut buffer = [0_u8; CAPACITY];
    let mut used = 0;
    let mut greeting = Greeting::first();
    for _ in 0..span.messages {
        if used + LONGEST > CAPACITY {
            write_all(&buffer[..used])?;
            used = 0;
        }
        let message = greeting.bytes();
        debug_assert!(used + message.len() <= CAPACITY);
        // SAFETY: a message has at most LONGEST bytes, and the branch above leaves room for so
        // many behind `used`; the buffer and the message are different arrays.
        unsafe {
            let place = buffer.as_mut_ptr().add(used);
            ptr::copy_nonoverlapping(message.as_ptr(), place, message.len());
        }
        used += message.len();
        greeting.advance();
    }
    span.done_calling();
    write_all(&buffer[..used])
}
