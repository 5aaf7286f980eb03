//! When each thread was in which write, and what was running: the material of a profile.

use crate::trace::kernel::Call;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A stretch of time a thread spent in calls, or was seen in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallSpan {
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) call: &'static str,
    /// Bytes written, where known.
    pub(crate) bytes: Option<u64>,
    /// How many calls it stands for.
    pub(crate) calls: u64,
}

impl CallSpan {
    /// Takes the next span in, if both are kept as one, as samples of one call always are.
    fn join(&mut self, next: &Self, resolution_ns: u64) -> bool {
        let continues = next.calls == 0 && next.began_ns == self.ended_ns;
        let gap_ns = next.began_ns.saturating_sub(self.ended_ns);
        let joins = continues || (gap_ns < resolution_ns && self.call == next.call);
        if joins {
            self.ended_ns = next.ended_ns;
            self.calls += next.calls;
            self.bytes = self.bytes.zip(next.bytes).map(|(bytes, more)| bytes + more);
        }
        joins
    }
}

/// Samples of stacks a second; not a round number, so that no periodic work keeps step with it.
pub(crate) const FREQUENCY: u32 = 999;

/// The call stack of a thread that was running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The process and the thread.
    pub(crate) of: (i32, i32),
    pub(crate) time_ns: u64,
    /// The outermost first.
    pub(crate) frames: Vec<Frame>,
}

/// A function on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) in_kernel: bool,
}

/// The spans of every thread.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// More spans than this are never kept; none are when it is 0.
    pub(crate) most: usize,
    spans: usize,
    /// Calls that follow one another more closely are one span. It starts at 0 and doubles
    /// whenever there are too many spans, so that all of the time is kept, as sharply as there is room.
    resolution_ns: u64,
    /// By process, thread and descriptor, in the order of time.
    pub(crate) tracks: BTreeMap<[i32; 3], Vec<CallSpan>>,
    /// By process.
    pub(crate) programs: HashMap<i32, Rc<str>>,
}

/// A profile with more spans than this loads slowly.
pub(crate) const MOST_SPANS: usize = 200_000;
/// Calls are rarely closer than this to one another.
const FIRST_RESOLUTION_NS: u64 = 500;

impl Timeline {
    /// A finished call.
    pub(crate) fn call(&mut self, call: &Call, descriptor: i32, program: &Rc<str>) {
        let span = CallSpan {
            began_ns: call.began_ns,
            ended_ns: call.began_ns + call.took_ns,
            call: call.kind.name,
            bytes: u64::try_from(call.result).ok(),
            calls: 1,
        };
        self.add([call.process, call.thread, descriptor], program, span);
    }

    /// Adds a call, or a sample of one, of a thread on a descriptor.
    pub(crate) fn add(&mut self, track: [i32; 3], program: &Rc<str>, span: CallSpan) {
        if self.most == 0 {
            return;
        }
        let known = self.programs.entry(track[0]);
        known.or_insert_with(|| Rc::clone(program));
        let spans = self.tracks.entry(track).or_default();
        if !(spans.last_mut()).is_some_and(|before| before.join(&span, self.resolution_ns)) {
            spans.push(span);
            self.spans += 1;
        }
        // At the coarsest, each track is one span already.
        while self.spans > self.most && self.resolution_ns < u64::MAX {
            let coarser_ns = self.resolution_ns.saturating_mul(2);
            self.resolution_ns = coarser_ns.max(FIRST_RESOLUTION_NS);
            self.spans = 0;
            for spans in self.tracks.values_mut() {
                spans.dedup_by(|next, before| before.join(next, self.resolution_ns));
                self.spans += spans.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_at_most(most: usize) -> Timeline {
        Timeline {
            most,
            ..Timeline::default()
        }
    }

    fn span(began_ns: u64, calls: u64) -> CallSpan {
        CallSpan {
            began_ns,
            ended_ns: began_ns + 100,
            call: "write",
            bytes: Some(7),
            calls,
        }
    }

    #[test]
    fn a_full_timeline_gets_coarser_and_forgets_nothing() {
        let program: Rc<str> = "program".into();
        for (most, gap_ns) in [(10, 1), (10, 1_000_000), (1_000, 3_000)] {
            let mut timeline = of_at_most(most);
            for n in 0..5_000 {
                let at = n * (100 + gap_ns);
                timeline.add([1, 1, (n % 2) as i32 + 1], &program, span(at, 1));
                assert!(timeline.spans <= most);
            }
            let spans = || timeline.tracks.values().flatten();
            assert_eq!(spans().map(|span| span.calls).sum::<u64>(), 5_000);
            assert_eq!(spans().map(|span| span.bytes.unwrap()).sum::<u64>(), 35_000);
            assert_eq!(spans().count(), timeline.spans);
        }
    }

    #[test]
    fn more_tracks_than_there_is_room_for_are_kept_with_a_span_each() {
        let mut timeline = of_at_most(10);
        for thread in 0..100 {
            timeline.add([1, thread, 1], &"program".into(), span(0, 1));
        }
        assert_eq!((timeline.tracks.len(), timeline.spans), (100, 100));
    }

    #[test]
    fn with_room_every_call_is_its_own_span() {
        let mut timeline = of_at_most(100);
        for n in 0..100 {
            timeline.add([1; 3], &"program".into(), span(n * 100, 1));
        }
        assert_eq!(timeline.tracks[&[1, 1, 1]].len(), 100);
    }

    #[test]
    fn looks_at_the_same_call_are_one_span() {
        let mut timeline = of_at_most(100);
        for (at, calls) in [(0, 1), (100, 0), (200, 0), (300, 1)] {
            timeline.add([1; 3], &"program".into(), span(at, calls));
        }
        let lengths: Vec<u64> = timeline.tracks[&[1, 1, 1]]
            .iter()
            .map(|span| span.ended_ns - span.began_ns)
            .collect();
        assert_eq!(lengths, [300, 100]);
    }

    #[test]
    fn nothing_is_kept_unless_asked_for() {
        let mut timeline = Timeline::default();
        timeline.add([1; 3], &"program".into(), span(0, 1));
        assert!(timeline.tracks.is_empty());
    }
}
