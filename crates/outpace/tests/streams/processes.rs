//! Several processes on one pipe, terminal or file, some of them std's: every line of at most `PIPE_BUF` bytes is whole.
//!
//! The soak, with a reader that is late, on a machine with time to spare:
//!
//! ```sh
//! OUTPACE_PROCESSES_LINES=1250000 cargo test --release -p outpace --test streams -- processes --test-threads 1
//! ```

use crate::macros::ours;
use crate::support::{
    Program, Terminal, events, list, pipe, temporary_file, wait_to_go_on, wait_until,
};
use outpace::{Buffering, Overflow};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Child;
use std::thread;

list! {
    portable: [
        lines_of_several_processes_are_whole_on_a_pipe,
        lines_of_several_processes_are_whole_on_a_terminal,
        lines_of_several_processes_are_whole_in_a_file,
        lines_of_short_programs_are_whole_on_a_pipe,
        lines_of_short_programs_are_whole_on_a_terminal,
        lines_of_short_programs_are_whole_in_a_file,
        neighbours_of_a_long_line_are_whole,
    ],
    native: [
        lines_of_several_processes_are_whole_on_a_socket,
        lines_of_queues_that_drop_or_spill_are_whole,
        an_unfinished_line_waits_for_its_end_on_a_pipe,
        an_unfinished_line_waits_for_a_thread_without_a_processor,
        an_unfinished_line_appears_at_once_on_a_terminal,
        an_unfinished_line_appears_at_once_on_a_socket,
        a_flush_writes_an_unfinished_line,
        a_full_buffer_is_written_up_to_its_last_newline,
        a_message_larger_than_the_buffer_ends_the_line_before_it,
    ],
    programs: [
        lines, queued_lines, long_lines, unfinished, unfinished_at_once, flushed, pieces, large_message,
        starved,
    ],
}

/// Not in order while a helper drains the one as the other is written to.
const STDOUT_AND_STDERR: &str = "outpace stdout, stderr";

/// How a process writes a line.
type Way = (&'static str, fn(&str));

const WAYS: [Way; 8] = [
    ("outpace println", |line| ours!(println "{line}")),
    ("std println", |line| println!("{line}")),
    ("outpace print, println", |line| {
        let (first, rest) = line.split_at(line.len() / 2);
        ours!(print "{first}");
        ours!(println "{rest}");
    }),
    ("std print, println", |line| {
        let (first, rest) = line.split_at(line.len() / 2);
        print!("{first}");
        println!("{rest}");
    }),
    ("outpace guard", |line| {
        let (first, rest) = line.split_at(line.len() / 3);
        let mut out = outpace::stdout().lock();
        out.str(first).str(rest);
        out.char('\n');
    }),
    ("std writeln", |line| {
        writeln!(std::io::stdout().lock(), "{line}").unwrap();
    }),
    (STDOUT_AND_STDERR, |line| {
        if line.len().is_multiple_of(2) {
            ours!(println "{line}");
        } else {
            ours!(eprintln "{line}");
        }
    }),
    ("std write_all", |line| {
        std::io::stdout()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }),
];

/// How the process `id` writes, unless it is another of the same kind.
fn way_of(id: usize) -> &'static str {
    WAYS[id % WAYS.len()].0
}

/// The same, where a line in pieces may be torn: on a terminal or socket its beginning appears at once, as a question; elsewhere a
/// thread without a processor is given time to finish it only where its state can be learnt.
fn whole_way_of(id: usize) -> &'static str {
    match way_of(id) {
        "outpace print, println" | "outpace guard" => "outpace println",
        way => way,
    }
}

/// The `n`th line of the process `id`: mostly short, and at most `PIPE_BUF` bytes with its newline.
fn line(id: usize, n: usize) -> String {
    let choice = (n.wrapping_mul(2_654_435_761) >> 7) + id * 31;
    let width = match choice % 200 {
        0 => 3900 + choice / 200 % 180,
        1..=9 => choice / 200 % 1500,
        _ => choice / 200 % 90,
    };
    let width = width.min(largest(id) - 25);
    let fill = b'a' + ((id + n) % 26) as u8;
    let fill = char::from(fill).to_string().repeat(width);
    format!("{id} {n} {width} {fill}.")
}

