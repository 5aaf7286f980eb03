//! `draw`: what a frame costs, by backends, for what terminal applications do all day.

use std::io;

use outpace_ratatui::workloads::Workload;

use super::pictures::{crossterm, direct, presenter, termina, termion};
use super::{Experiment, Method, Rung, Work};
use crate::bench::runner::figures::Figures;
use crate::bench::runner::rows::{Latency, Row};
use crate::user::quantity::{duration, significant, times};

pub(crate) const DRAW: Experiment = Experiment {
    name: "draw",
    question: "What does a frame cost, in bytes, write calls, processor time and waiting?",
    published: "Ours. crossterm's, termion's and termina's backends on stdout, as their documentation \
                has them. ratatui issue #2742: while the terminal does not read, drawing waits.",
    published_to: &[],
    unit: "frame",
    message: super::no_bytes,
    messages: 1_000,
    to: &["pty", "pty:stalled"],
    baseline: "animation-crossterm",
    method: Method::Frames,
    rungs: RUNGS,
    texts: &[],
    verdict,
};

/// Every workload by every backend.
macro_rules! rungs {
    ($($workload:ident $name:literal;)*) => {
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
        )*]
    };
}

const RUNGS: &[Rung] = rungs! {
    Animation "animation";
    Noise "noise";
    Log "log";
    Editor "editor";
    Dashboard "dashboard";
    Idle "idle";
};

fn verdict(figures: &Figures<'_>) -> String {
    let destinations = figures.destinations();
    let said = destinations
        .iter()
        .flat_map(|to| [bytes(figures, to), waiting(figures, to)]);
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

fn bytes(figures: &Figures<'_>, to: &str) -> Option<String> {
    let shares: Vec<String> = pairs(figures, "outpace-direct", to)
        .into_iter()
        // Where frames are clocked, the first is most of the bytes.
        .filter(|(_, ours, _)| ours.draw_call_ns.is_none())
        .filter_map(|(name, ours, theirs)| {
            let (bytes, theirs) = (ours.bytes_per_frame?, theirs.bytes_per_frame?);
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

fn waiting(figures: &Figures<'_>, to: &str) -> Option<String> {
    let longest = |row: &Row| {
        let Latency {
            max_less_delay,
            max,
            ..
        } = row.draw_call_ns?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::runner::figures::rows_of;

    #[test]
    fn the_verdict_turns_round_with_the_figures() {
        let say = |ours: f64, theirs: f64, our_call: u64, their_call: u64| {
            let names = [
                ("log-outpace-direct", "pty", 1),
                ("log-crossterm", "pty", 1),
                ("log-outpace", "pty:stalled", 1),
                ("log-crossterm", "pty:stalled", 1),
            ];
            let mut rows = rows_of("draw", &names);
            rows[0].bytes_per_frame = Some(ours);
            rows[1].bytes_per_frame = Some(theirs);
            for (row, max) in rows[2..].iter_mut().zip([our_call, their_call]) {
                row.draw_call_ns = Some(Latency {
                    median: 1,
                    p99: 1,
                    max,
                    max_less_delay: Some(max),
                    machine_max: None,
                });
            }
            verdict(&Figures::new("draw", &rows))
        };
        let said = say(200.0, 14_000.0, 200_000, 1_000_000_000);
        assert!(said.contains("log 0.014x (200 for 14,000)"), "{said}");
        assert!(said.contains("does not hold it back"), "{said}");
        let said = say(14_000.0, 200.0, 1_000_000_000, 200_000);
        assert!(said.contains("log 70.0x"), "{said}");
        assert!(said.contains("no great difference"), "{said}");
    }
}
