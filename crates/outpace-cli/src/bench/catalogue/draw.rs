//! `draw`: the cost of a frame, by backends, for the usual work of terminal applications.

use std::io;

use outpace_ratatui::workloads::Workload;

use super::pictures::{crossterm, direct, presenter, termina, termion};
use super::sources;
use super::transcripts::{Talk, insert_before, key_lines, outpace, token_lines};
use crate::bench::experiment::{Experiment, Method, Rung, no_bytes};
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

/// Every workload by every backend, then other rungs.
macro_rules! drawn {
    ($($workload:ident $name:literal;)* + $($others:tt)*) => {
        rungs! {
            $(
                added {concat!($name, "-crossterm")}: Here(|span| crossterm(span, Workload::$workload, io::stdout())),
                    {concat!($name, ", crossterm's backend")}
                    .draws(Workload::$workload).against(concat!($name, "-crossterm"));
                added {concat!($name, "-termion")}: Here(|span| termion(span, Workload::$workload, io::stdout())),
                    {concat!($name, ", termion's backend")}
                    .draws(Workload::$workload).against(concat!($name, "-crossterm"));
                added {concat!($name, "-termina")}: Here(|span| termina(span, Workload::$workload)),
                    {concat!($name, ", termina's backend")}
                    .draws(Workload::$workload).against(concat!($name, "-crossterm"));
                outpace {concat!($name, "-outpace-direct")}: Here(|span| direct(span, Workload::$workload)),
                    {concat!($name, ", outpace's backend, every frame")}
                    .draws(Workload::$workload).against(concat!($name, "-crossterm"));
                outpace {concat!($name, "-outpace")}: Here(|span| presenter(span, Workload::$workload)),
                    {concat!($name, ", outpace's backend, which never waits")}
                    .draws(Workload::$workload).against(concat!($name, "-crossterm"));
            )*
            $($others)*
        }
    };
}

const RUNGS: &[Rung] = drawn! {
    Animation "animation";
    Noise "noise";
    Log "log";
    Editor "editor";
    Dashboard "dashboard";
    Idle "idle";
    +
    added "animation-notcurses": Source(&NOTCURSES), "animation, notcurses, in C"
        .told(&[("WORKLOAD", "animation")]).draws(Workload::Animation).against("animation-crossterm");
    added "noise-notcurses": Source(&NOTCURSES), "noise, notcurses, in C"
        .told(&[("WORKLOAD", "noise")]).draws(Workload::Noise).against("noise-crossterm");
    added "transcript-token-insert-before": Here(|span| insert_before(span, Talk::Token)),
        "a token of a transcript, ratatui's insert_before on crossterm" .token();
    added "transcript-token-ink": Source(&INK), "the same by Ink, in JavaScript, messages in <Static>"
        .told(&[("TALK", "token")]).token();
    outpace "transcript-token-outpace": Here(|span| outpace(span, Talk::Token)),
        "a token of a transcript, outpace's Transcript" .token();
    added "transcript-key-insert-before": Here(|span| insert_before(span, Talk::Key)),
        "a key below 500 messages, ratatui's insert_before on crossterm" .key();
    added "transcript-key-ink": Source(&INK), "the same by Ink, in JavaScript, messages in <Static>"
        .told(&[("TALK", "key")]).key();
    outpace "transcript-key-outpace": Here(|span| outpace(span, Talk::Key)),
        "a key below 500 messages, outpace's Transcript" .key();
};

impl Rung {
    /// The same, streaming tokens below a transcript.
    const fn token(self) -> Self {
        self.prints(token_lines)
            .against("transcript-token-insert-before")
    }

    /// The same, showing keys that are typed below one.
    const fn key(self) -> Self {
        self.prints(key_lines)
            .against("transcript-key-insert-before")
    }
}

sources! {
    "draw";
    NOTCURSES: C, "notcurses.c";
}

sources! {
    "ink";
    INK: JavaScript, "transcript.mjs";
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    figures.at_each(|to| {
        let parts = [bytes, talking, waiting].map(|part| part(figures, to));
        parts.into_iter().flatten()
    })
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
            let theirs_shown = significant(theirs);
            Some(if bytes == 0.0 {
                format!("{name} none (of {theirs_shown})")
            } else {
                let share = times(bytes / theirs.max(f64::MIN_POSITIVE));
                format!("{name} {share} ({} for {theirs_shown})", significant(bytes))
            })
        })
        .collect();
    (!shares.is_empty()).then(|| {
        let shares = shares.join(", ");
        format!("Of crossterm's bytes a frame outpace sends to {to}: {shares}.")
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
    (!said.is_empty()).then(|| format!("Bytes of a transcript to {to}: {}.", said.join(", ")))
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
