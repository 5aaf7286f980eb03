//! The charts of an experiment's rows at one destination, by the kind of measurement.

use super::chart::{Axis, Chart, Group, Lane, Mark, Shape, Tone, count, time};
use crate::bench::experiment::{Experiment, Method, Passage};
use crate::bench::results::figures::base_name;
use crate::bench::results::rows::{Latency, Published, Row};
use crate::bench::results::stats::ConfidenceInterval;
use crate::user::quantity::{duration, grouped, significant};

const LESS: &str = "Less is better.";
const LOGARITHMIC: &str = "Logarithmic scale.";

/// A figure that is ranked among others.
struct Amount {
    name: String,
    ours: bool,
    value: f64,
    interval: Option<ConfidenceInterval>,
    published: Option<f64>,
}

/// The unit of a chart's amounts.
struct Measure {
    /// The name of the unit, such as "time a line".
    unit: String,
    /// `None`: neither is better.
    more_is_better: Option<bool>,
    /// On the axis.
    tick: fn(f64) -> String,
    /// Beside the mark.
    label: fn(f64) -> String,
    /// Whether a chart whose bars are all alike is left out.
    is_to_differ: bool,
}

impl Measure {
    fn time(unit: impl Into<String>) -> Self {
        Self {
            unit: unit.into(),
            more_is_better: Some(false),
            tick: time,
            label: duration,
            is_to_differ: false,
        }
    }

    fn count(unit: impl Into<String>, more_is_better: Option<bool>) -> Self {
        Self {
            unit: unit.into(),
            more_is_better,
            tick: count,
            label: |value| {
                if value < 1_000.0 {
                    significant(value)
                } else {
                    grouped(value.round() as u64)
                }
            },
            is_to_differ: false,
        }
    }

    fn bytes() -> Self {
        Self {
            is_to_differ: true,
            ..Self::count("bytes a frame", Some(false))
        }
    }

    fn megabytes() -> Self {
        Self::count("MB/s", Some(true))
    }
}

/// The charts of the rows of one destination.
pub(super) fn charts(
    experiment: &Experiment,
    method: Method,
    to: &str,
    rows: &[&Row],
) -> Vec<Chart> {
    let ran: Vec<&Row> = rows.iter().copied().filter(|row| row.ran()).collect();
    let mut charts = Vec::new();
    match method {
        Method::Arrival(texts) => charts.extend(passages(texts, to, &ran)),
        Method::Programs => charts.extend(programs(to, &ran)),
        _ => {
            let groups = alike(experiment, &ran);
            let several = groups.len() > 1;
            for (name, rows) in groups {
                let title = if several {
                    format!("{} to {to}, {name}", experiment.name)
                } else {
                    format!("{} to {to}", experiment.name)
                };
                charts.extend(of_group(experiment, method, &title, &rows));
            }
        }
    }
    charts
}

/// Rows that do the same work, in the order of the experiment, with a name for the work: those that are compared
/// with the same rung, and servers under the same load.
fn alike<'a>(experiment: &Experiment, rows: &[&'a Row]) -> Vec<(String, Vec<&'a Row>)> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let name = match row.server().map(|server| server.connections) {
            Some(1) => "1 connection".to_owned(),
            Some(connections) => format!("{connections} connections"),
            None => {
                let own = experiment.rung(base_name(&row.rung));
                let baseline = own.map_or(experiment.baseline, |rung| experiment.baseline_of(rung));
                format!("compared with {baseline}")
            }
        };
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    groups
}

/// A row's figure, the interval in which its median lies, and the published figure.
type Figure = (f64, Option<ConfidenceInterval>, Option<f64>);

/// The mark of a row in a chart.
enum Marked {
    Amount(Measure, fn(&Row) -> Option<Figure>),
    Calls(fn(&Row) -> Option<Latency>),
}

/// Charts, a line each: the title, and the mark of a row.
macro_rules! charts {
    ($($title:expr => $kind:ident($($with:expr),+);)*) => {
        vec![$(($title.into(), Marked::$kind($($with),+))),*]
    };
}

