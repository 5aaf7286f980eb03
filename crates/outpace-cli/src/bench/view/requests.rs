//! The table of servers under load at one destination.

use super::table::{Heading, Line, Table, is_ours};
use crate::bench::catalogue::Experiment;
use crate::bench::runner::rows::{Latency, Row};
use crate::user::quantity::{duration, grouped, significant, times};

/// One line a rung and number of connections; the most requests/s first.
pub(super) fn table(experiment: &Experiment, rows: &[&Row]) -> Table {
    let mut ranked: Vec<&&Row> = rows
        .iter()
        .filter(|row| row.requests_per_second.is_some() && row.failed.is_none())
        .collect();
    let rate = |row: &Row| row.requests_per_second.map_or(0, |rate| rate.median);
    ranked.sort_by_key(|row| {
        let connections = std::cmp::Reverse(row.connections);
        (connections, std::cmp::Reverse(rate(row)))
    });
    let most = ranked.iter().map(|row| rate(row)).max().unwrap_or(1).max(1);
    let headings = vec![
        Heading::fixed("rung"),
        Heading::expendable("conns", 1),
        Heading::fixed("requests/s"),
        Heading::fixed("share"),
        Heading::expendable("answer", 2),
        Heading::expendable("p99", 3),
        Heading::expendable("max", 3),
        Heading::fixed("log call"),
        Heading::expendable("p99", 3),
        Heading::expendable("max", 1),
        Heading::expendable("less delay", 2),
        Heading::expendable("dropped", 3),
        Heading::expendable("backlog", 3),
        Heading::expendable("published", 5),
    ];
    let lines = ranked.iter().map(|row| {
        let time = |of: Option<Latency>, which: fn(Latency) -> Option<u64>| {
            of.and_then(which)
                .map_or_else(String::new, |ns| duration(ns as f64))
        };
        let bytes = |count: Option<u64>| {
            count
                .filter(|&count| count > 0)
                .map_or_else(String::new, |count| {
                    format!("{} kB", significant(count as f64 / 1e3))
                })
        };
        let published = row.published.map(|published| {
            let rate = published.messages as f64 / published.seconds;
            grouped(rate as u64)
        });
        Line {
            cells: vec![
                row.rung.clone(),
                row.connections.map_or_else(String::new, grouped),
                grouped(rate(row)),
                row.ratio
                    .map_or_else(String::new, |ratio| times(ratio.median)),
                time(row.answer_ns, |of| Some(of.median)),
                time(row.answer_ns, |of| Some(of.p99)),
                time(row.answer_ns, |of| Some(of.max)),
                time(row.log_call_ns, |of| Some(of.median)),
                time(row.log_call_ns, |of| Some(of.p99)),
                time(row.log_call_ns, |of| Some(of.max)),
                time(row.log_call_ns, |of| of.max_less_delay),
                bytes(row.dropped_bytes),
                bytes(row.backlog_bytes),
                published.unwrap_or_default(),
            ],
            share: Some(rate(row) as f64 / most as f64),
            ours: is_ours(experiment, row),
        }
    });
    let lines = lines.collect();
    Table::untitled(headings, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::find;
    use crate::bench::runner::figures::rows_of;
    use crate::bench::runner::stats::Spread;

    #[test]
    fn the_most_requests_come_first_within_a_number_of_connections() {
        let mut rows = rows_of(
            "server",
            &[
                ("println", "pty", 1),
                ("silent", "pty", 1),
                ("silent", "pty", 1),
            ],
        );
        for (row, (connections, rate)) in rows.iter_mut().zip([(8, 10), (8, 20), (1, 90)]) {
            row.connections = Some(connections);
            row.requests_per_second = Spread::of([rate]);
        }
        let rows: Vec<&Row> = rows.iter().collect();
        let table = table(find("server").unwrap(), &rows);
        let order: Vec<[&str; 3]> = table
            .lines
            .iter()
            .map(|line| [&*line.cells[0], &*line.cells[1], &*line.cells[2]])
            .collect();
        assert_eq!(
            order,
            [
                ["silent", "8", "20"],
                ["println", "8", "10"],
                ["silent", "1", "90"]
            ]
        );
    }
}
