//! A program's own time beside its small writes: how much of it there is, and how much goes when they become large.

use super::calibrate;
use super::findings::Stream;
use super::language::{Language, Printing};
use super::tally::Buffering;
use super::target::Kind;
use super::windows::OwnTime;

/// Work that a system call precedes takes longer, by this part and so long at most: branches and caches are the kernel's.
const LOST: f64 = 0.15;
const MOST_LOST_NS: f64 = 60.0;
/// What is sampled is taken for more or less than printing alone when it differs from that by so many standard
/// deviations. The known cost of printing has one as well, a part of it: numbers and lines are longer or shorter.
const CHANCE: f64 = 2.0;
const SPREAD: f64 = 0.1;

/// So many small writes of so many messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Small {
    calls: u64,
    messages: u64,
    printing: Printing,
}

impl Small {
    pub(crate) fn new(
        language: Language,
        buffering: Buffering,
        kind: Kind,
        calls: u64,
        messages: u64,
    ) -> Self {
        let has_fragments = messages * 2 <= calls && buffering.is_fine_grained();
        let buffering = if has_fragments {
            Buffering::Unbuffered
        } else {
            buffering
        };
        Self {
            calls,
            messages,
            printing: language.printing(buffering, kind),
        }
    }

    /// The own time of a program that makes these writes and does nothing else.
    fn alone_ns(self) -> f64 {
        let calls_ns = self.calls as f64 * self.printing.call_ns;
        let messages_ns = self.messages as f64 * self.printing.message_ns;
        (calls_ns + messages_ns) * calibrate::slowness()
    }

    /// The likely own time of a program of which this was sampled. Some dozens of samples are a sixth off by chance,
    /// which may be more than the program keeps; most programs that write much do hardly anything else. So what cannot be
    /// told from printing alone is taken for that.
    pub(crate) fn likely_ns(self, sampled: OwnTime) -> f64 {
        let calls = self.calls as f64;
        let (sampled_ns, error_ns) = (sampled.per_call_ns * calls, sampled.error_ns * calls);
        let alone_ns = self.alone_ns();
        let differs_ns = CHANCE * error_ns.hypot(SPREAD * alone_ns);
        if (sampled_ns - alone_ns).abs() <= differs_ns {
            alone_ns
        } else {
            sampled_ns
        }
    }
}

/// Time of the program's own, beside the writing, that goes with the small writes of a stream; `rest_ns` is all that
/// it spends on anything else.
pub(crate) fn gone_ns(stream: &Stream, rest_ns: f64) -> f64 {
    let small = stream.small();
    let slowness = calibrate::slowness();
    let own_ns = stream.own_ns.map_or(rest_ns, |own_ns| own_ns as f64);
    let calls = stream.calls.max(1) as f64;
    // The program's other work finds its way again for a while after a call.
    let other_ns = ((own_ns - small.alone_ns()) / calls).max(0.0);
    let lost_ns = (other_ns * LOST).min(MOST_LOST_NS * slowness);
    let call_ns = small.printing.call_ns * slowness;
    (calls * (call_ns + lost_ns)).min(own_ns * (1.0 - small.printing.least_left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_explains_is_no_work_of_its_own() {
        let small = Small::new(Language::C, Buffering::Line, Kind::Pipe, 1000, 1000);
        let alone_ns = small.alone_ns();
        let sampled = |factor: f64, error: f64| OwnTime {
            per_call_ns: factor * alone_ns / 1000.0,
            error_ns: error * alone_ns / 1000.0,
        };
        assert_eq!(small.likely_ns(sampled(1.3, 0.2)), alone_ns);
        assert_eq!(small.likely_ns(sampled(0.7, 0.2)), alone_ns);
        for factor in [0.5, 2.0] {
            let likely_ns = small.likely_ns(sampled(factor, 0.05));
            assert!((likely_ns - factor * alone_ns).abs() < 1e-6 * alone_ns);
        }
    }
}
