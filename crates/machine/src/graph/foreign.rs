//! Other formats of fabrics that people take for graph files, known by how they begin.

/// What a text begins with or holds in its first lines, what it then is, and what to do with it.
const FORMATS: &[(&str, &str, &str)] = &[
    ("# Topology file: generated on", "the output of ibnetdiscover", IMPORT),
    ("vendid=0x", "the output of ibnetdiscover", IMPORT),
    ("<graphml", "a GraphML file", IMPORT),
    ("<?xml", "an XML file", ADVICE),
    ("SwitchName=", "a topology of Slurm", IMPORT),
    ("digraph", "a Graphviz file", ADVICE),
    ("strict graph", "a Graphviz file", ADVICE),
    ("graph {", "a Graphviz file", ADVICE),
    ("{", "a JSON file", ADVICE),
];

/// Lines that are looked at.
const LINES: usize = 20;

/// What `text` is, and what to do with it, if it is known to be something else than a graph file.
pub(super) fn recognised(text: &str) -> Option<(&'static str, &'static str)> {
    let begins = |line: &str| FORMATS.iter().find(|(start, ..)| line.trim_start().starts_with(start));
    text.lines().take(LINES).find_map(begins).map(|(_, format, advice)| (*format, *advice))
}

/// For what can be imported.
const IMPORT: &str = "`flitway import FILE --out mine` makes a machine file and a graph file of it";

/// For what cannot.
const ADVICE: &str = "write it as lines `switch NAME ...`, `node NAME ...` and `link END - END` (`flitway explain \
                                 topology.file`); from Python, `flitway.write_topology` writes a graph of NetworkX";

#[cfg(test)]
mod tests {
    use super::recognised;

    #[test]
    fn other_formats_are_known_by_name_and_graph_files_are_not_taken_for_one() {
        for (text, name) in [
            ("#\n# Topology file: generated on Mon Jan  5\n", "ibnetdiscover"),
            ("<?xml version=\"1.0\"?>\n<graphml>", "XML"),
            ("SwitchName=s0 Nodes=n[0-3]\n", "Slurm"),
            ("\n  digraph G {\n", "Graphviz"),
        ] {
            assert!(recognised(text).unwrap().0.contains(name), "{text}");
        }
        assert_eq!(recognised("# Two switches\nswitch a b\nnode n0\nlink a:0 - n0\n"), None);
    }
}
