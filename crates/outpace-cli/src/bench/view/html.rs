//! A report as one HTML page, complete in itself: no script, no font, no network. Summary first, then a section an
//! experiment, its charts before its figures.
//!
//! maud writes the elements and escapes every text. The policy at the top of the page keeps the browser from running scripts
//! and from loading other files.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::block::Block;
use super::chart::{Chart, Lane, Tone};
use super::drawing;
use super::summary::Card;
use super::table::{Table, TableLine};
use crate::bench::experiment::{Experiment, Origin, Publication};
use crate::bench::results::figures::base_name;

const STYLE: &str = include_str!("page.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const READING: &str = "How to read the charts: a bar begins at zero. Where the shortest bar would vanish, dots on a \
                       logarithmic scale take its place: from mark to mark the figure grows by powers of ten. Whiskers show \
                       where the median of further runs lies in 95 of 100 cases: where two overlap, the difference may be \
                       noise. Green is outpace.";

/// A part of the page, which begins with the heading of an experiment.
struct Section<'a> {
    experiment: &'static Experiment,
    blocks: Vec<&'a Block>,
}

/// The whole page.
pub(crate) fn document(title: &str, cards: &[Card], blocks: &[Block]) -> String {
    let mut opening = Vec::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut closing = Vec::new();
    for block in blocks {
        match (block, sections.last_mut()) {
            // The cards say it.
            (Block::Summary(_), _) => {}
            (Block::Heading(experiment), _) => sections.push(Section {
                experiment,
                blocks: Vec::new(),
            }),
            (Block::Closing(_), _) => closing.push(block),
            (_, Some(section)) => section.blocks.push(block),
            (_, None) => opening.push(block),
        }
    }
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    @for one in &opening { (block(one, &[])) }
                }
                main {
                    @for one in &closing { (block(one, &[])) }
                    @if !cards.is_empty() {
                        h2 { "In short" }
                        ul.cards { @for one in cards { (card(one)) } }
                    }
                    @if sections.len() > 1 {
                        nav aria-label="Contents" {
                            h2 { "Contents" }
                            ol {
                                @for section in &sections {
                                    li {
                                        a href={ "#" (section.experiment.name) } { (section.experiment.name) }
                                        ": " (section.experiment.question)
                                    }
                                }
                            }
                        }
                    }
                    @if !sections.is_empty() { p.faint { (READING) } }
                    @for section in &sections { (self::section(section)) }
                }
            }
        }
    };
    page.into_string() + "\n"
}

fn card(card: &Card) -> Markup {
    html! {
        li {
            a href={ "#" (card.section) } {
                span.what { (card.what) }
                @if !card.figure.is_empty() { span.figure { (card.figure) } }
                span.rest { (card.rest) }
                span.ask { (card.question) }
            }
        }
    }
}

fn section(section: &Section<'_>) -> Markup {
    let Experiment {
        name,
        question,
        published,
        sources,
        ..
    } = section.experiment;
    let conclusions = section
        .blocks
        .iter()
        .filter(|block| matches!(block, Block::Conclusion(_)));
    let others = section
        .blocks
        .iter()
        .filter(|block| !matches!(block, Block::Conclusion(_)));
    let rungs = rungs(section);
    html! {
        section id=(name) aria-labelledby={ (name) "-question" } {
            h2 id={ (name) "-question" } { code { (name) } " " (question) }
            @for conclusion in conclusions { (block(conclusion, sources)) }
            p.faint { @if !published.starts_with("Ours") { "Published: " } (published) }
            @if !sources.is_empty() {
                ul.faint { @for source in *sources { li { (publication(source)) } } }
            }
            @if !rungs.is_empty() {
                details {
                    summary { "What each of the " (rungs.len()) " rungs does" }
                    dl.rungs {
                        @for (name, ours, about) in &rungs {
                            div.ours[*ours] { dt.name { (name) } dd { (about) } }
                        }
                    }
                }
            }
            @for other in others { (block(other, sources)) }
        }
    }
}

