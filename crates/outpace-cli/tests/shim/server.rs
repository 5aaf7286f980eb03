//! An HTTP server of one thread that prints a line for each request with `println!`, or with `silent` none. Its socket is
//! standard input. Nothing but std, as most servers are: `outpace rung server/println` makes system calls of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};

#[repr(C)]
struct PollFd {
    descriptor: i32,
    events: i16,
    revents: i16,
}

unsafe extern "C" {
    fn poll(all: *mut PollFd, count: u64, milliseconds: i32) -> i32;
}

const POLLIN: i16 = 1;
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nHello, world!\n";

fn main() {
    let is_silent = std::env::args().nth(1).is_some_and(|word| word == "silent");
    // SAFETY: standard input is the socket, and nothing else here uses it.
    let listener = unsafe { TcpListener::from_raw_fd(0) };
    listener.set_nonblocking(true).unwrap();
    let mut connections: Vec<TcpStream> = Vec::new();
    let mut count = 0_u64;
    loop {
        let descriptors = connections.iter().map(AsRawFd::as_raw_fd);
        let mut all: Vec<PollFd> = [listener.as_raw_fd()]
            .into_iter()
            .chain(descriptors)
            .map(|descriptor| PollFd {
                descriptor,
                events: POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: there are so many.
        unsafe { poll(all.as_mut_ptr(), all.len() as u64, -1) };
        let mut ready = all[1..].iter().map(|one| one.revents != 0);
        connections.retain_mut(|connection| {
            if !ready.next().unwrap_or(false) {
                return true;
            }
            let mut request = [0; 4096];
            match connection.read(&mut request) {
                Ok(0) => return false,
                Ok(length) => {
                    let head = String::from_utf8_lossy(&request[..length]);
                    let path = head.split(' ').nth(1).unwrap_or("");
                    count += 1;
                    if !is_silent {
                        println!("request {count}: GET {path} answered with 200, 14 bytes");
                    }
                }
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            connection.write_all(ANSWER).is_ok()
        });
        while let Ok((connection, _)) = listener.accept() {
            connection.set_nonblocking(true).unwrap();
            connection.set_nodelay(true).unwrap();
            connections.push(connection);
        }
    }
}
