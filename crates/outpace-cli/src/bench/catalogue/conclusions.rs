//! Every conclusion, tested with figures and with their reverse.

use super::find;
use crate::bench::results::figures::rows_of;
use crate::bench::results::rows::{
    Arrival, ArrivalFigures, FrameFigures, Latency, ProfilerSamples, Row, RowKind, ServerFigures,
    TerminalFigures, TimedFigures, WorkFigures,
};
use crate::bench::results::stats::Spread;

struct Case {
    experiment: &'static str,
    /// Rung, destination and nanoseconds a message.
    rows: &'static [(&'static str, &'static str, u64)],
    /// Sets further figures of these rows.
    with: fn(&mut [Row]),
    says: &'static [&'static str],
}

const fn case(
    experiment: &'static str,
    rows: &'static [(&'static str, &'static str, u64)],
    says: &'static [&'static str],
) -> Case {
    Case {
        experiment,
        rows,
        with: |_| (),
        says,
    }
}

impl Case {
    const fn with(self, with: fn(&mut [Row])) -> Self {
        Self { with, ..self }
    }
}

fn fps(rows: &mut [Row], rates: &[u64]) {
    for (row, &rate) in rows.iter_mut().zip(rates) {
        row.samples = vec![1_000_000_000 / rate; 10];
        row.kind = RowKind::Frames(FrameFigures {
            fps: Some(rate as f64),
            ..FrameFigures::default()
        });
    }
}

fn torn(rows: &mut [Row], shares: [f64; 2]) {
    for (row, share) in rows.iter_mut().zip(shares) {
        let torn_per_1000 = Some(share);
        row.kind = RowKind::Work(WorkFigures {
            torn_per_1000,
            call_ns: None,
        });
    }
}

/// With 8 connections and these requests/s: of println, of outpace, and of the baseline.
fn requests(rows: &mut [Row], rates: [u64; 3]) {
    let baseline = rows[2].rung.clone();
    for (row, rate) in rows.iter_mut().zip(rates) {
        row.kind = RowKind::Server(ServerFigures::of(8));
        row.baseline = Some(baseline.clone());
        row.samples = vec![1_000_000_000 / rate; 10];
    }
}

/// Bytes a frame of the first two, and the longest draw call of the others.
fn drawn(rows: &mut [Row], bytes: [f64; 2], calls: [u64; 2]) {
    for (row, bytes_per_frame) in rows.iter_mut().zip(bytes) {
        row.kind = RowKind::Frames(FrameFigures {
            bytes_per_frame,
            ..FrameFigures::default()
        });
    }
    for (row, max) in rows[2..].iter_mut().zip(calls) {
        let longest = Latency {
            median: 1,
            p99: 1,
            max,
            max_less_delay: Some(max),
            machine_max: None,
            p99_9: None,
        };
        row.kind = RowKind::Frames(FrameFigures {
            draw_call_ns: Some(longest),
            ..FrameFigures::default()
        });
    }
}

/// Writes a frame, and nanoseconds in them.
fn writes(rows: &mut [Row], frames: [(u64, u64); 2]) {
    for (row, (writes, write_ns)) in rows.iter_mut().zip(frames) {
        row.writes = Some(writes * row.messages);
        row.kind = RowKind::Timed(TimedFigures {
            write_ns: Spread::of([write_ns * row.messages]).unwrap(),
            profiler_samples: ProfilerSamples {
                measured: 700,
                published: None,
            },
        });
    }
}

fn half_a_line_arrives_at(rows: &mut [Row], step: &str) {
    let arrival = |text: &str, arrived_at: &str| Arrival {
        text: text.to_owned(),
        written_at: text.to_owned(),
        arrived_at: arrived_at.to_owned(),
        after_ns: 20_000,
        spread_ns: None,
    };
    rows[0].kind = RowKind::Arrivals(ArrivalFigures {
        arrivals: vec![
            arrival("half a line", step),
            arrival("its newline", "its newline"),
        ],
    });
}

