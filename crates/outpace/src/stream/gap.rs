//! Gaps, where messages were dropped, and the line that marks one.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

/// The messages that are missing at one place of a stream: see [`GapMarker`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// Messages that were dropped here.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Gap {
    pub(crate) fn add(&mut self, other: Gap) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// The text in place of dropped messages, on a line of its own.
///
/// ```
/// use outpace::{Buffering, GapMarker, Overflow};
///
/// let out = outpace::stdout();
/// out.set_buffering(Buffering::Background { capacity: 1 << 20, overflow: Overflow::DropOldest });
/// out.gap_marker(GapMarker::with(|gap| format!(r#"{{"dropped":{}}}"#, gap.messages)));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum GapMarker {
    /// `[outpace: 1,234 messages (56.7 kB) dropped here]`
    #[default]
    Standard,
    /// This text, for each gap.
    Text(String),
    /// The function's result. It runs on the thread that drains, often a helper with a stack of 1 MiB; if it panics,
    /// the standard text is used. It must not write to the stream itself: the stream's drain waits for it.
    With(Arc<dyn Fn(Gap) -> String + Send + Sync>),
    /// No text: drops are only counted.
    Off,
}

impl GapMarker {
    /// A marker made by a function, for logs in a format of their own.
    pub fn with(text: impl Fn(Gap) -> String + Send + Sync + 'static) -> Self {
        GapMarker::With(Arc::new(text))
    }

    /// The line for a gap, with its newline; empty for `Off`.
    pub(crate) fn line(&self, gap: Gap) -> String {
        let mut line = match self {
            GapMarker::Off => return String::new(),
            GapMarker::Text(text) => text.clone(),
            GapMarker::With(text) => {
                // A panic in there must not end the thread that drains.
                match panic::catch_unwind(AssertUnwindSafe(|| text(gap))) {
                    Ok(line) => line,
                    Err(_) => return GapMarker::Standard.line(gap),
                }
            }
            GapMarker::Standard => {
                let plural = if gap.messages == 1 { "" } else { "s" };
                let messages = Thousands(gap.messages);
                format!(
                    "[outpace: {messages} message{plural} ({}) dropped here]",
                    Size(gap.bytes)
                )
            }
        };
        line.push('\n');
        line
    }
}

impl fmt::Debug for GapMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GapMarker::Standard => f.write_str("Standard"),
            GapMarker::Text(text) => f.debug_tuple("Text").field(text).finish(),
            GapMarker::With(_) => f.write_str("With(..)"),
            GapMarker::Off => f.write_str("Off"),
        }
    }
}

/// A number with commas between groups of three digits.
struct Thousands(u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (i, digit) in digits.char_indices() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A number of bytes to a tenth of a decimal unit.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
        let Size(bytes) = *self;
        if bytes < 1000 {
            return write!(f, "{bytes} B");
        }
        // In tenths of the unit, rounded.
        let tenths_of = |scale: u64| bytes / scale + u64::from(bytes % scale >= scale / 2);
        let (mut unit, mut scale) = (0, 100);
        while tenths_of(scale) >= 10_000 {
            unit += 1;
            scale *= 1000;
        }
        let tenths = tenths_of(scale);
        write!(f, "{}.{} {}", tenths / 10, tenths % 10, units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_marker_reads_well() {
        let line = |messages, bytes| GapMarker::Standard.line(Gap { messages, bytes });
        assert_eq!(
            line(1234, 56_700),
            "[outpace: 1,234 messages (56.7 kB) dropped here]\n"
        );
        assert_eq!(line(1, 18), "[outpace: 1 message (18 B) dropped here]\n");
        assert_eq!(
            line(12_345_678, 999_999),
            "[outpace: 12,345,678 messages (1.0 MB) dropped here]\n"
        );
        assert_eq!(GapMarker::Off.line(Gap::default()), "");
        assert_eq!(GapMarker::Text("…".into()).line(Gap::default()), "…\n");
    }

    #[test]
    fn sizes_have_decimal_units() {
        let size = |bytes| Size(bytes).to_string();
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(999_949), "999.9 kB");
        assert_eq!(size(999_950), "1.0 MB");
        assert_eq!(size(2_500_000_000), "2.5 GB");
        assert_eq!(size(u64::MAX), "18.4 EB");
    }
}
