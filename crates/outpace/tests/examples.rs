//! The examples, run as a user would run them.

#![cfg(all(unix, not(outpace_portable), not(loom)))]

mod common;

use common::LIMIT;
use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// An example that `cargo test` has built; without it the test is skipped aloud.
fn example(name: &str) -> Option<Command> {
    let test = std::env::current_exe().expect("this program has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let path: PathBuf = profile.join("examples").join(name);
    if !path.exists() {
        eprintln!(
            "skipped: {} is not built; run all of cargo test",
            path.display()
        );
        return None;
    }
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    let colors = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"];
    for name in ["OUTPACE_STDOUT", "OUTPACE_STDERR", "RUST_LOG"]
        .into_iter()
        .chain(colors)
    {
        command.env_remove(name);
    }
    Some(command)
}

/// Ends with the test, also with one that fails.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts it, and gives what it says on stderr that it listens on.
    fn start(mut command: Command, stdout: impl Into<Stdio>) -> (Self, String) {
        command
            .arg("127.0.0.1:0")
            .stdout(stdout)
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the example starts");
        let stderr = child.stderr.take().expect("it is piped");
        let server = Server(child);
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).unwrap();
        let (_, address) = line.trim_end().rsplit_once(' ').expect("listening on …");
        let address = address.trim_start_matches("http://").trim_end_matches('/');
        (server, address.to_owned())
    }
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

#[test]
fn every_record_of_every_logger_arrives() {
    for name in ["tracing", "env_logger", "slog"] {
        let Some(mut command) = example(name) else {
            continue;
        };
        let output = command.arg("50000").output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 50_001, "{name}");
        for (number, line) in lines[..50_000].iter().enumerate() {
            let number = number.to_string();
            assert!(
                line.contains("handled") && line.contains(&number),
                "{name}: {line}"
            );
        }
        assert!(
            lines[50_000].contains("longest_wait"),
            "{name}: {}",
            lines[50_000]
        );
    }
}

#[test]
fn a_logger_that_flushes_after_each_record_does_not_wait() {
    let Some(mut command) = example("env_logger") else {
        return;
    };
    let (mut reader, writer) = pipe().unwrap();
    let mut child = Server(command.arg("50000").stdout(writer).spawn().unwrap());
    drop(command);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert!(child.0.wait().unwrap().success());
    let text = String::from_utf8(bytes).unwrap();
    // 50,000 flushes that wait would be as many writes.
    let writes = text
        .rsplit_once("write_calls: ")
        .and_then(|(_, rest)| rest.split(',').next())
        .expect("the last record says how many");
    assert!(writes.parse::<u64>().unwrap() < 25_000, "{writes} writes");
}

