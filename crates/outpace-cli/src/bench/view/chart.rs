//! A chart before it is drawn: an axis, and lanes with marks on it.

use crate::bench::results::stats::ConfidenceInterval;
use crate::user::quantity::{duration, grouped, significant};

/// One question's answer as a picture. All its marks are of one unit of work.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// How it is read.
    pub(crate) reading: String,
    /// The unit of the axis, such as "time a line".
    pub(crate) unit: String,
    pub(crate) axis: Axis,
    pub(crate) groups: Vec<Group>,
}

impl Chart {
    /// A chart of one group.
    pub(super) fn of_lanes(
        title: String,
        reading: String,
        unit: impl Into<String>,
        axis: Axis,
        lanes: impl IntoIterator<Item = Lane>,
    ) -> Self {
        let group = Group {
            heading: String::new(),
            lanes: lanes.into_iter().collect(),
        };
        Self {
            title,
            reading,
            unit: unit.into(),
            axis,
            groups: vec![group],
        }
    }
}

/// Lanes under a heading of their own, which is empty where a chart has one group only.
pub(crate) struct Group {
    pub(crate) heading: String,
    pub(crate) lanes: Vec<Lane>,
}

/// The marks beside one name, each in a strip of its own.
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) ours: bool,
    pub(crate) marks: Vec<Mark>,
}

impl Lane {
    /// Beside a name that is not outpace's.
    pub(super) fn plain(name: &str, marks: Vec<Mark>) -> Self {
        Self {
            name: name.to_owned(),
            ours: false,
            marks,
        }
    }
}

/// A shape on the axis, with its figure in words.
pub(crate) struct Mark {
    pub(crate) shape: Shape,
    pub(crate) tone: Tone,
    pub(crate) label: String,
}

pub(crate) enum Shape {
    /// From zero, or a point where the axis has no zero; with the interval in which the median lies.
    Amount {
        value: f64,
        interval: Option<(f64, f64)>,
    },
    /// The times of many calls: the median, the time that one in a hundred exceeds, and the longest.
    Latency { median: f64, p99: f64, max: f64 },
    /// From the step that wrote a text to the step at which it arrived.
    Passage { from: f64, to: f64 },
    /// Only the label, of a figure that the noise hides.
    Hidden,
}

impl Shape {
    /// An amount and the interval of what was measured for it.
    pub(super) fn amount(value: f64, interval: Option<ConfidenceInterval>) -> Self {
        if interval.is_some_and(ConfidenceInterval::is_noise) {
            return Self::Hidden;
        }
        let interval = interval.map(|it| (it.low.max(0.0), it.high));
        Self::Amount { value, interval }
    }
}

/// The meaning of a mark; the page gives each its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Ours,
    /// A figure of the literature.
    Published,
    /// A second and a third figure of the same lane.
    Second,
    Third,
    /// Text that is held back.
    Late,
}

pub(crate) enum Axis {
    /// From zero.
    Linear { most: f64, show: fn(f64) -> String },
    /// From one power of ten to another.
    Logarithmic {
        least: f64,
        most: f64,
        show: fn(f64) -> String,
    },
    /// Steps of a program, evenly spaced.
    Steps(Vec<String>),
}

/// Short bars look alike if the longest is longer than by this factor.
const MOST_OF_A_BAR: f64 = 60.0;

impl Axis {
    /// The axis that suits such values.
    pub(crate) fn of(values: &[f64], show: fn(f64) -> String) -> Self {
        let most = values.iter().copied().fold(0.0, f64::max);
        let positive = values.iter().copied().filter(|value| *value > 0.0);
        let least = positive.fold(f64::INFINITY, f64::min);
        if least.is_finite() && most / least > MOST_OF_A_BAR {
            Self::logarithmic(least, most, show)
        } else {
            Self::Linear {
                most: most.max(f64::MIN_POSITIVE),
                show,
            }
        }
    }

    /// Whole powers of ten around such values.
    pub(crate) fn logarithmic(least: f64, most: f64, show: fn(f64) -> String) -> Self {
        let (low, high) = (least.log10().floor(), most.log10().ceil());
        Self::Logarithmic {
            least: 10f64.powf(low),
            most: 10f64.powf(high.max(low + 1.0)),
            show,
        }
    }

    pub(crate) fn has_zero(&self) -> bool {
        matches!(self, Self::Linear { .. })
    }

    /// Where a value stands, from 0 to 1.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { most, .. } => value / most,
            Self::Logarithmic { least, most, .. } => {
                (value.max(*least) / least).log10() / (most / least).log10()
            }
            Self::Steps(steps) => (value + 0.5) / steps.len().max(1) as f64,
        };
        place.clamp(0.0, 1.0)
    }

    /// Places with their labels.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        match self {
            Self::Linear { most, show } => {
                let step = nice(most / 4.0);
                let values = (0_u8..10).map(|count| f64::from(count) * step);
                let values = values.take_while(|value| value <= most);
                values.map(|value| (self.at(value), show(value))).collect()
            }
            Self::Logarithmic { least, most, show } => {
                let decades = (most / least).log10().round() as i32;
                let every = (decades / 5 + 1) as usize;
                let values = (0..=decades).map(|power| least * 10f64.powi(power));
                values
                    .step_by(every)
                    .map(|value| (self.at(value), show(value)))
                    .collect()
            }
            Self::Steps(steps) => {
                let places = (0_u8..).map(|index| self.at(f64::from(index)));
                places.zip(steps.iter().cloned()).collect()
            }
        }
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not less.
fn nice(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| unit * factor >= value * 0.999);
    unit * factor.unwrap_or(10.0)
}

/// A time on an axis.
pub(crate) fn time(ns: f64) -> String {
    short(&duration(ns))
}

/// A count on an axis.
pub(crate) fn count(value: f64) -> String {
    if value >= 10.0 {
        grouped(value.round() as u64)
    } else {
        short(&significant(value))
    }
}

/// A round number without zeros behind the point: `50 ns` for `50.0 ns`, `0` for `0.00 ns`.
fn short(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number = match number.split_once('.') {
        Some((whole, rest)) => match rest.trim_end_matches('0') {
            "" => whole.to_owned(),
            rest => format!("{whole}.{rest}"),
        },
        None => number.to_owned(),
    };
    if number == "0" || unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_begin_at_zero_unless_the_short_ones_would_vanish() {
        let near = Axis::of(&[20.0, 400.0], time);
        assert!(near.has_zero() && near.at(0.0) == 0.0 && near.at(200.0) == 0.5);
        let far = Axis::of(&[4.0, 5_000.0], time);
        assert!(!far.has_zero());
        assert!((far.at(100.0) - 0.5).abs() < 1e-9, "{}", far.at(100.0));
    }

    #[test]
    fn ticks_are_round_and_few() {
        let labels = |axis: &Axis| -> Vec<String> {
            axis.ticks().into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(
            labels(&Axis::of(&[417.0, 20.0], time)),
            ["0", "200 ns", "400 ns"]
        );
        assert_eq!(
            labels(&Axis::of(&[0.5, 0.9], count)),
            ["0", "0.5"],
            "a half fits twice, and the end is not reached"
        );
        assert_eq!(
            labels(&Axis::logarithmic(30.0, 2e9, time)),
            ["10 ns", "1,000 ns", "100 µs", "10 ms", "1 s"]
        );
        for most in [1.0, 3.3, 7.0, 99.0, 12_345.0] {
            let count = Axis::of(&[most], time).ticks().len();
            assert!((2..=5).contains(&count), "{count} to {most}");
        }
    }
}
