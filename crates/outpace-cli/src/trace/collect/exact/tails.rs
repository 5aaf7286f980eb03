//! Whether writes end lines, without a stop: a small program in the kernel (`bpf(2)`; no other interface sees every
//! write without a stop) that runs at the tracepoint of all system calls, looks at the last byte of every `write` and
//! `writev` and counts, for each process and descriptor, how many it saw and how many of them were newlines.

use crate::trace::kernel::sys;
use perf_event::Counter;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The counters, and the tracepoint at which the program runs until this is dropped.
pub(super) struct Tails {
    counters: OwnedFd,
    _event: Counter,
}

/// Processes and descriptors counted at a time; the longest unused are forgotten first.
const MOST_STREAMS: u32 = 16_384;

// Registers are numbers; these keep what they hold in every call. Opcodes of the instruction set
// (Documentation/bpf/instruction-set.rst).
const CONTEXT: u8 = 6;
const FRAME: u8 = 10;
const MOVE: u8 = 0xbf;
const MOVE_NUMBER: u8 = 0xb7;
const ADD: u8 = 0x0f;
const ADD_NUMBER: u8 = 0x07;
const SHIFT_RIGHT: u8 = 0x77;
const SHIFT_LEFT: u8 = 0x67;
const LOAD_64: u8 = 0x79;
const LOAD_8: u8 = 0x71;
const STORE_32: u8 = 0x63;
const STORE_64_NUMBER: u8 = 0x7a;
const ATOMIC_ADD_64: u8 = 0xdb;
const LOAD_MAP: u8 = 0x18;
const PSEUDO_MAP: u8 = 1;
const IF_EQUAL: u8 = 0x15;
const IF_NOT_EQUAL: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
/// An update that leaves what is there already.
const NO_EXIST: i32 = 1;
const PID_TGID: i32 = 14;
const READ_USER: i32 = 112;
/// Where the fields of the `raw_syscalls:sys_enter` record are.
const NUMBER_AT: i16 = 8;
const DESCRIPTOR_AT: i16 = 16;
const ADDRESS_AT: i16 = 24;
const LENGTH_AT: i16 = 32;
/// Where the locals are, below the frame pointer: the byte, the key, a fresh value, two `iovec`s.
const BYTE: i16 = -8;
const KEY: i16 = -16;
const VALUE: i16 = -32;
const VECTOR: i16 = -64;

/// A step: its code, the registers that it changes and reads, an offset, a number.
type Step = (u8, u8, u8, i16, i32);

fn encoded((code, to, from, offset, number): Step) -> u64 {
    let [c, d] = offset.to_le_bytes();
    let [e, f, g, h] = number.to_le_bytes();
    u64::from_le_bytes([code, from << 4 | to, c, d, e, f, g, h])
}

/// The offset of a jump to the last two steps, by which the record goes on to its recipients.
const END: i16 = i16::MAX;
/// Over the steps that are for vectors.
const BEHIND_VECTOR: i16 = 17;