#[test]
fn tokio_tasks_keep_answering_while_stdout_stands_still() {
    let Some(command) = example("tokio_server") else {
        return;
    };
    let (_not_read, stdout) = pipe().unwrap();
    let (_server, address) = Server::start(command, stdout);
    // More log than the pipe and the queue hold, from more tasks than there are workers.
    let line = format!("{}\n", "x".repeat(10_000));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (mut connection, line) = (connect(&address), line.clone());
            std::thread::spawn(move || {
                let mut answers = BufReader::new(connection.try_clone().unwrap());
                for _ in 0..500 {
                    connection.write_all(line.as_bytes()).unwrap();
                    let mut answer = String::new();
                    answers.read_line(&mut answer).unwrap();
                    assert_eq!(answer, line);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn the_http_server_answers_and_logs_each_request() {
    let Some(command) = example("http_server") else {
        return;
    };
    let (reader, stdout) = pipe().unwrap();
    let (server, address) = Server::start(command, stdout);
    let answer = |connection: &mut BufReader<TcpStream>| {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(
                connection.read_line(&mut head).unwrap() > 0,
                "it closed after {head:?}"
            );
        }
        let body = head.contains("Content-Length: 14\r\n");
        let mut text = [0; 14];
        if body {
            connection.read_exact(&mut text).unwrap();
        }
        (head, String::from_utf8_lossy(&text).into_owned())
    };
    // Two requests at once, one in two pieces, and one that asks for the end.
    let mut connection = BufReader::new(connect(&address));
    let send = |connection: &mut BufReader<TcpStream>, text: &str| {
        connection.get_mut().write_all(text.as_bytes()).unwrap();
    };
    let request = |path| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    send(&mut connection, &(request("/a") + &request("/b")));
    for _ in 0..2 {
        let (head, body) = answer(&mut connection);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert_eq!(body, "Hello, world!\n");
    }
    send(&mut connection, "GET /c HTTP/1.1\r\nConn");
    std::thread::yield_now();
    send(&mut connection, "ection: close\r\n\r\n");
    assert!(answer(&mut connection).0.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(connection.read(&mut [0]).unwrap(), 0, "it closes");

    let mut connection = BufReader::new(connect(&address));
    send(
        &mut connection,
        "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nHello",
    );
    assert!(answer(&mut connection).0.starts_with("HTTP/1.1 501 "));

    let logged: Vec<String> = BufReader::new(reader)
        .lines()
        .take(3)
        .map(Result::unwrap)
        .collect();
    assert_eq!(logged, ["1 GET /a 200", "2 GET /b 200", "3 GET /c 200"]);
    drop(server);
}

/// The writes of an example to standard error.
fn writes_to_stderr(mut command: Command) -> Vec<String> {
    use rustix::pipe::{PipeFlags, pipe_with};
    // Keeps writes apart.
    let (reader, writer) = pipe_with(PipeFlags::DIRECT).unwrap();
    let mut child = command.stderr(writer).spawn().expect("the example starts");
    drop(command);
    let mut reader = std::fs::File::from(reader);
    let mut writes = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let length = reader.read(&mut bytes).unwrap();
        if length == 0 {
            break;
        }
        writes.push(String::from_utf8(bytes[..length].to_vec()).unwrap());
    }
    assert!(child.wait().unwrap().success());
    writes
}

#[cfg(target_os = "linux")]
#[test]
fn dbg_says_what_stds_says_and_each_value_in_one_piece() {
    let (Some(own), Some(mut std)) = (example("dbg"), example("dbg")) else {
        return;
    };
    std.arg("std");
    let (own, std) = (writes_to_stderr(own), writes_to_stderr(std));
    assert_eq!(own.len(), 2 * 100 * 6);
    for message in &own {
        assert!(
            message.starts_with('[') && message.ends_with('\n'),
            "{message}"
        );
    }
    // Threads in any order, and without the line that the macro was called in.
    let lines = |writes: Vec<String>| {
        let text = writes.concat();
        let mut bytes: Vec<u8> = text
            .split("dbg.rs:")
            .flat_map(|part| {
                part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':')
                    .bytes()
            })
            .collect();
        bytes.sort_unstable();
        bytes
    };
    assert_eq!(lines(own), lines(std));
}

/// Rows of a terminal from which nothing scrolls away.
const ROWS: u16 = 1000;

/// The output and the errors of an example on a terminal of 80 columns.
fn on_terminal(mut command: Command) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: ROWS,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = std::fs::File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    command.env("TERM", "xterm-256color");
    command
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave);
    let mut child = command.spawn().expect("the example starts");
    // Its copies of the terminal.
    drop(command);
    let mut master = std::fs::File::from(master);
    let mut bytes = [0; 4096];
    let mut text = Vec::new();
    // At the end the system says that the other side is closed.
    while let Ok(length @ 1..) = master.read(&mut bytes) {
        text.extend_from_slice(&bytes[..length]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap()
}

/// The final contents of such a terminal.
fn screen(text: &str) -> String {
    let mut terminal = avt::Terminal::new(80, ROWS.into()).expect("a size");
    terminal.feed(text);
    let screen = terminal.screen();
    let lines: Vec<String> = (0..ROWS.into())
        .map(|row| {
            screen
                .line(row)
                .expect("a row")
                .text()
                .trim_end()
                .to_owned()
        })
        .collect();
    lines.join("\n").trim_end().to_owned()
}

#[test]
fn no_stale_bar_is_left_by_a_program_that_shares() {
    let Some(command) = example("progress") else {
        return;
    };
    let screen = screen(&on_terminal(command));
    let mut lines = screen.lines();
    for i in 0..30 {
        for line in [
            "first line of",
            "second line of",
            "std's line of",
            "a remark about",
        ] {
            assert_eq!(lines.next(), Some(&*format!("{line} step {i}")), "{screen}");
        }
    }
    let full = "█".repeat(30);
    assert_eq!(lines.next(), Some(&*format!("[{full}] 30/30")), "{screen}");
    for i in 0..30 {
        let line = lines.next().unwrap_or_default();
        assert!(line.starts_with("a thread has done "), "line {i}: {screen}");
    }
    for _ in 0..3 {
        assert_eq!(
            lines.next(),
            Some(&*format!("[{full}] 100/100")),
            "{screen}"
        );
    }
    assert_eq!(lines.next(), Some("done"), "{screen}");
    assert_eq!(lines.next(), None, "{screen}");
}

#[test]
fn colours_come_where_they_are_wanted() {
    let plain: String = (0..1000).map(|i| format!("{i:>4} passed\n")).collect();
    let colored: String = (0..1000)
        .map(|i| format!("\x1b[32m{i:>4}\x1b[0m passed\n"))
        .collect();
    for (variable, in_pipe, in_terminal) in [
        ("NOTHING", &plain, &colored),
        ("NO_COLOR", &plain, &plain),
        ("CLICOLOR_FORCE", &colored, &colored),
    ] {
        let command = || {
            example("color").map(|mut command| {
                command.env(variable, "1");
                command
            })
        };
        let (Some(mut piped), Some(shown)) = (command(), command()) else {
            return;
        };
        let output = String::from_utf8(piped.output().unwrap().stdout).unwrap();
        assert!(output == *in_pipe, "{variable}");
        assert!(
            on_terminal(shown).replace('\r', "") == *in_terminal,
            "{variable}"
        );
    }
}
