//! The panic hook of `init()`.

use crate::support::{Program, To, fill_the_pipe, list};

list! {
    portable: [
        what_was_printed_comes_before_the_panic_message,
        the_hook_that_was_there_before_is_called_once,
        init_in_a_panicking_thread_does_nothing,
    ],
    native: [a_panic_does_not_wait_for_a_stuck_reader],
    programs: [panic_late, panic_with_a_hook, panic_when_stuck, init_while_panicking],
}

fn panic_late() {
    outpace::init();
    outpace::init();
    for i in 0..100 {
        writeln!(outpace::stdout(), "{i}").unwrap();
    }
    write!(outpace::stdout(), "before").unwrap();
    panic!("with a reason");
}

fn what_was_printed_comes_before_the_panic_message() {
    for buffering in ["unbuffered", "line", "block", "prompt:60s", "background"] {
        for to in [To::Pipe, To::Terminal, To::File] {
            let program = Program::new(panic_late)
                .buffering(buffering)
                .stderr_to_stdout();
            let finished = program.env("RUST_BACKTRACE", "0").run(to);
            let text = String::from_utf8(finished.stdout).unwrap();
            assert!(text.starts_with("0\n1\n"), "{text}");
            let (_, after) = text.split_once("99\nbefore\nthread 'main' ").unwrap();
            assert_eq!(after.matches("with a reason").count(), 1, "{text}");
        }
    }
}

fn panic_with_a_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let queued = outpace::stdout().stats().bytes_queued;
        eprint!(
            "{queued} queued, {}",
            panic.payload().downcast_ref::<&str>().unwrap()
        );
    }));
    outpace::init::panic_hook();
    outpace::init();
    write!(outpace::stdout(), "before").unwrap();
    panic!("for the hook");
}

fn the_hook_that_was_there_before_is_called_once() {
    let finished = Program::new(panic_with_a_hook)
        .buffering("block")
        .run(To::Pipe);
    assert_eq!(finished.stdout, b"before");
    assert_eq!(finished.stderr, "0 queued, for the hook");
}

/// Under which something may be pending while a pipe is full.
pub(crate) const POLICIES: [&str; 4] = ["unbuffered", "block", "prompt", "background:100000"];

fn panic_when_stuck() {
    outpace::init();
    fill_the_pipe();
    let _ = std::panic::catch_unwind(|| panic!("with a reason"));
    eprint!("went on");
    outpace::stdout().flush().unwrap();
}

fn a_panic_does_not_wait_for_a_stuck_reader() {
    for buffering in POLICIES {
        let (running, reader) = Program::new(panic_when_stuck)
            .buffering(buffering)
            .start_unread();
        running.stderr.wait_for("went on");
        reader.resume();
        assert_eq!(running.finish().code(), 0);
    }
}

fn init_while_panicking() {
    struct Drops;
    impl Drop for Drops {
        fn drop(&mut self) {
            outpace::init();
            write!(outpace::stdout(), "dropped").unwrap();
        }
    }
    let _drops = Drops;
    panic!("with a reason");
}

fn init_in_a_panicking_thread_does_nothing() {
    let finished = Program::new(init_while_panicking).run(To::Pipe);
    assert_eq!((finished.code(), &*finished.stdout), (101, &b"dropped"[..]));
}
