//! Memory, as Linux tells it; `None` where nothing does.
//!
//! What can be had is the least of three: memory that is free without swapping, what the control group of this process
//! leaves (and those above it), and the limit of its address space (`ulimit -v`).
//!
//! What is asked now and then by the clock is never inlined: `cargo xtask gate` leaves it out, by name.

use flitway_machine::{Machine, MemoryNeeded};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of a packet that waits, with its place in lists, about.
pub const BYTES_PER_PACKET: u64 = 72;

/// What stays free for everything that is not counted.
const SPARE: u64 = 48 << 20;

/// The most memory that this process has had, in bytes.
#[must_use]
#[inline(never)]
pub fn peak_rss_bytes() -> Option<u64> {
    bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// A limit, and what it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    bytes: u64,
    limit: &'static str,
}

const FREE: &str = "are free";
const GROUP: &str = "are left by the limit of the control group";
const ADDRESSES: &str = "are left by the limit of the address space (`ulimit -v`)";

/// What each limit leaves.
fn limits() -> Vec<Left> {
    let left = |limit, bytes: Option<u64>| bytes.map(|bytes| Left { bytes, limit });
    let free = || bytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    let all = [left(FREE, free()), left(GROUP, control_group()), left(ADDRESSES, address_space())];
    all.into_iter().flatten().collect()
}

/// What the control groups of this process leave.
fn control_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let root = Path::new("/sys/fs/cgroup");
    let number = |path: &Path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(kinds), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (base, limit, used) = match kinds {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        let folder = base.join(group.trim_start_matches('/'));
        // A container sees its own group at the root, under another name.
        for folder in folder.ancestors().take_while(|folder| folder.starts_with(&base)) {
            let Some(limit) = number(&folder.join(limit)) else { continue };
            let Some(used) = number(&folder.join(used)) else { continue };
            let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let left = limit.saturating_sub(used).saturating_add(reclaimable(&stat));
            least = Some(least.map_or(left, |least: u64| least.min(left)));
        }
    }
    least
}

/// Pages of files that a control group gives back when it needs room.
fn reclaimable(stat: &str) -> u64 {
    let of = |line: &str| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok();
    stat.lines().find_map(of).unwrap_or(0)
}

/// What the limit of the address space leaves.
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let limit = address_limit(&limits)?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    // What the allocator has reserved and not used counts as gone: a long list does not fit in it.
    Some(limit.saturating_sub(bytes(&status, "VmSize:")?))
}

/// The soft limit of the address space; `None` if there is none.
fn address_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Refuses what is larger than the memory that can be had: `needed` bytes for `what`.
///
/// # Errors
/// A sentence with both numbers.
#[inline(never)]
pub fn fits_for(needed: u64, what: &str) -> Result<(), String> {
    // What is small is not worth a look, and never the reason.
    if needed < SPARE {
        return Ok(());
    }
    let Some(Left { bytes, limit }) = limits().into_iter().min_by_key(|left| left.bytes) else {
        return Ok(());
    };
    let left = bytes.saturating_sub(SPARE);
    if needed <= left {
        return Ok(());
    }
    Err(format!("{what} needs about {} of memory, and {} {limit}", shown(needed), shown(left)))
}

/// Refuses a machine that is larger than the memory that can be had: `needed` bytes for switches and NIC ports.
///
/// # Errors
/// A sentence with both numbers.
pub fn fits(needed: u64) -> Result<(), String> {
    fits_for(needed, "the machine, its switches and NIC ports alone,")
}

/// Refuses a machine that is larger than the memory that can be had, before anything of it is built: where it `runs`, with a
/// simulation of it, in which packets need more.
///
/// # Errors
/// A sentence with both numbers.
pub fn fits_machine(machine: &Machine, runs: bool) -> Result<(), String> {
    let MemoryNeeded { fabric, simulation } = machine.memory_needed();
    let needed = if runs { fabric.saturating_add(simulation) } else { fabric };
    fits_for(needed, "the machine, without packets,")
}

/// So many bytes, for people.
fn shown(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 1024.0 { format!("{mebibytes:.0} MiB") } else { format!("{:.1} GiB", mebibytes / 1024.0) }
}

/// Watches what grows during a run: packets that wait in queues without limit.
#[derive(Debug)]
pub struct Guard {
    /// What the process had when the run began, and at the last look.
    began: u64,
    last: u64,
    looked: Instant,
    is_exhausted: bool,
}

impl Guard {
    /// Time between two looks.
    const PAUSE: Duration = Duration::from_millis(20);

    /// Begins to watch.
    #[must_use]
    pub fn new() -> Self {
        let began = resident().unwrap_or(0);
        Guard { began, last: began, looked: Instant::now(), is_exhausted: false }
    }

    /// Whether memory is about to run out; looks now and then, and once is for ever.
    #[inline(never)]
    pub fn is_exhausted(&mut self) -> bool {
        if !self.is_exhausted && self.looked.elapsed() >= Self::PAUSE {
            self.look();
        }
        self.is_exhausted
    }

    fn look(&mut self) {
        let Some(now) = resident() else { return };
        let growth = now.saturating_sub(std::mem::replace(&mut self.last, now));
        let grown = now.saturating_sub(self.began).saturating_add(growth);
        self.looked = Instant::now();
        if growth > 0 {
            self.is_exhausted = limits().iter().any(|left| is_short(*left, grown));
        }
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether `left` is too little for what has `grown` to grow on. A list that is full moves to one of twice its size: meanwhile
/// both are there, and the larger one takes its addresses at once.
fn is_short(left: Left, grown: u64) -> bool {
    let needed = if left.limit == ADDRESSES { grown.saturating_mul(2) } else { grown + grown / 4 };
    left.bytes < needed.saturating_add(SPARE)
}

/// Memory that the process has now.
fn resident() -> Option<u64> {
    bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The line of `facts` that begins with `name`: a number of KiB.
fn bytes(facts: &str, name: &str) -> Option<u64> {
    let line = facts.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_where_it_stands() {
        let facts =
            "MemTotal:       16384 kB\nMemFree:         512 kB\nMemAvailable:    1024 kB\nBuffers: 1 kB\n";
        assert_eq!(bytes(facts, "MemAvailable:"), Some(1 << 20));
        assert_eq!(bytes("MemTotal: 5 kB\n", "MemAvailable:"), None);
        assert_eq!(bytes("MemAvailable: lots\n", "MemAvailable:"), None);
    }

    #[test]
    fn limits_are_read_where_they_stand() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max resident set          unlimited            unlimited            bytes     \n\
                      Max address space         4096000000           unlimited            bytes     \n";
        assert_eq!(address_limit(limits), Some(4_096_000_000));
        assert_eq!(address_limit(&limits.replace("4096000000", "unlimited ")), None);
        assert_eq!(reclaimable("anon 5\ninactive_file 4096\nactive_file 1\n"), 4096);
    }

    #[test]
    fn a_list_that_grows_needs_room_for_its_double() {
        let left = |bytes, limit| Left { bytes, limit };
        let gibibyte = 1 << 30;
        assert!(is_short(left(2 * gibibyte, ADDRESSES), gibibyte));
        assert!(!is_short(left(3 * gibibyte, ADDRESSES), gibibyte));
        assert!(!is_short(left(2 * gibibyte, FREE), gibibyte) && is_short(left(gibibyte, GROUP), gibibyte));
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_both_numbers() {
        let error = fits_for(1 << 50, "a dream").unwrap_err();
        assert!(error.starts_with("a dream needs about 1048576.0 GiB of memory, and "), "{error}");
        assert_eq!(fits_for(1 << 20, "little"), Ok(()));
    }
}
