//! Questions to a terminal, and its answers.

use super::interrupts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Where is the cursor (`DSR`, ECMA-48)? A terminal answers when it has worked through everything before the question.
pub(crate) const WHERE_IS_THE_CURSOR: &[u8] = b"\x1b[6n";

/// Asks where the cursor is; returns whether the terminal has answered within a time.
pub(crate) fn has_caught_up(
    mut terminal: impl AsFd + Read + Write,
    limit: Duration,
) -> io::Result<bool> {
    terminal.write_all(WHERE_IS_THE_CURSOR)?;
    read_answer(terminal, limit, |answer| answer.contains(&b'R'))
}

/// Reads a terminal's answer until it is enough; returns false if the terminal is silent. Reads on for a moment after an
/// interruption: a shell would take a late answer for keys.
pub(crate) fn read_answer(
    mut terminal: impl AsFd + Read,
    limit: Duration,
    mut is_enough: impl FnMut(&[u8]) -> bool,
) -> io::Result<bool> {
    const AFTER_INTERRUPTION: Duration = Duration::from_millis(500);
    const STEP: Duration = Duration::from_millis(50);
    let mut until = Instant::now() + limit;
    let mut interrupted = false;
    let mut answer = [0; 256];
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        if interrupts::came() && !interrupted {
            interrupted = true;
            until = until.min(Instant::now() + AFTER_INTERRUPTION);
        }
        let timeout = Timespec::try_from(left.min(STEP)).unwrap_or_default();
        match poll(&mut [PollFd::new(&terminal, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let length = terminal.read(&mut answer)?;
        if length == 0 {
            break;
        }
        if is_enough(&answer[..length]) {
            return Ok(true);
        }
    }
    Ok(false)
}
