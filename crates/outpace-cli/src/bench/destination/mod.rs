//! Where rungs write: destinations as the user names them (here), and opened (`open`).

mod abilities;
pub(crate) mod check;
pub(crate) mod emulator;
pub(crate) mod open;
pub(crate) mod reader;
pub(crate) mod size;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::user::names::closest;
use crate::user::quantity;
use emulator::Emulator;

/// How long `pty:stalled` waits before it reads, from the first byte on.
pub(crate) const STALL: Duration = Duration::from_secs(1);

/// A destination as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Null,
    /// A pipe with a reader that touches every byte, of the kernel's capacity or another.
    Pipe {
        capacity: Option<u64>,
    },
    /// A file on a disk.
    File,
    /// A file in memory.
    Tmpfs,
    /// A pseudo-terminal without a window.
    Pty(ReadPace),
    /// This terminal.
    Tty,
    /// A terminal emulator, opened for the purpose, perhaps with a multiplexer inside.
    Emulator(Emulator),
}

/// Examples of the forms that a user may name.
pub(crate) fn examples() -> impl Iterator<Item = &'static str> {
    let own = [
        "null",
        "pipe",
        "pipe:512KiB",
        "file",
        "tmpfs",
        "pty",
        "pty:1MB/s",
        "pty:stalled",
        "tty",
    ];
    let inside = ["xterm/tmux", "xterm/screen"];
    own.into_iter().chain(emulator::names()).chain(inside)
}

/// How fast a reader reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadPace {
    AtOnce,
    /// Bytes a second.
    PerSecond(u64),
    /// Not at all for [`STALL`], then at once.
    Stalled,
}

impl Destination {
    /// The kind of destination, without size, speed or program.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Pipe { .. } => "pipe",
            Self::File => "file",
            Self::Tmpfs => "tmpfs",
            Self::Pty(_) => "pty",
            Self::Tty => "tty",
            Self::Emulator(_) => "terminal",
        }
    }

    /// Whether it is a terminal, whose line discipline writes `\r\n` for `\n`.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Pty(_) | Self::Tty | Self::Emulator(_))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pipe {
                capacity: Some(capacity),
            } => {
                write!(f, "pipe:{}", quantity::binary_bytes(*capacity))
            }
            Self::Pty(ReadPace::PerSecond(rate)) => write!(f, "pty:{}/s", quantity::bytes(*rate)),
            Self::Pty(ReadPace::Stalled) => f.write_str("pty:stalled"),
            Self::Emulator(emulator) => emulator.fmt(f),
            _ => f.write_str(self.kind()),
        }
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, detail) = text
            .split_once(':')
            .map_or((text, None), |(name, detail)| (name, Some(detail)));
        let plain = |destination: Self| match detail {
            None => Ok(destination),
            Some(detail) => Err(format!("{name} takes nothing after it, not {detail:?}")),
        };
        match name {
            "null" => plain(Self::Null),
            "file" => plain(Self::File),
            "tmpfs" => plain(Self::Tmpfs),
            "tty" => plain(Self::Tty),
            "pipe" => {
                let capacity = detail.map(quantity::parse_bytes).transpose()?;
                if capacity == Some(0) {
                    return Err("a pipe holds at least a page, such as pipe:4096".to_owned());
                }
                Ok(Self::Pipe { capacity })
            }
            "pty" => match detail {
                None => Ok(Self::Pty(ReadPace::AtOnce)),
                Some("stalled") => Ok(Self::Pty(ReadPace::Stalled)),
                Some(speed) => {
                    let rate = quantity::parse_bytes(speed.strip_suffix("/s").unwrap_or(speed))
                        .map_err(|_| {
                            format!("{speed:?} is not a speed such as 1MB/s, nor stalled")
                        })?;
                    if rate == 0 {
                        return Err("a speed of 0 is spelt pty:stalled".to_owned());
                    }
                    Ok(Self::Pty(ReadPace::PerSecond(rate)))
                }
            },
            _ => Emulator::from_str(text)
                .map(Self::Emulator)
                .map_err(
                    |unknown| match closest(name.trim_start_matches("/dev/"), examples()) {
                        Some(near) => format!("{unknown}; did you mean {near}?"),
                        None => unknown,
                    },
                ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_destination_reads_back_as_it_is_shown() {
        for text in [
            "null",
            "pipe",
            "pipe:512KiB",
            "pipe:1MiB",
            "file",
            "tmpfs",
            "tty",
            "pty",
            "pty:1MB/s",
            "pty:1500B/s",
            "pty:stalled",
            "xterm",
            "xterm/tmux",
            "alacritty",
        ] {
            assert_eq!(Destination::from_str(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Destination::from_str("pty:1MB"),
            Ok(Destination::Pty(ReadPace::PerSecond(1_000_000)))
        );
    }

    #[test]
    fn every_example_is_a_destination() {
        for example in examples() {
            assert_eq!(Destination::from_str(example).unwrap().to_string(), example);
        }
    }

    #[test]
    fn a_misspelt_destination_gets_its_near_match() {
        let error = |text| Destination::from_str(text).unwrap_err();
        assert!(
            error("pip").contains("did you mean pipe?"),
            "{}",
            error("pip")
        );
        assert!(error("alacrity").contains("did you mean alacritty?"));
        assert!(error("null:1").contains("takes nothing"));
        assert!(error("pty:0").contains("pty:stalled"));
        assert!(error("pipe:0").contains("at least a page"));
        assert!(error("pty:fast").contains("a speed such as 1MB/s"));
    }
}
