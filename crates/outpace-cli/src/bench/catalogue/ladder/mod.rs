//! `ladder`: a hundred million greetings without a newline, each rung faster than the one below.

mod buffers;
mod greeting;
mod line;
mod numbers;
mod ours;
#[allow(unsafe_code)]
mod pointers;
mod std_ways;

pub(super) use std_ways::fast_integers;

use super::mapped::mappy;
use super::sources;
use crate::bench::experiment::{Experiment, Method, Rung, Work};
use crate::bench::results::figures::{Compared, Figures, joined, leaders};
use crate::bench::results::rows::Row;
use crate::bench::toolchain::{Language, Source};
use crate::user::quantity::{duration, times};

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
    rungs: &[
        Rung::published(
            "glacial",
            9.07,
            "write! to std's unlocked handle",
            Work::Here(std_ways::glacial),
        ),
        Rung::added("print", "print!", Work::Here(std_ways::print)),
        Rung::published(
            "slow",
            5.45,
            "write! to std's lock",
            Work::Here(std_ways::slow),
        ),
        Rung::published(
            "speedy",
            2.39,
            "BufWriter on the bare file, fast integers",
            Work::Here(std_ways::speedy),
        ),
        Rung::published(
            "fast",
            2.31,
            "write! to a BufWriter on std's lock",
            Work::Here(std_ways::fast),
        ),
        Rung::described(
            "fast-itoa",
            "BufWriter on std's lock, fast integers",
            Work::Here(std_ways::fast_itoa),
        ),
        Rung::published(
            "turbo",
            1.27,
            "increments the decimal digits in place, BufWriter",
            Work::Here(buffers::turbo),
        ),
        Rung::published(
            "vecbuf",
            0.99,
            "digits in place, a Vec as the buffer, POSIX write",
            Work::Here(buffers::vecbuf),
        ),
        Rung::published(
            "turbo-cpp",
            0.85,
            "turbo-c in C++",
            Work::Source(&TURBO_CPP),
        ),
        Rung::published(
            "turbo-c",
            0.71,
            "digits in place, 8 KiB on the stack, POSIX write",
            Work::Source(&TURBO_C),
        ),
        Rung::described(
            "lightning",
            "vecbuf's later name",
            Work::Here(buffers::vecbuf),
        ),
        Rung::described(
            "lightning-cpp",
            "vecbuf in C++",
            Work::Source(&LIGHTNING_CPP),
        ),
        Rung::described(
            "ludicrous",
            "an array as the buffer",
            Work::Here(buffers::ludicrous),
        ),
        Rung::described("serious", "raw pointers", Work::Here(pointers::serious)),
        Rung::described(
            "naive",
            "divides for each digit",
            Work::Here(buffers::naive),
        ),
        Rung::outpace(
            "outpace",
            "typed calls on the guard",
            Work::Here(ours::typed),
        ),
        Rung::outpace(
            "outpace-write",
            "outpace::write! on the guard",
            Work::Here(ours::write),
        ),
        Rung::outpace("outpace-print", "outpace::print!", Work::Here(ours::print)),
        Rung::outpace(
            "outpace-block",
            "typed calls, Block",
            Work::Here(ours::block),
        ),
        Rung::outpace(
            "outpace-background",
            "typed calls, Background with a queue of 16 MiB",
            Work::Here(ours::background),
        ),
        Rung::outpace(
            "outpace-handle",
            "turbo's bytes through the unlocked handle",
            Work::Here(ours::handle),
        ),
        Rung::outpace(
            "outpace-bytes",
            "turbo's bytes on the guard",
            Work::Here(ours::bytes),
        ),
        Rung::outpace(
            "outpace-h",
            "inline appends of include/outpace.h, in C",
            Work::Source(&OUTPACE_H),
        ),
        Rung::added(
            "random-bufwriter",
            "numbers of random length: write! to a BufWriter on the bare file",
            Work::Here(numbers::bufwriter),
        )
        .random(),
        Rung::added(
            "random-itoa",
            "the same, by the crate itoa",
            Work::Here(numbers::by_itoa),
        )
        .random(),
        Rung::added(
            "random-fmt",
            "{fmt}, a compiled format",
            Work::Source(&RANDOM_FMT),
        )
        .random(),
        Rung::added(
            "random-fast-io",
            "fast_io's print",
            Work::Source(&RANDOM_FAST_IO),
        )
        .random(),
        Rung::added(
            "random-twin",
            "what outpace does, by hand in C",
            Work::Source(&RANDOM_TWIN),
        )
        .random(),
        Rung::outpace(
            "random-outpace",
            "typed calls on the guard",
            Work::Here(numbers::outpace),
        )
        .random(),
        Rung::outpace(
            "random-outpace-h",
            "inline appends of include/outpace.h, in C",
            Work::Source(&RANDOM_OUTPACE_H),
        )
        .random(),
        Rung::described("mappy", "writes to mapped memory", Work::Here(mappy))
            .fails("a shared mapping needs a descriptor that can be read, and > opens none"),
    ],
    verdict,
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

