//! `server`: the cost of a line of log for each request of a server.

mod http;
mod ways;

use std::io::{self, IsTerminal};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::os::fd::AsFd;

use outpace::{Buffering, Overflow};

use super::sources;
use crate::bench::experiment::calls::CallTimes;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method, Origin, Server};
use crate::bench::results::figures::{Compared, Figures};
use crate::bench::results::rows::Row;
use crate::bench::results::stats::ConfidenceInterval;
use crate::user::quantity::{duration, times};

pub(crate) const SERVER: Experiment = Experiment {
    name: "server",
    question: "What does a line of log a request cost a server?",
    published: "Requests/s (average latency) of a single-threaded HTTP server, one keep-alive \
                connection, wrk -t1 -c1 -d10s http://127.0.0.1:7096/: no logging 56.8k (16.5 µs); \
                println! in VS Code's terminal 15.1k (39 ms, at most 418 ms), in iTerm2 41.8k \
                (22.8 µs), in alacritty 51.0k (18.6 µs). How to log but not tank requests per \
                second was left open.",
    sources: &[sources::ONLY_AS_FAST],
    published_to: &[],
    unit: "request",
    message,
    messages: 568_000,
    to: &[
        "null",
        "pty",
        "pty:1MB/s",
        "pty:stalled",
        "xterm",
        "alacritty",
        "kitty",
    ],
    baseline: SILENT,
    method: Method::Requests(&Server {
        fed: FED,
        fed_like: "background-spill",
        published: &[(SILENT, "null", 56_800), ("println", "alacritty", 51_000)],
        request_of,
    }),
    rungs: rungs! {
        described SILENT: Here(ways::silent), "no logging";
        described "println": Here(ways::println), "std::println!";
        added "tracing-appender": Here(|span| ways::appender(span, true)), "tracing-appender's non-blocking writer, which drops what it has no room for";
        added "tracing-appender-lossless": Here(|span| ways::appender(span, false)), "the same, which waits instead";
        outpace "prompt": Here(|span| ways::outpace(span, Buffering::prompt())), "outpace::println! with Prompt";
        outpace "background-block": Here(|span| ways::background(span, Overflow::Block)), "with Background, which waits when its 256 KiB are full";
        outpace "background-drop-newest": Here(|span| ways::background(span, Overflow::DropNewest)), "with Background, which then drops the newest";
        outpace "background-drop-oldest": Here(|span| ways::background(span, Overflow::DropOldest)), "with Background, which then drops the oldest";
        outpace "background-spill": Here(|span| ways::background(span, ways::to_a_file())), "with Background, which then writes to a file";
        added FED: Here(ways::silent), "no logging, while another process feeds the terminal what background-spill did";
    },
    conclusion,
};

/// The rung that ratios are against.
const SILENT: &str = "silent";

/// The control for terminals that compete for the processor.
const FED: &str = "fed";

fn message(index: u64, into: &mut Vec<u8>) {
    let text = format!(
        "request {}: GET / HTTP/1.1 from 127.0.0.1, answered 200\n",
        index + 1
    );
    into.extend_from_slice(text.as_bytes());
}

/// The number of the request that a line is about.
fn request_of(line: &str) -> Option<u64> {
    line.strip_prefix("request ")?
        .split_once(':')?
        .0
        .parse()
        .ok()
}

/// The lines that were not written, as far as the logger knows.
#[derive(Default)]
struct LogEnd {
    dropped: u64,
    dropped_bytes: u64,
    /// Bytes that are still to be written, where that is known.
    backlog: Option<u64>,
}

