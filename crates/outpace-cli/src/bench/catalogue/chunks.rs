//! `chunks`: how much to hand to the kernel at a time.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io::{self, BufWriter, LineWriter, Write};

use outpace_ratatui::workloads::Workload;

use super::lines::bare_stdout;
use super::pictures::{Rows, WHOLE_FRAME, crossterm};
use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method, Rung};
use crate::bench::results::figures::{Compared, Figures, first_of, leaders};
use crate::bench::results::rows::Row;
use crate::user::quantity::{significant, times, times_in_words};

pub(crate) const CHUNKS: Experiment = Experiment {
    name: "chunks",
    question: "Does the buffer size matter?",
    published: "100-byte buffers visibly tear; very small and very large ones both lose; one line a \
                drain won nothing.",
    sources: &[sources::STDOUT_AND_STDERR],
    published_to: &[],
    unit: "message",
    message,
    messages: 100_000_000,
    to: &["pipe", "pipe:512KiB", "pipe:1MiB", "pty"],
    baseline: "8KiB",
    method: Method::Work,
    rungs: rungs! {
        described "100B": Here(|span| chunk(span, 100)), "a buffer of 100 bytes";
        described "line": Here(|span| pieces(span, LineWriter::new(bare_stdout()?))), "one line a drain";
        added "1KiB": Here(|span| chunk(span, 1 << 10)), "a buffer of 1 KiB";
        added "4KiB": Here(|span| chunk(span, 4 << 10)), "a buffer of 4 KiB";
        described "8KiB": Here(|span| chunk(span, 8 << 10)), "a buffer of 8 KiB";
        added "16KiB": Here(|span| chunk(span, 16 << 10)), "a buffer of 16 KiB";
        added "32KiB": Here(|span| chunk(span, 32 << 10)), "a buffer of 32 KiB";
        added "64KiB": Here(|span| chunk(span, 64 << 10)), "a buffer of 64 KiB";
        added "128KiB": Here(|span| chunk(span, 128 << 10)), "a buffer of 128 KiB";
        described "1MiB": Here(|span| chunk(span, 1 << 20)), "a buffer of 1 MiB";
        outpace "outpace": Here(outpace), "typed calls, the size outpace takes by itself";
        described "picture-100B": Here(|span| picture(span, 100)), "the animation of fps, a buffer of 100 bytes" .animation();
        added "picture-1KiB": Here(|span| picture(span, 1 << 10)), "the animation, a buffer of 1 KiB" .animation();
        described "picture-row": Here(|span| crossterm(span, Workload::Animation, Rows::of_stdout()?)), "the animation, a row a drain" .animation();
        described PICTURE_8KIB: Here(|span| picture(span, 8 << 10)), "the animation, a buffer of 8 KiB" .animation();
        added "picture-64KiB": Here(|span| picture(span, 64 << 10)), "the animation, a buffer of 64 KiB" .animation();
        described "picture-1MiB": Here(|span| picture(span, 1 << 20)), "the animation, a buffer of 1 MiB" .animation();
        added "picture-frame": Here(|span| picture(span, WHOLE_FRAME)), "the animation, a frame a drain" .animation();
    },
    conclusion,
};

const PICTURE_8KIB: &str = "picture-8KiB";

impl Rung {
    /// The same, drawing the animation of fps, and compared with others that do.
    const fn animation(self) -> Self {
        self.draws(Workload::Animation).against(PICTURE_8KIB)
    }
}

/// The ladder's messages, as lines so that one can be torn.
fn message(index: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("Hello, {index}\n").as_bytes());
}

fn chunk(span: &mut Span, capacity: usize) -> io::Result<()> {
    pieces(span, BufWriter::with_capacity(capacity, bare_stdout()?))
}

fn picture(span: &mut Span, capacity: usize) -> io::Result<()> {
    let out = BufWriter::with_capacity(capacity, bare_stdout()?);
    crossterm(span, Workload::Animation, out)
}