fn of_group(experiment: &Experiment, method: Method, title: &str, rows: &[&Row]) -> Vec<Chart> {
    let chart = |(what, marked): (String, Marked)| {
        let title = format!("{title}: {what}");
        let (measure, figure) = match marked {
            Marked::Amount(measure, figure) => (measure, figure),
            Marked::Calls(times) => return latencies(experiment, title, rows, times),
        };
        let amount = |row: &&Row| {
            let (value, interval, published) = figure(row)?;
            Some(Amount {
                name: row.rung.clone(),
                ours: experiment.is_ours(base_name(&row.rung)),
                value,
                interval,
                published,
            })
        };
        ranked(title, &measure, rows.iter().filter_map(amount).collect())
    };
    let charts = charts_of(method, experiment.unit).into_iter();
    charts.filter_map(chart).collect()
}

/// The titles of a method's charts, and their marks.
fn charts_of(method: Method, unit: &str) -> Vec<(String, Marked)> {
    let time = format!("time a {unit}");
    match method {
        Method::Requests(_) => charts! {
            "requests a second" => Amount(Measure::count("requests/s", Some(true)), |row| {
                let rate = row.server()?.requests_per_second?.median as f64;
                Some((rate, row.interval().map(per_second), row.published.map(Published::per_second)))
            });
            "how long a log call holds the server up" => Calls(|row| row.server()?.log_call_ns);
            "how long an answer takes" => Calls(|row| row.server()?.answer_ns);
        },
        Method::Frames => charts! {
            "frames a second" => Amount(Measure::count("frames/s", Some(true)), |row| {
                Some((row.fps()?, row.interval().map(per_second), None))
            });
            "bytes a frame" => Amount(Measure::bytes(), |row| {
                Some(row.frames()?.bytes_per_frame).filter(|&bytes| bytes > 0.0).map(|bytes| (bytes, None, None))
            });
            "how long drawing a frame holds its caller up" => Calls(|row| row.frames()?.draw_call_ns);
        },
        Method::Terminal => charts! {
            "how fast it is worked through" => Amount(Measure::megabytes(), worked_through);
            "how long an answer takes" => Calls(|row| row.terminal_figures()?.report_ns);
        },
        Method::Timed(_) => charts! {
            "samples of a profiler in 5 s" => Amount(Measure::count("samples in 5 s", None), |row| {
                let samples = row.timed()?.profiler_samples;
                Some((samples.measured as f64, None, samples.published.map(|published| published as f64)))
            });
            format!("time in write calls a {unit}") => Amount(Measure::time(format!("in write calls a {unit}")), |row| {
                Some((row.per_message(Some(row.timed()?.write_ns))?, None, None))
            });
        },
        Method::Work | Method::Process | Method::Programs | Method::Arrival(_) => charts! {
            &time => Amount(Measure::time(&time), |row| {
                let published = row.published.map(Published::ns_per_message);
                Some((row.wall_per_message()?, row.interval(), published))
            });
            "how long a call holds its caller up" => Calls(Row::calls);
        },
    }
}

/// The terminals beside each other, by how fast they work through the baseline's text.
pub(super) fn terminals(experiment: &Experiment, rows: &[Row]) -> Option<Chart> {
    let ran = rows.iter().filter(|row| {
        row.experiment == experiment.name
            && base_name(&row.rung) == experiment.baseline
            && row.failed.is_none()
    });
    let amounts = ran.filter_map(|row| {
        let (value, interval, published) = worked_through(row)?;
        Some(Amount {
            name: row.to.clone(),
            ours: false,
            value,
            interval,
            published,
        })
    });
    let title = format!(
        "{}: how fast each works through {}",
        experiment.name, experiment.baseline
    );
    ranked(title, &Measure::megabytes(), amounts.collect())
}

/// The megabytes a second that a terminal works through.
fn worked_through(row: &Row) -> Option<Figure> {
    let rate = row.terminal_figures()?.consumed_per_second? / 1e6;
    let interval = row.interval().map(|time| per_second(time).times(1e-6));
    Some((rate, interval, None))
}

/// The interval of a rate, from that of the time.
fn per_second(time: ConfidenceInterval) -> ConfidenceInterval {
    ConfidenceInterval {
        low: 1e9 / time.high.max(f64::MIN_POSITIVE),
        middle: 1e9 / time.middle.max(f64::MIN_POSITIVE),
        high: 1e9 / time.low.max(1e-3),
    }
}