/// Serves until the load is over, and logs a line for each request.
fn serve(
    span: &mut Span,
    mut log: impl FnMut(u64),
    lines: impl FnOnce() -> LogEnd,
) -> io::Result<()> {
    let listener = listener()?;
    let mut requests = 0;
    let mut calls: Option<CallTimes> = None;
    http::serve(&listener, |path| {
        match path {
            Server::STOP => return ControlFlow::Break(()),
            Server::CLOCK => calls = Some(CallTimes::new()),
            _ => {
                requests += 1;
                match &mut calls {
                    None => log(requests),
                    Some(calls) => calls.clock(|| log(requests)).0,
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    span.done_calling();
    let LogEnd {
        dropped,
        dropped_bytes,
        backlog,
    } = lines();
    span.note("requests", requests);
    span.note("dropped", dropped);
    span.note("dropped_bytes", dropped_bytes);
    if let Some(backlog) = backlog {
        span.note("backlog", backlog);
    }
    if let Some(calls) = calls {
        calls.note(span);
    }
    Ok(())
}

/// Standard input, if that is a listening socket, as a bench gives it to its children; else the
/// published port.
fn listener() -> io::Result<TcpListener> {
    const ADDRESS: &str = "127.0.0.1:7096";
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let inherited = TcpListener::from(stdin.as_fd().try_clone_to_owned()?);
        if inherited.local_addr().is_ok() {
            return Ok(inherited);
        }
    }
    TcpListener::bind(ADDRESS)
        .map_err(|error| io::Error::new(error.kind(), format!("{ADDRESS}: {error}")))
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    figures.at_each(|to| conclusion_at(figures, to))
}

/// With one connection the figure measures how fast an idle processor wakes; so it is about eight.
fn conclusion_at(figures: &Figures<'_>, to: &str) -> Option<String> {
    let at = |rung: &str| {
        figures.rows().find(|row| {
            row.rung == rung && row.to == to && row.server().is_some_and(|it| it.connections == 8)
        })
    };
    // The share of the baseline's requests/s: times are their inverse.
    let share = |row: &Row| {
        let baseline = at(row.baseline.as_deref()?)?;
        ConfidenceInterval::of_ratio(&baseline.times(), &row.times())
    };
    let println = at("println")?;
    let ours = SERVER
        .rungs
        .iter()
        .filter(|rung| rung.origin == Origin::Outpace);
    let mut shares: Vec<(&Row, ConfidenceInterval)> = ours
        .filter_map(|rung| at(rung.name))
        .chain([println])
        .filter_map(|row| Some((row, share(row)?)))
        .collect();
    shares.sort_by(|(_, one), (_, other)| other.middle.total_cmp(&one.middle));
    // A server that logs cannot be faster than one that does not.
    if let Some((row, share)) = shares.iter().find(|(_, share)| share.low > 1.0) {
        return Some(format!(
            "To {to} the figures are impossible: {} answers {} of the requests of {}, which logs nothing. \
             Something else kept the machine busy; nothing follows from them.",
            row.rung,
            times(share.middle),
            row.baseline.as_deref().unwrap_or(SILENT)
        ));
    }
    let of = |name: &str| shares.iter().find(|(row, _)| row.rung == name);
    let Some((_, plain)) = of("println") else {
        return Some(format!(
            "To {to} each ran once only: one run tells nothing."
        ));
    };
    let (best, ratio) = shares.iter().find(|(row, _)| row.rung != "println")?;
    let without = match best.baseline.as_deref() {
        Some(FED) => "of a silent server while another process feeds that terminal as much",
        _ => "without logging",
    };
    if let Some(unsettled) = Compared::of(println, best).unsettled("println", &best.rung, to) {
        return Some(unsettled);
    }
    let longest = best.server().and_then(|it| it.log_call_ns).map(|calls| {
        format!(
            ", a log call at most {}",
            duration(calls.max_less_delay.unwrap_or(calls.max) as f64)
        )
    });
    // The share is at most 1.
    let left = if ratio.middle > 0.9 && ratio.low <= 1.0 && ratio.high >= 1.0 {
        "as many, within the noise".to_owned()
    } else {
        times(ratio.middle)
    };
    Some(format!(
        "To {to} println! leaves {} of the requests/s {without}, outpace {left} ({}{}).",
        times(plain.middle),
        best.rung,
        longest.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_its_request() {
        let mut line = Vec::new();
        message(41, &mut line);
        assert_eq!(request_of(std::str::from_utf8(&line).unwrap()), Some(42));
        assert_eq!(request_of("[outpace: 1 message"), None);
    }
}
