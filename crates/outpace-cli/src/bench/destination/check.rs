//! Verification: a rung's bytes, compared as they arrive with those of a naive generator.
//! Output of several threads is verified as lines in any order that keeps each thread's own.

use std::sync::{Mutex, PoisonError};

/// Appends message number `index` of an experiment to a buffer, in the plainest way there is. A zero byte stands for any
/// digit.
pub(crate) type Generator = fn(index: u64, into: &mut Vec<u8>);

const ANY_DIGIT: u8 = 0;

/// In which order the messages have to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As the generator gives them.
    Exact,
    /// Message `n` comes from thread `n % threads`; each thread's are in order, and whole.
    PerThread(u64),
}

/// Compares a stream of bytes with the expected ones.
pub(crate) enum Check {
    Exact(Exact),
    PerThread(Lanes),
}

impl Check {
    /// A check of `messages` messages. At some destinations `\n` arrives as `\r\n`, as a terminal's
    /// line discipline makes it.
    pub(crate) fn new(
        generator: Generator,
        messages: u64,
        order: Order,
        carriage_returns: bool,
    ) -> Self {
        match order {
            Order::Exact => Self::Exact(Exact::new(generator, messages, carriage_returns)),
            Order::PerThread(threads) => {
                Self::PerThread(Lanes::new(generator, messages, threads, carriage_returns))
            }
        }
    }

    /// A check of these very bytes.
    pub(crate) fn of(expected: Vec<u8>) -> Self {
        Self::Exact(Exact {
            expected,
            ..Exact::new(|_, _| {}, 0, false)
        })
    }

    /// The next bytes that arrived.
    pub(crate) fn feed(&mut self, arrived: &[u8]) {
        match self {
            Self::Exact(check) => check.feed(arrived),
            Self::PerThread(check) => check.feed(arrived),
        }
    }

    /// The number of bytes that arrived, or how they differ from the expected ones.
    pub(crate) fn finish(self) -> Result<u64, String> {
        match self {
            Self::Exact(check) => check.finish(),
            Self::PerThread(check) => check.finish(),
        }
    }
}

/// Compares with the messages of a generator, one after the other.
pub(crate) struct Exact {
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

impl Exact {
    fn new(generator: Generator, messages: u64, carriage_returns: bool) -> Self {
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

    fn feed(&mut self, mut arrived: &[u8]) {
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
            let differs = |at: &usize| {
                let is_any_digit = expected[*at] == ANY_DIGIT && arrived[*at].is_ascii_digit();
                expected[*at] != arrived[*at] && !is_any_digit
            };
            if expected[..length] != arrived[..length]
                && let Some(at) = (0..length).find(differs)
            {
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

    fn finish(mut self) -> Result<u64, String> {
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

/// Compares lines with the next one of each thread.
pub(crate) struct Lanes {
    generator: Generator,
    messages: u64,
    carriage_returns: bool,
    /// Of each thread: the number of its next message, and the message.
    next: Vec<(u64, Vec<u8>)>,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    bytes: u64,
    wrong: Option<String>,
}

impl Lanes {
    fn new(generator: Generator, messages: u64, threads: u64, carriage_returns: bool) -> Self {
        let mut lanes = Self {
            generator,
            messages,
            carriage_returns,
            next: (0..threads).map(|thread| (thread, Vec::new())).collect(),
            line: Vec::new(),
            bytes: 0,
            wrong: None,
        };
        (0..lanes.next.len()).for_each(|thread| lanes.prepare(thread));
        lanes
    }

    /// The bytes of a thread's next message; none when it has written all.
    fn prepare(&mut self, thread: usize) {
        let (number, message) = &mut self.next[thread];
        message.clear();
        if *number < self.messages {
            (self.generator)(*number, message);
            if self.carriage_returns {
                message.insert(message.len() - 1, b'\r');
            }
        }
    }

    fn feed(&mut self, arrived: &[u8]) {
        for piece in arrived.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") && self.wrong.is_none() {
                self.line();
            }
        }
        self.bytes += arrived.len() as u64;
    }

    fn line(&mut self) {
        match self
            .next
            .iter()
            .position(|(_, message)| *message == self.line)
        {
            Some(thread) => {
                self.next[thread].0 += self.next.len() as u64;
                self.prepare(thread);
                self.line.clear();
            }
            None => {
                self.wrong = Some(format!(
                    "{:?} is no thread's next message",
                    excerpt(&self.line)
                ));
            }
        }
    }

    fn finish(self) -> Result<u64, String> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let missing = self.next.iter().find(|(_, message)| !message.is_empty());
        match missing {
            Some((_, message)) => Err(format!("{:?} never arrived", excerpt(message))),
            None if !self.line.is_empty() => Err(format!("it ends with {:?}", excerpt(&self.line))),
            None => Ok(self.bytes),
        }
    }
}

/// The bytes that `messages` messages have, without keeping them.
pub(crate) fn length(generator: Generator, messages: u64) -> u64 {
    /// The last answer: the rungs of a series have the same messages, which may be a hundred million.
    static LAST: Mutex<Option<(Generator, u64, u64)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((other, count, bytes)) = *last
        && std::ptr::fn_addr_eq(other, generator)
        && count == messages
    {
        return bytes;
    }
    let mut message = Vec::new();
    let bytes = (0..messages)
        .map(|index| {
            message.clear();
            generator(index, &mut message);
            message.len() as u64
        })
        .sum();
    *last = Some((generator, messages, bytes));
    bytes
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
        let mut check = Check::new(lines, messages, Order::Exact, carriage_returns);
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
    fn a_zero_byte_stands_for_any_digit() {
        let clock = |index: u64, into: &mut Vec<u8>| {
            into.extend_from_slice(b"\0\0.\0 ");
            lines(index, into);
        };
        let check = |arrived: &str| {
            let mut check = Check::new(clock, 2, Order::Exact, false);
            check.feed(arrived.as_bytes());
            check.finish()
        };
        assert_eq!(check("12.5 0\n07.9 1\n"), Ok(14));
        assert!(
            check("12.x 0\n07.9 1\n")
                .unwrap_err()
                .contains("byte 3 differs")
        );
        assert!(
            check("12.5 0\n07.9 2\n")
                .unwrap_err()
                .contains("byte 12 differs")
        );
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

    fn check_of_two_threads(arrived: &str) -> Result<u64, String> {
        let mut check = Check::new(lines, 5, Order::PerThread(2), false);
        check.feed(arrived.as_bytes());
        check.finish()
    }

    #[test]
    fn lines_of_several_threads_may_come_in_any_order_that_keeps_each_threads_own() {
        assert_eq!(check_of_two_threads("0\n1\n2\n3\n4\n"), Ok(10));
        assert_eq!(check_of_two_threads("1\n3\n0\n2\n4\n"), Ok(10));
        assert!(
            check_of_two_threads("2\n0\n1\n3\n4\n")
                .unwrap_err()
                .contains("no thread's next")
        );
    }

    #[test]
    fn torn_missing_and_surplus_lines_of_threads_are_found() {
        assert!(check_of_two_threads("01\n\n2\n3\n4\n").is_err());
        assert!(
            check_of_two_threads("0\n1\n2\n4\n")
                .unwrap_err()
                .contains("never arrived")
        );
        assert!(check_of_two_threads("0\n1\n2\n3\n4\n5\n").is_err());
        assert!(
            check_of_two_threads("0\n1\n2\n3\n4\n5")
                .unwrap_err()
                .contains("ends with")
        );
    }
}