/// Megabytes a second of the first rows, and how long the last one's answers take.
fn worked_through(rows: &mut [Row], rates: &[f64], answer_ns: u64) {
    for (at, row) in rows.iter_mut().enumerate() {
        let answer = Latency {
            median: answer_ns,
            p99: answer_ns,
            max: answer_ns,
            max_less_delay: None,
            machine_max: None,
            p99_9: None,
        };
        let rate = rates.get(at).map(|rate| rate * 1e6);
        row.kind = RowKind::Terminal(TerminalFigures {
            written_per_second: 1e9,
            consumed_per_second: rate,
            report_ns: rate.is_none().then_some(answer),
        });
    }
}

/// Milliseconds a run.
fn runs(rows: &mut [Row], samples: [&[u64]; 2]) {
    for (row, samples) in rows.iter_mut().zip(samples) {
        row.samples = samples.to_vec();
    }
}

const DRAW: &[(&str, &str, u64)] = &[
    ("log-outpace-direct", "pty", 1),
    ("log-crossterm", "pty", 1),
    ("log-outpace", "pty:stalled", 1),
    ("log-crossterm", "pty:stalled", 1),
];
const FPS: &[(&str, &str, u64)] = &[
    ("stdout-line", "pty", 1),
    ("stdout-raw", "pty", 1),
    ("stdout-block", "pty", 1),
    ("stderr-raw", "pty", 1),
    ("stderr-line", "pty", 1),
    ("stderr-block", "pty", 1),
    ("outpace-direct", "pty", 1),
];
const CALLS: &[(&str, &str, u64)] = &[("stdout", "pty", 1), ("stderr", "pty", 1)];
const ENDL: &[(&str, &str, u64)] = &[("endl", "pty", 10), ("newline", "pty", 10)];
const PICTURES: &[(&str, &str, u64)] = &[("picture-100B", "pty", 1), ("picture-row", "pty", 1)];
const TORN: &[(&str, &str, u64)] = &[("100B", "pty", 100), ("8KiB", "pty", 100)];
const LOG: &[(&str, &str, u64)] = &[
    ("outpace-background", "pipe", 50),
    ("println", "pipe", 100),
    ("quill", "pipe", 25),
];
const SERVER: &[(&str, &str, u64)] = &[
    ("println", "pty", 1),
    ("background-spill", "pty", 1),
    ("silent", "pty", 1),
];
const FED: &[(&str, &str, u64)] = &[
    ("println", "xterm", 1),
    ("background-spill", "xterm", 1),
    ("fed", "xterm", 1),
];
const NOISE: &[u64] = &[40, 160, 45, 150, 170, 50, 300, 60, 155, 44];
const WHEN: &[(&str, &str, u64)] = &[("linewriter", "pipe", 1)];
const RAW: &[(&str, &str, u64)] = &[("from-raw-fd", "pipe", 1)];