fn verdict(figures: &Figures<'_>) -> String {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        let ranked = figures.ranked(to, |row| !is_random(row));
        let best = leaders(&ranked);
        let (Some((time, _)), Some(spans)) =
            (ranked.first(), figures.compare("glacial", "turbo-c", to))
        else {
            continue;
        };
        let are = if best.len() > 1 { "are" } else { "is" };
        let mut text = format!(
            "To {to} the best {are} {} with {} a message",
            joined(&best),
            duration(*time)
        );
        if let Some(ratio) = spans.factor() {
            text += &format!(
                "; from glacial to turbo-c the ladder spans {}",
                times(ratio)
            );
        }
        sentences.push(text + ".");
    }
    for to in figures.destinations() {
        let is_ours = |row: &Row| row.rung.starts_with("random-outpace");
        let others = figures.ranked(to, |row| is_random(row) && !is_ours(row));
        let Some((best, own)) = others
            .first()
            .and_then(|(_, best)| Some((*best, figures.row("random-outpace", to)?)))
        else {
            continue;
        };
        let rung = &best.rung;
        let compared = Compared::of(own, best);
        sentences.push(match compared {
            Compared::Less(ratio) => format!(
                "With numbers of random length to {to} outpace takes {} of the best other way, {rung}.",
                times(ratio)
            ),
            Compared::Same => {
                format!("With numbers of random length to {to} outpace and {rung} are equal.")
            }
            Compared::More(ratio) => format!(
                "With numbers of random length to {to} {rung} is not beaten: outpace takes {} of it.",
                times(ratio)
            ),
            Compared::Open(_) => compared
                .unsettled("random-outpace", rung, to)
                .unwrap_or_default(),
        });
    }
    let compared = |one, other| {
        let to = figures.destinations().into_iter();
        to.filter_map(|to| Some((to, figures.compare(one, other, to)?)))
            .next()
    };
    if let Some((to, compared)) = compared("speedy", "fast-itoa") {
        sentences.push(match compared {
            Compared::Less(ratio) => format!(
                "With the same integers speedy is {:.0} % faster than fast: the text was right, \
                 the lock and the LineWriter below cost that much.",
                (1.0 / ratio - 1.0) * 100.0
            ),
            Compared::More(_) => {
                "With the same integers speedy is slower than fast: the table was right.".to_owned()
            }
            Compared::Same => {
                "With the same integers speedy and fast are equal: neither the text nor the \
                               table was right; what differed was the formatting."
                    .to_owned()
            }
            Compared::Open(_) => compared
                .unsettled("speedy", "fast-itoa", to)
                .unwrap_or_default(),
        });
    }
    if let Some((to, compared)) = compared("fast", "slow") {
        let writes = |rung| figures.writes(rung, to).unwrap_or_default();
        sentences.push(match compared {
            Compared::Less(ratio) => explain_bufwriter(ratio, writes("slow"), writes("fast")),
            Compared::Open(_) => compared.unsettled("fast", "slow", to).unwrap_or_default(),
            Compared::Same | Compared::More(_) => {
                "A BufWriter above std's lock gains nothing where no newline is written.".to_owned()
            }
        });
    }
    sentences.join(" ")
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
