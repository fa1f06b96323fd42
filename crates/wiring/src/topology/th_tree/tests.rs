use super::super::TopologySettings;
use super::*;
use std::collections::{BTreeMap, VecDeque};

/// Tianhe-2 with so many groups and frames in each.
pub(crate) fn tianhe(groups: u32, frames_per_group: u32) -> ThTree {
    ThTree {
        chip_ports: 24,
        nodes_per_frame: 32,
        lower_chips: 3,
        upper_chips: 3,
        up_ports_per_nrm: 36,
        frames_per_cabinet: 4,
        frames_per_group,
        leaf_ports: 24,
        groups,
        root_lower_chips: 4,
        root_upper_chips: 2,
    }
}

/// A tree of chips of four ports with all stages: 3 groups of 2 frames of 3 nodes, and root switches of two lower chips.
pub(crate) fn small() -> ThTree {
    ThTree {
        chip_ports: 4,
        nodes_per_frame: 3,
        lower_chips: 2,
        upper_chips: 2,
        up_ports_per_nrm: 3,
        frames_per_cabinet: 1,
        frames_per_group: 2,
        leaf_ports: 4,
        groups: 3,
        root_lower_chips: 2,
        root_upper_chips: 1,
    }
}

fn topology(tree: &ThTree) -> Topology {
    Topology::build(&TopologySettings::ThTree(tree.clone())).unwrap()
}

