//! The memory for the queue where less than `--memory` is available. Output beyond it is spilled, waited for or dropped, as with
//! a full queue.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::fs;
use std::path::Path;
use std::ptr;

/// Left for threads, the program's start and the pieces in which a spilled file is read back.
const RESERVE: u64 = 24 << 20;
/// The least that a queue works with.
const LEAST: u64 = 256 << 10;
/// The part of a control group's memory that the queue may take; the rest is the program's.
const GROUP_SHARE: u64 = 4;

/// As much of `wanted` bytes as this process can get and this machine has.
pub(super) fn affordable(wanted: u64) -> u64 {
    let group = group_limit().map_or(wanted, |limit| limit / GROUP_SHARE);
    let mut memory = wanted.min(group).max(LEAST.min(wanted));
    // Twice: the allocator keeps freed pieces, and there may be a second stream.
    while memory > LEAST && !is_available(2 * memory + RESERVE) {
        memory /= 2;
    }
    memory
}

/// Whether this much may be allocated, by `ulimit -v`, `ulimit -d` and systems that do not overcommit.
#[allow(unsafe_code)]
fn is_available(bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else {
        return false;
    };
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a mapping of our own, at a place that the kernel chooses, to which no reference is made.
    unsafe {
        mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)
            .is_ok_and(|start| munmap(start, bytes).is_ok())
    }
}

/// The lowest limit of this process's control groups.
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
    // In a container this may be the path outside; the container's own limit is at the root then.
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
