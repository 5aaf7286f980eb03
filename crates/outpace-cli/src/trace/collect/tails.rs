//! Whether writes end lines, for the tracepoint mechanism, which shows addresses but not the bytes: a
//! small program in the kernel (`bpf(2)`; nothing else sees every write without stopping it) that runs at the same tracepoint, looks at the last byte of
//! every `write` and `writev` and counts, for each process and descriptor, how many it saw and how many of them
//! were newlines.

use crate::trace::kernel::sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The program and its counters.
pub(super) struct Tails {
    counters: OwnedFd,
    program: OwnedFd,
}

/// Processes and descriptors counted at a time; the longest unused are forgotten first.
const MOST_STREAMS: u32 = 16_384;

// Registers and opcodes of the instruction set (Documentation/bpf/instruction-set.rst).
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const CONTEXT: u8 = 6;
const R7: u8 = 7;
const R8: u8 = 8;
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
const JUMP_IF_EQUAL: u8 = 0x15;
const JUMP_IF_NOT_EQUAL: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const PID_TGID: i32 = 14;
const READ_USER: i32 = 112;
/// Where the fields of the `raw_syscalls:sys_enter` record are.
const NUMBER_AT: i16 = 8;
const DESCRIPTOR_AT: i16 = 16;
const ADDRESS_AT: i16 = 24;
const LENGTH_AT: i16 = 32;
/// Where the locals are, below the frame pointer: the byte, the key, a fresh value, an `iovec`.
const BYTE: i16 = -8;
const KEY: i16 = -16;
const VALUE: i16 = -32;
const VECTOR: i16 = -48;

const fn step(code: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    code as u64
        | (to as u64) << 8
        | (from as u64) << 12
        | (offset as u16 as u64) << 16
        | (number as u32 as u64) << 32
}

/// Labels are resolved by [`assemble`]: a jump's offset is a label until then.
enum Line {
    Step(u64),
    Jump {
        code: u8,
        register: u8,
        number: i32,
        label: u8,
    },
    Label(u8),
}

fn assemble(lines: &[Line]) -> Vec<u64> {
    let address_of = |wanted: u8| {
        let mut address = 0_i16;
        for line in lines {
            match line {
                Line::Label(label) if *label == wanted => return address,
                Line::Label(_) => {}
                Line::Step(_) | Line::Jump { .. } => address += 1,
            }
        }
        unreachable!("every label is defined")
    };
    let mut program = Vec::new();
    for line in lines {
        match *line {
            Line::Step(step) => program.push(step),
            Line::Jump {
                code,
                register,
                number,
                label,
            } => {
                let offset = address_of(label) - program.len() as i16 - 1;
                program.push(step(code, register, 0, offset, number));
            }
            Line::Label(_) => {}
        }
    }
    program
}

