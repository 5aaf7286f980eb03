//! When text reached the reader, from the steps a rung reported and the pieces its reader saw.

use super::child::Trial;
use crate::bench::experiment::Passage;
use crate::bench::results::rows::Arrival;
use crate::bench::results::stats::{Spread, median};

/// The arrival of each text: the time is the median of the runs, the step that of the run nearest
/// to it.
pub(crate) fn arrivals(texts: &[Passage], is_terminal: bool, trials: &[Trial]) -> Vec<Arrival> {
    let mut end = 0;
    texts
        .iter()
        .filter_map(|text| {
            end += text.bytes.len() as u64;
            if is_terminal {
                // Each newline arrives as two bytes.
                end += text.bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
            }
            let seen: Vec<(u64, &str)> = trials
                .iter()
                .filter_map(|trial| arrival(text, end, trial))
                .collect();
            let middle = median(&seen.iter().map(|&(after, _)| after).collect::<Vec<_>>());
            let &(_, step) = seen
                .iter()
                .min_by_key(|(after, _)| after.abs_diff(middle))?;
            Some(Arrival {
                text: text.name.to_owned(),
                written_at: text.written_at.to_owned(),
                arrived_at: step.to_owned(),
                after_ns: middle,
                spread_ns: Spread::of(seen.iter().map(|&(after, _)| after)),
            })
        })
        .collect()
}

/// In one run: how long after its step a text that ends at byte `end` had arrived, and the last
/// step that had begun by then.
fn arrival<'a>(text: &Passage, end: u64, trial: &'a Trial) -> Option<(u64, &'a str)> {
    let steps = &trial.report.steps;
    let &(at, _) = trial
        .received
        .arrivals
        .iter()
        .find(|&&(_, bytes)| bytes >= end)?;
    let &(_, written) = steps.iter().find(|(name, _)| name == text.written_at)?;
    let (step, _) = steps.iter().rfind(|&&(_, began)| began <= at)?;
    Some((at.saturating_sub(written), step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::destination::reader::Received;
    use crate::bench::experiment::clock::RungReport;

    const TEXTS: &[Passage] = &[
        Passage {
            name: "half a line",
            written_at: "one",
            bytes: b"half",
        },
        Passage {
            name: "its newline",
            written_at: "two",
            bytes: b"\n",
        },
    ];

    fn trial(arrivals: &[(u64, u64)]) -> Trial {
        let steps = vec![("one".to_owned(), 100), ("two".to_owned(), 200)];
        let report = RungReport {
            steps,
            ..RungReport::default()
        };
        let received = Received {
            arrivals: arrivals.to_vec(),
            ..Received::default()
        };
        Trial::new(report, received)
    }

    #[test]
    fn a_text_that_waits_for_its_newline_arrives_in_the_newlines_step() {
        let late = arrivals(TEXTS, false, &[trial(&[(203, 5)])]);
        assert_eq!(
            (late[0].arrived_at.as_str(), late[0].after_ns),
            ("two", 103)
        );
        assert_eq!((late[1].arrived_at.as_str(), late[1].after_ns), ("two", 3));
        let prompt = arrivals(TEXTS, false, &[trial(&[(104, 4), (203, 5)])]);
        assert_eq!(
            (prompt[0].arrived_at.as_str(), prompt[0].after_ns),
            ("one", 4)
        );
    }

    #[test]
    fn a_terminal_adds_a_carriage_return() {
        let seen = arrivals(TEXTS, true, &[trial(&[(104, 4), (203, 5), (204, 6)])]);
        assert_eq!(seen[1].after_ns, 4);
    }

    #[test]
    fn a_text_that_never_arrives_has_no_arrival() {
        assert_eq!(arrivals(TEXTS, false, &[trial(&[(104, 4)])]).len(), 1);
    }
}
