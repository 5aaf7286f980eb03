//! The destination of the bytes, and its speed.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::model::Stats;
use crate::sys;

/// The destination of the bytes.
pub(crate) enum Output {
    /// A descriptor of our own on the terminal.
    Terminal(sys::Terminal),
    /// Anything else, as for tests.
    Writer(Box<dyn Write + Send>),
}

impl Output {
    /// Writes everything; counts calls, bytes and time. Goes on after a partial write, an interruption, and when another
    /// process made the terminal non-blocking. Returns how long it took.
    pub(super) fn write(&mut self, bytes: &[u8], stats: &mut Stats) -> io::Result<Duration> {
        let start = Instant::now();
        let result = self.write_all(bytes, stats);
        let took = start.elapsed();
        stats.time_behind += took;
        result.map(|()| took)
    }

    fn write_all(&mut self, mut bytes: &[u8], stats: &mut Stats) -> io::Result<()> {
        while !bytes.is_empty() {
            stats.writes += 1;
            let written = match self {
                Self::Terminal(file) => file.write(bytes),
                Self::Writer(writer) => writer.write(bytes),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    stats.bytes += n as u64;
                    bytes = &bytes[n..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.wait() => {}
                Err(error) => return Err(error),
            }
        }
        if let Self::Writer(writer) = self {
            writer.flush()?;
        }
        Ok(())
    }

    /// Waits until a terminal takes bytes. `false`: this is none that can be waited for.
    pub(super) fn wait(&self) -> bool {
        match self {
            Self::Terminal(file) => sys::wait_writable(file, None).is_ok(),
            Self::Writer(_) => false,
        }
    }

    /// Whether it takes bytes, or does within the limit.
    pub(super) fn is_ready(&self, limit: Duration) -> bool {
        match self {
            // An error shows when something is written.
            Self::Terminal(file) => sys::wait_writable(file, Some(limit)).unwrap_or(true),
            Self::Writer(_) => true,
        }
    }

    /// Columns and rows, if this is a terminal.
    pub(super) fn size(&self) -> Option<(u16, u16)> {
        match self {
            Self::Terminal(file) => {
                let size = sys::terminal_size(file).ok().flatten();
                size.map(|size| (size.columns, size.rows))
            }
            Self::Writer(_) => None,
        }
    }

    /// Whether this is a terminal in raw mode.
    pub(super) fn is_raw(&self) -> bool {
        match self {
            Self::Terminal(file) => sys::is_raw(file),
            Self::Writer(_) => false,
        }
    }
}

/// The time that the terminal has taken for a byte, of late.
#[derive(Default)]
pub(super) struct Tempo {
    ns_per_byte: u64,
}

impl Tempo {
    /// The time of fewer bytes is mostly that of the system call.
    const TELLING: usize = 4096;
    /// Where a byte takes longer than this, saving it is worth the processor time: about 60 ns a cell, which save 9 of its 32
    /// bytes.
    const SLOW: u64 = 8;

    pub(super) fn note(&mut self, bytes: usize, took: Duration) {
        if bytes >= Self::TELLING {
            let now = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / bytes as u64;
            // A terminal that reads ahead takes several frames at once, and then none for a while.
            self.ns_per_byte = (self.ns_per_byte * 3 + now.min(1 << 32)) / 4;
        }
    }

    pub(super) const fn is_slow(&self) -> bool {
        self.ns_per_byte > Self::SLOW
    }
}

#[cfg(all(test, target_os = "linux", not(outpace_portable)))]
pub(super) mod tests {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::fs::File;

    use super::*;

    /// A terminal as its emulator and as the program have it.
    pub(in crate::present) fn terminal() -> (File, sys::Terminal) {
        let emulator = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&emulator).unwrap();
        unlockpt(&emulator).unwrap();
        let name = ptsname(&emulator, Vec::new()).unwrap();
        let program = File::options().write(true).open(name.to_str().unwrap());
        (emulator.into(), program.unwrap().into())
    }

    /// Writes until the terminal takes no more, and says how many bytes it has taken. The kernel passes them on with a delay, and then has
    /// room for more.
    pub(in crate::present) fn fill(terminal: &sys::Terminal) -> usize {
        let mut filling = sys::reopen_nonblocking(terminal).unwrap();
        let mut full = 0;
        while sys::wait_writable(&filling, Some(Duration::from_millis(200))).unwrap() {
            full += filling.write(&[b'x'; 1024]).unwrap_or(0);
        }
        full
    }
}
