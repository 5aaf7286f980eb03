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

const fn step(code: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    code as u64
        | (to as u64) << 8
        | (from as u64) << 12
        | (offset as u16 as u64) << 16
        | (number as u32 as u64) << 32
}

/// Runs these steps only if the comparison of the register with the number, by which they are jumped over, fails.
fn unless((code, register, number): (u8, u8, i32), steps: &[u64]) -> Vec<u64> {
    let jump = step(code, register, 0, steps.len() as i16, number);
    [&[jump], steps].concat()
}

/// The record goes on to its recipients.
const END: [u64; 2] = [step(MOVE_NUMBER, 0, 0, 0, 1), step(EXIT, 0, 0, 0, 0)];

/// Of a buffer at r8, of length r7, the last byte counts.
fn program(map: i32) -> Vec<u64> {
    let end_unless = |comparison| unless(comparison, &END);
    let local = |register, offset: i16| {
        let add = step(ADD_NUMBER, register, 0, 0, offset.into());
        [step(MOVE, register, FRAME, 0, 0), add]
    };
    // Reads memory of the program; it is over if that cannot be read.
    let read_user = |to: i16, length: i32| {
        let call = [
            step(MOVE_NUMBER, 2, 0, 0, length),
            step(CALL, 0, 0, 0, READ_USER),
        ];
        [&local(1, to)[..], &call, &end_unless((IF_EQUAL, 0, 0))].concat()
    };
    // r3 = where the last two entries of the vector at r8, of r7 entries, begin
    let address = [
        step(MOVE, 3, 7, 0, 0),
        step(SHIFT_LEFT, 3, 0, 0, 4),
        step(ADD, 3, 8, 0, 0),
        step(ADD_NUMBER, 3, 0, 0, -32),
    ];
    // The buffer of one of them; r7 = the number of entries, until then.
    let entry = |at: i16| {
        [
            step(LOAD_64, 8, FRAME, VECTOR + at, 0),
            step(LOAD_64, 9, FRAME, VECTOR + at + 8, 0),
        ]
    };
    // The last entry of a vector may be empty; two empty ones are not usual.
    let if_empty = [&end_unless((IF_NOT_EQUAL, 7, 1))[..], &entry(0)].concat();
    let vector = [
        &end_unless((IF_EQUAL, 1, libc::SYS_writev as i32))[..],
        &address,
        &read_user(VECTOR, 32),
        &entry(16),
        &unless((IF_NOT_EQUAL, 9, 0), &if_empty),
        &[step(MOVE, 7, 9, 0, 0)],
    ]
    .concat();
    let begin = [
        step(MOVE, CONTEXT, 1, 0, 0),
        step(STORE_64_NUMBER, FRAME, 0, VALUE, 0),
        step(STORE_64_NUMBER, FRAME, 0, VALUE + 8, 0),
        step(LOAD_64, 8, CONTEXT, ADDRESS_AT, 0),
        step(LOAD_64, 7, CONTEXT, LENGTH_AT, 0),
        step(LOAD_64, 1, CONTEXT, NUMBER_AT, 0),
    ];
    let last = [
        step(MOVE, 3, 8, 0, 0),
        step(ADD, 3, 7, 0, 0),
        step(ADD_NUMBER, 3, 0, 0, -1),
    ];
    // key = process, descriptor
    let key = [
        step(LOAD_8, 8, FRAME, BYTE, 0),
        step(CALL, 0, 0, 0, PID_TGID),
        step(SHIFT_RIGHT, 0, 0, 0, 32),
        step(STORE_32, FRAME, 0, KEY, 0),
        step(LOAD_64, 7, CONTEXT, DESCRIPTOR_AT, 0),
        step(STORE_32, FRAME, 7, KEY + 4, 0),
    ];
    let in_map = [step(LOAD_MAP, 1, PSEUDO_MAP, 0, map), 0];
    let update = [
        step(MOVE_NUMBER, 4, 0, 0, NO_EXIST),
        step(CALL, 0, 0, 0, MAP_UPDATE),
    ];
    // value[0] += 1; value[1] += byte is a newline
    let count = [
        step(MOVE_NUMBER, 1, 0, 0, 1),
        step(ATOMIC_ADD_64, 0, 1, 0, 0),
    ];
    let end_of_line = [step(ATOMIC_ADD_64, 0, 1, 8, 0)];
    [
        &begin[..],
        &end_unless((IF_NOT_EQUAL, 7, 0)),
        &unless((IF_EQUAL, 1, libc::SYS_write as i32), &vector),
        &end_unless((IF_NOT_EQUAL, 7, 0)),
        &last,
        &read_user(BYTE, 1),
        &key,
        &in_map,
        &local(2, KEY),
        &local(3, VALUE),
        &update,
        &in_map,
        &local(2, KEY),
        &[step(CALL, 0, 0, 0, MAP_LOOKUP)],
        &end_unless((IF_NOT_EQUAL, 0, 0)),
        &count,
        &unless((IF_NOT_EQUAL, 8, i32::from(b'\n')), &end_of_line),
        &END,
    ]
    .concat()
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
    pub(super) fn of(&self, process: i32, descriptor: i32) -> Option<(u64, u64)> {
        let [seen, line_ends] = sys::bpf_lookup(&self.counters, [process, descriptor])?;
        Some((seen, line_ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_that_holds_skips_its_steps_and_no_more() {
        let steps = unless((IF_EQUAL, 7, 0), &END);
        assert_eq!(steps[1..], END);
        assert_eq!((steps[0] >> 16) as u16, END.len() as u16);
    }

    #[test]
    fn line_ends_are_counted_where_the_kernel_may_be_asked() {
        use crate::trace::collect::exact::tracepoints::Points;
        use std::io::{IoSlice, Write};
        let mut null = std::fs::File::create("/dev/null").unwrap();
        let event = Points::find().and_then(|points| points.enter_alone());
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
                (after.0 - before.0, after.1 - before.1),
                (1, ends_line),
                "{pieces:?}"
            );
        }
    }
}
