//! `--profile`: the findings for the Firefox Profiler, in its processed format.
//!
//! A track for each stream of each thread, a marker for each write (or each stretch a thread was
//! seen waiting in one), and a counter of bytes for each stream.

use super::findings::Findings;
use super::timeline::{Span, Timeline, Track};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, MarkerFieldFlags, MarkerFieldFormat, MarkerLocations,
    MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle, Timestamp,
};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// A write call, or several.
struct WriteMarker {
    name: StringHandle,
    category: CategoryHandle,
    bytes: u64,
    calls: u64,
}

impl StaticSchemaMarker for WriteMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Write";
    const LOCATIONS: MarkerLocations = MarkerLocations::MARKER_CHART
        .union(MarkerLocations::MARKER_TABLE)
        .union(MarkerLocations::TIMELINE_OVERVIEW);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.bytes}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.bytes}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        StaticSchemaMarkerField {
            key: "bytes",
            label: "Bytes",
            format: MarkerFieldFormat::Bytes,
            flags: MarkerFieldFlags::empty(),
        },
        StaticSchemaMarkerField {
            key: "calls",
            label: "Calls",
            format: MarkerFieldFormat::Integer,
            flags: MarkerFieldFlags::empty(),
        },
    ];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _field: u32) -> StringHandle {
        unreachable!("the marker has no fields of text")
    }

    fn number_field_value(&self, field: u32) -> f64 {
        match field {
            0 => self.bytes as f64,
            _ => self.calls as f64,
        }
    }
}

/// The whole profile.
pub(crate) fn build(findings: &Findings, timeline: &Timeline) -> Profile {
    let began_ns = timeline
        .tracks
        .values()
        .flat_map(|track| track.spans.first())
        .map(|span| span.began_ns)
        .min()
        .unwrap_or(0);
    let name = findings.command.join(" ");
    let start = SystemTime::now() - std::time::Duration::from_nanos(findings.wall_ns);
    let mut profile = Profile::new(
        &name,
        ReferenceTimestamp::from(start),
        SamplingInterval::from_millis(1),
    );
    profile.set_os_name("Linux");
    let category = profile.add_category("Output", CategoryColor::Orange);
    let at = |ns: u64| Timestamp::from_nanos_since_reference(ns.saturating_sub(began_ns));
    let end = at(began_ns + findings.wall_ns);
    let mut by_process: BTreeMap<i32, Vec<(i32, &Track)>> = BTreeMap::new();
    for (thread, track) in &timeline.tracks {
        by_process
            .entry(track.process)
            .or_default()
            .push((*thread, track));
    }
    if by_process.is_empty() {
        // A profile without a thread does not load.
        let process = profile.add_process(&name, findings.root as u32, at(began_ns));
        profile.set_process_end_time(process, end);
        profile.add_thread(process, findings.root as u32, at(began_ns), true);
    }
    for (process_id, mut tracks) in by_process {
        tracks.sort_by_key(|(thread, _)| *thread);
        let process = profile.add_process(&tracks[0].1.program, process_id as u32, at(began_ns));
        profile.set_process_end_time(process, end);
        let mut written: BTreeMap<i32, Vec<(u64, u64, u64)>> = BTreeMap::new();
        for (thread, track) in tracks {
            let mut streams: BTreeMap<i32, Vec<&Span>> = BTreeMap::new();
            for span in &track.spans {
                streams.entry(span.descriptor).or_default().push(span);
                let amount = (span.ended_ns, span.bytes.unwrap_or(0), span.calls);
                written.entry(span.descriptor).or_default().push(amount);
            }
            for (descriptor, spans) in streams {
                let handle =
                    profile.add_thread(process, thread as u32, at(spans[0].began_ns), false);
                let stream = stream_name(descriptor);
                profile.set_thread_name(handle, &format!("{stream} (thread {thread})"));
                profile.set_thread_show_markers_in_timeline(handle, true);
                profile.set_thread_end_time(handle, end);
                for span in spans {
                    let marker = WriteMarker {
                        name: profile.intern_string(span.call),
                        category,
                        bytes: span.bytes.unwrap_or(0),
                        calls: span.calls,
                    };
                    let timing = MarkerTiming::Interval(at(span.began_ns), at(span.ended_ns));
                    profile.add_marker(handle, timing, marker);
                }
            }
        }
        for (descriptor, mut amounts) in written {
            amounts.sort_unstable();
            let stream = stream_name(descriptor);
            let counter = profile.add_counter(
                process,
                &stream,
                "Bandwidth",
                "Bytes written to this stream",
            );
            for (time_ns, bytes, calls) in amounts {
                let calls = u32::try_from(calls).unwrap_or(u32::MAX);
                profile.add_counter_sample(counter, at(time_ns), bytes as f64, calls);
            }
        }
    }
    profile
}

fn stream_name(descriptor: i32) -> String {
    super::findings::Descriptors::One(descriptor).name()
}