fn outpace(span: &mut Span) -> io::Result<()> {
    let mut out = outpace::stdout().lock();
    for index in 0..span.messages {
        out.str("Hello, ").int(index).char('\n');
    }
    span.done_calling();
    out.flush()
}

/// As formatting does it: a message comes in pieces, between which a buffer may be drained.
fn pieces(span: &mut Span, mut out: impl Write) -> io::Result<()> {
    let mut digits = itoa::Buffer::new();
    for index in 0..span.messages {
        out.write_all(b"Hello, ")?;
        out.write_all(digits.format(index).as_bytes())?;
        out.write_all(b"\n")?;
    }
    span.done_calling();
    out.flush()
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = figures.at_each(|to| sizes(figures, to));
    sentences.extend(figures.at_each(|to| pictures(figures, to)));
    sentences.extend(tearing(figures));
    sentences
}

fn is(row: &Row, kind: fn(&Rung) -> bool) -> bool {
    CHUNKS.rung(&row.rung).is_some_and(kind)
}

/// The best and the worst size for messages.
fn sizes(figures: &Figures<'_>, to: &str) -> Vec<String> {
    let ranked = figures.ranked(to, |row| is(row, is_a_chunk));
    let (Some((_, best)), Some((_, worst))) = (ranked.first(), ranked.last()) else {
        return Vec::new();
    };
    let all = leaders(&ranked);
    let are = if all.len() > 1 {
        "sizes are"
    } else {
        "size is"
    };
    let all = first_of(&all);
    let compared = Compared::of(worst, best);
    let said = compared.sentence(&worst.rung, &best.rung, to, |time, ratio| match time {
        Greater => format!(
            "To {to} the best {are} {all}, the worst, {}, takes {} as long.",
            worst.rung,
            times_in_words(ratio)
        ),
        Equal | Less => format!("To {to} the size does not matter."),
    });
    let line = figures.row("line", to).map(|line| Compared::of(line, best));
    let line = line.and_then(|line| match line {
        Compared::Less(_) => Some("One line a drain wins there.".to_owned()),
        Compared::More(ratio) => Some(format!("One line a drain costs {} the best.", times(ratio))),
        Compared::Same => Some("One line a drain costs what the best does.".to_owned()),
        Compared::Open(_) => None,
    });
    [Some(said), line].into_iter().flatten().collect()
}

/// The best and the worst size for pictures.
fn pictures(figures: &Figures<'_>, to: &str) -> Option<String> {
    let ranked = figures.by_frames(to, |row| is(row, |rung| rung.draws.is_some()));
    let size = |row: &Row| drains(row.rung.trim_start_matches("picture-"));
    let (best, worst) = (ranked.first()?, ranked.last()?);
    let compared = Compared::of(worst, best);
    let said = compared.sentence(&worst.rung, &best.rung, to, |time, ratio| match time {
        Greater => format!(
            "The animation to {to} is fastest with drains of {}, slowest with {}, {} the frames.",
            size(best),
            size(worst),
            times(1.0 / ratio)
        ),
        Equal | Less => format!("The animation to {to} does not care."),
    });
    Some(said)
}

/// Whether a small buffer tears lines.
fn tearing(figures: &Figures<'_>) -> Option<String> {
    let mut destinations = figures.destinations().into_iter();
    let to = destinations.find(|to| to.starts_with("pty"))?;
    let torn = |rung| figures.row(rung, to)?.torn_per_1000();
    let (small, usual) = (torn("100B")?, torn("8KiB")?);
    let seen = format!(
        "a terminal sees {} torn lines in 1,000, with 8 KiB {}",
        significant(small),
        significant(usual)
    );
    Some(if small > usual * 2.0 {
        format!("With 100 bytes {seen}: it tears as published.")
    } else {
        format!("With 100 bytes {seen}: at full speed a larger buffer tears about as many.")
    })
}

/// The size of a rung's writes, in words.
fn drains(size: &str) -> String {
    match size {
        "row" | "frame" => format!("a {size}"),
        _ => size.to_owned(),
    }
}

fn is_a_chunk(rung: &Rung) -> bool {
    rung.name.ends_with('B') && rung.draws.is_none()
}
