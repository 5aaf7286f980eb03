//! Charts as SVG, lane by lane. Everything stands at a share of the width and nothing is scaled, so that text keeps
//! its size on a telephone and on a wall.
//!
//! The crate `svg` writes the elements: it depends on nothing, and takes places in per cent, which libraries that lay
//! out whole charts (plotters, charming) do not; those also bring their own colours into the page, or need scripts.

use svg::node::element::{Circle, Line, Rectangle, SVG, Text};

use super::chart::{Axis, Lane, Mark, Shape, Tone};

/// The height of a mark with its surroundings.
const STRIP: f64 = 24.0;
/// Where the label has a line of its own.
const TALL_STRIP: f64 = 40.0;
const BAR: f64 = 14.0;
/// The width that a chart has at least, on a page of 360 pixels, and what a letter takes of it.
const NARROWEST: f64 = 310.0;
const LETTER: f64 = 6.6;

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
    let height = lane.marks.iter().map(strip_height).sum();
    let labels: Vec<&str> = lane.marks.iter().map(|mark| mark.label.as_str()).collect();
    let mut drawing = canvas(height)
        .set("role", "img")
        .set("aria-label", labels.join("; "));
    for (place, _) in axis.ticks() {
        drawing = drawing.add(upright(place, 0.0, height, "grid"));
    }
    let mut bottom = 0.0;
    for mark in &lane.marks {
        bottom += strip_height(mark);
        drawing = strip(drawing, mark, axis, bottom - STRIP / 2.0);
    }
    drawing.to_string()
}

fn strip_height(mark: &Mark) -> f64 {
    match mark.shape {
        Shape::Latency { .. } => TALL_STRIP,
        Shape::Amount { .. } | Shape::Passage { .. } => STRIP,
    }
}

fn strip(drawing: SVG, mark: &Mark, axis: &Axis, middle: f64) -> SVG {
    let tone = class(mark.tone);
    match mark.shape {
        Shape::Amount { value, interval } => {
            let place = axis.at(value);
            let ends = interval.map(|(low, high)| (axis.at(low), axis.at(high)));
            let drawing = if axis.has_zero() {
                drawing.add(bar(place, middle, tone))
            } else {
                drawing
                    .add(level(0.0, place, middle, "leader"))
                    .add(dot(place, middle, 5.0, tone))
            };
            let drawing = match ends {
                Some(ends) => whisker(drawing, ends, middle),
                None => drawing,
            };
            let end = ends.map_or(place, |(_, high)| high.max(place));
            let begin = ends.map_or(place, |(low, _)| low.min(place));
            beside(drawing, mark, begin, end, axis.has_zero(), middle)
        }
        Shape::Latency { median, p99, max } => {
            let (median, p99, max) = (axis.at(median), axis.at(p99), axis.at(max));
            drawing
                .add(level(median, max, middle, "range"))
                .add(upright(p99, middle - 5.0, middle + 5.0, "range"))
                .add(upright(max, middle - 8.0, middle + 8.0, "range"))
                .add(dot(median, middle, 5.0, tone))
                .add(text(0.0, 2.0, middle - 14.0, "start", "label", &mark.label))
        }
        Shape::Passage { from, to } => {
            let (from, to) = (axis.at(from), axis.at(to));
            let drawing = drawing
                .add(level(from, to, middle, tone))
                .add(dot(from, middle, 3.0, "leader"))
                .add(dot(to, middle, 5.0, tone));
            beside(drawing, mark, from, to, false, middle)
        }
    }
}

/// The label: behind the mark where even a narrow page has room, else within the bar, else before its beginning.
fn beside(drawing: SVG, mark: &Mark, begin: f64, end: f64, bar: bool, middle: f64) -> SVG {
    const AWAY: f64 = 9.0;
    let needs = (mark.label.chars().count() as f64 * LETTER + AWAY) / NARROWEST;
    let (place, away, anchor, kind) = if end + needs <= 1.0 {
        (end, AWAY, "start", "label")
    } else if bar && mark.tone != Tone::Published {
        (0.0, AWAY - 3.0, "start", "within")
    } else if bar {
        (0.0, AWAY - 3.0, "start", "")
    } else {
        (begin, -AWAY, "end", "label")
    };
    drawing.add(text(place, away, middle + 4.0, anchor, kind, &mark.label))
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
