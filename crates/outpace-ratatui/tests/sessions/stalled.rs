//! Programs on terminals that do not read.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use super::{LONG, PROGRAM, PROGRAMS, pty};

/// Starts a program whose standard output is a terminal that is not read. The lines of its standard error are received one by one.
fn start_on_a_stalled_terminal(program: &str) -> (File, Killed, mpsc::Receiver<String>) {
    let (emulator, theirs) = pty::open(60, 10);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(PROGRAMS)
        .env(PROGRAM, program)
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(theirs)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = said.lines().map_while(Result::ok);
        lines.all(|line| sender.send(line).is_ok())
    });
    (emulator, Killed(child), lines)
}

/// A process that is killed in the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_not_flushed_holds_up_no_call_on_a_stalled_terminal() {
    let program = "prints on a stalled terminal and leaves";
    let (_emulator, _child, said) = start_on_a_stalled_terminal(program);
    for step in ["drawn", "left"] {
        assert_eq!(said.recv_timeout(LONG).as_deref(), Ok(step));
    }
}

#[test]
fn opening_waits_for_no_stalled_terminal() {
    let (_emulator, _child, said) = start_on_a_stalled_terminal("opens on a stalled terminal");
    let steps = [
        "opened",
        "drawn",
        "left",
        "not opened",
        "a transcript",
        "no transcript",
    ];
    for step in steps {
        assert_eq!(said.recv_timeout(LONG).as_deref(), Ok(step));
    }
}

#[test]
fn what_was_not_flushed_comes_before_the_frame_once_a_stalled_terminal_reads() {
    let (mut emulator, child, said) = start_on_a_stalled_terminal("prints on a stalled terminal");
    assert_eq!(said.recv_timeout(LONG).as_deref(), Ok("drawn"));
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        // An error once the program has ended.
        let _ = emulator.read_to_end(&mut all);
        String::from_utf8(all).unwrap()
    });
    assert_eq!(said.recv_timeout(LONG).as_deref(), Ok("shown"));
    drop(child);
    let all = reader.join().unwrap();
    let at = |text| all.find(text).unwrap_or_else(|| panic!("no {text}: {all}"));
    assert!(at("printed before") < at("picture"), "{all}");
}
