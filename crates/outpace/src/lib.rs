//! Output that does not slow the program down.
//!
//! ```
//! use std::io::Write;
//!
//! let mut out = outpace::stdout();
//! for i in 0..100_000 {
//!     writeln!(out, "line {i}")?;   // no system call, and yet on the screen within 4 ms
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Before you switch
//!
//! With the macros imported, a program prints the same bytes as before, but not at the same moment: in a burst a
//! message is written up to 4 ms (into a file 100 ms) after the call. That makes no difference where only outpace
//! prints. It does where other code writes to the same terminal, pipe or file:
//!
//! | the program | without care | what to do |
//! |---|---|---|
//! | draws progress bars (`indicatif`) | a bar is drawn at once, and the line that belongs above it comes later: stale bars | [`share()`] |
//! | has dependencies that print by std | their lines overtake | [`share()`] |
//! | writes to `std::io::stdout()`, too | outside of bursts the order holds: the first 12 messages of the macros, and one after a pause, flush std's handle and are written at once. In a burst std's output overtakes | [`stdout()`] in its place, or [`share()`] |
//! | flushes or locks `std::io::stdout()`: after a prompt, or around several lines | std's handle has none of the macros' output: under `Line` and `Block` the prompt is not shown, and other threads' lines come between | [`stdout()`] in its place, or [`share()`] |
//! | prints by C's stdio, too | its lines overtake | [`share()`], and `fflush` after them |
//! | starts children that print | their output comes first | [`flush_first`](CommandExt::flush_first), or [`share()`] |
//! | redirects or closes descriptor 1 (`dup2`, `gag`) | pending output goes to the new place, or is lost | [`flush`](Stdout::flush) before and [`redetect`](Stdout::redetect) after, or [`share()`] |
//! | enters raw mode (`crossterm`, `rpassword`, `tcsetattr`) | pending lines come out without carriage returns: even `TCSADRAIN` waits only for bytes that the kernel has | [`flush`](Stdout::flush) before, or [`share()`] |
//! | has tests that look at output | under `cfg(test)` the macros print by std's, so libtest captures them. A library that an integration test uses is not under `cfg(test)`: its lines are not captured | [`capture`](capture()) |
//! | prints to standard error, too, and one reader takes both by two pipes (containers, CI) | standard error overtakes; in the same terminal, pipe or file the order holds | [`share()`] |
//! | is stopped (SIGSTOP, Ctrl-Z, a debugger) right after it has printed | the last 4 ms (in a file 100 ms) are there when it continues | [`flush`](Stdout::flush) before, or [`share()`] |
//! | changes its namespaces (`unshare`, `setns`) or the rights of one thread (landlock) | after a burst there is a helper thread: the kernel refuses what is for processes of one thread, and the helper keeps its rights | do that before it prints, or choose `Line` |
//! | asks whether it has one thread: the crate `time` before 0.3.37 for local time, Python's `os.fork`, sanitizers of threads | after a burst it has two: `time` gives no local time, Python warns | do that before it prints, or choose `Line` |
//! | is a library of a program in another language, which may end without C's `exit` (Go always does, Ruby by `exit!`) | pending output is lost | [`share()`] in the library's first call |
//! | has a second copy or version of outpace, by a dependency or a plugin | each has its own streams: their lines overtake, and at a signal only the copy drains whose [`init()`] came first | [`share()`] in each |
//! | is ended by Ctrl-C or another signal, or by a panic under `panic = "abort"` | pending output is lost: the last 4 ms, or in a file 100 ms | [`init()`]; where the program has reset SIGPIPE (`SIG_DFL`) and that comes from another pipe, [`share()`] |
//! | is ended by `_exit`, `abort` or SIGKILL | the same | [`flush`](Stdout::flush) before `_exit`, [`fatal_faults`](init::fatal_faults) for `abort`; see [`endings`] |
//!
//! [`share()`] suits all of these programs: when a statement ends, the kernel has its output. A statement then costs as
//! much as std's `println!`; guards stay as fast as they are.
//!
//! # One model
//!
//! A stream is a queue of bytes with a drain. [`Buffering`] says when the drain runs, and on whose thread:
//!
//! | [`Buffering`] | which thread drains, and when |
//! |---|---|
//! | `Unbuffered` | the caller, every message: one system call, however many fragments it has |
//! | `Line` | the caller, at the last newline of a message |
//! | `Block` | the caller, when the buffer is full |
//! | `Prompt` | the caller when it is full; a helper thread `max_delay` (4 ms, in a regular file 100 ms) after the oldest byte |
//! | `Background` | a helper thread only; the caller waits only while the queue is full |
//!
//! Standard output is `Prompt`, in a regular file with a `max_delay` of 100 ms; it is `Line` where a write is a message or
//! a command: datagram sockets, devices, files of `/proc` and `/sys`. Standard error is `Unbuffered`. A *message* is what
//! one `write!`, `write_all` or chain of typed calls adds. Messages of different threads are never interleaved, and those
//! of one thread stay in order.
//!
//! # `Prompt`
//!
//! Line buffering is slow; block buffering hides output and loses it. `Prompt` promises:
//!
//! 1. Every byte is offered to the kernel within `max_delay` of the call that wrote it, as soon as the bytes
//!    before it have been accepted: even if the program then sleeps, computes, blocks, or holds a guard for
//!    hours; newline or not. Where other work takes all processors, the helper thread waits for one like any other thread.
//! 2. Small programs pay nothing. A message after a pause is written at once by its caller, and so are the
//!    first 12 of a stream: a program of at most 12 messages makes at most one write a message, and starts
//!    no thread (but for a line that it leaves [unfinished](#several-processes-one-output) on a pipe or in a file).
//! 3. Bursts are free. In a burst a message costs no system call, no atomic read-modify-write and no clock
//!    reading.
//!
//! # Several processes, one output
//!
//! Under `make -j`, `xargs -P` or a test runner, a line of at most `PIPE_BUF` bytes (4,096 on Linux, 512 on other
//! systems) arrives whole, whatever other processes write to the same pipe, terminal or file, by std or by outpace. So
//! writes end where lines end, and writes to a pipe have at most `PIPE_BUF` bytes, because the kernel may tear longer
//! ones.
//!
//! An unfinished line, such as a `print!` that a later `println!` completes, waits in the buffer for its end. It is
//! written unfinished
//!
//! - within `max_delay` under `Prompt`, and after at most 8 ms under `Background`. While its thread gets no processor,
//!   because other processes use them all, the line waits longer, a second at most;
//! - at once on a terminal or socket, if it comes after a pause or among the first 12 messages: it may be a question, or
//!   the end of an answer. A line that is printed in pieces there may be torn by another process;
//! - by [`flush`](Stdout::flush), at exit, before a `fork`, before a message to standard error if that is the same
//!   file, before [`input`] waits, and by each statement under [`share()`];
//! - when it is longer than 4,096 bytes, or than the buffer.
//!
//! A longer line is written by itself: it may be torn, its neighbours are not. `Unbuffered` writes each message at
//! once, whatever it ends with. `Block` on a pipe, which is never the default, writes blocks of its capacity that end
//! where lines end: faster, but torn where the pipe has no room for a whole block. A local socket (`AF_UNIX`) takes
//! lines whole, too; TCP does not promise that to any program.
//!
//! # Choosing
//!
//! In this order: [`set_buffering`](Stdout::set_buffering) in code; the environment variables
//! `OUTPACE_STDOUT` and `OUTPACE_STDERR` (`unbuffered`, `line`, `block[:64KiB]`, `prompt[:4ms]`,
//! `background[:16MiB]`); what `stdbuf` set, so that `stdbuf -oL program` works;
//! [`set_default_buffering`](Stdout::set_default_buffering) in code; the default. A program that runs with more rights than
//! its caller (set-user-ID, set-group-ID, capabilities of its file) ignores the environment. A capacity that was not chosen
//! follows the destination: half of a pipe's capacity (a chunk as large as the pipe makes writer and reader
//! take turns), at most 64 KiB, 256 KiB for a file, 64 KiB for everything else. The destination is asked once;
//! [`redetect`](Stdout::redetect) asks again, after a `dup2`.
//!
//! # What else prints
//!
//! Standard error first drains what standard output has pending when both are the same terminal, pipe or file, so that
//! they appear in program order. It waits for the reader, which its own message needs, too, unless standard output is
//! `Background`. Output that bypasses outpace does not wait for it: before you print through std's handles or C's
//! stdio, enter raw mode, or start a child that inherits the descriptor, call [`flush`](Stdout::flush). For children
//! there is [`flush_first`](CommandExt::flush_first), and [`Stdio::from(outpace::stdout())`](std::process::Stdio)
//! flushes, too. [`share()`] does all of it, at each statement's end. For raw mode by `crossterm` that is:
//!
//! ```no_run
//! # fn enable_raw_mode() -> std::io::Result<()> { Ok(()) }
//! # fn main() -> std::io::Result<()> {
//! outpace::println!("Press a key.");
//! outpace::stdout().flush()?;
//! enable_raw_mode()?;
//! # Ok(())
//! # }
//! ```
//!
//! outpace sees neither the writes of std's handles nor the bytes in their buffers: only a system call for each
//! statement keeps the order with them. It does not see children either: std starts them without the handlers of `fork`.
//!
//! A thread that holds a guard may print through other handles. Such a message is queued behind the guard's finished
//! messages; it does not wait for the guard's current one.
//!
//! # Input
//!
//! [`input`] reads tokens, numbers and lines just as fast, and drains standard output before the program waits for an
//! answer.
//!
//! # Loggers
//!
//! A stream is a [`Write`](std::io::Write), and a record a message. For `tracing-subscriber` it takes one line:
//!
//! ```
//! tracing_subscriber::fmt().with_writer(outpace::stdout).init();
//! ```
//!
//! The feature `tracing` makes any [`Stream`] such a writer. `env_logger` and the drains of `slog-term` flush
//! after each record: give them [`Unflushed`]`(stdout())`. With [`Buffering::Background`] a record does
//! not wait, however slow the terminal or the log's reader is; [`Overflow`] says what happens when the queue is full. The examples
//! `tracing`, `env_logger`, `slog` and `tokio_server` run, and so does `http_server` of the crate outpace-cli.
//!
//! # Colours
//!
//! Bytes are passed on unchanged. Whether to send colours depends on the terminal and the environment: every handle and
//! guard has [`is_terminal`](Stdout::is_terminal), and the example `color` puts `anstream`, which knows `NO_COLOR` and
//! the like, in front of a guard.
//!
//! # Tasks
//!
//! A `println!` in a task does not wait where standard output is [`Background`](Buffering::Background) (and drops or
//! spills), so it needs no adapter. With the feature `tokio`, `outpace::tokio::AsyncWriter` is an `AsyncWrite` whose
//! `poll_write` is pending while the queue is full, and which loses no output when the program ends.
//!
//! # The end
//!
//! At `exit`, and on return from `main`, every stream drains for as long as its reader lives. A guard that is held or
//! leaked is not waited for. A write error that was not returned to a caller is reported on standard error, and the
//! exit status becomes 1 if it was 0. If standard output's reader has gone, the process ends as SIGPIPE would end it,
//! quietly. A `fork` first writes everything that was printed before it, and waits for the reader as std's `print!`
//! would have (for a stalled reader, [`exit_timeout`](Stdout::exit_timeout) at most). So no output is lost if the
//! parent then calls `_exit`, as in `daemon(3)`, and none is doubled. The parent writes the rest after that time.
//! `_Fork`, raw `clone` and printing from signal handlers are not supported. A print takes up to 5 KiB of stack, without
//! optimisation 8 KiB, where std's takes half a KiB: coroutines need so much. If a global allocator prints while it is
//! called by a stream's own work, that message is written at once, past pending ones. With [`init()`], panics and
//! signals lose no output, either. [`endings`] lists what arrives, however the process ends.
//!
//! [`sandboxes`] lists the system calls that printing needs, which a sandbox has to allow.
//!
//! A shared object that has printed stays in memory when its host unloads it, so that its lines arrive; see the example
//! `plugin`.
//!
//! A write error other than a full pipe or an interrupted call makes the stream fail: the bytes that arrived are an
//! exact prefix, no more are written, and every call returns the error until
//! [`clear_error`](Stdout::clear_error). A macro of the `println!` family panics with it, as std's does, and clears it: the next
//! message is tried again.
//!
//! # Platforms
//!
//! Linux is where it is measured. Elsewhere:
//!
//! | | Linux | other Unix | elsewhere |
//! |---|---|---|---|
//! | every policy, and `Prompt`'s first two promises | yes | yes | yes |
//! | lines of several processes are whole | yes | yes, of up to 512 bytes on pipes | writes end where lines do |
//! | an unfinished line waits for a thread without a processor | yes | no | no |
//! | a guard without an atomic read-modify-write | yes | no | no |
//! | capacity by the pipe's | yes | no | no |
//! | care around `fork` | yes | yes | – |
//! | a plugin that has printed may be unloaded | yes | no | – |
//! | a panic or a closed pipe does not wait for a stuck reader | yes | yes | no |
//! | signals, closed pipes and faults in [`init`](mod@init) | yes | yes | – |
//! | standard output and error known to be the same file | yes | yes | if both are terminals |
//! | a descriptor that another process made non-blocking | yes | yes | no |
//! | bytes given up after a failed write stay lost | yes | yes | std may still write them |
//! | a helper thread that receives no signals but those of its own writes (SIGXFSZ, SIGTTOU) | yes | yes | – |
//! | exit status 1 for an unreported error keeps C's own flushing | with glibc | no | no |