/// The longest line with its newline that is kept together. Under std's macros it is what its buffer has room for.
fn largest(id: usize) -> usize {
    match () {
        () if id % 2 == 1 => 1000,
        () if cfg!(target_os = "linux") => 4096,
        () => 512,
    }
}

/// Prints lines: their number is the second argument, the way the third.
fn lines() {
    let arguments: Vec<String> = std::env::args().collect();
    let (id, count) = (arguments[1].parse().unwrap(), arguments[2].parse().unwrap());
    let (_, write) = WAYS.iter().find(|(name, _)| *name == arguments[3]).unwrap();
    for n in 0..count {
        write(&line(id, n));
    }
}

/// How many lines each process writes.
fn count() -> usize {
    std::env::var("OUTPACE_PROCESSES_LINES").map_or(3000, |lines| lines.parse().expect("a number"))
}

fn start(id: usize, count: usize, way: &str, stdout: &OwnedFd, buffering: Option<&str>) -> Child {
    let mut program = Program::new(lines)
        .argument(id)
        .argument(count)
        .argument(way);
    if let Some(buffering) = buffering {
        program = program.buffering(buffering);
    }
    program.spawn_on(stdout)
}

/// Checks lines as they arrive.
#[derive(Default)]
struct Checker {
    /// The beginning of a line.
    rest: Vec<u8>,
    /// The number of the next line of each process.
    next: Vec<usize>,
    torn: Vec<String>,
    lines: usize,
}

impl Checker {
    fn take(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while let Some(newline) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = bytes.split_at(newline);
            bytes = &rest[1..];
            self.rest.extend_from_slice(line);
            let whole = std::mem::take(&mut self.rest);
            self.check(&whole);
        }
        self.rest.extend_from_slice(bytes);
    }

    fn check(&mut self, found: &[u8]) {
        self.lines += 1;
        // The terminal makes two of a newline.
        let found = found.strip_suffix(b"\r").unwrap_or(found);
        let text = String::from_utf8_lossy(found);
        let mut fields = text.split(' ').map(|field| field.parse::<usize>().ok());
        let whole = match (fields.next().flatten(), fields.next().flatten()) {
            (Some(id), Some(n)) if id < 1000 => {
                if self.next.len() <= id {
                    self.next.resize(id + 1, 0);
                }
                let in_order = self.next[id] == n || way_of(id) == STDOUT_AND_STDERR;
                self.next[id] += 1;
                in_order && text == line(id, n)
            }
            _ => false,
        };
        if !whole {
            self.torn.push(crate::support::show(found));
        }
    }

    #[track_caller]
    fn finish(self, processes: usize, count: usize) {
        let (torn, lines) = (self.torn.len(), self.lines);
        let first = self.torn.iter().take(5).collect::<Vec<_>>();
        assert!(torn == 0, "{torn} of {lines} lines are torn: {first:#?}");
        assert_eq!(self.rest, b"");
        assert_eq!(self.next, vec![count; processes]);
    }
}

/// Reads to the end and checks, after `is_late` has let it begin.
fn check_all(
    mut from: File,
    is_late: impl FnOnce() + Send + 'static,
) -> thread::JoinHandle<Checker> {
    thread::spawn(move || {
        is_late();
        let mut checker = Checker::default();
        let mut buffer = vec![0; 1 << 16];
        // A terminal whose other end is closed says so with EIO.
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            checker.take(&buffer[..read]);
        }
        checker
    })
}

fn wait_for(children: impl IntoIterator<Item = Child>) {
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

/// [`way_of`] where lines in pieces are kept together as well.
const OFF_TERMINAL: fn(usize) -> &'static str =
    if cfg!(all(target_os = "linux", not(outpace_portable))) {
        way_of
    } else {
        whole_way_of
    };

/// The lines of eight processes, half of them std's.
fn share(
    stdout: &OwnedFd,
    buffering: Option<&str>,
    way_of: fn(usize) -> &'static str,
) -> Vec<Child> {
    let ids = 0..WAYS.len();
    ids.map(|id| start(id, count(), way_of(id), stdout, buffering))
        .collect()
}

/// Until the reader has to be awaited.
fn until_full(stdout: &OwnedFd) -> impl FnOnce() + Send + 'static {
    let stdout = stdout.try_clone().unwrap();
    move || {
        wait_until("it is full", || {
            events(stdout.as_raw_fd(), libc::POLLOUT) == 0
        })
    }
}

