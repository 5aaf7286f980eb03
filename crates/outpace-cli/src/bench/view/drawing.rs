//! Charts as SVG, lane by lane. Places are shares of the width, and the drawing is not scaled: text keeps its size on a
//! telephone and on a wall.
//!
//! The crate `svg` writes the elements: it has no dependencies, and takes places in per cent. Libraries that lay
//! out whole charts (plotters, charming) do not; they also bring their own colours into the page, or need scripts.

use svg::node::element::{Circle, Line, Rectangle, SVG, Text};

use super::chart::{Axis, Lane, Mark, Shape, Tone};

/// The height of a mark with its surroundings.
const STRIP: f64 = 24.0;
/// Where the label has a line of its own.
const TALL_STRIP: f64 = 40.0;
const BAR: f64 = 14.0;
/// The least width of a chart, on a page of 360 pixels.
const NARROWEST: f64 = 310.0;
/// The width of a letter.
const LETTER: f64 = 6.6;
/// Between a mark and its label.
const AWAY: f64 = 9.0;

/// The ticks with their labels.
pub(super) fn axis(axis: &Axis) -> String {
    let ticks = axis.ticks();
    let last = ticks.len().saturating_sub(1);
    // Steps have names, which are longer than numbers: every other one is lower.
    let named = matches!(axis, Axis::Steps(_));
    let height = if named { 34.0 } else { 20.0 };
    let mut drawing = canvas(height).set("aria-hidden", "true");
    for (index, (place, label)) in ticks.into_iter().enumerate() {
        let base = if named && index % 2 == 1 { 26.0 } else { 12.0 };
        let anchor = match index {
            _ if named => "middle",
            0 => "start",
            _ if index == last && place > 0.9 => "end",
            _ => "middle",
        };
        drawing = drawing
            .add(upright(place, base + 4.0, height, "tick"))
            .add(text(place, 0.0, base, anchor, "tick", &label));
    }
    drawing.to_string()
}

/// The marks of a lane, in front of the lines of the axis.
pub(super) fn lane(lane: &Lane, axis: &Axis) -> String {
    let height = lane.marks.iter().map(|mark| strip_height(mark, axis)).sum();
    let labels: Vec<&str> = lane.marks.iter().map(|mark| mark.label.as_str()).collect();
    let mut drawing = canvas(height)
        .set("role", "img")
        .set("aria-label", labels.join("; "));
    for (place, _) in axis.ticks() {
        drawing = drawing.add(upright(place, 0.0, height, "grid"));
    }
    let mut bottom = 0.0;
    for mark in &lane.marks {
        bottom += strip_height(mark, axis);
        drawing = strip(drawing, mark, axis, bottom - STRIP / 2.0);
    }
    drawing.to_string()
}

fn strip_height(mark: &Mark, axis: &Axis) -> f64 {
    match side(mark, axis) {
        Side::Above => TALL_STRIP,
        Side::Behind | Side::Within | Side::Before => STRIP,
    }
}

/// Where a mark's label stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Behind,
    Within,
    Before,
    /// On a line of its own.
    Above,
}

/// The begin and the end of a mark on the axis, with its whisker.
fn reach(mark: &Mark, axis: &Axis) -> (f64, f64) {
    match mark.shape {
        Shape::Amount { value, interval } => {
            let place = axis.at(value);
            let (low, high) =
                interval.map_or((place, place), |(low, high)| (axis.at(low), axis.at(high)));
            (low.min(place), high.max(place))
        }
        Shape::Latency { median, max, .. } => (axis.at(median), axis.at(max)),
        Shape::Passage { from, to } => (axis.at(from), axis.at(to)),
        Shape::Hidden => (0.0, 0.0),
    }
}

/// The first side on which even a narrow page has room for the whole label.
fn side(mark: &Mark, axis: &Axis) -> Side {
    let needs = (mark.label.chars().count() as f64 * LETTER + AWAY) / NARROWEST;
    let (begin, end) = reach(mark, axis);
    // A bar's whisker may begin within the label, which stands out from it.
    let bar = match mark.shape {
        Shape::Amount { value, .. } if axis.has_zero() => Some(axis.at(value)),
        _ => None,
    };
    match bar {
        _ if matches!(mark.shape, Shape::Latency { .. }) => Side::Above,
        _ if end + needs <= 1.0 => Side::Behind,
        Some(length) if needs <= length => Side::Within,
        None if needs <= begin => Side::Before,
        _ => Side::Above,
    }
}

