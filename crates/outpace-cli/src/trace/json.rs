//! `--json`: the findings for programs. The schema:
//!
//! ```text
//! { "version": 1,
//!   "command": ["…"], "process": 123,
//!   "mode": "sampled" | "tracepoints" | "ptrace",
//!   "lost": 0,                          records that did not fit (tracepoints)
//!   "ending": {"status": 0} | {"signal": 9} | null,
//!   "wall_ns": …, "overhead_ns": …,     the second is the part of the first that tracing took
//!   "delayed_ns": …,                    and this the part that it waited for a processor
//!   "user_ns": …, "system_ns": …,
//!   "verdict": { "limit": "none" | "calls" | "reader" | "unknown",    the last where ptrace distorted the times
//!                "share": 0.87,         of now_ns, in writes to streams
//!                "now_ns": …, "with_blocks_ns": …, "with_fast_reader_ns": …,
//!                "text": ["…"], "remedies": ["…"] },
//!   "streams": [ { "program": "…", "language": "…", "processes": 1,
//!                  "name": "stdout", "descriptor": 1 | null,
//!                  "target": { "kind": "terminal", "path": "/dev/pts/3",
//!                              "device": [136, 3] | null, "driver": "pty_slave" | null },
//!                  "readers": [ { "process": 1, "name": "xterm" } ],
//!                  "buffering": "line", "capacity": 4096 | null,
//!                  "calls": …, "bytes": …, "errors": …, "partial": …,
//!                  "own_ns": … | null,    the program's own between these writes, where that can be sampled: what printing
//!                                         alone takes in its language, if chance explains the difference
//!                  "calibrated": { "call_ns": …, "byte_ns": … } | null,    what a write of this size, and a byte
//!                                         in large ones, takes on such a destination with a reader that keeps up
//!                  "in_kernel_ns": …, "waiting_ns": …,
//!                  "by_name": { "write": … },
//!                  "tails_seen": …, "line_ends": …,
//!                  "sizes":        [ { "least": 4, "most": 7, "count": …, "sum": … } ],
//!                  "durations_ns": [ … ] } ],
//!   "elsewhere": { "calls": …, "bytes": …, "writing_ns": … },
//!   "tree": { "write_calls": …, "bytes_written": … } | null,
//!   "notes": ["…"] }
//! ```
//!
//! In the sampled mode `calls` and `bytes` are the kernel's, and `sizes`, `tails_seen` and
//! `line_ends` are of the calls that were seen.

use super::findings::{Descriptors, Findings, Mode, Stream};
use super::tally::{Buffering, Histogram};
use super::verdict::Verdict;
use crate::platform::ending::Ending;
use serde_json::{Value, json};

/// The findings as one object.
pub(crate) fn value(findings: &Findings, verdict: &Verdict) -> Value {
    let lost = if let Mode::Tracepoints { lost } = findings.mode {
        lost
    } else {
        0
    };
    json!({
        "version": 1,
        "command": findings.command,
        "process": findings.root,
        "mode": findings.mode.word(),
        "lost": lost,
        "ending": findings.ending.map(|ending| match ending {
            Ending::Exited(status) => json!({ "status": status }),
            Ending::Killed(signal) => json!({ "signal": signal }),
        }),
        "wall_ns": findings.wall_ns,
        "overhead_ns": findings.overhead_ns,
        "delayed_ns": findings.delayed_ns,
        "user_ns": findings.user_ns,
        "system_ns": findings.system_ns,
        "verdict": {
            "limit": verdict.limit.word(),
            "share": verdict.share,
            "now_ns": verdict.now_ns,
            "with_blocks_ns": verdict.with_blocks_ns,
            "with_fast_reader_ns": verdict.with_fast_reader_ns,
            "text": verdict.sentences,
            "remedies": verdict.remedies,
        },
        "streams": findings.streams.iter().map(stream).collect::<Vec<_>>(),
        "elsewhere": {
            "calls": findings.elsewhere.calls,
            "bytes": findings.elsewhere.bytes,
            "writing_ns": findings.elsewhere.writing_ns,
        },
        "tree": findings.tree.map(|tree| json!({
            "write_calls": tree.write_calls,
            "bytes_written": tree.bytes_written,
        })),
        "notes": findings.notes,
    })
}

fn stream(stream: &Stream) -> Value {
    let descriptor = if let Descriptors::One(descriptor) = stream.descriptors {
        Some(descriptor)
    } else {
        None
    };
    let capacity = if let Buffering::Block { capacity, .. } = stream.buffering {
        Some(capacity)
    } else {
        None
    };
    let readers: Vec<Value> = stream
        .readers
        .iter()
        .map(|(process, name)| json!({ "process": process, "name": name }))
        .collect();
    json!({
        "program": &*stream.program,
        "language": stream.language.name(),
        "processes": stream.processes,
        "name": stream.descriptors.name(),
        "descriptor": descriptor,
        "target": {
            "kind": stream.target.kind.word(),
            "path": stream.target.path,
            "device": stream.target.device.map(|(major, minor)| [major, minor]),
            "driver": stream.target.driver,
        },
        "readers": readers,
        "buffering": stream.buffering.word(),
        "capacity": capacity,
        "calls": stream.calls,
        "bytes": stream.bytes,
        "errors": stream.tally.errors,
        "partial": stream.tally.partial,
        "own_ns": stream.own_ns,
        "calibrated": stream.costs.map(|costs| json!({
            "call_ns": costs.call_ns,
            "byte_ns": costs.byte_ns,
        })),
        "in_kernel_ns": stream.in_kernel_ns,
        "waiting_ns": stream.waiting_ns,
        "by_name": stream.tally.by_name,
        "tails_seen": stream.tally.tails_seen,
        "line_ends": stream.tally.line_ends,
        "sizes": buckets(&stream.tally.sizes),
        "durations_ns": buckets(&stream.tally.durations_ns),
    })
}

fn buckets(histogram: &Histogram) -> Vec<Value> {
    histogram
        .buckets()
        .map(|bucket| {
            json!({ "least": bucket.least, "most": bucket.most, "count": bucket.count, "sum": bucket.sum })
        })
        .collect()
}
