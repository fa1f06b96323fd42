//! What theory says of synthetic traffic on a machine, to stand beside what is measured.
//!
//! * **Zero-load latency**: the closed form, weighted with the traffic matrix; a packet of mean size.
//! * **Channel bound**: routes are fixed, so the traffic matrix gives the load of every channel; this is the offered load at
//!   which the busiest one is full (header and trailer count, adverts do not; channels into nodes are among them). Beyond
//!   it, nodes behind that channel get no more; others may, so the mean accepted load can rise further.
//! * **Head-of-line limit** (Karol, Hluchyj and Morgan, *IEEE Trans. Comm.* 35(12), 1987): with one FIFO per input,
//!   uniform traffic and slots of equal size, a switch of `N` ports accepts no more than 0.75 (N = 2), 0.6825, 0.6553,
//!   0.6399, 0.6302, 0.6234, 0.6184 (N = 8), and 0.586 for many ports.

use flitway_engine::NodeId;
use flitway_fabric::{Fabric, SwitchSettings};
use flitway_workload::traffic::Traffic;

/// The bounds for one traffic on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Theory {
    /// Mean packet latency in cycles when nothing is in the way.
    pub zero_load_cycles: f64,
    /// The offered load at which the busiest channel is full: a fraction of the injection rate, at most 1.
    pub channel_bound: f64,
    /// What a switch with one FIFO per input accepts of uniform traffic; `None` unless there is a single VC and a single
    /// switch.
    pub head_of_line: Option<f64>,
}

/// Nodes up to which the traffic matrix is walked.
const NODES_MAX: u32 = 2_048;

impl Theory {
    /// The bounds of `traffic` on `fabric`; `None` for machines whose traffic matrix is too large to walk.
    #[must_use]
    pub fn new(fabric: &Fabric, traffic: &Traffic) -> Option<Self> {
        let nodes = fabric.nodes();
        if nodes > NODES_MAX {
            return None;
        }
        let topology = fabric.topology();
        let payload = traffic.sizes().mean().round().max(1.0) as u32;
        let mut channels: Vec<Vec<f64>> = (0..topology.switches())
            .map(|switch| vec![0.0; topology.ports(flitway_fabric::SwitchId(switch)) as usize])
            .collect();
        let (mut latency, mut weights) = (0.0, 0.0);
        for source in (0..nodes).map(NodeId) {
            for destination in (0..nodes).map(NodeId) {
                let weight = traffic.destinations().weight(source, destination);
                if weight == 0.0 {
                    continue;
                }
                latency += weight * fabric.zero_load_cycles(source, destination, payload).0 as f64;
                weights += weight;
                for (switch, hop) in fabric.routing.path(source, destination) {
                    channels[switch.index()][hop.port.index()] += weight;
                }
            }
        }
        let busiest = channels.iter().flatten().copied().fold(0.0, f64::max);
        Some(Theory {
            zero_load_cycles: latency / weights,
            channel_bound: (1.0 / busiest).min(1.0),
            head_of_line: head_of_line(fabric),
        })
    }
}

fn head_of_line(fabric: &Fabric) -> Option<f64> {
    let SwitchSettings::Hpp(settings) = &fabric.switch;
    if settings.vcs != 1 || fabric.topology().switches() != 1 {
        return None;
    }
    Some(match fabric.nodes() {
        0 | 1 => 1.0,
        2 => 0.75,
        3 => 0.6825,
        4 => 0.6553,
        5 => 0.6399,
        6 => 0.6302,
        7 => 0.6234,
        8 => 0.6184,
        _ => 0.586,
    })
}