// A function that is `extern "C"` or `extern "C-unwind"` returns an answer in registers. The first also tells the compiler
// that it does not unwind.
#![allow(improper_ctypes_definitions)]
// Under the model checker only the modules that tests/loom takes in are compiled.
#![cfg(not(loom))]

mod api;
pub mod input;
mod stream;
mod sync;
mod sys;
pub mod text;

pub use api::capture::{Captured, capture};
pub use api::command::CommandExt;
pub use api::endings;
#[doc(hidden)]
pub use api::ffi;
pub use api::guard::Guard;
pub use api::handles::{Stderr, Stdout, Stream, stderr, stdout};
pub use api::init::{self, init};
pub use api::message::{Message, Reserved};
pub use api::raw;
pub use api::sandboxes;
pub use api::share::share;
#[cfg(feature = "tokio")]
pub use api::tokio;
#[cfg(feature = "tracing")]
pub use api::tracing;
pub use api::unflushed::Unflushed;
pub use stream::buffering::{Buffering, Overflow, ParseBufferingError};
pub use stream::gap::{Gap, GapMarker};
pub use stream::state::BrokenPipe;
pub use stream::stats::Stats;

/// The functions that the macros' expansions call. Not a public interface: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::api::capture::{
        eprint_in_test, eprintln_in_test, print_in_test, println_in_test,
    };
    pub use crate::api::print::{
        eprint, eprint_literal, format, format_literal, must_use, print, print_debug1,
        print_literal, print_long_literal, print1, print2, print3, print4,
    };
    pub use crate::api::write::{Opaque, write_target};
    pub use crate::text::dispatch::{
        binary_as, debug, debug_as, display, display_as, display_simple, formatted, if_debug,
        if_display, left_to_std, lower_exp_as, lower_hex_as, octal_as, pretty, upper_hex_as,
    };
    pub use crate::text::message::{Literal, MessageArgs, SmallMessage};
    pub use crate::text::spec::PackedSpec;
    pub use crate::text::value::value;
    pub use core::format_args;
    pub use outpace_macros as macros;
    pub use std;
}