/// Switches crossed from `source` to each node, by the shortest ways.
fn hops(topology: &Topology, source: u32) -> Vec<u32> {
    let mut far = vec![0; topology.switches() as usize];
    let home = topology.home(NodeId(source)).0;
    far[home.index()] = 1;
    let mut queue = VecDeque::from([home]);
    while let Some(here) = queue.pop_front() {
        for port in (0..topology.ports(here)).map(PortId) {
            if let Some((_, End::Switch(next, _))) = topology.wire(here, port)
                && far[next.index()] == 0
            {
                far[next.index()] = far[here.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    (0..topology.nodes()).map(|node| far[topology.home(NodeId(node)).0.index()]).collect()
}

/// How many links there are of each class.
fn links(topology: &Topology) -> Vec<usize> {
    let of = |class| topology.links().iter().filter(move |link| link.class == class).count();
    (0..topology.classes().len() as u32).map(of).collect()
}

#[test]
fn tianhe_2_has_18432_nodes_on_7776_chips() {
    // th-express-2.txt section 3: 48 groups of 12 frames, 36 leaf switches for each group, 432 root switches.
    let topology = topology(&tianhe(48, 12));
    assert_eq!((topology.nodes(), topology.switches(), topology.ports_max()), (18_432, 7_776, 24));
    assert_eq!(u64::from(topology.switches()), 48 * 12 * 6 + 48 * 36 + 432 * 6);
    assert_eq!(links(&topology), [18_432, 48 * 12 * 36, 48 * 12 * 36, 48 * 36 * 12, 432 * 48]);
    assert_eq!(topology.bisection_links(), Some(9_216));
    let cabinets = topology.parts().into_iter().find(|parts| parts.name == "cabinets").unwrap();
    assert_eq!(cabinets.of.last(), Some(&143));
}

/// "Same lower chip 1, same frame 3, same group 5, same lower chip of root switches 7, otherwise 9."
#[test]
fn ways_cross_1_3_5_7_or_9_chips() {
    let tree = tianhe(48, 12);
    let topology = topology(&tree);
    let mut counts = BTreeMap::new();
    hops(&topology, 0).into_iter().for_each(|hops| *counts.entry(hops).or_insert(0) += 1);
    // 11 nodes are on the first chip; 12 groups share a lower chip of each root switch.
    let expected = [(1, 11), (3, 32 - 11), (5, 384 - 32), (7, 11 * 384), (9, 36 * 384)];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
    let most = |groups, frames| ThTree { groups, frames_per_group: frames, ..tree.clone() }.hops_max();
    assert_eq!([most(1, 1), most(1, 12), most(12, 12), most(13, 1)], [3, 5, 7, 9].map(Some));
}

#[test]
fn a_frame_is_an_nrm_and_a_group_has_no_root_switches() {
    let frame = topology(&tianhe(1, 1));
    assert_eq!((frame.nodes(), frame.switches()), (32, 6));
    assert_eq!(links(&frame), [32, 36, 0, 0, 0]);
    let chip = |node| frame.home(NodeId(node)).0.0;
    let on_chip = |chip: u32| (0..32).filter(|&node| frame.home(NodeId(node)).0.0 == chip).count();
    assert_eq!([0, 1, 2].map(on_chip), [11, 11, 10]);
    assert_eq!([chip(10), chip(11), chip(21), chip(22)], [0, 1, 1, 2]);
    let group = topology(&tianhe(1, 12));
    assert_eq!((group.nodes(), group.switches()), (384, 12 * 6 + 36));
    assert_eq!((group.bisection_links(), group.hops_max()), (Some(192), 5));
}

#[test]
fn with_fewer_ports_up_leaf_and_root_switches_shrink_and_upper_chips_stay_alike() {
    for up_ports_per_nrm in 1..=36 {
        let tree = ThTree { up_ports_per_nrm, ..tianhe(2, 2) };
        let topology = topology(&tree);
        let leaves = 2 * up_ports_per_nrm;
        assert_eq!(topology.switches(), 4 * 6 + leaves + up_ports_per_nrm * 12 * 6);
        let used: Vec<usize> =
            (0..3).map(|index| tree.ports_up(Chip { stage: Stage::NrmUpper, of: 0, index }).len()).collect();
        assert_eq!(used.iter().sum::<usize>(), up_ports_per_nrm as usize);
        assert!(used.iter().max().unwrap() - used.iter().min().unwrap() <= 1, "{used:?}");
        // Port p of each NRM leads to leaf switch p of its group, from upper chip p mod 3.
        let upper = tree.switch(Stage::NrmUpper, 3, (up_ports_per_nrm - 1) % 3);
        let last = PortId(12 + (up_ports_per_nrm - 1) / 3);
        let leaf = tree.switch(Stage::Leaf, 1, up_ports_per_nrm - 1);
        assert_eq!(topology.wire(upper, last).unwrap().1, End::Switch(leaf, PortId(1)));
        let expected = 64.min(2 * u64::from(up_ports_per_nrm)).min(12 * u64::from(up_ports_per_nrm));
        assert_eq!(topology.bisection_links(), Some(expected));
    }
}

/// "Replacing the 24-port level-2 switches with the 48-port switches [...] the system can be extended".
#[test]
fn leaf_switches_of_48_ports_make_a_larger_machine() {
    let tree = ThTree { leaf_ports: 48, ..tianhe(48, 24) };
    let topology = topology(&tree);
    assert_eq!((topology.nodes(), topology.ports_max()), (36_864, 48));
    assert_eq!(u64::from(topology.switches()), 48 * 24 * 6 + 48 * 36 + 36 * 24 * 6);
    assert_eq!(topology.bisection_links(), Some(18_432));
}

#[test]
fn chips_are_numbered_stage_by_stage_and_wires_lead_back() {
    for tree in [small(), tianhe(2, 3), ThTree { lower_chips: 1, nodes_per_frame: 2, ..small() }] {
        let topology = topology(&tree);
        for (number, Chip { stage, of, index }) in (0..).map(SwitchId).zip(tree.places()) {
            assert_eq!(tree.switch(stage, of, index), number);
            for port in (0..topology.ports(number)).map(PortId) {
                match topology.wire(number, port) {
                    Some((link, End::Switch(other, back))) => {
                        assert_eq!(topology.wire(other, back), Some((link, End::Switch(number, port))));
                    }
                    Some((_, End::Node(node))) => assert_eq!(topology.home(node), (number, port)),
                    None => {}
                }
            }
        }
        assert_eq!(hops(&topology, 0).into_iter().max(), Some(topology.hops_max()));
    }
}

#[test]
fn parts_are_frames_cabinets_and_groups() {
    let topology = topology(&tianhe(2, 6));
    let parts: Vec<(String, u32)> = topology
        .parts()
        .into_iter()
        .map(|parts| (parts.name, parts.of.into_iter().max().unwrap() + 1))
        .collect();
    let expected = [("switches", 36), ("frames", 12), ("cabinets", 4), ("groups", 2)];
    assert_eq!(parts, expected.map(|(name, count)| (name.to_owned(), count)));
    let cabinets = &topology.parts()[2].of;
    assert_eq!([cabinets[127], cabinets[128], cabinets[191], cabinets[192]], [0, 1, 1, 2]);
}

#[test]
fn counts_that_do_not_go_together_say_so() {
    let wrong = |change: &dyn Fn(&mut ThTree)| {
        let mut tree = tianhe(48, 12);
        change(&mut tree);
        let misfits = tree.misfits();
        let error = Topology::build(&TopologySettings::ThTree(tree)).unwrap_err().to_string();
        assert!(misfits.is_empty() || error.starts_with(&misfits[0].message), "{error}");
        error
    };
    type Change<'a> = &'a dyn Fn(&mut ThTree);
    let cases: [(Change<'_>, &str); 11] = [
        (&|tree| tree.chip_ports = 23, "a chip has 23 ports, an odd number"),
        (&|tree| tree.leaf_ports = 25, "a leaf switch has 25 ports, an odd number"),
        (&|tree| tree.upper_chips = 5, "cannot be shared by 5 upper chips alike"),
        (&|tree| tree.nodes_per_frame = 37, "37 nodes, but the lower chips of an NRM have 36"),
        (&|tree| tree.up_ports_per_nrm = 37, "37 ports up, but the upper chips of an NRM have 36 left"),
        (&|tree| tree.lower_chips = 6, "36 ports up, but the upper chips of an NRM have 0 left"),
        (&|tree| tree.frames_per_group = 13, "13 frames, but a leaf switch has 12 ports down"),
        (&|tree| tree.groups = 49, "49 groups, but the lower chips of a root switch have 48"),
        (&|tree| tree.root_upper_chips = 5, "cannot be shared by 5 upper chips alike"),
        (&|tree| tree.root_lower_chips = 5, "lead to 30 ports of an upper one, which has 24"),
        (&|tree| tree.groups = 0, "1 to 65536 of everything"),
    ];
    for (change, expected) in cases {
        let error = wrong(change);
        assert!(error.contains(expected), "{error}");
    }
}
