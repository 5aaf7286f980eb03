//! `fps`: the published animation through ratatui, on stdout and on stderr, and what outpace makes of it.

use std::io::{self, BufWriter, LineWriter};

use outpace_ratatui::workloads::Workload;

use super::lines::bare_stdout;
use super::pictures::{WHOLE_FRAME, crossterm, crossterm_on, direct, presenter};
use crate::bench::experiment::{Experiment, Method, Rung, Work, no_bytes};
use crate::bench::results::figures::Figures;
use crate::bench::results::rows::Row;
use crate::fps::canvas::Stream;
use crate::user::quantity::times;

const ANIMATION: Workload = Workload::Animation;
const STDERR: Stream = Stream::Stderr;

pub(crate) const FPS: Experiment = Experiment {
    name: "fps",
    question: "Full-screen animation: why is stdout about twice as fast as stderr?",
    published: "stdout is line-buffered, stderr unbuffered; with the same buffering they are equal; raw \
                stdout is as slow as raw stderr; block-buffered stdout was not noticeably faster; nothing \
                faster was found (the open challenge).",
    sources: &[],
    published_to: &[],
    unit: "frame",
    message: no_bytes,
    messages: 1_000,
    to: &["pty", "xterm", "alacritty", "kitty"],
    baseline: "stdout-line",
    method: Method::Frames,
    rungs: &[
        Rung::described(
            "stdout-line",
            "crossterm's backend on stdout",
            Work::Here(|span| crossterm(span, ANIMATION, io::stdout())),
        )
        .draws(ANIMATION),
        Rung::described(
            "stdout-raw",
            "on stdout without a buffer",
            Work::Here(|span| crossterm(span, ANIMATION, bare_stdout()?)),
        )
        .draws(ANIMATION),
        Rung::described(
            "stdout-block",
            "on stdout in a BufWriter",
            Work::Here(|span| crossterm(span, ANIMATION, BufWriter::new(bare_stdout()?))),
        )
        .draws(ANIMATION),
        Rung::described(
            "stderr-raw",
            "on stderr",
            Work::Here(|span| crossterm_on(STDERR, span, ANIMATION, io::stderr())),
        )
        .draws(ANIMATION)
        .on_stderr(),
        Rung::described(
            "stderr-line",
            "on stderr in a LineWriter",
            Work::Here(|span| crossterm_on(STDERR, span, ANIMATION, LineWriter::new(io::stderr()))),
        )
        .draws(ANIMATION)
        .on_stderr(),
        Rung::described(
            "stderr-block",
            "on stderr in a BufWriter",
            Work::Here(|span| crossterm_on(STDERR, span, ANIMATION, BufWriter::new(io::stderr()))),
        )
        .draws(ANIMATION)
        .on_stderr(),
        Rung::added(
            "stdout-frame",
            "on stdout in a BufWriter with room for a frame",
            Work::Here(|span| {
                let out = BufWriter::with_capacity(WHOLE_FRAME, bare_stdout()?);
                crossterm(span, ANIMATION, out)
            }),
        )
        .draws(ANIMATION),
        Rung::outpace(
            "outpace-direct",
            "outpace's backend, every frame",
            Work::Here(|span| direct(span, ANIMATION)),
        )
        .draws(ANIMATION),
        Rung::outpace(
            "outpace",
            "outpace's backend, which skips what the terminal has no time for",
            Work::Here(|span| presenter(span, ANIMATION)),
        )
        .draws(ANIMATION),
    ],
    verdict,
};

/// Within so much of one another two rungs are equal.
const EQUAL: std::ops::RangeInclusive<f64> = 0.8..=1.25;

fn verdict(figures: &Figures<'_>) -> String {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        let ratio = |one, other| Some(figures.fps(one, to)? / figures.fps(other, to)?);
        let Some(apart) = ratio("stdout-line", "stderr-raw") else {
            continue;
        };
        let mut said = format!("To {to} stdout draws {} the frames of stderr", times(apart));
        let same_buffering = [
            ("stdout-raw", "stderr-raw"),
            ("stdout-line", "stderr-line"),
            ("stdout-block", "stderr-block"),
        ];
        // The most unequal pair, if any is.
        let unequal = same_buffering
            .into_iter()
            .filter_map(|(one, other)| Some((one, other, ratio(one, other)?)))
            .filter(|(_, _, ratio)| !EQUAL.contains(ratio))
            .max_by(|one, other| one.2.ln().abs().total_cmp(&other.2.ln().abs()));
        said += &match unequal {
            None => "; with the same buffering they are equal, as published".to_owned(),
            Some((one, other, ratio)) => {
                format!(
                    ", and not only for their buffering: {one} {} {other}",
                    times(ratio)
                )
            }
        };
        if let Some(block) = ratio("stdout-block", "stdout-line") {
            said += &if EQUAL.contains(&block) {
                "; a block buffer is not noticeably faster".to_owned()
            } else {
                format!("; a block buffer makes it {}", times(block))
            };
        }
        sentences.push(said + ".");
        if let Some(ours) = ratio("outpace-direct", "stdout-line") {
            let best = figures
                .rows()
                .filter(|row| row.to == to && !row.rung.starts_with("outpace"))
                .filter_map(Row::fps)
                .fold(0.0, f64::max);
            let direct = figures.fps("outpace-direct", to).unwrap_or_default();
            sentences.push(if direct > best {
                format!(
                    "outpace, skipping nothing, draws {} the frames of stdout there, more than any other way.",
                    times(ours)
                )
            } else {
                format!(
                    "outpace, skipping nothing, draws {} the frames of stdout there, which another way does better.",
                    times(ours)
                )
            });
        }
    }
    sentences.join(" ")
}