#[rustfmt::skip]
const CASES: &[Case] = &[
    case(
        "terminal",
        &[
            ("text", "xterm", 1),
            ("unicode", "xterm", 4),
            ("answer", "xterm", 1),
        ],
        &["xterm works through 20.0 MB of text a second and 5.00 of unicode; it answers in 3.00 ms."],
    )
    .with(|rows| worked_through(rows, &[20.0, 5.0], 3_000_000)),
    case(
        "terminal",
        &[("text", "tmux", 1), ("unicode", "tmux", 1)],
        &["tmux works through 20.0 MB of text a second."],
    )
    .with(|rows| worked_through(rows, &[20.0, 30.0], 0)),
    case("lines", &[("println", "pipe", 417), ("bufwriter", "pipe", 15)],
        &["With a BufWriter a line is cheaper than with std's println!: 27.8 times into a pipe.", "still makes nearly a write"]),
    case("lines", &[("println", "pipe", 15), ("bufwriter", "pipe", 417)], &["println! is 27.8 times cheaper than a BufWriter"]),
    case("lines", &[("println", "pipe", 412), ("outpace", "pipe", 4)],
        &["With outpace's println! a line is cheaper than with std's println!: 103 times into a pipe."]),
    case("lines", &[("println", "pipe", 4), ("outpace", "pipe", 412)], &["To pipe std's println! is 103 times cheaper than outpace's println!."]),
    case("lines", &[("println", "pipe", 100), ("bufwriter", "pipe", 101)], &["gains nothing"]),
    case("lines", &[("println", "pipe", 417), ("bufwriter", "pipe", 15)], &["does not write every line"])
        .with(|rows| rows[1].writes = Some(1)),
    case("ladder", &[("speedy", "null", 80), ("fast-itoa", "null", 100)], &["the text was right"]),
    case("ladder", &[("speedy", "null", 100), ("fast-itoa", "null", 100)], &["are equal"]),
    case("ladder", &[("speedy", "null", 130), ("fast-itoa", "null", 100)], &["the table was right"]),
    case("ladder", &[("turbo-c.gcc", "null", 4), ("vecbuf", "null", 6), ("glacial", "null", 48)], &["the best is turbo-c.gcc"]),
    case("ladder", &[("turbo-c.gcc", "null", 8), ("vecbuf", "null", 6), ("glacial", "null", 48)], &["the best is vecbuf"]),
    case("ladder", &[("slow", "null", 24), ("fast", "null", 12)], &["brings the time down to 0.50x"]),
    case("ladder", &[("slow", "null", 24), ("fast", "null", 24)], &["gains nothing"]),
    case("endl", ENDL, &["endl takes 2.00x of newline"]).with(|rows| runs(rows, [&[20; 10], &[10; 10]])),
    case("endl", ENDL, &["endl is the faster one"]).with(|rows| runs(rows, [&[10; 10], &[20; 10]])),
    case("endl", ENDL, &["they are equal", "the library optimises nothing"]),
    case("endl", ENDL, &["The order matters"]).with(|rows| runs(rows, [&[10, 30, 10, 30, 10, 30, 10, 30], &[20; 8]])),
    case("threads", &[("outpace-8", "pipe", 50), ("println-8", "pipe", 100)], &["cheaper than println! with any number"]),
    case("threads", &[("outpace-8", "pipe", 200), ("println-8", "pipe", 100)],
        &["outpace takes 2.00x of println! with 8 threads"]),
    case("log", LOG, &["To pipe a log call by Background is done in 50.0 ns; 0.50x of println; quill is not beaten: 2.00x of it."]),
    case("log", &[("outpace-background-cold", "pipe", 20), ("quill-cold", "pipe", 40)],
        &["To pipe with cold caches a log call by Background is done in 20.0 ns; 0.50x of quill-cold."]),
    case("server", SERVER, &["leaves 0.25x of the requests/s without logging, outpace 0.98x"])
        .with(|rows| requests(rows, [2_500, 9_800, 10_000])),
    // More than a server without a log, within the noise.
    case("server", SERVER, &["leaves 0.25x of the requests/s without logging, outpace as many, within the noise"])
        .with(|rows| {
            requests(rows, [2_500, 10_400, 10_000]);
            rows[1].samples = [90, 91, 92, 95, 96, 96, 97, 99, 102, 103].map(|share| share * 1_000).to_vec();
        }),
    case("server", SERVER, &["println! leaves 0.98x"]).with(|rows| requests(rows, [9_800, 2_500, 10_000])),
    case("server", FED, &["0.25x of the requests/s of a silent server while another"])
        .with(|rows| requests(rows, [2_500, 9_800, 10_000])),
    case("server", SERVER, &["impossible: background-spill answers 3.19x of the requests of silent", "nothing follows"])
        .with(|rows| requests(rows, [2_500, 31_900, 10_000])),
    case("server", SERVER, &["the noise hides whether println or background-spill is faster"])
        .with(|rows| {
            requests(rows, [5_000, 5_000, 10_000]);
            rows[1].samples = NOISE.iter().rev().copied().collect();
            (rows[0].samples, rows[2].samples) = (NOISE.to_vec(), vec![20; 10]);
        }),
    case("draw", DRAW, &["log 0.014x (200 for 14,000)", "does not hold it back"])
        .with(|rows| drawn(rows, [200.0, 14_000.0], [200_000, 1_000_000_000])),
    case("draw", DRAW, &["log 70.0x", "no great difference"])
        .with(|rows| drawn(rows, [14_000.0, 200.0], [1_000_000_000, 200_000])),
    case("fps", FPS, &["stdout draws 2.00x the frames of stderr", "they are equal, as published",
        "a block buffer is not noticeably faster", "10.0x the frames of stdout there, more than any"])
        .with(|rows| fps(rows, &[60, 31, 61, 30, 60, 62, 600])),
    case("fps", FPS, &["not only for their buffering: stdout-raw 2.00x stderr-raw", "a block buffer makes it 1.50x",
        "which another way does better"])
        .with(|rows| fps(rows, &[60, 60, 90, 30, 60, 62, 45])),
    case("calls", CALLS, &["It is the calls: 400 times as many, of 500 ns each instead of 2,000 ns, make 100 times"])
        .with(|rows| writes(rows, [(500, 1_000_000), (200_000, 100_000_000)])),
    case("calls", CALLS, &["what costs is the bytes"])
        .with(|rows| writes(rows, [(500, 1_000_000), (200_000, 1_100_000)])),
    case("calls", CALLS, &["about as many calls; stderr's take 3.00 times as long"])
        .with(|rows| writes(rows, [(500, 1_000_000), (500, 3_000_000)])),
    case("chunks", &[("8KiB", "pipe", 20), ("64KiB", "pipe", 10)], &["the best size is 64KiB, the worst, 8KiB, takes 2.00 times"]),
    case("chunks", &[("8KiB", "pipe", 10), ("64KiB", "pipe", 20)], &["the best size is 8KiB, the worst, 64KiB"]),
    case("chunks", &[("8KiB", "pipe", 10), ("64KiB", "pipe", 10)], &["does not matter"]),
    case("chunks", PICTURES, &["fastest with drains of a row, slowest with 100B, 0.25x"]).with(|rows| fps(rows, &[10, 40])),
    case("chunks", PICTURES, &["fastest with drains of 100B, slowest with a row"]).with(|rows| fps(rows, &[40, 10])),
    case("chunks", PICTURES, &["does not care"]).with(|rows| fps(rows, &[40, 40])),
    case("chunks", TORN, &["tears as published"]).with(|rows| torn(rows, [40.0, 1.5])),
    case("chunks", TORN, &["about as many"]).with(|rows| torn(rows, [1.5, 1.5])),
    case("raw", &[("cloned", "pipe", 300), ("mutex", "pipe", 100)], &["a clone for each line takes 3.00x of the mutex"]),
    case("raw", &[("cloned", "pipe", 100), ("mutex", "pipe", 300)], &["the mutex takes 3.00x of a clone"]),
    case("raw", &[("cloned", "pipe", 100), ("mutex", "pipe", 100)], &["costs no more"]),
    case("raw", RAW, &[]),
    case("raw", RAW, &["closes it when it is dropped"])
        .with(|rows| rows[0].fails_as_published = Some("Bad file descriptor".to_owned())),
    case("mapped", &[("reopened", "tmpfs", 20), ("write", "tmpfs", 10)], &["2.00 times as long as write"]),
    case("mapped", &[("reopened", "tmpfs", 5), ("write", "tmpfs", 10)], &["2.00 times faster than write"]),
    case("mapped", &[("reopened", "tmpfs", 10), ("write", "tmpfs", 10)], &["as fast as write"]),
    case("input", &[("outpace", "null", 10), ("mapped", "null", 20)], &["outpace takes 0.50x of mapped"]),
    case("input", &[("outpace", "null", 20), ("mapped", "null", 10)], &["outpace takes 2.00x of mapped"]),
    case("contest", &[("outpace-contest", "file", 10), ("mapped", "file", 20)], &["outpace-contest takes 0.50x of mapped"]),
    case("contest", &[("outpace-contest", "file", 20), ("mapped", "file", 10)], &["outpace-contest takes 2.00x of mapped"]),
    case("startup", &[("c", "pipe", 100), ("go", "pipe", 300)], &["c says hello first, after 100 ns; go takes 3.00 times"]),
    case("startup", &[("c", "pipe", 300), ("go", "pipe", 100)], &["go says hello first"]),
    case("languages", &[("go", "pty", 900), ("go-fixed", "pty", 300)], &["To pty: no buffer in go; the shortest fix saves most in go, 3.00x."])
        .with(|rows| rows[0].writes = Some(2_000)),
    case("languages", &[("go", "pty", 900), ("perl", "pty", 300), ("c", "pty", 300)], &["To pty: a line buffer in perl, c; a block buffer in go."])
        .with(|rows| rows[0].writes = Some(2)),
    case("when", WHEN, &["A LineWriter holds back half a line."])
        .with(|rows| half_a_line_arrives_at(rows, "its newline")),
    case("when", WHEN, &["A LineWriter shows every text by itself, within 20.0 µs of its write."])
        .with(|rows| half_a_line_arrives_at(rows, "half a line")),
];

