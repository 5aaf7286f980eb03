//! Order among all that prints, once a program has asked for it.

use crate::macros::{eprintln, print, println};
use crate::support::{Program, To, assert_same, fill_the_pipe, list};
use outpace::Buffering;
use std::io::Write;
use std::process::Command;
use std::sync::Barrier;

list! {
    portable: [
        everything_that_prints_comes_in_the_programs_order,
        a_guards_messages_come_when_it_is_dropped,
        unfinished_lines_of_std_come_before_what_follows_them,
        sharing_begins_while_a_guard_is_held,
        what_std_has_buffered_comes_before_a_macros_message,
        lines_of_threads_come_in_the_order_in_which_they_were_printed,
    ],
    native: [
        // Elsewhere what is printed goes through std's handle, and so waits for its lock.
        a_thread_that_holds_stds_lock_may_print,
        a_guard_costs_few_system_calls,
        a_shared_prompt_starts_no_thread_for_statements,
        what_a_guard_holds_back_still_appears_within_the_delay,
        a_shared_background_stream_does_not_wait_for_its_reader,
        a_background_stream_does_not_wait_for_stds_lock,
    ],
    programs: [
        in_turns, with_a_guard, unfinished_lines, shares_late, with_stds_lock, in_turns_of_threads, counts_writes,
        counts_threads, holds_a_guard, shares_in_the_background,
        mixes, prints_past_stds_lock,
    ],
}

/// To the file, pipe or terminal, under every policy that callers can wait for.
fn each(mut run: impl FnMut(&str, To)) {
    for buffering in ["unbuffered", "line", "block", "prompt", "prompt:60s"] {
        for to in [To::Pipe, To::Terminal, To::File] {
            run(buffering, to);
        }
    }
}

fn in_turns() {
    outpace::share();
    for i in 0..60 {
        println!("macro {i}");
        std::println!("std {i}");
        writeln!(outpace::stdout(), "handle {i}").unwrap();
        std::eprintln!("std's stderr {i}");
        print!("fragment {i}, ");
        eprintln!("stderr {i}");
        outpace::stdout().lock().str("typed ").int(i).char('\n');
        if i % 10 == 0 {
            print!("child: ");
            let echoed = Command::new("echo").arg(i.to_string()).status();
            assert!(echoed.unwrap().success());
        }
        outpace::stdout().write_all(b"bytes, ").unwrap();
        outpace::raw::stdout().write_all(b"raw\n").unwrap();
    }
}

fn everything_that_prints_comes_in_the_programs_order() {
    let mut expected = String::new();
    for i in 0..60 {
        expected += &format!(
            "macro {i}\nstd {i}\nhandle {i}\nstd's stderr {i}\nfragment {i}, stderr {i}\n"
        );
        expected += &format!("typed {i}\n");
        if i % 10 == 0 {
            expected += &format!("child: {i}\n");
        }
        expected += "bytes, raw\n";
    }
    each(|buffering, to| {
        let program = Program::new(in_turns).buffering(buffering);
        let finished = program.stderr_to_stdout().run(to).succeeded();
        assert_same(&finished.stdout, expected.as_bytes());
    });
}

fn with_a_guard() {
    outpace::share();
    for i in 0..30 {
        std::print!("{i}: ");
        let mut out = outpace::stdout().lock();
        for n in 0..30 {
            // A guard inside is none.
            let mut inner = outpace::stdout().lock();
            outpace::write!(inner, "{n} ").unwrap();
            drop(inner);
            out.int(n).char(' ');
        }
        drop(out);
        std::println!("end");
    }
}

fn a_guards_messages_come_when_it_is_dropped() {
    let numbers: String = (0..30).map(|n| format!("{n} {n} ")).collect();
    let expected: String = (0..30).map(|i| format!("{i}: {numbers}end\n")).collect();
    each(|buffering, to| {
        let finished = Program::new(with_a_guard)
            .buffering(buffering)
            .run(to)
            .succeeded();
        assert_same(&finished.stdout, expected.as_bytes());
    });
}

fn unfinished_lines() {
    outpace::share();
    for i in 0..60 {
        std::print!("std {i}, ");
        print!("outpace {i}, ");
        std::print!("std again, ");
        outpace::stdout().lock().str("typed\n");
    }
    std::print!("the end");
}

fn unfinished_lines_of_std_come_before_what_follows_them() {
    let mut expected: String = (0..60)
        .map(|i| format!("std {i}, outpace {i}, std again, typed\n"))
        .collect();
    expected += "the end";
    each(|buffering, to| {
        let program = Program::new(unfinished_lines).buffering(buffering);
        assert_same(&program.run(to).succeeded().stdout, expected.as_bytes());
    });
}

/// After a burst, in which the thread has earned the lock's bias, and inside a guard.
fn shares_late() {
    for i in 0..1000 {
        println!("{i}");
    }
    let mut out = outpace::stdout().lock();
    out.str("before, ");
    outpace::share();
    out.str("inside, ");
    drop(out);
    for i in 0..10 {
        std::println!("std {i}");
        println!("outpace {i}");
    }
    // Another thread's turn.
    let other = || (0..10).for_each(|_| println!("other"));
    std::thread::spawn(other).join().unwrap();
    std::println!("end");
}

fn sharing_begins_while_a_guard_is_held() {
    let mut expected: String = (0..1000).map(|i| format!("{i}\n")).collect();
    expected += "before, inside, ";
    (0..10).for_each(|i| expected += &format!("std {i}\noutpace {i}\n"));
    expected += &"other\n".repeat(10);
    expected += "end\n";
    each(|buffering, to| {
        let program = Program::new(shares_late).buffering(buffering);
        assert_same(&program.run(to).succeeded().stdout, expected.as_bytes());
    });
}

