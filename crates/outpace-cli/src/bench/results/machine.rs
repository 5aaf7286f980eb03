//! The machine that figures belong to, and whether other programs keep it busy.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::bench::toolchain;
use crate::platform::procfs;

/// The properties of a machine that its figures depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) gpu: Option<String>,
    pub(crate) kernel: String,
    /// Compilers and interpreters by name, with their versions.
    pub(crate) compilers: BTreeMap<String, String>,
    /// The crates that rungs measure.
    pub(crate) crates: BTreeMap<String, String>,
    pub(crate) outpace: String,
    /// When the bench began, in UTC: `2026-01-31T12:00:00Z`.
    pub(crate) date: String,
}

/// The crates that rungs measure, in the versions of Cargo.lock.
const CRATES: [(&str, &str); 1] = [("itoa", "1.0.18")];

impl Machine {
    /// The machine this program runs on, now; without the compilers, which take a while to answer.
    pub(crate) fn this() -> Self {
        let system = rustix::system::uname();
        Self {
            cpu: toolchain::cpu_model().to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory_bytes(),
            gpu: gpu(),
            kernel: format!(
                "{} {}",
                system.sysname().to_string_lossy(),
                system.release().to_string_lossy()
            ),
            compilers: BTreeMap::new(),
            crates: CRATES
                .iter()
                .map(|&(name, version)| (name.into(), version.into()))
                .collect(),
            outpace: env!("CARGO_PKG_VERSION").to_owned(),
            date: date(),
        }
    }

    /// The machine in a line.
    pub(crate) fn summary(&self) -> String {
        let memory = self
            .memory_bytes
            .map(|bytes| format!(", {} GiB", bytes.div_ceil(1 << 30)));
        format!(
            "{}, {} cores{}, {}",
            self.cpu,
            self.cores,
            memory.unwrap_or_default(),
            self.kernel
        )
    }
}

fn memory_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let size = procfs::value(&info, "MemTotal")?;
    let kib: u64 = size.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The first graphics device with a driver, by its driver and its PCI identity.
fn gpu() -> Option<String> {
    let cards = fs::read_dir("/sys/class/drm").ok()?;
    cards.filter_map(Result::ok).find_map(|card| {
        let event = fs::read_to_string(card.path().join("device/uevent")).ok()?;
        let value = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let driver = value("DRIVER=")?;
        Some(
            format!("{driver} {}", value("PCI_ID=").unwrap_or_default())
                .trim()
                .to_owned(),
        )
    })
}

/// Now in UTC, as ISO 8601 to the second.
fn date() -> String {
    let now = OffsetDateTime::now_utc().truncate_to_second();
    now.format(&Rfc3339).unwrap_or_default()
}

/// Processor time that others took, from two readings of /proc/stat.
#[derive(Clone, Copy)]
struct Busy {
    /// Ticks in which some processor was busy.
    working: u64,
    /// Ticks that the hypervisor gave to another machine.
    stolen: u64,
    total: u64,
}

impl Busy {
    fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .filter_map(|tick| tick.parse().ok())
            .collect();
        let total: u64 = ticks.iter().take(8).sum();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(Self {
            working: total - idle,
            stolen: *ticks.get(7)?,
            total,
        })
    }
}

/// Watches the machine for a moment, in which this program sleeps; returns a warning if it is disturbed.
pub(crate) fn disturbance(watched: Duration) -> Option<String> {
    let before = Busy::now()?;
    std::thread::sleep(watched);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    disturbed(before, Busy::now()?, cores)
}

/// A warning if other programs used the processors between two readings.
fn disturbed(before: Busy, after: Busy, cores: usize) -> Option<String> {
    // The kernel's counts may go back (proc(5)), on a virtual machine that was moved above all.
    let since = |ticks: fn(&Busy) -> u64| ticks(&after).saturating_sub(ticks(&before)) as f64;
    let total = since(|busy| busy.total).max(1.0);
    let cores = cores as f64;
    let working = since(|busy| busy.working) / total * cores;
    let stolen = since(|busy| busy.stolen) / total;
    if stolen > 0.05 {
        return Some(format!(
            "the hypervisor takes {:.0} % of the processors away; ratios still hold, times do not",
            stolen * 100.0
        ));
    }
    (working > 0.25 * cores.min(2.0)).then(|| {
        format!(
            "{working:.1} of {cores} processors are busy with other programs; end them or use more --runs"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_to_the_second_and_in_utc() {
        let date = date();
        assert_eq!(date.len(), "2026-01-31T12:00:00Z".len(), "{date}");
        assert!(date.starts_with("20") && date.ends_with('Z'), "{date}");
    }

    #[test]
    fn a_busy_machine_is_told_and_counts_that_go_back_are_not_an_end() {
        let busy = |working, stolen, total| Busy {
            working,
            stolen,
            total,
        };
        let begin = busy(1_000, 100, 10_000);
        let told = |end| disturbed(begin, end, 2);
        assert_eq!(told(busy(1_005, 100, 10_060)), None);
        assert!(told(busy(1_040, 100, 10_060)).is_some_and(|text| text.starts_with("1.3 of 2")));
        assert!(told(busy(1_000, 130, 10_060)).is_some_and(|text| text.contains("50 %")));
        assert_eq!(told(busy(900, 50, 9_000)), None);
    }

    #[test]
    fn the_crates_are_the_ones_that_were_compiled() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        let lock = fs::read_to_string(lock).unwrap();
        for (name, version) in CRATES {
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"");
            assert!(
                lock.contains(&entry),
                "Cargo.lock has another {name} than {version}"
            );
        }
    }
}
