//! Verification: what a rung wrote, compared as it arrives with what a naive generator expects.

/// Appends message number `index` of an experiment to a buffer, in the plainest way there is.
pub(crate) type Generator = fn(index: u64, into: &mut Vec<u8>);

/// Compares a stream of bytes with the messages of a generator.
pub(crate) struct Check {
    generator: Generator,
    next: u64,
    messages: u64,
    expected: Vec<u8>,
    /// How much of `expected` has been seen already.
    seen: usize,
    offset: u64,
    /// Whether the destination turns `\n` into `\r\n`, as a terminal's line discipline does.
    carriage_returns: bool,
    wrong: Option<String>,
}

impl Check {
    pub(crate) fn new(generator: Generator, messages: u64, carriage_returns: bool) -> Self {
        Self {
            generator,
            next: 0,
            messages,
            expected: Vec::new(),
            seen: 0,
            offset: 0,
            carriage_returns,
            wrong: None,
        }
    }

    /// The next bytes that arrived.
    pub(crate) fn feed(&mut self, mut arrived: &[u8]) {
        while self.wrong.is_none() && !arrived.is_empty() {
            if self.seen == self.expected.len() && !self.refill() {
                self.wrong = Some(format!(
                    "{} bytes more than expected after byte {}: {:?}",
                    arrived.len(),
                    self.offset,
                    excerpt(arrived)
                ));
                return;
            }
            let expected = &self.expected[self.seen..];
            let length = expected.len().min(arrived.len());
            if expected[..length] != arrived[..length] {
                let at = (0..length)
                    .find(|&at| expected[at] != arrived[at])
                    .unwrap_or(0);
                self.wrong = Some(format!(
                    "byte {} differs: expected {:?}, found {:?}",
                    self.offset + at as u64,
                    excerpt(&expected[at..]),
                    excerpt(&arrived[at..])
                ));
                return;
            }
            self.seen += length;
            self.offset += length as u64;
            arrived = &arrived[length..];
        }
    }

    /// The number of bytes that arrived, or what was wrong with them.
    pub(crate) fn finish(mut self) -> Result<u64, String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        if self.seen < self.expected.len() || self.refill() {
            return Err(format!(
                "it ends after byte {}, before {:?}",
                self.offset,
                excerpt(&self.expected[self.seen..])
            ));
        }
        Ok(self.offset)
    }

    fn refill(&mut self) -> bool {
        self.expected.clear();
        self.seen = 0;
        while self.next < self.messages && self.expected.len() < 64 << 10 {
            (self.generator)(self.next, &mut self.expected);
            self.next += 1;
        }
        if self.carriage_returns && self.expected.contains(&b'\n') {
            let plain = std::mem::take(&mut self.expected);
            for byte in plain {
                if byte == b'\n' {
                    self.expected.push(b'\r');
                }
                self.expected.push(byte);
            }
        }
        !self.expected.is_empty()
    }
}

/// The bytes that `messages` messages have, without keeping them.
pub(crate) fn length(generator: Generator, messages: u64) -> u64 {
    let mut message = Vec::new();
    (0..messages)
        .map(|index| {
            message.clear();
            generator(index, &mut message);
            message.len() as u64
        })
        .sum()
}

fn excerpt(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(index: u64, into: &mut Vec<u8>) {
        into.extend_from_slice(format!("{index}\n").as_bytes());
    }

    fn check(messages: u64, carriage_returns: bool, pieces: &[&str]) -> Result<u64, String> {
        let mut check = Check::new(lines, messages, carriage_returns);
        for piece in pieces {
            check.feed(piece.as_bytes());
        }
        check.finish()
    }

    #[test]
    fn the_right_bytes_pass_however_they_are_cut() {
        assert_eq!(check(3, false, &["0\n1\n2\n"]), Ok(6));
        assert_eq!(check(3, false, &["0", "\n", "1\n2", "", "\n"]), Ok(6));
        assert_eq!(check(2, true, &["0\r", "\n1\r\n"]), Ok(6));
        let many: String = (0..50_000).map(|index| format!("{index}\n")).collect();
        assert_eq!(check(50_000, false, &[&many]), Ok(many.len() as u64));
        assert_eq!(length(lines, 50_000), many.len() as u64);
    }

    #[test]
    fn one_wrong_byte_is_found_and_named() {
        let wrong = check(3, false, &["0\n1\n", "3\n"]).unwrap_err();
        assert!(wrong.contains("byte 4 differs"), "{wrong}");
    }

    #[test]
    fn missing_and_surplus_bytes_are_found() {
        assert!(
            check(3, false, &["0\n1\n"])
                .unwrap_err()
                .contains("ends after byte 4")
        );
        assert!(
            check(2, false, &["0\n1\n2\n"])
                .unwrap_err()
                .contains("more than expected")
        );
        assert!(
            check(1, false, &[])
                .unwrap_err()
                .contains("ends after byte 0")
        );
    }
}
