//! How much memory the queue may take, where there is less than `--memory`: what does not fit is spilled, or waited
//! for, or dropped, as with a full queue.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::fs;
use std::path::Path;
use std::ptr;

/// What is left for threads, the program's start and the pieces in which a file is read back.
const RESERVE: u64 = 24 << 20;
/// A queue works with as little as this.
const LEAST: u64 = 256 << 10;
/// The part of a control group's memory that the queue may take; the rest is the program's.
const GROUP_SHARE: u64 = 4;

/// As much of `wanted` bytes as this process can get and this machine has.
pub(super) fn affordable(wanted: u64) -> u64 {
    let group = group_limit().map_or(wanted, |limit| limit / GROUP_SHARE);
    let mut memory = wanted.min(group).max(LEAST.min(wanted));
    // The allocator keeps pieces that were freed; there may be a second stream.
    while memory > LEAST && !is_available(2 * memory + RESERVE) {
        memory /= 2;
    }
    memory
}

/// Whether so much may be allocated: by `ulimit -v`, `ulimit -d` and a system that promises no more than it has.
#[allow(unsafe_code)]
fn is_available(bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else {
        return false;
    };
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a mapping of our own, at a place that the kernel chooses, which nothing refers to.
    unsafe {
        mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)
            .is_ok_and(|start| munmap(start, bytes).is_ok())
    }
}

/// The least limit of the control groups that this process is in.
fn group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let second = own.map(|own| (Path::new("/sys/fs/cgroup"), own, "memory.max"));
    let first = groups
        .lines()
        .find_map(|line| line.split_once(":memory:").map(|(_, own)| own));
    let first = first.map(|own| {
        let root = Path::new("/sys/fs/cgroup/memory");
        (root, own, "memory.limit_in_bytes")
    });
    let (root, own, name) = first.or(second)?;
    // In a container the path may be that outside; its own limit is then at the root.
    let path = root.join(own.trim_start_matches('/'));
    path.ancestors()
        .take_while(|directory| directory.starts_with(root))
        .filter_map(|directory| fs::read_to_string(directory.join(name)).ok())
        .filter_map(|text| text.trim().parse().ok())
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_queue_is_always_there_and_never_more_than_was_asked_for() {
        assert_eq!(affordable(1000), 1000);
        assert_eq!(affordable(LEAST), LEAST);
        assert!(affordable(1 << 30) <= 1 << 30);
    }

    #[test]
    fn more_than_there_are_addresses_is_not_available() {
        assert!(!is_available(1 << 62));
    }
}