/// A lane each, the best first.
fn ranked(title: String, measure: &Measure, mut amounts: Vec<Amount>) -> Option<Chart> {
    let most = amounts.iter().map(|amount| amount.value).reduce(f64::max)?;
    let is_as_much = |amount: &Amount| amount.value > most * 0.95;
    if measure.is_to_differ && amounts.iter().all(is_as_much) {
        return None;
    }
    amounts.sort_by(|one, other| {
        if measure.more_is_better == Some(true) {
            other.value.total_cmp(&one.value)
        } else {
            one.value.total_cmp(&other.value)
        }
    });
    let values: Vec<f64> = amounts
        .iter()
        .flat_map(|amount| {
            let high = amount.interval.map(|interval| interval.high);
            // One noisy rung must not make all other bars short.
            let high = high.filter(|high| *high < amount.value * 1.5);
            [Some(amount.value), amount.published, high]
        })
        .flatten()
        .collect();
    let axis = Axis::of(&values, measure.tick);
    let published = amounts.iter().any(|amount| amount.published.is_some());
    let sentences = [
        measure
            .more_is_better
            .map(|more| if more { "More is better." } else { LESS }),
        (!axis.has_zero()).then_some(LOGARITHMIC),
        published.then_some("Outlined: as published, on another machine."),
    ];
    let reading = sentences
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let label = measure.label;
    let lanes = amounts.into_iter().map(|amount| {
        let mut marks = vec![Mark {
            shape: Shape::amount(amount.value, amount.interval),
            tone: if amount.ours { Tone::Ours } else { Tone::Plain },
            label: with_noise(label(amount.value), amount.interval),
        }];
        marks.extend(amount.published.map(|value| Mark {
            shape: Shape::Amount {
                value,
                interval: None,
            },
            tone: Tone::Published,
            label: format!("published {}", label(value)),
        }));
        Lane {
            name: amount.name,
            ours: amount.ours,
            marks,
        }
    });
    Some(Chart::of_lanes(title, reading, &measure.unit, axis, lanes))
}

/// A figure with its noise, where several runs tell it.
pub(super) fn with_noise(figure: String, interval: Option<ConfidenceInterval>) -> String {
    match interval {
        None => figure,
        Some(interval) if interval.is_noise() => {
            "no figure: the noise is larger than the time".to_owned()
        }
        Some(interval) => format!("{figure} {}", percent(interval)),
    }
}

/// Half the width of an interval as a share of its middle.
pub(super) fn percent(interval: ConfidenceInterval) -> String {
    match interval.noise() * 100.0 {
        _ if interval.is_noise() => "over 100 %".to_owned(),
        percent if percent < 0.95 => format!("±{percent:.1} %"),
        percent => format!("±{percent:.0} %"),
    }
}

fn latencies(
    experiment: &Experiment,
    title: String,
    rows: &[&Row],
    figure: fn(&Row) -> Option<Latency>,
) -> Option<Chart> {
    let mut found: Vec<(&Row, Latency)> = rows
        .iter()
        .filter_map(|row| Some((*row, figure(row)?)))
        .collect();
    found.sort_by_key(|(_, latency)| (latency.max, latency.p99, latency.median));
    let least = found
        .iter()
        .map(|(_, latency)| latency.median.max(1))
        .min()?;
    let most = found.iter().map(|(_, latency)| latency.max).max()?;
    let lanes = found.into_iter().map(|(row, latency)| {
        let Latency {
            median, p99, max, ..
        } = latency;
        let ours = experiment.is_ours(base_name(&row.rung));
        let said = |ns: u64| duration(ns as f64);
        let label = format!(
            "median {}, p99 {}, max {}",
            said(median),
            said(p99),
            said(max)
        );
        Lane {
            name: row.rung.clone(),
            ours,
            marks: vec![Mark {
                shape: Shape::Latency {
                    median: median as f64,
                    p99: p99 as f64,
                    max: max as f64,
                },
                tone: if ours { Tone::Ours } else { Tone::Plain },
                label,
            }],
        }
    });
    let reading = format!(
        "{LESS} Dot: the median of all calls; tick: one in a hundred takes longer; end: the longest. {LOGARITHMIC}"
    );
    let axis = Axis::logarithmic(least as f64, most.max(1) as f64, time);
    Some(Chart::of_lanes(title, reading, "time a call", axis, lanes))
}