/// The rungs in a section's charts: name, whether it is ours, and what it does, with its origin.
fn rungs(section: &Section<'_>) -> Vec<(&'static str, bool, String)> {
    let charts = section.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(&table.charts),
        _ => None,
    });
    let mut groups = charts.flatten().flat_map(|chart| &chart.groups);
    let shown: Vec<&str> = groups
        .by_ref()
        .flat_map(|group| {
            let lanes = group.lanes.iter().map(|lane| lane.name.as_str());
            lanes.chain([group.heading.as_str()])
        })
        .map(base_name)
        .collect();
    let rungs = section.experiment.rungs.iter();
    rungs
        .filter(|rung| shown.contains(&rung.name))
        .map(|rung| {
            let about = match rung.origin {
                Origin::Published(_) => format!("{} ({})", rung.about, rung.origin),
                Origin::Outpace | Origin::Added => rung.about.to_owned(),
            };
            (rung.name, rung.origin == Origin::Outpace, about)
        })
        .collect()
}

fn publication(source: &Publication) -> Markup {
    html! {
        (source.author) ", "
        @match source.link {
            Some(link) => a href=(link) { (source.title) },
            None => (source.title),
        }
        @if let Some(year) = source.year { " (" (year) ")" }
    }
}

fn block(block: &Block, sources: &[Publication]) -> Markup {
    match block {
        Block::Origin(text) => html! { p.faint { (text) } },
        Block::Heading(_) | Block::Summary(_) => html! {},
        Block::Table(one) => table(one, sources),
        Block::Warning(text) => html! { p.warning { "Warning: " (text) } },
        Block::Conclusion(text) | Block::Closing(text) if text.is_empty() => html! {},
        Block::Conclusion(text) | Block::Closing(text) => html! { p.conclusion { (text) } },
    }
}

/// The charts, and behind them the figures they were drawn from.
fn table(table: &Table, sources: &[Publication]) -> Markup {
    let headings: Vec<&str> = table.headings.iter().map(|one| one.text.as_str()).collect();
    html! {
        @for one in &table.charts { (chart(one, sources)) }
        @if !table.lines.is_empty() {
            details.figures open[table.charts.is_empty()] {
                summary { "All figures: " (table.title) }
                table role="table" {
                    caption { (table.title) }
                    thead role="rowgroup" {
                        tr role="row" {
                            @for heading in &headings { th scope="col" role="columnheader" { (heading) } }
                        }
                    }
                    tbody role="rowgroup" {
                        @for line in &table.lines { (row(line, &headings)) }
                    }
                }
            }
        }
        @if !table.notes.is_empty() {
            ul.notes {
                @for note in &table.notes {
                    li class=(if note.wrong { "wrong" } else { "faint" }) { (note.text) }
                }
            }
        }
    }
}

fn row(line: &TableLine, headings: &[&str]) -> Markup {
    html! {
        tr.ours[line.ours] role="row" {
            @for (index, (cell, heading)) in line.cells.iter().zip(headings).enumerate() {
                @if index == 0 {
                    th.name scope="row" role="rowheader" { (cell) }
                } @else {
                    td role="cell" data-of=(heading) { (cell) }
                }
            }
        }
    }
}

fn chart(chart: &Chart, sources: &[Publication]) -> Markup {
    let mut lanes = chart.groups.iter().flat_map(|group| &group.lanes);
    let has_published =
        lanes.any(|lane| lane.marks.iter().any(|mark| mark.tone == Tone::Published));
    html! {
        figure.chart {
            figcaption {
                b { (chart.title) }
                span.faint {
                    (chart.reading)
                    @if has_published && !sources.is_empty() {
                        " Published by "
                        @for (index, source) in sources.iter().enumerate() {
                            @if index > 0 { "; " }
                            (publication(source))
                        }
                        "."
                    }
                }
            }
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th.of scope="col" role="columnheader" { "rung" }
                        th scope="col" role="columnheader" { (chart.unit) (PreEscaped(drawing::axis(&chart.axis))) }
                    }
                }
                @for group in &chart.groups {
                    tbody role="rowgroup" {
                        @if !group.heading.is_empty() {
                            tr role="row" {
                                th.group.name colspan="2" scope="rowgroup" role="rowheader" { (group.heading) }
                            }
                        }
                        @for one in &group.lanes { (lane(one, chart)) }
                    }
                }
            }
        }
    }
}

