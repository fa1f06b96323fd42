//! What a case has, whatever its switches. That of a switch stands in its file in `chip`.

use super::{Data, Tree, choice, record};
use crate::campaign::case::{Case, Changed, FirstLane, Slow, Written};
use crate::script::Arrivals;
use flitway_fabric::barrier::{BarrierSettings, Faults, Loss, PacketKind, Root};
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::link::lanes::LaneStates;
use flitway_fabric::packet::{BlockFormat, PacketFormat};
use flitway_fabric::{
    ChannelRate, ErrorRule, Flow, FlowKind, LinkErrors, PROCESSES_MAX, Packet, Rate, SentKind,
};
use flitway_test_kit::test_nic::TestNicSettings;
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{
    Arrangement, DragonflyPlus, DragonflyShape, End, Graph, GraphLink, RandomRegular, StageWiring, ThTree,
    TopologySettings,
};
use flitway_wiring::{Destination, SetId};

record!(Case {
    topology,
    routing,
    rails,
    latencies,
    rates,
    changes,
    chip,
    test_nics,
    answering,
    ascent,
    groups,
    sets,
    barriers,
    faults,
    errors,
    broken,
    first_lanes,
    tables,
    arrivals,
    promises,
    threads,
    pauses,
    limit,
    margin,
    scripts,
});
record!(FirstLane { end, states });
record!(Written { at, switches, links });
record!(Slow { sender, flits, cycles });
record!(Changed { at, rail, sender, flits, cycles });
record!(TestNicSettings { window, room, gap });

choice!(TopologySettings {
    FatTree { ports, levels },
    KaryNTree { arity, levels },
    Xgft { down, up, cables, nics, populated },
    ThTree(settings),
    Mesh { dimensions, nodes_per_switch },
    Torus { dimensions, nodes_per_switch },
    HyperX { dimensions, links, nodes_per_switch },
    Dragonfly(shape),
    DragonflyPlus(settings),
    SlimFly { q, nodes_per_switch },
    RandomRegular(settings),
    Stages { wiring, arity, stages },
    Single { nodes },
    Graph(graph),
});
record!(ThTree {
    chip_ports,
    nodes_per_frame,
    lower_chips,
    upper_chips,
    up_ports_per_nrm,
    frames_per_cabinet,
    frames_per_group,
    leaf_ports,
    groups,
    root_lower_chips,
    root_upper_chips,
});
record!(DragonflyShape { groups, switches_per_group, nodes_per_switch, global_ports, arrangement });
record!(DragonflyPlus { groups, leaves, spines, nodes_per_switch, global_ports, arrangement });
choice!(Arrangement { PalmTree, Absolute });
record!(RandomRegular { switches, degree, nodes_per_switch, seed });
choice!(StageWiring { Omega, Butterfly });
record!(Graph { nodes, switches, links, servers });
record!(GraphLink { ends, length_mm });
choice!(End { Node(node), Switch(switch, port) });
choice!(RoutingKind {
    DModK,
    DimensionOrder,
    DimensionOrderWithoutDateline,
    UpDown,
    Minimal,
    MinimalInOneClass,
    MultiPath,
    Valiant,
    SModK,
    Adaptive,
    Ugal,
    UgalG,
    Par,
    DestinationTag,
    Rtb,
    RtbByDestination,
    Tables,
});

choice!(Ascent { Table, Routed });
record!(GroupSettings { members, root });

record!(BarrierSettings { members, root, rail });
choice!(Root { Switch(number), Node(node) });
record!(Faults { seed, losses });
record!(LinkErrors { seed, flit, channels, undetected, rules });
record!(ChannelRate { component, port, flit });
record!(ErrorRule { component, port, kind, nth });
choice!(SentKind { Packet, Acknowledgement });
record!(Fault { at, component, kind });
choice!(FaultKind { Port(port, fault), Dead });
choice!(PortFault { Cut, Mended, Lanes(states), Stalled, Resumed });
record!(LaneStates { works_at });
record!(Loss { component, port, group, kind, nth });
choice!(PacketKind { Combine, CombineAck, Distribute, DistributeDun });
record!(Arrivals { group, first, pauses });

record!(Packet { created, destination, rail, lane, payload, flow });
choice!(Destination { Node(node), Group(group, root), Nodes(set) });
record!(SetId { set, nodes });
choice!(FlowKind { Traffic, Message, Multicast, Barrier, Accepted, Refused, Request, Reply });
record!(PacketFormat { flit_bytes, header_flits, trailer_flits, mtu_bytes, block });
record!(BlockFormat { bytes, header_flits });

/// `[flits, cycles]`.
impl Data for Rate {
    fn write(&self) -> Tree {
        let (flits, cycles) = self.ratio();
        [flits, cycles].write()
    }

    fn read(tree: Tree) -> Result<Self, String> {
        let [flits, cycles] = Data::read(tree)?;
        Rate::new(flits, cycles).ok_or_else(|| format!("{flits} flits in {cycles} cycles are no rate"))
    }
}

/// `Kind(process, tag)`.
impl Data for Flow {
    fn write(&self) -> Tree {
        let items = vec![("", self.process().write()), ("", self.tag.write())];
        Tree::of(self.kind().write().name(), items)
    }

    fn read(tree: Tree) -> Result<Self, String> {
        let (name, mut items) = tree.open();
        let kind = FlowKind::read(Tree::word(name))?;
        let (process, tag) = (items.part("process")?, items.part("tag")?);
        if process >= PROCESSES_MAX {
            return Err(format!("there is no process {process}"));
        }
        items.end(Flow::new(kind, tag).of_process(process))
    }
}
