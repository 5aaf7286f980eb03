//! A stretch of a stream's bytes in memory.
#![allow(unsafe_code)]

use super::buffer::Buffer;
use super::gap::Gap;

/// The capacity of a segment in the background.
pub(crate) const SEGMENT: usize = 64 << 10;

/// A stretch of the stream's bytes in memory.
pub(super) struct Segment {
    pub(super) buffer: Buffer,
    /// How far it is drained.
    pub(super) drained: usize,
    /// How far it is filled, once closed; the tail's is in `cursor`.
    pub(super) end: usize,
    /// Whether further messages may be put behind its end.
    pub(super) appendable: bool,
    /// Whether it has whole messages only, and its memory to itself: then it may be dropped.
    pub(super) whole: bool,
    /// How many messages it has, once closed, if `whole`.
    pub(super) messages: u64,
    /// Its bytes mark a gap, and are not part of the stream's length.
    pub(super) marker: bool,
    /// It has no bytes, but stands for messages that were dropped here.
    pub(super) gap: Option<Gap>,
}

impl Segment {
    pub(super) const EMPTY: Segment = Segment {
        buffer: Buffer::EMPTY,
        drained: 0,
        end: 0,
        appendable: false,
        whole: true,
        messages: 0,
        marker: false,
        gap: None,
    };

    /// A segment with a copy of the bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let buffer = Buffer::with_room(bytes.len().max(4096), bytes.len());
        // SAFETY: no other thread knows of the buffer yet.
        unsafe { buffer.put(0, bytes) };
        Segment {
            buffer,
            end: bytes.len(),
            ..Segment::EMPTY
        }
    }

    pub(super) fn gap(gap: Gap) -> Self {
        Segment {
            gap: Some(gap),
            ..Segment::EMPTY
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        self.drained == self.end && self.gap.is_none()
    }

    /// The bytes of a closed segment that are pending.
    ///
    /// # Safety
    ///
    /// The result is not used after the bytes have been counted as drained: by the thread that drains, or the one that
    /// spills, which alone count them.
    pub(super) unsafe fn pending_bytes<'a>(&self) -> &'a [u8] {
        // SAFETY: published, as it is closed; the caller's promise.
        unsafe { self.buffer.published(self.drained, self.end) }
    }
}
