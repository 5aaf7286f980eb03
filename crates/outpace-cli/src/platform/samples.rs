//! Samples of the processor time of a thread, where the kernel permits them (perf_event_open(2), without privileges where
//! `perf_event_paranoid` is 2 or less): which part of it the thread is in its program.

use super::procfs::Processor;
use perf_event::events::Software;
use perf_event::{Builder, Sampler};
use std::io;

/// The processor time between two. A sample takes up to 67 µs in a virtual machine.
pub(crate) const SAMPLE_NS: u64 = 1_000_000;
/// Has room for more than are between two readings.
const RING: usize = 16 << 10;

/// Samples of the processor time of a thread: a record of 8 bytes for each that finds it in its program, none for those in the kernel.
pub(crate) struct Samples {
    ring: Sampler,
    /// Those found in the program, times the time between two.
    in_program_ns: u64,
    /// The thread's time before these, and its parts.
    before: Processor,
}

impl Samples {
    pub(crate) fn of(thread: i32, before: Processor) -> io::Result<Self> {
        let mut event = Builder::new(Software::TASK_CLOCK);
        event.observe_pid(thread).any_cpu().sample_period(SAMPLE_NS);
        let ring = event.enabled(true).build()?.sampled(RING)?;
        Ok(Self {
            ring,
            in_program_ns: 0,
            before,
        })
    }

    /// The thread's time to this moment, or to its end, with the sampled parts, and `rest`.
    pub(crate) fn processor(&mut self, rest: Processor) -> io::Result<Processor> {
        while self.ring.next_record().is_some() {
            self.in_program_ns += SAMPLE_NS;
        }
        let sampled_ns = self.ring.as_counter_mut().read()?;
        let user_ns = sampled_ns.min(self.in_program_ns);
        Ok(Processor {
            total_ns: self.before.total_ns + sampled_ns,
            user_ns: self.before.user_ns + user_ns,
            system_ns: self.before.system_ns + sampled_ns - user_ns,
            ..rest
        })
    }
}
