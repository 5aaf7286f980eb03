//! The third promise of `Prompt`, instruction by instruction: in a burst a message that fits costs no
//! system call, no atomic read-modify-write and no clock reading.

use crate::support::steps::{Costly, allow_steps, breakpoint};
use crate::support::{Program, To, list};
use std::io::Write;

list! {
    portable: [],
    native: [
        a_message_in_a_burst_costs_no_lock_no_clock_and_no_system_call,
        a_message_that_is_drained_costs_what_it_must,
    ],
    programs: [burst],
}

/// The ways to write a message.
const WAYS: [(&str, fn()); 5] = [
    ("write_all", || {
        outpace::stdout().write_all(b"sixteen bytes..\n").unwrap()
    }),
    ("write!", || {
        writeln!(outpace::stdout(), "{}", "text").unwrap()
    }),
    ("outpace::writeln!", || {
        outpace::writeln!(outpace::stdout(), "{} {}", "text", 42).unwrap();
    }),
    ("typed calls", || {
        outpace::stdout().lock().str("x = ").int(42).char('\n');
    }),
    ("reserve", || {
        let mut guard = outpace::stdout().lock();
        let mut message = guard.reserve(40);
        message.str("x = ").int(42).char('\n');
        message.commit();
    }),
];

fn burst() {
    allow_steps();
    for (_, write) in WAYS {
        for _ in 0..100 {
            write();
        }
        breakpoint();
        write();
        breakpoint();
    }
}

fn a_message_in_a_burst_costs_no_lock_no_clock_and_no_system_call() {
    // A delay that does not pass while the steps are counted.
    for buffering in ["prompt:60s", "block"] {
        let running = Program::new(burst).buffering(buffering).start(To::Pipe);
        running.wait_until_stopped();
        for (way, _) in WAYS {
            let (steps, costly) = running.steps();
            assert!(steps > 10, "{way}: {steps} steps");
            assert_eq!(costly, [], "{way} under {buffering}");
        }
        running.stop_tracing();
        assert_eq!(running.finish().code(), 0);
    }
}

/// The twin: that the steps of what does make a system call are seen.
fn a_message_that_is_drained_costs_what_it_must() {
    let running = Program::new(burst).buffering("unbuffered").start(To::Pipe);
    running.wait_until_stopped();
    let (_, costly) = running.steps();
    assert!(costly.contains(&Costly::SystemCall), "{costly:?}");
    assert!(costly.contains(&Costly::Locked), "{costly:?}");
    running.stop_tracing();
}
