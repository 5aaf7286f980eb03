//! Just enough of HTTP/1.1 (RFC 9112) by hand: GET with keep-alive and pipelining, in one thread that
//! waits in poll(2).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;

use rustix::event::{PollFd, PollFlags, poll};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nHello, world!\n";
const NOT_SUPPORTED: &[u8] =
    b"HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const TOO_LARGE: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Longer than any head that a browser sends.
const LONGEST_HEAD: usize = 64 << 10;

/// Answers requests. `answering` gets the path of each before the answer is sent; when it breaks, that request is
/// still answered, and this returns.
pub(crate) fn serve(
    listener: &TcpListener,
    mut answering: impl FnMut(&str) -> ControlFlow<()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let mut awaited = vec![PollFd::new(listener, PollFlags::IN)];
        awaited.extend(connections.iter().map(Connection::awaited));
        match poll(&mut awaited, None) {
            Err(rustix::io::Errno::INTR) => continue,
            result => result?,
        };
        let ready: Vec<bool> = awaited
            .iter()
            .map(|one| !one.revents().is_empty())
            .collect();
        drop(awaited);

        let mut over = false;
        let mut which = ready[1..].iter();
        connections.retain_mut(|connection| {
            if which.next() != Some(&true) || over {
                return true;
            }
            // An error of one connection ends that connection only.
            let goes_on = connection.proceed(&mut |path| {
                let flow = answering(path);
                over |= flow.is_break();
                flow
            });
            goes_on.unwrap_or(false)
        });
        if over {
            return Ok(());
        }
        if ready[0] {
            accept_all(listener, &mut connections)?;
        }
    }
}

/// Accepts the clients that wait.
fn accept_all(listener: &TcpListener, connections: &mut Vec<Connection>) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => connections.push(Connection::new(stream)?),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // The client gave up meanwhile.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    unsent: Vec<u8>,
    /// No more requests are read; it ends when the answers have been sent.
    closing: bool,
}

/// The parsed head of a request.
struct RequestHead<'a> {
    path: &'a str,
    keep_alive: bool,
}

impl Connection {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::new(),
            unsent: Vec::new(),
            closing: false,
        })
    }

    /// No more requests are read from a client that does not read its answers.
    fn awaited(&self) -> PollFd<'_> {
        let flags = if self.unsent.is_empty() {
            PollFlags::IN
        } else {
            PollFlags::OUT
        };
        PollFd::new(&self.stream, flags)
    }

    /// Reads, answers and sends as far as possible without waiting; returns whether the connection goes on.
    fn proceed(&mut self, answering: &mut dyn FnMut(&str) -> ControlFlow<()>) -> io::Result<bool> {
        if self.unsent.is_empty() {
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(length) => self.received.extend_from_slice(&buffer[..length]),
                Err(error) if is_temporary(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
            self.answer_all(answering);
        }
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Ok(false),
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if is_temporary(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(!self.closing)
    }

    /// Answers the requests that have arrived completely.
    fn answer_all(&mut self, answering: &mut dyn FnMut(&str) -> ControlFlow<()>) {
        let mut from = 0;
        while !self.closing {
            let Some(length) = head_length(&self.received[from..]) else {
                if self.received.len() - from > LONGEST_HEAD {
                    self.unsent.extend_from_slice(TOO_LARGE);
                    self.closing = true;
                }
                break;
            };
            let head = &self.received[from..from + length];
            from += length;
            let Some(head) = RequestHead::parse(head) else {
                self.unsent.extend_from_slice(NOT_SUPPORTED);
                self.closing = true;
                break;
            };
            self.closing = !head.keep_alive;
            let flow = answering(head.path);
            self.unsent.extend_from_slice(ANSWER);
            if flow.is_break() {
                break;
            }
        }
        self.received.drain(..from);
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The length of the head at the front, with the empty line that ends it.
fn head_length(received: &[u8]) -> Option<usize> {
    let end = b"\r\n\r\n";
    Some(memchr::memmem::find(received, end)? + end.len())
}

impl<'a> RequestHead<'a> {
    /// `None` if it is not a GET without a body.
    fn parse(head: &'a [u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let ("GET", path) = (words.next()?, words.next()?) else {
            return None;
        };
        let version = words.next()?;
        let mut keep_alive = version != "HTTP/1.0";
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("connection") {
                keep_alive = !value.eq_ignore_ascii_case("close")
                    && (keep_alive || value.eq_ignore_ascii_case("keep-alive"));
            }
            let has_body = name.eq_ignore_ascii_case("content-length") && value != "0"
                || name.eq_ignore_ascii_case("transfer-encoding");
            if has_body {
                return None;
            }
        }
        version
            .starts_with("HTTP/1.")
            .then_some(Self { path, keep_alive })
    }
}
