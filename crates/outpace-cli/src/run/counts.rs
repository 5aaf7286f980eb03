//! Counters of the output: written, queued, spilled, dropped.

use std::fmt::Write as _;
use std::iter::Sum;

/// Of one stream, or of all together; in bytes unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) written: u64,
    pub(super) queued: u64,
    pub(super) spilled: u64,
    pub(super) dropped: u64,
    pub(super) dropped_messages: u64,
}

impl Counts {
    /// One line, for people.
    pub(super) fn line(self) -> String {
        let Self {
            written,
            queued,
            spilled,
            dropped,
            dropped_messages,
        } = self;
        format!(
            "outpace: {written} bytes written, {queued} queued, {spilled} through the spill file, {dropped} dropped ({dropped_messages} pieces)"
        )
    }

    /// In the text format of Prometheus (exposition formats, version 0.0.4).
    pub(super) fn prometheus(self) -> String {
        let mut text = String::new();
        for (name, kind, help, value) in [
            (
                "outpace_written_bytes_total",
                "counter",
                "Bytes that the reader of the output has accepted.",
                self.written,
            ),
            (
                "outpace_queued_bytes",
                "gauge",
                "Bytes that wait for the reader, in memory and in the spill file.",
                self.queued,
            ),
            (
                "outpace_spilled_bytes_total",
                "counter",
                "Bytes that went through the spill file.",
                self.spilled,
            ),
            (
                "outpace_dropped_bytes_total",
                "counter",
                "Bytes that were dropped because the reader was too slow.",
                self.dropped,
            ),
            (
                "outpace_dropped_pieces_total",
                "counter",
                "Pieces of whole lines that were dropped.",
                self.dropped_messages,
            ),
        ] {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            );
        }
        text
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| Self {
            written: sum.written + one.written,
            queued: sum.queued + one.queued,
            spilled: sum.spilled + one.spilled,
            dropped: sum.dropped + one.dropped,
            dropped_messages: sum.dropped_messages + one.dropped_messages,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_its_help_and_its_type() {
        let counts = Counts {
            written: 12,
            dropped: 7,
            ..Counts::default()
        };
        let text = counts.prometheus();
        assert!(text.contains(
            "# TYPE outpace_written_bytes_total counter\noutpace_written_bytes_total 12\n"
        ));
        assert!(text.contains("\noutpace_dropped_bytes_total 7\n"));
        assert_eq!(text.lines().count(), 15);
    }
}
