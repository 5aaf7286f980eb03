//! A place of limited size that `core::fmt` can write to.

#![allow(unsafe_code)]

use std::fmt;

/// Writes to memory until it is full; what does not fit is refused.
pub(super) struct Cursor {
    start: *mut u8,
    length: usize,
    room: usize,
}

impl Cursor {
    /// # Safety
    /// For as long as the cursor is used, `room` bytes at `start` are valid for writes.
    #[inline]
    pub(super) unsafe fn new(start: *mut u8, room: usize) -> Cursor {
        Cursor {
            start,
            length: 0,
            room,
        }
    }

    /// Writes one of std's own values, for which the room was measured; returns the length.
    pub(super) fn format(mut self, arguments: fmt::Arguments<'_>) -> usize {
        fmt::write(&mut self, arguments).expect("the room was measured for this");
        self.length
    }
}

impl fmt::Write for Cursor {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.room - self.length {
            return Err(fmt::Error);
        }
        // SAFETY: there is room for it, as was just checked, and it is valid, as `new` demands.
        unsafe {
            let end = self.start.add(self.length);
            end.copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        self.length += text.len();
        Ok(())
    }
}
