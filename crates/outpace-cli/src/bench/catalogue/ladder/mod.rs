//! `ladder`: a hundred million greetings without a newline, each rung faster than the one below.

mod buffers;
mod greeting;
mod line;
mod mapping;
mod numbers;
mod ours;
#[allow(unsafe_code)]
mod pointers;
mod std_ways;

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io::{self, BufWriter};

use outpace::Buffering;

pub(super) use mapping::{mapped_from, mappy};
pub(super) use std_ways::fast_integers;

use super::lines::bare_stdout;
use super::sources;
use crate::bench::experiment::{Experiment, Method, Rung};
use crate::bench::results::figures::{Compared, Figures, first_of, leaders};
use crate::bench::results::rows::Row;
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::{duration, times};
use greeting::greetings;
use std_ways::formatted;

pub(crate) const LADDER: Experiment = Experiment {
    name: "ladder",
    question: "How fast can a program write small messages, and what does each step gain?",
    published: "`Hello, {i}` and a tab, 100,000,000 times: glacial 9.07 s, slow 5.45, speedy 2.39, \
                fast 2.31, turbo 1.27, vecbuf 0.99, turbo-cpp 0.85, turbo-c 0.71. The text called \
                speedy 10 % faster than fast, its table the opposite.",
    sources: &[sources::FASTHELLO, sources::WHY_BUFFERING],
    published_to: &["null"],
    unit: "message",
    message,
    messages: 100_000_000,
    to: &["null", "pipe", "pty"],
    baseline: "turbo-c",
    method: Method::Work,
    rungs: rungs! {
        published "glacial" 9.07 s: Here(|span| formatted(span, io::stdout())), "write! to std's unlocked handle";
        added "print": Here(std_ways::print), "print!";
        published "slow" 5.45 s: Here(|span| formatted(span, io::stdout().lock())), "write! to std's lock";
        published "speedy" 2.39 s: Here(|span| fast_integers(span, BufWriter::new(bare_stdout()?))),
            "BufWriter on the bare file, fast integers";
        published "fast" 2.31 s: Here(|span| formatted(span, BufWriter::new(io::stdout().lock()))), "write! to a BufWriter on std's lock";
        described "fast-itoa": Here(|span| fast_integers(span, BufWriter::new(io::stdout().lock()))),
            "BufWriter on std's lock, fast integers";
        published "turbo" 1.27 s: Here(|span| greetings(span, BufWriter::with_capacity(buffers::CAPACITY, bare_stdout()?))),
            "increments the decimal digits in place, BufWriter";
        published "vecbuf" 0.99 s: Here(buffers::vecbuf), "digits in place, a Vec as the buffer, POSIX write";
        published "turbo-cpp" 0.85 s: Source(&TURBO_CPP), "turbo-c in C++";
        published "turbo-c" 0.71 s: Source(&TURBO_C), "digits in place, 8 KiB on the stack, POSIX write";
        described "lightning": Here(buffers::vecbuf), "vecbuf's later name";
        described "lightning-cpp": Source(&LIGHTNING_CPP), "vecbuf in C++";
        described "ludicrous": Here(buffers::ludicrous), "an array as the buffer";
        described "serious": Here(pointers::serious), "raw pointers";
        described "naive": Here(buffers::naive), "divides for each digit";
        outpace "outpace": Here(ours::typed), "typed calls on the guard";
        outpace "outpace-write": Here(ours::write), "outpace::write! on the guard";
        outpace "outpace-print": Here(ours::print), "outpace::print!";
        outpace "outpace-block": Here(|span| ours::with_buffering(span, Buffering::block())), "typed calls, Block";
        outpace "outpace-background": Here(|span| ours::with_buffering(span, Buffering::background(16 << 20))),
            "typed calls, Background with a queue of 16 MiB";
        outpace "outpace-handle": Here(|span| greetings(span, outpace::stdout())), "turbo's bytes through the unlocked handle";
        outpace "outpace-bytes": Here(|span| greetings(span, outpace::stdout().lock())), "turbo's bytes on the guard";
        outpace "outpace-h": Source(&OUTPACE_H), "inline appends of include/outpace.h, in C";
        added "random-bufwriter": Here(numbers::bufwriter), "numbers of random length: write! to a BufWriter on the bare file"
            .random();
        added "random-itoa": Here(numbers::by_itoa), "the same, by the crate itoa" .random();
        added "random-fmt": Source(&RANDOM_FMT), "{fmt}, a compiled format" .random();
        added "random-fast-io": Source(&RANDOM_FAST_IO), "fast_io's print" .random();
        added "random-twin": Source(&RANDOM_TWIN), "what outpace does, by hand in C" .random();
        outpace "random-outpace": Here(numbers::outpace), "typed calls on the guard" .random();
        outpace "random-outpace-h": Source(&RANDOM_OUTPACE_H), "inline appends of include/outpace.h, in C" .random();
        described "mappy": Here(mappy), "writes to mapped memory"
            .fails("a shared mapping needs a descriptor that can be read, and > opens none");
    },
    conclusion,
};

