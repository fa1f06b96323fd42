//! Memory, as Linux tells it; `None` where nothing does.

/// The most memory that this process has had, in bytes.
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Memory that can be had without swapping, in bytes.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    bytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Refuses what is larger than the memory that is left: `needed` bytes for switches and NIC ports.
///
/// # Errors
/// A sentence with both numbers.
pub fn fits(needed: u64) -> Result<(), String> {
    match available_bytes() {
        Some(left) if needed > left => {
            let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            let (needed, left) = (gibibytes(needed), gibibytes(left));
            let read = format!("about {needed:.1} GiB for switches and NIC ports alone");
            Err(format!("the machine needs {read}, and {left:.1} GiB of memory are available"))
        }
        _ => Ok(()),
    }
}

/// The line of `facts` that begins with `name`: a number of KiB.
fn bytes(facts: &str, name: &str) -> Option<u64> {
    let line = facts.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn available_memory_is_read_where_it_stands() {
        let facts =
            "MemTotal:       16384 kB\nMemFree:         512 kB\nMemAvailable:    1024 kB\nBuffers: 1 kB\n";
        assert_eq!(bytes(facts, "MemAvailable:"), Some(1 << 20));
        assert_eq!(bytes("MemTotal: 5 kB\n", "MemAvailable:"), None);
        assert_eq!(bytes("MemAvailable: lots\n", "MemAvailable:"), None);
    }
}