const POLICIES: [Option<&str>; 4] = [None, Some("line"), Some("prompt:1ms"), Some("background")];

fn lines_of_several_processes_are_whole_on_a_pipe() {
    for buffering in POLICIES {
        let (read, write) = pipe(0);
        let checker = check_all(read, until_full(&write));
        let children = share(&write, buffering, OFF_TERMINAL);
        drop(write);
        wait_for(children);
        checker.join().unwrap().finish(WAYS.len(), count());
    }
}

/// A terminal as users have it: with newlines that become two characters.
fn cooked_terminal() -> Terminal {
    let terminal = Terminal::open();
    #[allow(unsafe_code)]
    // SAFETY: the attributes are initialised by `tcgetattr`.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::tcgetattr(terminal.slave.as_raw_fd(), &mut attributes);
        attributes.c_oflag |= libc::OPOST | libc::ONLCR;
        libc::tcsetattr(terminal.slave.as_raw_fd(), libc::TCSANOW, &attributes);
    }
    terminal
}

fn lines_of_several_processes_are_whole_on_a_terminal() {
    for buffering in POLICIES {
        let Terminal { master, slave } = cooked_terminal();
        let checker = check_all(master, || ());
        let children = share(&slave, buffering, whole_way_of);
        drop(slave);
        wait_for(children);
        checker.join().unwrap().finish(WAYS.len(), count());
    }
}

fn lines_of_several_processes_are_whole_on_a_socket() {
    for buffering in POLICIES {
        let (read, write) = std::os::unix::net::UnixStream::pair().unwrap();
        let write = OwnedFd::from(write);
        let checker = check_all(OwnedFd::from(read).into(), || ());
        let children = share(&write, buffering, whole_way_of);
        drop(write);
        wait_for(children);
        checker.join().unwrap().finish(WAYS.len(), count());
    }
}

/// A file to which every write is appended.
fn appended_file() -> (File, OwnedFd) {
    let file = temporary_file();
    #[allow(unsafe_code)]
    // SAFETY: plain calls on an open descriptor.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        assert_eq!(
            libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_APPEND),
            0
        );
    }
    let copy = file.try_clone().unwrap();
    (file, copy.into())
}

#[track_caller]
fn check_file(mut file: File, processes: usize, count: usize) {
    file.rewind().unwrap();
    let checker = check_all(file, || ());
    checker.join().unwrap().finish(processes, count);
}

fn lines_of_several_processes_are_whole_in_a_file() {
    for buffering in [None, Some("block:8KiB")].into_iter().chain(POLICIES) {
        let (file, stdout) = appended_file();
        wait_for(share(&stdout, buffering, OFF_TERMINAL));
        check_file(file, WAYS.len(), count());
    }
}

/// Many programs that print a few lines each, two at a time, as `xargs -P 2` starts them.
fn short_programs(stdout: &OwnedFd, way_of: fn(usize) -> &'static str) -> (usize, usize) {
    let (programs, count) = ((count() / 20).clamp(64, 960), 17);
    let mut running = std::collections::VecDeque::new();
    for id in 0..programs {
        if running.len() == 2 {
            wait_for(running.pop_front());
        }
        running.push_back(start(id, count, way_of(id), stdout, None));
    }
    wait_for(running);
    (programs, count)
}

fn lines_of_short_programs_are_whole_on_a_pipe() {
    let (read, write) = pipe(0);
    let checker = check_all(read, || ());
    let (programs, count) = short_programs(&write, OFF_TERMINAL);
    drop(write);
    checker.join().unwrap().finish(programs, count);
}

fn lines_of_short_programs_are_whole_on_a_terminal() {
    let Terminal { master, slave } = cooked_terminal();
    let checker = check_all(master, || ());
    let (programs, count) = short_programs(&slave, whole_way_of);
    drop(slave);
    checker.join().unwrap().finish(programs, count);
}

fn lines_of_short_programs_are_whole_in_a_file() {
    let (file, stdout) = appended_file();
    let (programs, count) = short_programs(&stdout, OFF_TERMINAL);
    check_file(file, programs, count);
}