/// A group a rung, a lane a text: from the step that wrote it to the step at which it arrived.
fn passages(texts: &[Passage], to: &str, rows: &[&Row]) -> Option<Chart> {
    let mut steps: Vec<String> = Vec::new();
    for text in texts {
        if !steps.iter().any(|step| step == text.written_at) {
            steps.push(text.written_at.to_owned());
        }
    }
    // A step that writes no text, such as a flush, follows the last step whose text it shows.
    for text in texts.iter().rev() {
        let arrivals = rows.iter().flat_map(|row| row.arrivals());
        for arrival in arrivals.filter(|arrival| arrival.text == text.name) {
            if !steps.contains(&arrival.arrived_at) {
                let written = steps.iter().position(|step| step == text.written_at);
                let place = written.map_or(steps.len(), |written| written + 1);
                steps.insert(place, arrival.arrived_at.clone());
            }
        }
    }
    let at = |step: &str| {
        steps
            .iter()
            .position(|known| known == step)
            .map(|at| at as f64)
    };
    let groups: Vec<Group> = rows
        .iter()
        .filter(|row| !row.arrivals().is_empty())
        .map(|row| Group {
            heading: row.rung.clone(),
            lanes: row
                .arrivals()
                .iter()
                .filter_map(|arrival| {
                    let (from, to) = (at(&arrival.written_at)?, at(&arrival.arrived_at)?);
                    let (tone, label) = if to > from {
                        (Tone::Late, "held back".to_owned())
                    } else {
                        (
                            Tone::Ours,
                            format!("after {}", duration(arrival.after_ns as f64)),
                        )
                    };
                    let shape = Shape::Passage { from, to };
                    let mark = Mark { shape, tone, label };
                    Some(Lane::plain(&arrival.text, vec![mark]))
                })
                .collect(),
        })
        .collect();
    (!groups.is_empty()).then(|| Chart {
        title: format!("when, to {to}: from the step that writes a text to the step at which it appears"),
        reading: "Time goes to the right, step by step. A dot alone: the text appears at once. A line: it is held \
                  back, until the dot."
            .to_owned(),
        unit: "steps of the program".to_owned(),
        axis: Axis::Steps(steps),
        groups,
    })
}

/// Whether a program prints as its language does by default: not fixed, not under `outpace run`, and not to stderr.
pub(super) fn is_default(row: &Row) -> bool {
    let mut others = ["-fixed", "-run", "-stderr"].iter();
    !others.any(|ending| row.rung.ends_with(ending))
}

/// A lane a language and way to print, with up to three marks: as it is, by the shortest fix, under `outpace run`.
fn programs(to: &str, rows: &[&Row]) -> Option<Chart> {
    let find = |name: &str| rows.iter().copied().find(|row| row.rung == name);
    let mut values = Vec::new();
    let mut lanes: Vec<(f64, Lane)> = Vec::new();
    for row in rows.iter().filter(|row| is_default(row)) {
        let Some(plain) = row.wall_per_message() else {
            continue;
        };
        let marks = [
            ("", "as it is", Tone::Plain),
            ("-fixed", "fixed", Tone::Second),
            ("-run", "outpace run", Tone::Ours),
        ];
        let marks = marks.into_iter().filter_map(|(ending, what, tone)| {
            let row = find(&format!("{}{ending}", row.rung))?;
            let value = row.wall_per_message()?;
            values.push(value);
            let figure = with_noise(duration(value), row.interval());
            Some(Mark {
                shape: Shape::amount(value, row.interval()),
                tone,
                label: format!("{figure}, {what}"),
            })
        });
        let marks = marks.collect();
        lanes.push((plain, Lane::plain(&row.rung, marks)));
    }
    lanes.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    if lanes.is_empty() {
        return None;
    }
    let axis = Axis::of(&values, time);
    let scale = if axis.has_zero() { "" } else { LOGARITHMIC };
    let title = format!(
        "languages to {to}: time a line, as it is, by the shortest fix and under outpace run"
    );
    let (reading, lanes) = (
        format!("{LESS} {scale}"),
        lanes.into_iter().map(|(_, lane)| lane),
    );
    Some(Chart::of_lanes(title, reading, "time a line", axis, lanes))
}