/// Every case of two rungs, with runs that wander so far that the rungs overlap, or with one run each.
#[test]
fn no_conclusion_names_a_faster_rung_where_the_runs_overlap() {
    let mut tried = 0;
    for samples in [NOISE, &[100]] {
        for case in CASES.iter().filter(|case| case.rows.len() == 2) {
            let mut rows = rows_of(case.experiment, case.rows);
            (case.with)(&mut rows);
            if rows
                .iter()
                .any(|row| row.timed().is_some() || row.torn_per_1000().is_some())
            {
                continue;
            }
            rows[0].samples = samples.to_vec();
            rows[1].samples = samples.iter().rev().copied().collect();
            let said = find(case.experiment).unwrap().conclude(&rows);
            // A count of write calls has no noise.
            let by_time = said.split_inclusive(". ");
            let by_time: String = by_time
                .filter(|sentence| !sentence.contains("BufWriter above std's LineWriter"))
                .collect();
            for wrong in [
                "faster than",
                "faster one",
                "cheaper",
                "takes ",
                "worst",
                "slowest",
                "right",
                "does not",
            ] {
                assert!(!by_time.contains(wrong), "{}: {said}", case.experiment);
            }
            // As equals, in either order.
            let [(one, ..), (other, ..)] = case.rows else {
                unreachable!("it has two rungs")
            };
            let equals = [format!("{one} and {other}"), format!("{other} and {one}")];
            assert!(
                said.contains("the noise hides")
                    || said.contains("once only")
                    || equals.iter().any(|names| said.contains(names)),
                "{}: {said:?}",
                case.experiment
            );
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried} cases");
}

#[test]
fn every_conclusion_turns_round_with_the_figures() {
    for case in CASES {
        let mut rows = rows_of(case.experiment, case.rows);
        (case.with)(&mut rows);
        let said = find(case.experiment).unwrap().conclude(&rows);
        // A case without sentences has an empty conclusion.
        assert_eq!(
            said.is_empty(),
            case.says.is_empty(),
            "{}: {said}",
            case.experiment
        );
        for says in case.says {
            assert!(
                said.contains(says),
                "{}: no {says:?} in {said:?}",
                case.experiment
            );
        }
    }
}

#[test]
fn every_experiment_has_a_case() {
    for experiment in super::ALL {
        let has_one = CASES.iter().any(|case| case.experiment == experiment.name);
        assert!(has_one, "{}", experiment.name);
    }
}
