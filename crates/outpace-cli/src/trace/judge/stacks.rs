//! Which calls of the program lead to its writes, from samples of what was running.

use crate::trace::model::{Sample, Stack};
use std::collections::HashMap;

/// Stacks that are shown.
const SHOWN: usize = 3;

/// The stacks that were seen most often in write calls, the most frequent first, and whether most of all could not be followed
/// beyond the library: perf follows frame pointers, which many C libraries do not keep.
pub(crate) fn at_writes(samples: &[Sample]) -> (Vec<Stack>, bool) {
    let (mut followed, mut lost) = (0, 0);
    let mut counts: HashMap<Vec<String>, u64> = HashMap::new();
    for sample in samples.iter().filter(|sample| is_at_write(sample)) {
        let own = sample.frames.iter().filter(|frame| !frame.in_kernel);
        let names: Vec<String> = own.map(|frame| frame.name.clone()).collect();
        // A single name is the library's.
        if names.len() > 1 {
            *counts.entry(names).or_default() += 1;
            followed += 1;
        } else {
            lost += 1;
        }
    }
    let stack = |(frames, samples)| Stack { frames, samples };
    let mut stacks: Vec<Stack> = counts.into_iter().map(stack).collect();
    stacks.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.frames.cmp(&b.frames)));
    stacks.truncate(SHOWN);
    (stacks, lost > followed)
}

/// Whether a thread was in a call that writes: in the kernel's part of it (`ksys_write`, `vfs_writev`, …), or, where that
/// may not be seen, in the library's (`__GI___libc_write`).
fn is_at_write(sample: &Sample) -> bool {
    const CALLS: [&str; 6] = ["write", "writev", "sendto", "sendmsg", "splice", "sendfile"];
    let mut kernel = sample.frames.iter().filter(|frame| frame.in_kernel);
    let innermost = sample.frames.iter().rfind(|frame| !frame.in_kernel);
    let library = innermost.map_or("", |frame| {
        let name = frame.name.trim_start_matches("__GI_");
        name.trim_start_matches("__libc_").trim_start_matches('_')
    });
    // Not `down_write`, which takes a lock.
    let is_call = |name: &str| {
        let (layer, call) = name.rsplit_once('_').unwrap_or_default();
        CALLS.contains(&call) && (layer.ends_with("sys") || layer == "do" || layer == "vfs")
    };
    kernel.any(|frame| is_call(&frame.name)) || library == "send" || CALLS.contains(&library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::model::Frame;

    fn sample(own: &[&str], kernel: &[&str]) -> Sample {
        let frame = |name: &&str, in_kernel| Frame {
            name: (*name).to_owned(),
            in_kernel,
        };
        let own = own.iter().map(|name| frame(name, false));
        Sample {
            of: (1, 1),
            time_ns: 0,
            frames: own
                .chain(kernel.iter().map(|name| frame(name, true)))
                .collect(),
        }
    }

    #[test]
    fn stacks_that_end_in_a_write_are_counted_and_others_are_not() {
        let writing = ["do_syscall_64", "ksys_write", "vfs_write", "tty_write"];
        let samples = [
            sample(&["main", "say", "puts", "__GI___libc_write"], &writing),
            sample(&["main", "say", "puts", "__GI___libc_write"], &[]),
            sample(&["main", "log", "write"], &writing),
            sample(&["main", "compute"], &[]),
            sample(&["main", "load"], &["do_syscall_64", "ksys_read"]),
            sample(&["main", "overwrite"], &[]),
            sample(&["main", "mmap64"], &["do_syscall_64", "down_write"]),
        ];
        let (stacks, is_lost) = at_writes(&samples);
        assert!(!is_lost);
        assert_eq!(stacks.len(), 2, "{stacks:?}");
        assert_eq!(stacks[0].samples, 2);
        assert_eq!(
            stacks[0].frames,
            ["main", "say", "puts", "__GI___libc_write"]
        );
        assert_eq!(stacks[1].frames, ["main", "log", "write"]);
    }

    #[test]
    fn stacks_that_end_in_the_library_are_told_of_where_they_are_most() {
        let samples = |followed, lost| {
            let followed = vec![sample(&["main", "__GI___libc_write"], &[]); followed];
            [followed, vec![sample(&["__GI___libc_write"], &[]); lost]].concat()
        };
        for (followed, lost, is_lost) in [(3, 1, false), (1, 3, true), (0, 1, true), (0, 0, false)]
        {
            assert_eq!(at_writes(&samples(followed, lost)).1, is_lost);
        }
    }
}
