//! Allocators that print, which they may do in the middle of a stream's own work, and those that have no memory.

use crate::macros::ours;
use crate::support::{Program, To, assert_same, limit_allocations, list, watch_allocations};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

list! {
    portable: [],
    native: [an_allocator_may_print, where_memory_is_short_the_buffer_is_smaller],
    programs: [print_allocations, print_with_little_memory],
}

const LINES: usize = 2000;
const AUTHORS: [&str; 3] = ["a", "b", "c"];
const ALLOCATED: &str = "[allocated]\n";

/// Several threads print, and each allocation prints, too: to standard output, and by a guard or not.
fn print_allocations() {
    static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
    watch_allocations(|| {
        let number = ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        match number % 3 {
            0 => outpace::stdout().write_all(ALLOCATED.as_bytes()).unwrap(),
            1 => writeln!(outpace::stdout(), "[{}]", "allocated").unwrap(),
            _ => drop(outpace::stdout().lock().str("[allocated]").char('\n')),
        }
    });
    let print = |author: &str, from: usize| {
        for i in from..from + LINES {
            if i % 500 == 0 {
                // A new policy takes new memory.
                let buffering = outpace::stdout().buffering();
                outpace::stdout().set_buffering(buffering);
            }
            let line = format!("{author} {i}\n");
            outpace::stdout().write_all(line.as_bytes()).unwrap();
        }
        outpace::stdout().flush().unwrap();
    };
    for round in 0..3 {
        std::thread::scope(|scope| {
            for author in AUTHORS {
                scope.spawn(move || print(author, round * LINES));
            }
        });
        // Helpers go to sleep, and give memory back.
        std::thread::sleep(Duration::from_millis(20));
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(allocations > 3 * LINES);
    outpace::stdout().flush().unwrap();
    crate::support::exit_at_once(0);
}

fn an_allocator_may_print() {
    for buffering in [
        "unbuffered",
        "line",
        "block",
        "block:3KiB",
        "prompt",
        "prompt:1ms",
        "background",
        "background:100000",
    ] {
        let program = Program::new(print_allocations).buffering(buffering);
        let text = program.run(To::Pipe).succeeded().stdout;
        // One that comes in the middle of a stream's work may stand anywhere in it.
        let text = String::from_utf8(text).unwrap().replace(ALLOCATED, "");
        for author in AUTHORS {
            let of_author = |line: &&str| line.starts_with(&format!("{author} "));
            let found: String = text.split_inclusive('\n').filter(of_author).collect();
            let expected: String = (0..3 * LINES).map(|i| format!("{author} {i}\n")).collect();
            assert_same(found.as_bytes(), expected.as_bytes());
        }
    }
}

/// Enough for a message, and for what std's handles have.
const LITTLE: usize = 4000;

fn print_with_little_memory() {
    limit_allocations(LITTLE);
    for i in 0..LINES {
        ours!(print "line {i}, ");
        ours!(println "{:i$}", "", i = i % 200);
        outpace::stdout().lock().str("and ").int(i).char('\n');
    }
}

fn where_memory_is_short_the_buffer_is_smaller() {
    let expected: String = (0..LINES)
        .map(|i| format!("line {i}, {:width$}\nand {i}\n", "", width = i % 200))
        .collect();
    for buffering in ["unbuffered", "line", "block", "prompt", "background"] {
        for to in [To::Pipe, To::File] {
            let program = Program::new(print_with_little_memory).buffering(buffering);
            assert_same(&program.run(to).succeeded().stdout, expected.as_bytes());
        }
    }
}