fn program(map: i32) -> Vec<u64> {
    use Line::{Jump, Label, Step};
    const DONE: u8 = 0;
    const FOUND: u8 = 1;
    const BUFFER: u8 = 2;
    const ENTRY: u8 = 3;
    let load_map = |register| [Step(step(LOAD_MAP, register, PSEUDO_MAP, 0, map)), Step(0)];
    let at = |register, offset: i16| {
        [
            Step(step(MOVE, register, FRAME, 0, 0)),
            Step(step(ADD_NUMBER, register, 0, 0, offset.into())),
        ]
    };
    // Reads memory of the program; it is over if that cannot be read.
    let read_user = || {
        [
            Step(step(CALL, 0, 0, 0, READ_USER)),
            Jump {
                code: JUMP_IF_NOT_EQUAL,
                register: R0,
                number: 0,
                label: DONE,
            },
        ]
    };
    // The entry of the vector at R8 that is `from_end` before its end (of R7 entries), into VECTOR;
    // then its length into R3.
    let entry = |from_end: i32| {
        let mut lines = vec![
            Step(step(MOVE, R3, R7, 0, 0)),
            Step(step(ADD_NUMBER, R3, 0, 0, -from_end)),
            Step(step(SHIFT_LEFT, R3, 0, 0, 4)),
            Step(step(ADD, R3, R8, 0, 0)),
            Step(step(MOVE_NUMBER, R2, 0, 0, 16)),
        ];
        lines.extend(at(R1, VECTOR));
        lines.extend(read_user());
        lines.push(Step(step(LOAD_64, R3, FRAME, VECTOR + 8, 0)));
        lines
    };
    let mut lines = vec![
        Step(step(MOVE, CONTEXT, R1, 0, 0)),
        Step(step(STORE_64_NUMBER, FRAME, 0, BYTE, 0)),
        Step(step(STORE_64_NUMBER, FRAME, 0, VECTOR, 0)),
        Step(step(STORE_64_NUMBER, FRAME, 0, VECTOR + 8, 0)),
        Step(step(LOAD_64, R8, CONTEXT, ADDRESS_AT, 0)),
        Step(step(LOAD_64, R7, CONTEXT, LENGTH_AT, 0)),
        Jump {
            code: JUMP_IF_EQUAL,
            register: R7,
            number: 0,
            label: DONE,
        },
        Step(step(LOAD_64, R1, CONTEXT, NUMBER_AT, 0)),
        Jump {
            code: JUMP_IF_EQUAL,
            register: R1,
            number: libc::SYS_write as i32,
            label: BUFFER,
        },
        Jump {
            code: JUMP_IF_NOT_EQUAL,
            register: R1,
            number: libc::SYS_writev as i32,
            label: DONE,
        },
    ];
    // The last entry of a vector may be empty; two empty ones are nobody's habit.
    lines.extend(entry(1));
    lines.extend([
        Jump {
            code: JUMP_IF_NOT_EQUAL,
            register: R3,
            number: 0,
            label: ENTRY,
        },
        Jump {
            code: JUMP_IF_EQUAL,
            register: R7,
            number: 1,
            label: DONE,
        },
    ]);
    lines.extend(entry(2));
    lines.extend([
        Jump {
            code: JUMP_IF_EQUAL,
            register: R3,
            number: 0,
            label: DONE,
        },
        Label(ENTRY),
        Step(step(MOVE, R7, R3, 0, 0)),
        Step(step(LOAD_64, R8, FRAME, VECTOR, 0)),
        Label(BUFFER),
        // byte = last of the buffer at R8, of length R7
        Step(step(MOVE, R3, R8, 0, 0)),
        Step(step(ADD, R3, R7, 0, 0)),
        Step(step(ADD_NUMBER, R3, 0, 0, -1)),
        Step(step(MOVE_NUMBER, R2, 0, 0, 1)),
    ]);
    lines.extend(at(R1, BYTE));
    lines.extend(read_user());
    lines.extend([
        Step(step(LOAD_8, R8, FRAME, BYTE, 0)),
        // key = process, descriptor
        Step(step(CALL, 0, 0, 0, PID_TGID)),
        Step(step(SHIFT_RIGHT, R0, 0, 0, 32)),
        Step(step(STORE_32, FRAME, R0, KEY, 0)),
        Step(step(LOAD_64, R7, CONTEXT, DESCRIPTOR_AT, 0)),
        Step(step(STORE_32, FRAME, R7, KEY + 4, 0)),
    ]);
    lines.extend(load_map(R1));
    lines.extend(at(R2, KEY));
    lines.extend([
        Step(step(CALL, 0, 0, 0, MAP_LOOKUP)),
        Jump {
            code: JUMP_IF_NOT_EQUAL,
            register: R0,
            number: 0,
            label: FOUND,
        },
        Step(step(STORE_64_NUMBER, FRAME, 0, VALUE, 0)),
        Step(step(STORE_64_NUMBER, FRAME, 0, VALUE + 8, 0)),
    ]);
    lines.extend(load_map(R1));
    lines.extend(at(R2, KEY));
    lines.extend(at(R3, VALUE));
    lines.extend([
        Step(step(MOVE_NUMBER, R4, 0, 0, 0)),
        Step(step(CALL, 0, 0, 0, MAP_UPDATE)),
    ]);
    lines.extend(load_map(R1));
    lines.extend(at(R2, KEY));
    lines.extend([
        Step(step(CALL, 0, 0, 0, MAP_LOOKUP)),
        Jump {
            code: JUMP_IF_EQUAL,
            register: R0,
            number: 0,
            label: DONE,
        },
        Label(FOUND),
        // value[0] += 1; value[1] += byte is a newline
        Step(step(MOVE_NUMBER, R1, 0, 0, 1)),
        Step(step(ATOMIC_ADD_64, R0, R1, 0, 0)),
        Jump {
            code: JUMP_IF_NOT_EQUAL,
            register: R8,
            number: i32::from(b'\n'),
            label: DONE,
        },
        Step(step(ATOMIC_ADD_64, R0, R1, 8, 0)),
        Label(DONE),
        // The record goes on to those who asked for it.
        Step(step(MOVE_NUMBER, R0, 0, 0, 1)),
        Step(step(EXIT, 0, 0, 0, 0)),
    ]);
    assemble(&lines)
}

impl Tails {
    /// Loads the program, where this user may.
    pub(super) fn load() -> io::Result<Self> {
        let counters = sys::bpf_map(8, 16, MOST_STREAMS)?;
        let program = sys::bpf_load(&program(counters.as_raw_fd()))?;
        Ok(Self { counters, program })
    }

    /// Runs it at the tracepoint of this event, until the event is closed.
    pub(super) fn attach(&self, event: &OwnedFd) -> io::Result<()> {
        sys::bpf_attach(event, &self.program)
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
    fn jumps_lead_to_their_labels() {
        let lines = [
            Line::Jump {
                code: JUMP_IF_EQUAL,
                register: R7,
                number: 0,
                label: 1,
            },
            Line::Step(step(MOVE_NUMBER, R0, 0, 0, 7)),
            Line::Label(1),
            Line::Step(step(EXIT, 0, 0, 0, 0)),
        ];
        let program = assemble(&lines);
        assert_eq!(program.len(), 3);
        assert_eq!((program[0] >> 16) as u16, 1, "one instruction is skipped");
    }
}
