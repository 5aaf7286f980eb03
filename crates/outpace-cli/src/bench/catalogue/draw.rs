//! `draw`: what a frame costs, by backends, for what terminal applications do all day.

use std::io;

use outpace_ratatui::workloads::Workload;

use super::pictures::{crossterm, direct, presenter, termina, termion};
use super::sources;
use super::transcripts::{Talk, insert_before, key_lines, outpace, token_lines};
use crate::bench::experiment::{Experiment, Method, Rung, Work, no_bytes};
use crate::bench::results::figures::Figures;
use crate::bench::results::rows::{Latency, Row};
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::{duration, significant, times};

pub(crate) const DRAW: Experiment = Experiment {
    name: "draw",
    question: "What does a frame cost, in bytes, write calls, processor time and waiting?",
    published: "Ours. crossterm's, termion's and termina's backends on stdout, as their documentation \
                has them. ratatui issue #2742: while the terminal does not read, drawing waits.",
    sources: &[sources::DRAWING_WAITS, sources::INK, sources::NOTCURSES],
    published_to: &[],
    unit: "frame",
    message: no_bytes,
    messages: 1_000,
    to: &["pty", "pty:stalled"],
    baseline: "animation-crossterm",
    method: Method::Frames,
    rungs: RUNGS,
    conclusion,
};

/// Every workload by every backend, and others.
macro_rules! rungs {
    ($($workload:ident $name:literal;)* $(+ $other:expr;)*) => {
        &[$(
            Rung::added(
                concat!($name, "-crossterm"),
                concat!($name, ", crossterm's backend"),
                Work::Here(|span| crossterm(span, Workload::$workload, io::stdout())),
            )
            .draws(Workload::$workload)
            .against(concat!($name, "-crossterm")),
            Rung::added(
                concat!($name, "-termion"),
                concat!($name, ", termion's backend"),
                Work::Here(|span| termion(span, Workload::$workload, io::stdout())),
            )
            .draws(Workload::$workload)
            .against(concat!($name, "-crossterm")),
            Rung::added(
                concat!($name, "-termina"),
                concat!($name, ", termina's backend"),
                Work::Here(|span| termina(span, Workload::$workload)),
            )
            .draws(Workload::$workload)
            .against(concat!($name, "-crossterm")),
            Rung::outpace(
                concat!($name, "-outpace-direct"),
                concat!($name, ", outpace's backend, every frame"),
                Work::Here(|span| direct(span, Workload::$workload)),
            )
            .draws(Workload::$workload)
            .against(concat!($name, "-crossterm")),
            Rung::outpace(
                concat!($name, "-outpace"),
                concat!($name, ", outpace's backend, which never waits"),
                Work::Here(|span| presenter(span, Workload::$workload)),
            )
            .draws(Workload::$workload)
            .against(concat!($name, "-crossterm")),
        )* $($other,)*]
    };
}

const RUNGS: &[Rung] = rungs! {
    Animation "animation";
    Noise "noise";
    Log "log";
    Editor "editor";
    Dashboard "dashboard";
    Idle "idle";
    + Rung::added("animation-notcurses", "animation, notcurses, in C", Work::Source(&NOTCURSES))
        .told(&[("WORKLOAD", "animation")])
        .draws(Workload::Animation)
        .against("animation-crossterm");
    + Rung::added("noise-notcurses", "noise, notcurses, in C", Work::Source(&NOTCURSES))
        .told(&[("WORKLOAD", "noise")])
        .draws(Workload::Noise)
        .against("noise-crossterm");
    + Rung::added(
        "transcript-token-insert-before",
        "a token of a transcript, ratatui's insert_before on crossterm",
        Work::Here(|span| insert_before(span, Talk::Token)),
    )
    .prints(token_lines)
    .against("transcript-token-insert-before");
    + Rung::added(
        "transcript-token-ink",
        "the same by Ink, in JavaScript, messages in <Static>",
        Work::Source(&INK),
    )
    .told(&[("TALK", "token")])
    .prints(token_lines)
    .against("transcript-token-insert-before");
    + Rung::outpace(
        "transcript-token-outpace",
        "a token of a transcript, outpace's Transcript",
        Work::Here(|span| outpace(span, Talk::Token)),
    )
    .prints(token_lines)
    .against("transcript-token-insert-before");
    + Rung::added(
        "transcript-key-insert-before",
        "a key below 500 messages, ratatui's insert_before on crossterm",
        Work::Here(|span| insert_before(span, Talk::Key)),
    )
    .prints(key_lines)
    .against("transcript-key-insert-before");
    + Rung::added(
        "transcript-key-ink",
        "the same by Ink, in JavaScript, messages in <Static>",
        Work::Source(&INK),
    )
    .told(&[("TALK", "key")])
    .prints(key_lines)
    .against("transcript-key-insert-before");
    + Rung::outpace(
        "transcript-key-outpace",
        "a key below 500 messages, outpace's Transcript",
        Work::Here(|span| outpace(span, Talk::Key)),
    )
    .prints(key_lines)
    .against("transcript-key-insert-before");
};

