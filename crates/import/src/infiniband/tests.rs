use super::*;
use crate::fabric::Fabric;

const TWO: &str = "# Topology file: generated on Mon\nChassis 1 (guid 0x9)\nvendid=0x2c9\nswitchguid=0x10(10)\n\
    Switch\t36 \"S-10\"\t\t# \"leaf a;1\" enhanced port 0 lid 2 lmc 0\n\
    [1]\t\"H-20\"[1](21) \t\t# \"host-1 HCA-1\" lid 11 4xHDR\n\
    [35][ext 7]\t\"H-30\"[2](32) \t\t# \"host-2 mlx5_0\" lid 12 4xEDR\n\
    [36]\t\"S-10\"[34]\t\t# \"leaf a;1\" lid 2 4xHDR\n\
    caguid=0x20\nCa\t1 \"H-20\"\t\t# \"host-1 HCA-1\"\n[1](21) \t\"S-10\"[1]\t\t# lid 11 lmc 1 \"leaf a;1\" lid 2 4xHDR\n\
    caguid=0x30\nCa\t2 \"H-30\"\t\t# \"host-2 mlx5_0\"\n[2](32) \t\"S-10\"[35]\t\t# lid 12 lmc 0 \"leaf a;1\" lid 2 4xEDR\n";

fn of(text: &str) -> Result<Fabric, String> {
    let source = Arc::new(Source { name: "net".to_owned(), text: text.to_owned() });
    read(&source).map_err(|problems| problems.render(flitway_machine::Colour::Plain))
}

#[test]
fn a_block_has_its_name_its_addresses_and_its_cables() {
    let fabric = of(TWO).unwrap();
    let switch = &fabric.switches[0];
    assert_eq!(
        (switch.name.as_str(), switch.ports, switch.guid, switch.lid),
        ("leaf a;1", Some(36), Some(0x10), Some(2))
    );
    let nics: Vec<_> = fabric.nics.iter().map(|it| (it.node.as_str(), it.guid, it.lid, it.lmc)).collect();
    assert_eq!(nics, [("host-1", Some(0x21), Some(11), 1), ("host-2", Some(0x32), Some(12), 0)]);
    let cables: Vec<_> = fabric
        .cables
        .iter()
        .map(|it| (it.ends, it.rates[0].as_ref().map(|rate| rate.label.as_str())))
        .collect();
    assert_eq!(
        cables,
        [
            ([End::Switch(0, Some(0)), End::Nic(0)], Some("4xHDR")),
            ([End::Switch(0, Some(34)), End::Nic(1)], Some("4xEDR")),
        ]
    );
    assert_eq!(fabric.notes.dropped, ["1 cable from a switch to itself"]);
}

/// The GUID of a device is that of the line above its block, else the one in its id; tables of OpenSM go by it.
#[test]
fn a_guid_is_that_of_the_line_above_or_else_of_the_id() {
    let block = |above: &str, id: &str| format!("{above}Switch 8 \"{id}\" # \"s\" lid 1 lmc 0\n");
    let guid = |text: &str| of(&format!("{text}[1] \"H-1\"[1]\nCa 1 \"H-1\"\n")).unwrap().switches[0].guid;
    let id = "S-0002c90300aa0000";
    assert_eq!(guid(&block("", id)), Some(0x2_c903_00aa_0000));
    assert_eq!(guid(&block("switchguid=0x77(77)\n", id)), Some(0x77));
    assert_eq!(guid(&block("switchguid=0x77(77)\nsysimgguid=0x88\nvendid=0x2c9\n", id)), Some(0x77));
    assert_eq!(
        guid(&block("sysimgguid=0x88\n", id)),
        Some(0x2_c903_00aa_0000),
        "of the system, not of the device"
    );
    for other in ["S-2c9", "leaf-0002c90300aa0000", "S-0002c90300aa000g", "Switch1"] {
        assert_eq!(guid(&block("", other)), None, "{other}");
    }
    let two = format!("switchguid=0x77\n{}{}", block("", "S-1"), block("", "S-2"));
    let fabric = of(&format!("{two}[1] \"S-1\"[1]\n[2] \"H-1\"[1]\nCa 1 \"H-1\"\n")).unwrap();
    let guids: Vec<Option<u64>> = fabric.switches.iter().map(|switch| switch.guid).collect();
    assert_eq!(guids, [Some(0x77), None], "it is of one block");
}

#[test]
fn a_net_file_of_ibsim_needs_no_more_than_ids() {
    let fabric =
        of("Switch 8 \"Switch1\"\n[1] \"Hca1\"[1]\n[2] \"Hca1\"[2]\n\nHca 2 \"Hca1\"\n[1] \"Switch1\"[1]\n")
            .unwrap();
    assert_eq!((fabric.switches.len(), fabric.cables.len()), (1, 2));
    let names: Vec<&str> = fabric.nics.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["Hca1 p1", "Hca1 p2"]);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, line, parts) in [
        ("[1] \"a\"[1]\n", 1, ["before the first device", "above it"]),
        ("Switch 8 \"a\"\n[1] \"b\"\n", 2, ["is not a port", "[PORT] \"ID\"[PORT]"]),
        ("Switch 8 \"a\"\n[9] \"a\"[1]\n", 2, ["`a` has no port 9", "1 to 8"]),
        (
            "Switch 8 \"aa\"\nSwitch 8 \"bb\"\n[1] \"a\"[1]\n",
            3,
            ["no device is called `a`", "a device that has a block"],
        ),
        ("Switch 8 \"a\"\n[1] \"a\"[9]\n", 2, ["has no port 9", "1 to 8"]),
        ("Switch 8 \"a\"\nSwitch 8 \"a\"\n", 2, ["has a block already", "first here"]),
        (
            "Switch 8 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[1]\nSwitch 8 \"b\"\n",
            3,
            ["has two cables", "one cable at a port"],
        ),
        ("Switch many \"a\"\n", 1, ["begins no block", "Switch PORTS"]),
    ] {
        let problems = of(text).unwrap_err();
        assert!(problems.contains(&format!("net:{line}:")), "{problems}");
        parts.iter().for_each(|part| assert!(problems.contains(part), "{part}: {problems}"));
    }
}