sources! {
    "ladder";
    TURBO_C: C, "turbo.c";
    OUTPACE_H: C, "outpace.c";
    TURBO_CPP: Cpp, "turbo.cpp";
    RANDOM_TWIN: C, "random-twin.c";
    RANDOM_OUTPACE_H: C, "random-outpace.c";
    RANDOM_FMT: Cpp, "random-fmt.cpp";
    RANDOM_FAST_IO: Cpp, "random-fast-io.cpp";
    LIGHTNING_CPP: Cpp, "lightning.cpp";
}

impl Rung {
    /// The same with numbers of random length, and compared with those.
    const fn random(self) -> Self {
        self.writes(numbers::message).against("random-twin")
    }
}

fn is_random(row: &Row) -> bool {
    row.rung.starts_with("random-")
}

/// The bytes of message `index`.
pub(crate) fn message(index: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("Hello, {index}\t").as_bytes());
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = figures.at_each(|to| best(figures, to));
    sentences.extend(figures.at_each(|to| best_of_random(figures, to)));
    let mut destinations = figures.destinations().into_iter();
    sentences.extend(destinations.clone().find_map(|to| speedy(figures, to)));
    sentences.extend(destinations.find_map(|to| bufwriter(figures, to)));
    sentences
}

fn best(figures: &Figures<'_>, to: &str) -> Option<String> {
    let ranked = figures.ranked(to, |row| !is_random(row));
    let best = leaders(&ranked);
    let (time, _) = ranked.first()?;
    let spans = figures.compare("glacial", "turbo-c", to)?.factor();
    let are = if best.len() > 1 { "are" } else { "is" };
    let spans = spans.map(|ratio| {
        format!(
            "; from glacial to turbo-c the ladder spans {}",
            times(ratio)
        )
    });
    Some(format!(
        "To {to} the best {are} {} with {} a message{}.",
        first_of(&best),
        duration(*time),
        spans.unwrap_or_default()
    ))
}

fn best_of_random(figures: &Figures<'_>, to: &str) -> Option<String> {
    let is_ours = |row: &Row| row.rung.starts_with("random-outpace");
    let others = figures.ranked(to, |row| is_random(row) && !is_ours(row));
    let (_, best) = others.first()?;
    let rung = &best.rung;
    let compared = Compared::of(figures.row("random-outpace", to)?, best);
    let said = compared.sentence("random-outpace", rung, to, |time, ratio| match time {
        Less => format!(
            "With numbers of random length to {to} outpace takes {} of the best other way, {rung}.",
            times(ratio)
        ),
        Equal => format!("With numbers of random length to {to} outpace and {rung} are equal."),
        Greater => format!(
            "With numbers of random length to {to} {rung} is not beaten: outpace takes {} of it.",
            times(ratio)
        ),
    });
    Some(said)
}

/// Whether the text or the table of the publication was right.
fn speedy(figures: &Figures<'_>, to: &str) -> Option<String> {
    figures.sentence("speedy", "fast-itoa", to, |time, ratio| match time {
        Less => format!(
            "With the same integers speedy is {:.0} % faster than fast: the text was right, the lock and the \
             LineWriter below cost that much.",
            (1.0 / ratio - 1.0) * 100.0
        ),
        Greater => {
            "With the same integers speedy is slower than fast: the table was right.".to_owned()
        }
        Equal => "With the same integers speedy and fast are equal: neither the text nor the table was \
                  right; what differed was the formatting."
            .to_owned(),
    })
}

fn bufwriter(figures: &Figures<'_>, to: &str) -> Option<String> {
    let writes = |rung| figures.writes(rung, to).unwrap_or_default();
    figures.sentence("fast", "slow", to, |time, ratio| match time {
        Less => explain_bufwriter(ratio, writes("slow"), writes("fast")),
        Equal | Greater => {
            "A BufWriter above std's lock gains nothing where no newline is written.".to_owned()
        }
    })
}

/// Why a BufWriter above the locked handle helps although no newline is ever written. A
/// `LineWriter` holds 1 KiB and searches every fragment for a newline; a message written by
/// `write!` comes in three fragments.
fn explain_bufwriter(ratio: f64, slow_writes: f64, fast_writes: f64) -> String {
    let calls = if slow_writes > fast_writes * 2.0 {
        format!(
            "its buffer is larger ({slow_writes:.1} write calls for 1,000 messages become \
             {fast_writes:.1}) and "
        )
    } else {
        String::new()
    };
    format!(
        "A BufWriter above std's lock brings the time down to {} although no newline is written: \
         {calls}the LineWriter below no longer searches each of a message's three fragments for \
         one, but a whole buffer at once.",
        times(ratio)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_bytes_are_the_published_ones() {
        // 100,000,000 messages have 1,588,888,890 bytes; the sum is over the number of digits.
        let bytes: u64 = (1..=8_u32)
            .map(|digits| {
                let numbers = if digits == 1 {
                    10
                } else {
                    9 * 10_u64.pow(digits - 1)
                };
                numbers * (8 + u64::from(digits))
            })
            .sum();
        assert_eq!(bytes, 1_588_888_890);
        let mut first = Vec::new();
        (0..11).for_each(|index| message(index, &mut first));
        assert!(first.starts_with(b"Hello, 0\tHello, 1\t") && first.ends_with(b"Hello, 10\t"));
    }
}