sources! {
    "draw";
    NOTCURSES: C, "notcurses.c";
}

sources! {
    "ink";
    INK: JavaScript, "transcript.mjs";
}

fn conclusion(figures: &Figures<'_>) -> String {
    let destinations = figures.destinations();
    let said = destinations.iter().flat_map(|to| {
        [
            bytes(figures, to),
            talking(figures, to),
            waiting(figures, to),
        ]
    });
    said.flatten().collect::<Vec<_>>().join(" ")
}

/// The rows of both backends for each workload that has them.
fn pairs<'a>(figures: &Figures<'a>, ours: &str, to: &str) -> Vec<(&'static str, &'a Row, &'a Row)> {
    let of = |name: &str, backend: &str| figures.row(&format!("{name}-{backend}"), to);
    Workload::ALL
        .into_iter()
        .filter_map(|(_, name)| Some((name, of(name, ours)?, of(name, "crossterm")?)))
        .collect()
}

fn call(row: &Row) -> Option<Latency> {
    row.frames()?.draw_call_ns
}

fn bytes_of(row: &Row) -> Option<f64> {
    Some(row.frames()?.bytes_per_frame)
}

fn bytes(figures: &Figures<'_>, to: &str) -> Option<String> {
    let shares: Vec<String> = pairs(figures, "outpace-direct", to)
        .into_iter()
        // Where frames are clocked, the first is most of the bytes.
        .filter(|(_, ours, _)| call(ours).is_none())
        .filter_map(|(name, ours, theirs)| {
            let (bytes, theirs) = (bytes_of(ours)?, bytes_of(theirs)?);
            Some(format!(
                "{name} {} ({} for {})",
                times(bytes / theirs.max(f64::MIN_POSITIVE)),
                significant(bytes),
                significant(theirs)
            ))
        })
        .collect();
    (!shares.is_empty()).then(|| {
        let shares = shares.join(", ");
        format!("To {to} outpace sends of crossterm's bytes: {shares}.")
    })
}

fn talking(figures: &Figures<'_>, to: &str) -> Option<String> {
    let cost = |what: &str, how: &str| {
        let row = figures.row(&format!("transcript-{what}-{how}"), to)?;
        bytes_of(row).map(significant)
    };
    let said = ["token", "key"].into_iter().filter_map(|what| {
        let (ours, theirs) = (cost(what, "outpace")?, cost(what, "insert-before")?);
        let ink = cost(what, "ink").map(|bytes| format!(", {bytes} by Ink"));
        let ink = ink.unwrap_or_default();
        Some(format!("a {what} {ours} ({theirs} by insert_before{ink})"))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("Bytes of a transcript: {}.", said.join(", ")))
}

fn waiting(figures: &Figures<'_>, to: &str) -> Option<String> {
    let longest = |row: &Row| {
        let Latency {
            max_less_delay,
            max,
            ..
        } = call(row)?;
        Some(max_less_delay.unwrap_or(max))
    };
    let (ours, theirs) = pairs(figures, "outpace", to)
        .into_iter()
        .filter_map(|(_, ours, theirs)| Some((longest(ours)?, longest(theirs)?)))
        .reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))?;
    let outcome = if ours * 10 < theirs {
        "the terminal does not hold it back"
    } else {
        "no great difference"
    };
    Some(format!(
        "To {to} drawing by crossterm waits up to {}, by outpace {}: {outcome}.",
        duration(theirs as f64),
        duration(ours as f64)
    ))
}
