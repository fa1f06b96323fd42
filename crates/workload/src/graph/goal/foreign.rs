//! Other formats that people take for GOAL text, known by how they begin.

use super::Problem;

/// How a format begins, what it is, and what to do with it.
const FORMATS: &[(&[u8], &str, &str)] = &[
    (b"\x7f\x10\0\0\0\0\0\0", "binary GOAL (of LogGOPSim's txt2bin)", "give the text that it was made of"),
    (b"OTF2", "an OTF2 trace", "make GOAL text of it, for example with liballprof and Schedgen"),
    (b"SQLite format 3\0", "an SQLite data base, as of nsys", "make GOAL text of what it has traced"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unpack it with `zstd -d`"),
    (b"\xfd7zXZ\0", "xz data", "unpack it with `xz -d`"),
    (b"BZh", "bzip2 data", "unpack it with `bzip2 -d`"),
    (b"PK\x03\x04", "a ZIP archive", "unpack it"),
    (b"\x7fELF", "a program", "give a task graph that was made of its trace"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
];

/// That `start`, the first bytes of a file, are those of another format.
pub(super) fn recognised(start: &[u8]) -> Option<Problem> {
    let known = FORMATS.iter().find(|(magic, ..)| start.starts_with(magic));
    let (format, advice) = match known {
        Some((_, format, advice)) => (*format, *advice),
        None if is_chakra(start) => {
            ("a Chakra execution trace", "make GOAL text of it: sends, receives and computing of each rank")
        }
        None if start.contains(&0) => ("binary data", "give a task graph as GOAL text, plain or gzip"),
        None => return None,
    };
    Some(Problem::Foreign { format, advice })
}

/// Chakra's JSON names its schema; its protocol buffers begin with a message that holds the version, such as 0.0.4.
fn is_chakra(start: &[u8]) -> bool {
    let named = start.starts_with(b"{") && start.windows(6).any(|six| six == b"chakra");
    let [length, 0x0a, version, rest @ ..] = start else { return named };
    let version = rest.get(..usize::from(*version)).unwrap_or_default();
    let is_version = version.contains(&b'.') && version.iter().all(|it| it.is_ascii_digit() || *it == b'.');
    named || (usize::from(*length) >= version.len() + 2 && is_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_known_by_name_and_goal_is_not_taken_for_one() {
        for (start, name) in [
            (&b"\x7f\x10\0\0\0\0\0\0\x02\0"[..], "binary GOAL"),
            (b"\x07\x0a\x050.0.4\x10", "Chakra"),
            (b"{\"schema\": \"1.0.2-chakra.0.0.4\"", "Chakra"),
            (b"OTF2\0\x01", "OTF2"),
            (b"num_ranks\0", "binary data"),
        ] {
            let Some(Problem::Foreign { format, .. }) = recognised(start) else { panic!("{name}") };
            assert!(format.contains(name), "{format}");
        }
        for goal in [&b"num_ranks 2\n"[..], b"/* a */", b"\n\n", b""] {
            assert_eq!(recognised(goal), None);
        }
    }
}
