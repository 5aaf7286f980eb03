//! `fps`: the published animation through ratatui, on stdout and on stderr, and by outpace's backend.

use std::io::{self, BufWriter, LineWriter};

use outpace_ratatui::workloads::Workload;

use super::lines::bare_stdout;
use super::pictures::{WHOLE_FRAME, crossterm, crossterm_on, direct, presenter};
use super::sources;
use crate::bench::experiment::{Experiment, Method, no_bytes};
use crate::bench::results::figures::{Compared, Figures};
use crate::fps::canvas::StandardStream;
use crate::user::quantity::times;

const ANIMATION: Workload = Workload::Animation;
const STDERR: StandardStream = StandardStream::Stderr;

pub(crate) const FPS: Experiment = Experiment {
    name: "fps",
    question: "Full-screen animation: why is stdout about twice as fast as stderr?",
    published: "stdout is line-buffered, stderr unbuffered; with the same buffering they are equal; raw \
                stdout is as slow as raw stderr; block-buffered stdout was not noticeably faster; nothing \
                faster was found (the open challenge).",
    sources: &[sources::STDOUT_AND_STDERR],
    published_to: &[],
    unit: "frame",
    message: no_bytes,
    messages: 1_000,
    to: &["pty", "xterm", "alacritty", "kitty"],
    baseline: "stdout-line",
    method: Method::Frames,
    rungs: rungs! {
        described "stdout-line": Here(|span| crossterm(span, ANIMATION, io::stdout())),
            "crossterm's backend on stdout" .draws(ANIMATION);
        described "stdout-raw": Here(|span| crossterm(span, ANIMATION, bare_stdout()?)),
            "on stdout without a buffer" .draws(ANIMATION);
        described "stdout-block": Here(|span| crossterm(span, ANIMATION, BufWriter::new(bare_stdout()?))),
            "on stdout in a BufWriter" .draws(ANIMATION);
        described "stderr-raw": Here(|span| crossterm_on(STDERR, span, ANIMATION, io::stderr())),
            "on stderr" .draws(ANIMATION).on_stderr();
        described "stderr-line": Here(|span| crossterm_on(STDERR, span, ANIMATION, LineWriter::new(io::stderr()))),
            "on stderr in a LineWriter" .draws(ANIMATION).on_stderr();
        described "stderr-block": Here(|span| crossterm_on(STDERR, span, ANIMATION, BufWriter::new(io::stderr()))),
            "on stderr in a BufWriter" .draws(ANIMATION).on_stderr();
        added "stdout-frame": Here(|span| crossterm(span, ANIMATION, BufWriter::with_capacity(WHOLE_FRAME, bare_stdout()?))),
            "on stdout in a BufWriter with room for a frame" .draws(ANIMATION);
        outpace "outpace-direct": Here(|span| direct(span, ANIMATION)),
            "outpace's backend, every frame" .draws(ANIMATION);
        outpace "outpace": Here(|span| presenter(span, ANIMATION)),
            "outpace's backend, which skips what the terminal has no time for" .draws(ANIMATION);
    },
    conclusion,
};

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        // By the times of a frame; frames a second are their inverse.
        let compare = |one, other| figures.compare(one, other, to);
        let Some(apart) = compare("stderr-raw", "stdout-line") else {
            continue;
        };
        if let Some(unsettled) = apart.unsettled("stderr-raw", "stdout-line", to) {
            sentences.push(unsettled);
            continue;
        }
        let mut said = format!(
            "To {to} stdout draws {} the frames of stderr",
            times(apart.factor().unwrap_or(1.0))
        );
        let pairs = [
            ("stdout-raw", "stderr-raw"),
            ("stdout-line", "stderr-line"),
            ("stdout-block", "stderr-block"),
        ]
        .map(|(one, other)| (one, other, compare(other, one)));
        // The most unequal pair, if any is.
        let unequal = pairs
            .iter()
            .filter_map(|(one, other, compared)| Some((one, other, (*compared)?.factor()?)))
            .max_by(|one, other| one.2.ln().abs().total_cmp(&other.2.ln().abs()));
        let open = pairs
            .iter()
            .any(|(_, _, compared)| matches!(compared, Some(Compared::Open(_))));
        said += &match unequal {
            Some((one, other, ratio)) => format!(
                ", and not only for their buffering: {one} {} {other}",
                times(ratio)
            ),
            None if open => {
                "; the noise hides whether they are equal with the same buffering".to_owned()
            }
            None => "; with the same buffering they are equal, as published".to_owned(),
        };
        said += &match compare("stdout-line", "stdout-block") {
            Some(Compared::Same) => "; a block buffer is not noticeably faster".to_owned(),
            Some(Compared::Less(ratio) | Compared::More(ratio)) => {
                format!("; a block buffer makes it {}", times(ratio))
            }
            Some(Compared::Open(_)) => "; the noise hides what a block buffer changes".to_owned(),
            None => String::new(),
        };
        sentences.push(said + ".");
        sentences.extend(ours(figures, to));
    }
    sentences
}

/// The sentence on outpace's backend that shows every frame.
fn ours(figures: &Figures<'_>, to: &str) -> Option<String> {
    let (own, stdout) = (
        figures.row("outpace-direct", to)?,
        figures.row("stdout-line", to)?,
    );
    let compared = Compared::of(stdout, own);
    let ratio = match compared {
        Compared::Open(_) => return compared.unsettled("outpace-direct", "stdout-line", to),
        other => other.factor().unwrap_or(1.0),
    };
    let others = figures.by_frames(to, |row| !row.rung.starts_with("outpace"));
    let best = others.first()?;
    let rank = match Compared::of(best, own) {
        Compared::More(_) => "more than any other way",
        Compared::Less(_) => "which another way does better",
        Compared::Same | Compared::Open(_) => "and so does another way",
    };
    Some(format!(
        "outpace, skipping nothing, draws {} the frames of stdout there, {rank}.",
        times(ratio)
    ))
}
