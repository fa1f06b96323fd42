//! Other formats of fabrics that people take for graph files, known by how they begin.

/// What a text begins with or holds in its first lines, and what it then is.
const FORMATS: &[(&str, &str)] = &[
    ("# Topology file: generated on", "the output of ibnetdiscover"),
    ("vendid=0x", "the output of ibnetdiscover"),
    ("<graphml", "a GraphML file"),
    ("<?xml", "an XML file"),
    ("SwitchName=", "a topology of Slurm"),
    ("digraph", "a Graphviz file"),
    ("strict graph", "a Graphviz file"),
    ("graph {", "a Graphviz file"),
    ("{", "a JSON file"),
];

/// Lines that are looked at.
const LINES: usize = 20;

/// What `text` is, if it is known to be something else than a graph file.
pub(super) fn recognised(text: &str) -> Option<&'static str> {
    let begins = |line: &str| FORMATS.iter().find(|(start, _)| line.trim_start().starts_with(start));
    text.lines().take(LINES).find_map(begins).map(|(_, format)| *format)
}

/// What to do with it.
pub(super) const ADVICE: &str = "write it as lines `switch NAME ...`, `node NAME ...` and `link END - END` (`flitway explain \
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
            assert!(recognised(text).unwrap().contains(name), "{text}");
        }
        assert_eq!(recognised("# Two switches\nswitch a b\nnode n0\nlink a:0 - n0\n"), None);
    }
}