fn strip(drawing: SVG, mark: &Mark, axis: &Axis, middle: f64) -> SVG {
    let tone = class(mark.tone);
    let drawing = match mark.shape {
        Shape::Amount { value, interval } => {
            let place = axis.at(value);
            let drawing = if axis.has_zero() {
                drawing.add(bar(place, middle, tone))
            } else {
                drawing
                    .add(level(0.0, place, middle, "leader"))
                    .add(dot(place, middle, 5.0, tone))
            };
            match interval {
                Some((low, high)) => whisker(drawing, (axis.at(low), axis.at(high)), middle),
                None => drawing,
            }
        }
        Shape::Latency { median, p99, max } => {
            let (median, p99, max) = (axis.at(median), axis.at(p99), axis.at(max));
            drawing
                .add(level(median, max, middle, "range"))
                .add(upright(p99, middle - 5.0, middle + 5.0, "range"))
                .add(upright(max, middle - 8.0, middle + 8.0, "range"))
                .add(dot(median, middle, 5.0, tone))
        }
        Shape::Passage { from, to } => {
            let (from, to) = (axis.at(from), axis.at(to));
            drawing
                .add(level(from, to, middle, tone))
                .add(dot(from, middle, 3.0, "leader"))
                .add(dot(to, middle, 5.0, tone))
        }
        Shape::Hidden => drawing,
    };
    labelled(drawing, mark, axis, middle)
}

fn labelled(drawing: SVG, mark: &Mark, axis: &Axis, middle: f64) -> SVG {
    let (begin, end) = reach(mark, axis);
    let base = middle + 4.0;
    let (place, away, base, anchor, kind) = match side(mark, axis) {
        Side::Behind => (end, AWAY, base, "start", "label"),
        // A published bar is an outline on the page.
        Side::Within if mark.tone == Tone::Published => (0.0, AWAY - 3.0, base, "start", ""),
        Side::Within => (0.0, AWAY - 3.0, base, "start", "within"),
        Side::Before => (begin, -AWAY, base, "end", "label"),
        Side::Above => (0.0, 2.0, middle - 14.0, "start", "label"),
    };
    drawing.add(text(place, away, base, anchor, kind, &mark.label))
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Ours => "ours",
        Tone::Published => "published",
        Tone::Second => "second",
        Tone::Third => "third",
        Tone::Late => "late",
    }
}

fn canvas(height: f64) -> SVG {
    SVG::new().set("width", "100%").set("height", height)
}

fn percent(place: f64) -> String {
    format!("{:.2}%", place * 100.0)
}

fn bar(place: f64, middle: f64, kind: &str) -> Rectangle {
    Rectangle::new()
        .set("x", 0)
        .set("y", middle - BAR / 2.0)
        .set("width", percent(place.max(0.002)))
        .set("height", BAR)
        .set("class", kind)
}

fn dot(place: f64, middle: f64, radius: f64, kind: &str) -> Circle {
    Circle::new()
        .set("cx", percent(place))
        .set("cy", middle)
        .set("r", radius)
        .set("class", kind)
}

fn upright(place: f64, top: f64, bottom: f64, kind: &str) -> Line {
    line((place, top), (place, bottom), kind)
}

fn level(from: f64, to: f64, middle: f64, kind: &str) -> Line {
    line((from, middle), (to, middle), kind)
}

fn line(from: (f64, f64), to: (f64, f64), kind: &str) -> Line {
    Line::new()
        .set("x1", percent(from.0))
        .set("x2", percent(to.0))
        .set("y1", from.1)
        .set("y2", to.1)
        .set("class", kind)
}

fn whisker(drawing: SVG, (low, high): (f64, f64), middle: f64) -> SVG {
    let (top, bottom) = (middle - 3.5, middle + 3.5);
    drawing
        .add(level(low, high, middle, "whisker"))
        .add(upright(low, top, bottom, "whisker"))
        .add(upright(high, top, bottom, "whisker"))
}

fn text(place: f64, away: f64, base: f64, anchor: &str, kind: &str, words: &str) -> Text {
    Text::new(words)
        .set("x", percent(place))
        .set("dx", away)
        .set("y", base)
        .set("text-anchor", anchor)
        .set("class", kind)
}

#[cfg(test)]
mod tests {
    use super::super::chart::time;
    use super::*;

    fn mark(value: f64, interval: Option<(f64, f64)>, label: &str) -> Mark {
        Mark {
            shape: Shape::Amount { value, interval },
            tone: Tone::Plain,
            label: label.to_owned(),
        }
    }

    #[test]
    fn a_label_that_fits_on_neither_side_has_a_line_of_its_own() {
        let dots = Axis::logarithmic(10.0, 100_000.0, time);
        let (short, long) = ("1 ns", "1,125 ns ±118 %, under outpace run");
        let narrow = Some((900.0, 1_100.0));
        let wide = Some((20.0, 90_000.0));
        let side = |axis: &Axis, value, interval, label| side(&mark(value, interval, label), axis);
        assert!(side(&dots, 1_000.0, narrow, short) == Side::Behind);
        assert!(side(&dots, 90_000.0, narrow, short) == Side::Before);
        assert!(side(&dots, 1_000.0, wide, short) == Side::Above);
        assert!(side(&dots, 1_000.0, narrow, long) == Side::Above);
        let bars = Axis::Linear {
            most: 100.0,
            show: time,
        };
        assert!(side(&bars, 90.0, None, short) == Side::Within);
        // The bar is shorter than its label, and its whisker leaves no room.
        let label = "10.0 ns ±800 %";
        assert!(side(&bars, 10.0, Some((1.0, 95.0)), label) == Side::Above);
    }
}
