//! `--profile`: the findings for the Firefox Profiler, in its processed format.
//!
//! A track for each stream of each thread, a marker for each write (or each stretch a thread was
//! seen waiting in one), a counter of bytes for each stream, and a track of call stacks for each thread
//! that was seen running, where there are some.

use crate::trace::model::{CallSpan, Descriptors, FREQUENCY, Findings, Sample};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags,
    MarkerFieldFormat, MarkerLocations, MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp,
    SamplingInterval, StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, ThreadHandle,
    Timestamp,
};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

/// A write call, or several.
struct WriteMarker<'a>(CategoryHandle, &'a CallSpan);

type Field = StaticSchemaMarkerField;

const fn field(key: &'static str, label: &'static str, format: MarkerFieldFormat) -> Field {
    Field {
        key,
        label,
        format,
        flags: MarkerFieldFlags::empty(),
    }
}

impl StaticSchemaMarker for WriteMarker<'_> {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Write";
    const LOCATIONS: MarkerLocations = MarkerLocations::MARKER_CHART
        .union(MarkerLocations::MARKER_TABLE)
        .union(MarkerLocations::TIMELINE_OVERVIEW);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.bytes}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.bytes}");
    const FIELDS: &'static [Field] = &[
        field("bytes", "Bytes", MarkerFieldFormat::Bytes),
        field("calls", "Calls", MarkerFieldFormat::Integer),
    ];

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string(self.1.call)
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.0
    }

    fn string_field_value(&self, _field: u32) -> StringHandle {
        unreachable!("the marker has no fields of text")
    }

    fn number_field_value(&self, field: u32) -> f64 {
        [self.1.bytes.unwrap_or(0), self.1.calls][field as usize] as f64
    }
}

/// The whole profile.
pub(crate) fn build(findings: &Findings) -> Profile {
    let (timeline, samples) = (&findings.run.timeline, &findings.run.samples);
    let spans = timeline.tracks.values().filter_map(|spans| spans.first());
    let times = samples.iter().map(|sample| sample.time_ns);
    let times = spans.map(|span| span.began_ns).chain(times);
    let began_ns = times.min().unwrap_or(0);
    let start = SystemTime::now() - Duration::from_nanos(findings.run.wall_ns);
    let mut profile = Profile::new(
        &findings.command.join(" "),
        ReferenceTimestamp::from(start),
        SamplingInterval::from_hz(FREQUENCY as f32),
    );
    profile.set_os_name("Linux");
    // Names come from perf; the profiler must not look for others.
    profile.set_symbolicated(true);
    let mut builder = Builder {
        output: profile.add_category("Output", CategoryColor::Orange),
        program: profile.add_category("Program", CategoryColor::Blue),
        kernel: profile.add_category("Kernel", CategoryColor::Red),
        began_ns,
        profile,
        processes: HashMap::new(),
    };
    let name = findings.command.first().map_or("", String::as_str);
    let mut named: HashMap<i32, &str> = HashMap::from([(findings.run.root, name)]);
    let programs = timeline.programs.iter();
    named.extend(programs.map(|(&process, program)| (process, &**program)));
    // A profile without a thread does not load.
    let first = (findings.run.root, findings.run.root);
    let mut threads: BTreeMap<(i32, i32), Vec<&Sample>> = BTreeMap::from([(first, Vec::new())]);
    for sample in samples {
        threads.entry(sample.of).or_default().push(sample);
    }
    for ((process, thread), samples) in threads {
        let program = named.get(&process).copied().unwrap_or("child");
        builder.stacks((process, thread), program, &samples);
    }
    let mut written: BTreeMap<(i32, i32), Vec<&CallSpan>> = BTreeMap::new();
    for (&[process, thread, descriptor], spans) in &timeline.tracks {
        builder.stream((process, thread), named[&process], descriptor, spans);
        let stream = (process, descriptor);
        written.entry(stream).or_default().extend(spans);
    }
    for ((process, descriptor), mut spans) in written {
        spans.sort_unstable_by_key(|span| span.ended_ns);
        builder.counter(process, descriptor, &spans);
    }
    builder.profile
}

/// A profile in the making.
struct Builder {
    profile: Profile,
    output: CategoryHandle,
    program: CategoryHandle,
    kernel: CategoryHandle,
    began_ns: u64,
    processes: HashMap<i32, ProcessHandle>,
}

impl Builder {
    fn at(&self, ns: u64) -> Timestamp {
        Timestamp::from_nanos_since_reference(ns.saturating_sub(self.began_ns))
    }

    fn thread(&mut self, of: (i32, i32), name: (&str, &str), is_main: bool) -> ThreadHandle {
        let (profile, start) = (&mut self.profile, Timestamp::from_nanos_since_reference(0));
        let process = self.processes.entry(of.0);
        let process = process.or_insert_with(|| profile.add_process(name.0, of.0 as u32, start));
        let handle = profile.add_thread(*process, of.1 as u32, start, is_main);
        profile.set_thread_name(handle, name.1);
        handle
    }

    /// The stacks of a thread.
    fn stacks(&mut self, of: (i32, i32), program: &str, samples: &[&Sample]) {
        let handle = self.thread(of, (program, program), of.0 == of.1);
        let busy = CpuDelta::from(Duration::from_secs(1) / FREQUENCY);
        for sample in samples {
            let mut frames = Vec::new();
            for frame in &sample.frames {
                let category = [self.program, self.kernel][usize::from(frame.in_kernel)];
                frames.push(FrameInfo {
                    frame: Frame::Label(self.profile.intern_string(&frame.name)),
                    category_pair: category.into(),
                    flags: FrameFlags::empty(),
                });
            }
            let stack = self.profile.intern_stack_frames(handle, frames.into_iter());
            let at = self.at(sample.time_ns);
            self.profile.add_sample(handle, at, stack, busy, 1);
        }
    }

    /// A marker for each span of a thread's writes to a stream.
    fn stream(&mut self, of: (i32, i32), program: &str, descriptor: i32, spans: &[CallSpan]) {
        let name = format!("{} (thread {})", Descriptors::One(descriptor).name(), of.1);
        let handle = self.thread(of, (program, &name), false);
        (self.profile).set_thread_show_markers_in_timeline(handle, true);
        for span in spans {
            let timing = MarkerTiming::Interval(self.at(span.began_ns), self.at(span.ended_ns));
            let marker = WriteMarker(self.output, span);
            self.profile.add_marker(handle, timing, marker);
        }
    }

    /// The bytes written to a stream, over time.
    fn counter(&mut self, process: i32, descriptor: i32, spans: &[&CallSpan]) {
        let handle = self.processes[&process];
        let name = Descriptors::One(descriptor).name();
        let what = "Bytes written to this stream";
        let counter = (self.profile).add_counter(handle, &name, "Bandwidth", what);
        // A counter's first sample is where it starts from.
        let start = Timestamp::from_nanos_since_reference(0);
        self.profile.add_counter_sample(counter, start, 0.0, 0);
        for span in spans {
            let (at, bytes) = (self.at(span.ended_ns), span.bytes.unwrap_or(0) as f64);
            let calls = u32::try_from(span.calls).unwrap_or(u32::MAX);
            (self.profile).add_counter_sample(counter, at, bytes, calls);
        }
    }
}
