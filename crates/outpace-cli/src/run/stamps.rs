//! `--timestamps`: the time at the beginning of each line.

use crate::platform::clock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The position of a stream in its line.
#[derive(Default)]
pub(super) struct Stamps {
    in_line: bool,
    /// The second of which `text` is the stamp.
    second: u64,
    text: String,
    out: Vec<u8>,
}

impl Stamps {
    /// Inserts a stamp before each line that begins in these bytes. A line begins with its first byte.
    pub(super) fn stamp(&mut self, bytes: &[u8]) -> &[u8] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        if self.text.is_empty() || now != self.second {
            self.second = now;
            self.text = format!("{} ", clock::local_time(now));
        }
        self.out.clear();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.in_line {
                self.out.extend_from_slice(self.text.as_bytes());
            }
            self.out.extend_from_slice(line);
            self.in_line = !line.ends_with(b"\n");
        }
        &self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_one_stamp_however_the_bytes_come() {
        for step in 1..=9 {
            let mut stamps = Stamps::default();
            let mut out = Vec::new();
            for part in b"one\n\nthree".chunks(step) {
                out.extend_from_slice(stamps.stamp(part));
            }
            let out = String::from_utf8(out).unwrap();
            let lines: Vec<&str> = out
                .lines()
                .map(|line| &line["Nov 22 05:46:13 ".len()..])
                .collect();
            assert_eq!(lines, ["one", "", "three"], "in steps of {step}");
        }
    }
}
