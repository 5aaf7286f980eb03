//! `--json`: the findings for programs. docs/trace.schema.json says what each field means; a test holds it to that.
//!
//! In the sampled mode `calls` and `bytes` are the kernel's, and `sizes`, `tails_seen` and
//! `line_ends` are of the calls that were seen.

use crate::trace::judge::verdict::Verdict;
use crate::trace::model::{Buffering, Descriptors, Findings, Interval, Stream};
use serde_json::{Value, json};

/// The findings as one object.
pub(crate) fn value(findings: &Findings, verdict: &Verdict) -> Value {
    let run = &findings.run;
    let left = |saved: Interval| saved.taken_from(verdict.now_ns as f64);
    let with_blocks = left(verdict.blocks_save_ns);
    let with_fast_reader = left(verdict.fast_reader_saves_ns);
    json!({
        "version": 1,
        "command": findings.command,
        "process": run.root,
        "mode": run.mode,
        "lost": run.lost,
        "ending": run.ending,
        "wall_ns": run.wall_ns,
        "overhead_ns": run.overhead_ns,
        "delayed_ns": run.delayed_ns,
        "user_ns": run.user_ns,
        "system_ns": run.system_ns,
        "verdict": {
            "limit": verdict.limit,
            "share": verdict.share,
            "now_ns": verdict.now_ns,
            "blocks_save_interval_ns": interval(verdict.blocks_save_ns),
            "with_blocks_ns": whole(with_blocks.likely),
            "with_blocks_interval_ns": interval(with_blocks),
            "fast_reader_saves_interval_ns": interval(verdict.fast_reader_saves_ns),
            "with_fast_reader_ns": whole(with_fast_reader.likely),
            "with_fast_reader_interval_ns": interval(with_fast_reader),
            "text": verdict.sentences,
            "remedies": verdict.remedies,
        },
        "streams": findings.streams.iter().map(stream).collect::<Vec<_>>(),
        "stacks": findings.stacks,
        "elsewhere": findings.elsewhere,
        "tree": run.tree.map(|tree| json!({
            "write_calls": tree.write_calls,
            "bytes_written": tree.bytes_written,
        })),
        "notes": run.notes,
    })
}

fn stream(stream: &Stream) -> Value {
    let descriptor = match stream.descriptors {
        Descriptors::One(descriptor) => Some(descriptor),
        _ => None,
    };
    let capacity = match stream.buffering {
        Buffering::Block { capacity } => Some(capacity),
        _ => None,
    };
    let readers = stream.readers.iter();
    let readers = readers.map(|(process, name)| json!({ "process": process, "name": name }));
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
        "readers": readers.collect::<Vec<_>>(),
        "buffering": stream.buffering.words().0,
        "capacity": capacity,
        "calls": stream.calls,
        "bytes": stream.bytes,
        "errors": stream.tally.errors,
        "partial": stream.tally.partial,
        "own_interval_ns": interval(stream.own_ns),
        "in_kernel_ns": whole(stream.in_kernel_ns.likely),
        "in_kernel_interval_ns": interval(stream.in_kernel_ns),
        "waiting_ns": stream.asleep_ns(),
        "by_name": stream.tally.by_name,
        "tails_seen": stream.tally.tails_seen,
        "line_ends": stream.tally.line_ends,
        "sizes": stream.tally.sizes.buckets().collect::<Vec<_>>(),
        "durations_ns": stream.tally.durations_ns.buckets().collect::<Vec<_>>(),
    })
}

fn whole(ns: f64) -> u64 {
    ns.max(0.0) as u64
}

fn interval(ns: Interval) -> [u64; 2] {
    [whole(ns.low), whole(ns.high)]
}
