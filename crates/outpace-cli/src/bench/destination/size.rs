//! The size of a terminal, and pseudo-terminals of a size.

use std::io;
use std::os::fd::OwnedFd;

use rustix::termios::{Winsize, tcsetwinsize};

use crate::platform::pty;

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// The default size of terminals.
impl Default for Size {
    fn default() -> Self {
        Self {
            columns: 80,
            rows: 24,
        }
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split_once('x')
            .and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)))
            .filter(|&(columns, rows): &(u16, u16)| columns > 0 && rows > 0)
            .map(|(columns, rows)| Self { columns, rows })
            .ok_or_else(|| "a size is columns and rows, such as 80x24".to_owned())
    }
}

/// A new pseudo-terminal of a size: the end that a terminal emulator would hold, and the other,
/// with the line discipline that terminals have by default.
pub(super) fn open_pty(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let (terminal, program) = pty::open()?;
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&program, size)?;
    Ok((terminal, program))
}
