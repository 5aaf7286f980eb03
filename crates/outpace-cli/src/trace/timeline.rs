//! When each thread was in which write: the material of a profile.

use super::calls::Call;
use std::collections::HashMap;
use std::rc::Rc;

/// A stretch of time a thread spent in one call, or was seen in it.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) call: &'static str,
    pub(crate) descriptor: i32,
    /// Bytes written, where known.
    pub(crate) bytes: Option<u64>,
    /// How many calls it stands for (more than one once the timeline is full).
    pub(crate) calls: u64,
}

/// What one thread did.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) process: i32,
    pub(crate) program: Rc<str>,
    pub(crate) spans: Vec<Span>,
}

/// The spans of every thread; records nothing unless it was asked to.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    recording: bool,
    spans: usize,
    pub(crate) tracks: HashMap<i32, Track>,
    /// Calls that were merged into a neighbour because the timeline was full.
    pub(crate) merged: u64,
}

/// A profile with more spans than this loads slowly; later calls then extend the span before them.
const MOST_SPANS: usize = 500_000;

impl Timeline {
    pub(crate) fn recording() -> Self {
        Self {
            recording: true,
            ..Self::default()
        }
    }

    fn track(&mut self, process: i32, thread: i32, program: &Rc<str>) -> &mut Track {
        self.tracks.entry(thread).or_insert_with(|| Track {
            process,
            program: Rc::clone(program),
            spans: Vec::new(),
        })
    }

    /// A finished call.
    pub(crate) fn call(&mut self, call: &Call, program: &Rc<str>) {
        if !self.recording {
            return;
        }
        let bytes = u64::try_from(call.result).ok();
        let ended_ns = call.began_ns + call.took_ns;
        let full = self.spans >= MOST_SPANS;
        let spans = &mut self.track(call.process, call.thread, program).spans;
        let before = spans
            .last_mut()
            .filter(|before| full && before.descriptor == call.descriptor);
        if let Some(before) = before {
            before.ended_ns = ended_ns;
            before.calls += 1;
            before.bytes = before.bytes.map(|sum| sum + bytes.unwrap_or(0));
            self.merged += 1;
            return;
        }
        spans.push(Span {
            began_ns: call.began_ns,
            ended_ns,
            call: call.kind.name,
            descriptor: call.descriptor,
            bytes,
            calls: 1,
        });
        self.spans += 1;
    }

    /// A thread was seen asleep in a write at the end of this stretch of time.
    pub(crate) fn seen(&mut self, process: i32, thread: i32, program: &Rc<str>, span: Span) {
        if !self.recording || self.spans >= MOST_SPANS {
            return;
        }
        let spans = &mut self.track(process, thread, program).spans;
        match spans.last_mut() {
            Some(before)
                if before.ended_ns == span.began_ns && before.descriptor == span.descriptor =>
            {
                before.ended_ns = span.ended_ns;
                before.calls += span.calls;
            }
            _ => {
                spans.push(span);
                self.spans += 1;
            }
        }
    }
}