/// Of a buffer at r8, of length r7, the last byte counts.
fn program(map: i32) -> Vec<u64> {
    let steps = [
        (MOVE, CONTEXT, 1, 0, 0),
        (STORE_64_NUMBER, FRAME, 0, VALUE, 0),
        (STORE_64_NUMBER, FRAME, 0, VALUE + 8, 0),
        (LOAD_64, 8, CONTEXT, ADDRESS_AT, 0),
        (LOAD_64, 7, CONTEXT, LENGTH_AT, 0),
        (LOAD_64, 1, CONTEXT, NUMBER_AT, 0),
        (IF_EQUAL, 7, 0, END, 0),
        (IF_EQUAL, 1, 0, BEHIND_VECTOR, libc::SYS_write as i32),
        (IF_NOT_EQUAL, 1, 0, END, libc::SYS_writev as i32),
        // The last two entries of a vector at r8, of r7 entries.
        (MOVE, 3, 7, 0, 0),
        (SHIFT_LEFT, 3, 0, 0, 4),
        (ADD, 3, 8, 0, 0),
        (ADD_NUMBER, 3, 0, 0, -32),
        (MOVE, 1, FRAME, 0, 0),
        (ADD_NUMBER, 1, 0, 0, VECTOR as i32),
        (MOVE_NUMBER, 2, 0, 0, 32),
        (CALL, 0, 0, 0, READ_USER),
        (IF_NOT_EQUAL, 0, 0, END, 0),
        (LOAD_64, 8, FRAME, VECTOR + 16, 0),
        (LOAD_64, 9, FRAME, VECTOR + 24, 0),
        // The last one may be empty; two empty ones are not usual.
        (IF_NOT_EQUAL, 9, 0, 3, 0),
        (IF_EQUAL, 7, 0, END, 1),
        (LOAD_64, 8, FRAME, VECTOR, 0),
        (LOAD_64, 9, FRAME, VECTOR + 8, 0),
        (MOVE, 7, 9, 0, 0),
        // The last byte, in r8.
        (IF_EQUAL, 7, 0, END, 0),
        (MOVE, 3, 8, 0, 0),
        (ADD, 3, 7, 0, 0),
        (ADD_NUMBER, 3, 0, 0, -1),
        (MOVE, 1, FRAME, 0, 0),
        (ADD_NUMBER, 1, 0, 0, BYTE as i32),
        (MOVE_NUMBER, 2, 0, 0, 1),
        (CALL, 0, 0, 0, READ_USER),
        (IF_NOT_EQUAL, 0, 0, END, 0),
        (LOAD_8, 8, FRAME, BYTE, 0),
        // The key: process, descriptor.
        (CALL, 0, 0, 0, PID_TGID),
        (SHIFT_RIGHT, 0, 0, 0, 32),
        (STORE_32, FRAME, 0, KEY, 0),
        (LOAD_64, 7, CONTEXT, DESCRIPTOR_AT, 0),
        (STORE_32, FRAME, 7, KEY + 4, 0),
        // Its value, a fresh one if there is none.
        (LOAD_MAP, 1, PSEUDO_MAP, 0, map),
        (0, 0, 0, 0, 0),
        (MOVE, 2, FRAME, 0, 0),
        (ADD_NUMBER, 2, 0, 0, KEY as i32),
        (MOVE, 3, FRAME, 0, 0),
        (ADD_NUMBER, 3, 0, 0, VALUE as i32),
        (MOVE_NUMBER, 4, 0, 0, NO_EXIST),
        (CALL, 0, 0, 0, MAP_UPDATE),
        (LOAD_MAP, 1, PSEUDO_MAP, 0, map),
        (0, 0, 0, 0, 0),
        (MOVE, 2, FRAME, 0, 0),
        (ADD_NUMBER, 2, 0, 0, KEY as i32),
        (CALL, 0, 0, 0, MAP_LOOKUP),
        (IF_EQUAL, 0, 0, END, 0),
        // One more was seen, and perhaps one more that ended a line.
        (MOVE_NUMBER, 1, 0, 0, 1),
        (ATOMIC_ADD_64, 0, 1, 0, 0),
        (IF_NOT_EQUAL, 8, 0, 1, b'\n' as i32),
        (ATOMIC_ADD_64, 0, 1, 8, 0),
        (MOVE_NUMBER, 0, 0, 0, 1),
        (EXIT, 0, 0, 0, 0),
    ];
    let before_end = steps.len() as i16 - 3;
    let steps = (0..).zip(steps).map(|(at, step)| match step {
        (code, to, from, END, number) => encoded((code, to, from, before_end - at, number)),
        other => encoded(other),
    });
    steps.collect()
}

impl Tails {
    /// Loads the program, where this user may, and has it run at this event: one of its own, as one that is inherited would
    /// take the program along when the first process that has inherited it ends.
    pub(super) fn begin(mut event: Counter) -> io::Result<Self> {
        let counters = sys::bpf_map(8, 16, MOST_STREAMS)?;
        let program = sys::bpf_load(&program(counters.as_raw_fd()))?;
        event.set_bpf(program.as_raw_fd())?;
        Ok(Self {
            counters,
            _event: event,
        })
    }

    /// Writes seen and those that ended a line, of a descriptor of a process.
    pub(super) fn of(&self, process: i32, descriptor: i32) -> Option<[u64; 2]> {
        sys::bpf_lookup(&self.counters, [process, descriptor])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_counted_where_the_kernel_may_be_asked() {
        use crate::trace::collect::exact::tracepoints::{event, point};
        use std::io::{IoSlice, Write};
        let mut null = std::fs::File::create("/dev/null").unwrap();
        let event = point("sys_enter").and_then(|enter| event(enter).build());
        let Ok(tails) = event.and_then(Tails::begin) else {
            eprintln!("skipped: tracepoints or bpf(2) are not permitted");
            return;
        };
        let (ours, descriptor) = (std::process::id() as i32, null.as_raw_fd());
        let counted = || tails.of(ours, descriptor).unwrap_or_default();
        for (pieces, ends_line) in [
            (&["line\n"][..], 1),
            (&["fragment"], 0),
            (&["a ", "line\n"], 1),
            (&["line\n", "fragment"], 0),
            (&["line\n", ""], 1),
            (&["fragment", ""], 0),
        ] {
            let (before, mut tries) = (counted(), 0);
            // The kernel's program sees a write only while its text is in memory: one that is not seen is made again.
            while counted() == before {
                tries += 1;
                assert!(tries < 1000, "not seen: {pieces:?}");
                let texts: Vec<Vec<u8>> =
                    pieces.iter().map(|text| text.as_bytes().to_vec()).collect();
                let slices: Vec<IoSlice> = texts.iter().map(|text| IoSlice::new(text)).collect();
                let written = match &slices[..] {
                    [one] => null.write(one),
                    several => null.write_vectored(several),
                };
                assert_eq!(written.unwrap(), pieces.concat().len());
            }
            let after = counted();
            assert_eq!(
                [after[0] - before[0], after[1] - before[1]],
                [1, ends_line],
                "{pieces:?}"
            );
        }
    }
}
