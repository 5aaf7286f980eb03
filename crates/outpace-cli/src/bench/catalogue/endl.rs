//! `endl`: C++'s `std::endl` against `'\n'`.

use std::cmp::Ordering::{Equal, Greater, Less};

use super::lines::message;
use super::sources;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::Figures;
use crate::bench::results::rows::Row;
use crate::bench::results::stats::ConfidenceInterval;
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::{significant, times};

pub(crate) const ENDL: Experiment = Experiment {
    name: "endl",
    question: "What does std::endl cost, and why was it faster on a terminal?",
    published: "1,000,000 numbers: to a file endl 827 ms and '\\n' 31 ms; to a terminal 5.5 s and \
                8.0 s: \"newline is slower there, the library probably optimises endl\". It timed \
                endl first; here every other round begins with '\\n'.",
    sources: &[sources::ENDL],
    published_to: &["file"],
    unit: "line",
    message,
    messages: 1_000_000,
    to: &["file", "pipe", "pty", "xterm"],
    baseline: "newline",
    method: Method::Work,
    rungs: rungs! {
        published "endl" 0.827 s: Source(&WITH_ENDL), "std::cout << i << std::endl";
        published "newline" 0.031 s: Source(&WITH_NEWLINE), "std::cout << i << '\\n'";
        added "newline-nosync": Source(&WITHOUT_SYNC), "std::cout << i << '\\n' after sync_with_stdio(false)";
        outpace "outpace-endl": Source(&OUTPACE), "outpace::cout << i << std::endl, by include/outpace.hpp";
    },
    conclusion,
};

sources! {
    "endl";
    WITH_ENDL: Cpp, "endl.cpp";
    WITH_NEWLINE: Cpp, "newline.cpp";
    WITHOUT_SYNC: Cpp, "nosync.cpp";
    OUTPACE: Cpp, "outpace.cpp";
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        let (Some(endl), Some(newline)) = (figures.row("endl", to), figures.row("newline", to))
        else {
            continue;
        };
        let said = figures.sentence("endl", "newline", to, |time, ratio| match time {
            Greater => format!("To {to} endl takes {} of newline.", times(ratio)),
            Less => format!(
                "To {to} endl is the faster one, with {} of newline.",
                times(ratio)
            ),
            Equal => format!("To {to} they are equal."),
        });
        sentences.extend(said);
        if let (Some(endl), Some(newline)) =
            (figures.writes("endl", to), figures.writes("newline", to))
        {
            sentences.push(if endl < newline * 1.5 {
                format!(
                    "Both make {} write calls for 1,000 lines, so the library optimises nothing \
                     there.",
                    significant(endl)
                )
            } else {
                format!(
                    "endl makes {} write calls for 1,000 lines, newline {}.",
                    significant(endl),
                    significant(newline)
                )
            });
        }
        // In the rounds of even number endl ran first, in the others newline.
        let half = |row: &Row, first: usize| -> Vec<f64> {
            row.times().into_iter().skip(first).step_by(2).collect()
        };
        let ratio_when =
            |first| ConfidenceInterval::of_ratio(&half(endl, first), &half(newline, first));
        if let (Some(endl_first), Some(newline_first)) = (ratio_when(0), ratio_when(1)) {
            let (one, other) = (endl_first.middle, newline_first.middle);
            if endl_first.is_apart_from(newline_first) && (one / other).max(other / one) > 1.25 {
                sentences.push(format!(
                    "The order matters: {} when endl runs first, {} when newline does.",
                    times(one),
                    times(other)
                ));
            }
        }
    }
    sentences
}