fn lane(lane: &Lane, chart: &Chart) -> Markup {
    html! {
        tr.ours[lane.ours] role="row" {
            th.name scope="row" role="rowheader" { (lane.name) }
            td role="cell" { (PreEscaped(drawing::lane(lane, &chart.axis))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::{ALL, find};
    use crate::bench::results::figures::rows_of;
    use crate::bench::results::rows::{
        Arrival, ArrivalFigures, FrameFigures, Latency, ProfilerSamples, Published, Row, RowKind,
        ServerFigures, TimedFigures,
    };
    use crate::bench::results::stats::Spread;
    use crate::bench::view::columns::table;
    use crate::bench::view::summary::cards;

    /// Elements that are not closed.
    const VOID: [&str; 1] = ["meta"];

    /// Reads a page as strictly as XML, and returns its elements: each is closed in its turn, and no text has a character
    /// that begins one.
    fn elements(page: &str) -> Vec<String> {
        let mut open: Vec<&str> = Vec::new();
        let mut all = Vec::new();
        let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("it is HTML");
        while let Some(at) = rest.find('<') {
            assert!(!rest[..at].contains('>'), "{}", &rest[..at]);
            let end = at + rest[at..].find('>').expect("it ends");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "in {open:?}");
                continue;
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            let name = tag.split([' ', '/']).next().unwrap_or_default();
            all.push(tag.to_owned());
            if name == "style" {
                rest = &rest[rest.find("</style>").expect("it ends")..];
            }
            if !tag.ends_with('/') && !VOID.contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        all
    }

    fn page_of(blocks: &[Block], rows: &[Row]) -> String {
        document("a report", &cards(ALL, rows), blocks)
    }

    fn section_of(name: &str, to: &str, rows: &[Row]) -> Vec<Block> {
        let experiment = find(name).unwrap();
        vec![
            Block::Heading(experiment),
            Block::Table(table(experiment, to, rows)),
            Block::Conclusion("done".to_owned()),
        ]
    }

    const LATENCY: Latency = Latency {
        median: 30,
        p99: 400,
        max: 1_000_000,
        max_less_delay: None,
        machine_max: None,
        p99_9: None,
    };

    /// A row of each kind of measurement, with texts that its chart must have.
    fn kinds() -> Vec<(&'static str, Vec<Row>, &'static [&'static str])> {
        let one = |experiment, rung, kind| {
            let mut rows = rows_of(experiment, &[(rung, "pty", 400)]);
            rows[0].kind = kind;
            (experiment, rows)
        };
        let frames = FrameFigures {
            fps: Some(70.0),
            draw_call_ns: Some(LATENCY),
            ..FrameFigures::default()
        };
        let server = ServerFigures {
            requests_per_second: Spread::of([20_000]),
            log_call_ns: Some(LATENCY),
            ..ServerFigures::of(8)
        };
        let timed = TimedFigures {
            write_ns: Spread::of([7]).unwrap(),
            profiler_samples: ProfilerSamples {
                measured: 4_000,
                published: Some(708),
            },
        };
        let late = Arrival {
            text: "half a line".to_owned(),
            written_at: "half a line".to_owned(),
            arrived_at: "the flush".to_owned(),
            after_ns: 100,
            spread_ns: None,
        };
        let arrivals = ArrivalFigures {
            arrivals: vec![late],
        };
        let with = |(experiment, rows), needs: &'static [&'static str]| (experiment, rows, needs);
        let mut lines = rows_of("lines", &[("println", "pty", 417), ("outpace", "pty", 15)]);
        lines[0].published = Some(Published {
            seconds: 0.5,
            messages: 1_000_000,
        });
        let far = rows_of("lines", &[("println", "pty", 4_000), ("outpace", "pty", 4)]);
        let languages = rows_of("languages", &[("go", "pty", 900), ("go-fixed", "pty", 300)]);
        vec![
            with(
                ("lines", lines),
                &["<rect ", "class=\"published\"", "class=\"whisker\""],
            ),
            with(("lines", far), &["<circle ", "Logarithmic scale."]),
            with(
                one("fps", "outpace", RowKind::Frames(frames)),
                &["frames/s", "class=\"range\""],
            ),
            with(
                one("server", "println", RowKind::Server(server)),
                &["requests/s", "class=\"range\""],
            ),
            with(
                one("calls", "stdout", RowKind::Timed(timed)),
                &["samples in 5 s", "published 708"],
            ),
            with(
                one("when", "bufwriter", RowKind::Arrivals(arrivals)),
                &["class=\"late\"", "held back"],
            ),
            with(("languages", languages), &["fixed", "as it is"]),
        ]
    }

    #[test]
    fn every_kind_of_experiment_has_a_chart_in_a_page_that_is_well_formed_and_loads_nothing() {
        for (name, rows, needs) in kinds() {
            let page = page_of(&section_of(name, "pty", &rows), &rows);
            let elements = elements(&page);
            let has = |start: &str| elements.iter().any(|tag| tag.starts_with(start));
            for start in [
                "main",
                "figure",
                "figcaption",
                "svg",
                "caption",
                "th scope=\"col\"",
                "section id=",
            ] {
                assert!(has(start), "{name}: no {start} in\n{page}");
            }
            for need in needs {
                assert!(page.contains(need), "{name}: no {need} in\n{page}");
            }
            for loads in ["script", "link", "img", "iframe", "object", "base", "form"] {
                assert!(
                    !elements
                        .iter()
                        .any(|tag| tag.split([' ', '/']).next() == Some(loads)),
                    "{loads}"
                );
            }
            for tag in &elements {
                assert!(
                    !tag.contains(" src=") && !tag.contains(" on") && !tag.contains("url("),
                    "{tag}"
                );
                // Leads somewhere only if it is clicked, or within the page.
                assert!(
                    !tag.contains(" href=") || tag.starts_with("a href="),
                    "{tag}"
                );
            }
            assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        }
    }

    #[test]
    fn names_that_would_be_elements_are_text() {
        let hostile = "</table><script>alert(1)</script>\" onload=\"x";
        let mut rows = rows_of("lines", &[(hostile, "pty", 417), ("outpace", "pty", 15)]);
        rows.extend(rows_of("lines", &[(hostile, "pty", 0)]));
        rows[2].failed = Some(hostile.to_owned());
        let mut blocks = section_of("lines", "pty", &rows);
        blocks.insert(0, Block::Origin(hostile.to_owned()));
        blocks.push(Block::Warning(hostile.to_owned()));
        let page = page_of(&blocks, &rows);
        let elements = elements(&page);
        assert!(
            !elements.iter().any(|tag| tag.starts_with("script")),
            "{page}"
        );
        assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
        assert!(
            !elements.iter().any(|tag| tag.contains(" onload=")),
            "{page}"
        );
    }

    #[test]
    fn contents_and_cards_lead_to_the_sections() {
        let mut rows = rows_of(
            "lines",
            &[("println", "pipe", 417), ("outpace", "pipe", 15)],
        );
        rows.extend(rows_of("ladder", &[("fast", "pipe", 20)]));
        let mut blocks = section_of("lines", "pipe", &rows);
        blocks.extend(section_of("ladder", "pipe", &rows));
        let page = page_of(&blocks, &rows);
        for name in ["lines", "ladder"] {
            assert!(page.contains(&format!("<section id=\"{name}\"")), "{page}");
            assert_eq!(
                page.matches(&format!("href=\"#{name}\"")).count(),
                2,
                "a card and an entry"
            );
        }
        assert!(page.contains("<nav aria-label=\"Contents\">"), "{page}");
        assert!(
            page.contains("<a href=\"https://blog.orhun.dev/stdout-vs-stderr/\">"),
            "{page}"
        );
    }
}