fn with_stds_lock() {
    outpace::share();
    let started = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            started.wait();
            for _ in 0..2000 {
                println!("outpace");
            }
        });
        started.wait();
        for _ in 0..2000 {
            let mut std = std::io::stdout().lock();
            std.write_all(b"std\n").unwrap();
            println!("both");
        }
    });
}

fn a_thread_that_holds_stds_lock_may_print() {
    for buffering in ["prompt", "block", "unbuffered"] {
        let program = Program::new(with_stds_lock).buffering(buffering);
        let output = String::from_utf8(program.run(To::Pipe).succeeded().stdout).unwrap();
        let count = |line| output.lines().filter(|&it| it == line).count();
        assert_eq!(
            (count("std"), count("outpace"), count("both")),
            (2000, 2000, 2000)
        );
    }
}

/// Threads take turns, with a barrier between them, by both ways to print.
fn in_turns_of_threads() {
    outpace::share();
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let barrier = &barrier;
            scope.spawn(move || {
                for turn in 0..400 {
                    if turn % 4 == thread {
                        match turn % 3 {
                            0 => std::println!("{turn}"),
                            _ => println!("{turn}"),
                        }
                    }
                    barrier.wait();
                }
            });
        }
    });
}

fn lines_of_threads_come_in_the_order_in_which_they_were_printed() {
    let expected: String = (0..400).map(|turn| format!("{turn}\n")).collect();
    for buffering in ["prompt", "block"] {
        let program = Program::new(in_turns_of_threads).buffering(buffering);
        assert_same(
            &program.run(To::Pipe).succeeded().stdout,
            expected.as_bytes(),
        );
    }
}

fn counts_writes() {
    outpace::share();
    let before = outpace::stdout().stats().write_calls;
    let mut out = outpace::stdout().lock();
    for i in 0..10_000 {
        out.int(i).char('\n');
    }
    drop(out);
    let stats = outpace::stdout().stats();
    std::eprint!("{} {}", stats.bytes_queued, stats.write_calls - before);
}

fn a_guard_costs_few_system_calls() {
    for buffering in ["block", "prompt"] {
        let finished = Program::new(counts_writes)
            .buffering(buffering)
            .run(To::File);
        let (queued, writes) = finished.stderr.split_once(' ').unwrap();
        assert_eq!(queued, "0");
        // 48,890 bytes: the early messages one by one, the rest by the buffer; with `Prompt` the helper may write, too.
        assert!(writes.parse::<u32>().unwrap() < 200, "{writes}");
    }
}

fn counts_threads() {
    outpace::share();
    for i in 0..1000 {
        println!("{i}");
    }
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    std::eprint!("{threads}");
}

fn a_shared_prompt_starts_no_thread_for_statements() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let finished = Program::new(counts_threads)
        .buffering("prompt")
        .run(To::Pipe);
    assert_eq!(finished.stderr, "1");
}

fn holds_a_guard() {
    outpace::share();
    let mut out = outpace::stdout().lock();
    for i in 0..100 {
        out.int(i).char('\n');
    }
    crate::support::wait_to_go_on();
}

fn what_a_guard_holds_back_still_appears_within_the_delay() {
    let mut running = Program::new(holds_a_guard)
        .buffering("prompt")
        .start(To::Pipe);
    running.stdout().wait_for("98\n99\n");
    running.go_on();
    running.finish().succeeded();
}

/// As a program whose `println!` was std's once, and whose handle of standard output still is.
fn mixes() {
    for i in 0..5 {
        let mut std = std::io::stdout();
        // More and less than std's handle keeps.
        for length in [10, 3000] {
            write!(std, "{i}:{:.<length$}", "").unwrap();
        }
        println!();
        write!(std, "{i}, ").unwrap();
        println!("macro {}", i);
        std::println!("std {i}");
    }
}

fn what_std_has_buffered_comes_before_a_macros_message() {
    let expected: String = (0..5)
        .map(|i| {
            format!(
                "{i}:{:.<10}{i}:{:.<3000}\n{i}, macro {i}\nstd {i}\n",
                "", ""
            )
        })
        .collect();
    for buffering in ["unbuffered", "line", "prompt", "prompt:60s"] {
        for to in [To::Pipe, To::Terminal, To::File] {
            let finished = Program::new(mixes).buffering(buffering).run(to).succeeded();
            assert_same(&finished.stdout, expected.as_bytes());
        }
    }
    // By default, whose delay in a file is longer.
    let finished = Program::new(mixes).run(To::File).succeeded();
    assert_same(&finished.stdout, expected.as_bytes());
}

fn prints_past_stds_lock() {
    outpace::stdout().set_buffering(Buffering::background(1 << 20));
    let std = std::io::stdout().lock();
    let print = || println!("printed");
    std::thread::spawn(print).join().unwrap();
    drop(std);
}

fn a_background_stream_does_not_wait_for_stds_lock() {
    let finished = Program::new(prints_past_stds_lock)
        .run(To::Pipe)
        .succeeded();
    assert_eq!(finished.stdout, b"printed\n");
}

fn shares_in_the_background() {
    outpace::stdout().set_buffering(Buffering::background(1 << 20));
    outpace::share();
    fill_the_pipe();
    for i in 0..100 {
        println!("{i}");
    }
    std::eprint!("went on");
    std::process::abort();
}

fn a_shared_background_stream_does_not_wait_for_its_reader() {
    let (running, reader) = Program::new(shares_in_the_background).start_unread();
    running.stderr.wait_for("went on");
    reader.resume();
    reader.all();
}
