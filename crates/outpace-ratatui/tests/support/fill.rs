//! Terminals that do not read.
#![allow(unreachable_pub, reason = "shared by tests")]

use std::fs::File;
use std::io::Write;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// Writes to standard output until the terminal takes no more bytes.
pub fn fill_stdout() -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;

    let without_waiting = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut filler = File::options()
        .write(true)
        .custom_flags(without_waiting.bits().try_into().unwrap())
        .open("/proc/self/fd/1")?;
    // Bytes may still be on their way to the other end, and leave room behind.
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 300_000_000,
    };
    loop {
        while filler.write(b"#").is_ok() {}
        let mut events = [PollFd::new(&filler, PollFlags::OUT)];
        if poll(&mut events, Some(&moment))? == 0 {
            return Ok(());
        }
    }
}