/// In pieces, where none can be dropped.
fn queued_lines() {
    let arguments: Vec<String> = std::env::args().collect();
    let (id, count): (usize, usize) =
        (arguments[1].parse().unwrap(), arguments[2].parse().unwrap());
    let directory = env!("CARGO_TARGET_TMPDIR").into();
    let overflow = match id % 4 {
        0 => Overflow::Block,
        1 => Overflow::DropOldest,
        2 => Overflow::DropNewest,
        _ => Overflow::Spill {
            directory,
            limit: 1 << 30,
        },
    };
    let drops = matches!(overflow, Overflow::DropOldest | Overflow::DropNewest);
    outpace::stdout().set_buffering(Buffering::Background {
        capacity: 20_000,
        overflow,
    });
    for n in 0..count {
        let line = line(id, n);
        if drops {
            ours!(println "{line}");
        } else {
            let (first, rest) = line.split_at(line.len() / 2);
            ours!(print "{first}");
            ours!(println "{rest}");
        }
    }
}

fn lines_of_queues_that_drop_or_spill_are_whole() {
    let count = count();
    let (read, write) = pipe(0);
    let late = until_full(&write);
    let reader = thread::spawn(move || {
        late();
        let (mut read, mut bytes) = (read, Vec::new());
        read.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let program = |id: usize| {
        let program = Program::new(queued_lines).argument(id).argument(count);
        program.spawn_on(&write)
    };
    let children: Vec<_> = (0..8).map(program).collect();
    drop(write);
    wait_for(children);
    let text = String::from_utf8(reader.join().unwrap()).unwrap();
    let mut arrived = [0; 8];
    for found in text.lines().filter(|line| !line.starts_with("[outpace: ")) {
        let mut numbers = found.split(' ').map(|field| field.parse::<usize>().ok());
        let (id, n) = (numbers.next().flatten(), numbers.next().flatten());
        let whole = id
            .zip(n)
            .is_some_and(|(id, n)| id < 8 && found == line(id, n));
        assert!(whole, "torn: {}", crate::support::show(found.as_bytes()));
        arrived[id.unwrap()] += 1;
    }
    for (id, arrived) in arrived.into_iter().enumerate() {
        assert!(
            arrived == count || id % 4 == 1 || id % 4 == 2,
            "{arrived} of {id}"
        );
    }
}

/// Short lines, and now and then one that is longer than what is kept together.
fn long_lines() {
    for n in 0..2000 {
        ours!(println "{}", line(0, n));
        if n % 50 == 0 {
            ours!(println "{}", "#".repeat(5000 + n));
        }
    }
}

fn neighbours_of_a_long_line_are_whole() {
    let (read, write) = pipe(0);
    let other = start(1, 2000, "std println", &write, None);
    let reader = thread::spawn(move || {
        let (mut read, mut bytes) = (read, Vec::new());
        read.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let long = Program::new(long_lines).spawn_on(&write);
    drop(write);
    wait_for([long, other]);
    let bytes = reader.join().unwrap();
    let mut checker = Checker::default();
    // The others' lines may be put into a long one, and are whole.
    let text: Vec<u8> = bytes.into_iter().filter(|&byte| byte != b'#').collect();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line != b"\n" {
            checker.take(line);
        }
    }
    checker.finish(2, 2000);
}

fn unfinished() {
    for i in 0..3 {
        ours!(print "first {i}, ");
        ours!(print "second {i}, ");
        ours!(println "third {i}");
    }
    ours!(print "the end is ");
    ours!(println "nigh");
    ours!(print "and has no newline");
}

fn an_unfinished_line_waits_for_its_end_on_a_pipe() {
    for buffering in ["prompt:60s", "line", "block"] {
        let running = Program::new(unfinished)
            .buffering(buffering)
            .start(crate::support::To::Packets);
        let writes = running.stdout().reads();
        // By other policies all of it may be written together, at exit.
        assert!(writes.len() > 1 || buffering != "line", "{writes:?}");
        for write in &writes[..writes.len() - 1] {
            assert!(write.ends_with(b"\n"), "{buffering}: {writes:?}");
        }
        let finished = running.finish().succeeded();
        assert!(finished.stdout.ends_with(b"nigh\nand has no newline"));
    }
}

/// A thread that stands still in the middle of each line, because others have the only processor.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn starved() {
    // With these the helper begins.
    ours!(print "before ");
    ours!(println "it starves");
    // SAFETY: the call reads what it is given here; the set is valid when it is all zeros.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one);
    }
    for _ in 0..4 {
        thread::spawn(|| {
            loop {
                std::hint::spin_loop();
            }
        });
    }
    for i in 0..20 {
        ours!(print "first {i}, ");
        thread::yield_now();
        ours!(println "second {i}");
    }
}

#[cfg(not(target_os = "linux"))]
fn starved() {}

fn an_unfinished_line_waits_for_a_thread_without_a_processor() {
    if cfg!(not(target_os = "linux")) {
        crate::support::skip("how a thread fares is not known here");
    }
    let running = Program::new(starved).start(crate::support::To::Packets);
    for write in running.stdout().reads() {
        assert!(write.ends_with(b"\n"), "{}", crate::support::show(&write));
    }
    let finished = running.finish().succeeded();
    assert!(finished.stdout.ends_with(b"first 19, second 19\n"));
}

fn unfinished_at_once() {
    for i in 0..12 {
        ours!(print "question {i}? ");
        wait_to_go_on();
    }
    // No helper has been needed.
    assert_eq!(std::fs::read_dir("/proc/self/task").unwrap().count(), 1);
}

fn an_unfinished_line_appears_at_once_on_a_terminal() {
    appears_at_once(|program| program.start(crate::support::To::Terminal));
}

fn an_unfinished_line_appears_at_once_on_a_socket() {
    appears_at_once(|program| {
        let (read, write) = std::os::unix::net::UnixStream::pair().unwrap();
        let reader = crate::support::Reader::new(OwnedFd::from(read).into());
        program.start_on(write.into(), reader)
    });
}

fn appears_at_once(start: fn(Program) -> crate::support::Running) {
    let mut running = start(Program::new(unfinished_at_once).buffering("prompt:60s"));
    for i in 0..12 {
        running.stdout().wait_for(format!("question {i}? "));
        running.go_on();
    }
    running.finish().succeeded();
}

fn flushed() {
    for i in 0..20 {
        ours!(print "{i}");
        outpace::stdout().flush().unwrap();
        wait_to_go_on();
    }
}

fn a_flush_writes_an_unfinished_line() {
    for buffering in ["prompt:60s", "line", "block", "background"] {
        let mut running = Program::new(flushed)
            .buffering(buffering)
            .start(crate::support::To::Pipe);
        for i in 0..20 {
            running.stdout().wait_for(i.to_string());
            running.go_on();
        }
        running.finish().succeeded();
    }
}

fn pieces() {
    for i in 0..10_000 {
        ours!(print "a line in ");
        ours!(print "pieces: ");
        ours!(println "{i}");
    }
}

fn a_full_buffer_is_written_up_to_its_last_newline() {
    for buffering in ["prompt:60s", "block", "block:1000", "line", "background"] {
        let running = Program::new(pieces)
            .buffering(buffering)
            .start(crate::support::To::Packets);
        let writes = running.stdout().reads();
        // A write of more than a page arrives in packets of a page, of which the last one ends it.
        let ends = |packet: &&Vec<u8>| buffering != "block" || packet.len() < 4096;
        let torn = writes
            .iter()
            .filter(ends)
            .filter(|write| !write.ends_with(b"\n"))
            .count();
        assert_eq!(torn, 0, "of {} under {buffering}", writes.len());
        let expected: String = (0..10_000)
            .map(|i| format!("a line in pieces: {i}\n"))
            .collect();
        crate::support::assert_same(&running.finish().succeeded().stdout, expected.as_bytes());
    }
}

fn large_message() {
    let lines: String = (0..5000)
        .map(|i| format!("line {i} of a large message\n"))
        .collect();
    for i in 0..20 {
        ours!(print "{i} begins ");
        ours!(print "{lines}and ends ");
        ours!(println "{i}");
    }
}

fn a_message_larger_than_the_buffer_ends_the_line_before_it() {
    for buffering in ["prompt:60s", "line"] {
        let running = Program::new(large_message)
            .buffering(buffering)
            .start(crate::support::To::Packets);
        let writes = running.stdout().reads();
        let torn = writes
            .iter()
            .filter(|write| !write.ends_with(b"\n"))
            .count();
        assert_eq!(torn, 0, "of {} under {buffering}", writes.len());
        let lines: String = (0..5000)
            .map(|i| format!("line {i} of a large message\n"))
            .collect();
        let expected: String = (0..20)
            .map(|i| format!("{i} begins {lines}and ends {i}\n"))
            .collect();
        crate::support::assert_same(&running.finish().succeeded().stdout, expected.as_bytes());
    }
}
