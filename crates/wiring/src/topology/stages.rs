//! Unidirectional multistage networks: `n` stages of `k^(n-1)` switches of `k` inputs and `k` outputs, between `k^n` nodes.
//!
//! Source: multidestination-worms.txt section 2, figure 1(a). A node sends to the first stage and receives from the last;
//! every packet crosses all stages. Switch `w` of stage `s` is number `s k^(n-1) + w`. Input `p` and output `p` of a switch
//! are its port `p`, and belong to different links. With the `k^n` inputs (and outputs) of a stage numbered `k w + p`, as `n`
//! digits to the base `k`, digit 0 the lowest:
//!
//! * **Omega** (Lawrie, *IEEE Trans. Computers* C-24(12), 1975): node `x` sends to the input whose number is that of `x` with
//!   the highest digit moved behind the lowest (a perfect shuffle), and so does each output of a stage to the next.
//! * **Butterfly**, the *k-ary n-fly*: node `x` sends to input `x`. Output `y` of stage `s` leads to the input of the next
//!   whose number is that of `y` with the digits 0 and `n - 1 - s` exchanged.
//!
//! Output `y` of the last stage leads to node `y` in both. So there is one way from each node to each: by output `d` of the
//! switch in stage `s`, where `d` is digit `n - 1 - s` of the destination.

use super::{Builder, End, Layout, Shape, Structure, Topology, TopologyError, power};
use crate::NodeId;
use crate::{PortId, SwitchId};

/// How the stages of a unidirectional multistage network are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageWiring {
    /// A perfect shuffle before each stage.
    Omega,
    /// The k-ary n-fly.
    Butterfly,
}

/// Coordinates in a unidirectional multistage network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageShape {
    /// Inputs, and outputs, of a switch: `k`.
    pub arity: u32,
    /// Stages of switches: `n`.
    pub stages: u32,
    /// `k^i` for `i` in `0..=n`.
    powers: Vec<u32>,
}

impl StageShape {
    fn new(arity: u32, stages: u32) -> Result<Self, TopologyError> {
        if arity < 2 || stages == 0 {
            let what = "a multistage network has switches of at least two inputs and outputs, and at least one stage";
            return Err(TopologyError::Size(what.into()));
        }
        let powers = (0..=stages).map(|exponent| {
            power(u64::from(arity), exponent, "the multistage network").map(|value| value as u32)
        });
        Ok(StageShape { arity, stages, powers: powers.collect::<Result<_, _>>()? })
    }

    /// Switches of a stage.
    #[must_use]
    pub fn switches_per_stage(&self) -> u32 {
        self.powers[self.stages as usize - 1]
    }

    /// The stage of `switch`.
    #[must_use]
    pub fn stage(&self, switch: SwitchId) -> u32 {
        switch.0 / self.switches_per_stage()
    }

    /// The output of every switch of `stage` that leads to `node`.
    #[must_use]
    pub fn output_to(&self, stage: u32, node: NodeId) -> PortId {
        PortId(self.digit(node.0, self.stages - 1 - stage))
    }

    fn digit(&self, number: u32, place: u32) -> u32 {
        number / self.powers[place as usize] % self.arity
    }

    /// The switch and port of `number` of `stage`.
    fn place(&self, stage: u32, number: u32) -> (SwitchId, PortId) {
        let switch = stage * self.switches_per_stage() + number / self.arity;
        (SwitchId(switch), PortId(number % self.arity))
    }

    /// `number` with the highest digit moved behind the lowest.
    fn shuffled(&self, number: u32) -> u32 {
        let highest = self.stages - 1;
        number % self.powers[highest as usize] * self.arity + self.digit(number, highest)
    }

    /// `number` with the digits 0 and `place` exchanged.
    fn exchanged(&self, number: u32, place: u32) -> u32 {
        let (low, high, unit) = (number % self.arity, self.digit(number, place), self.powers[place as usize]);
        number - low - high * unit + high + low * unit
    }
}

impl Structure for StageShape {
    fn hops_max(&self) -> Option<u32> {
        Some(self.stages)
    }

    fn directions(&self) -> [&'static str; 2] {
        ["forward", "forward"]
    }

    fn layout(&self, _: &Topology) -> Layout<'_> {
        Layout::Columns(self)
    }
}

pub(super) fn build(wiring: StageWiring, arity: u32, stages: u32) -> Result<Topology, TopologyError> {
    let shape = StageShape::new(arity, stages)?;
    let nodes = shape.powers[stages as usize];
    let switches = u64::from(stages) * u64::from(shape.switches_per_stage());
    let mut classes = vec!["node".to_owned()];
    classes.extend((1..stages).map(|stage| format!("stage-{stage}")));
    let mut builder = Builder::new(u64::from(nodes), switches, classes)?;
    let end = |(switch, port)| End::Switch(switch, port);
    for node in 0..nodes {
        let input = match wiring {
            StageWiring::Omega => shape.shuffled(node),
            StageWiring::Butterfly => node,
        };
        builder.one_way([End::Node(NodeId(node)), end(shape.place(0, input))], 0);
    }
    for stage in 1..stages {
        for output in 0..nodes {
            let input = match wiring {
                StageWiring::Omega => shape.shuffled(output),
                StageWiring::Butterfly => shape.exchanged(output, stages - stage),
            };
            builder.one_way([end(shape.place(stage - 1, output)), end(shape.place(stage, input))], stage);
        }
    }
    for node in 0..nodes {
        builder.one_way([end(shape.place(stages - 1, node)), End::Node(NodeId(node))], 0);
    }
    builder.finish(Shape::Stages(shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologySettings;

    fn topology(wiring: StageWiring, arity: u32, stages: u32) -> Topology {
        Topology::build(&TopologySettings::Stages { wiring, arity, stages }).expect("it can be built")
    }

    #[test]
    fn an_omega_network_is_wired_as_lawrie_says() {
        // Three stages of 2 x 2: node 6 = 110 goes in at 101, output 3 = 011 of a stage to 110.
        let omega = topology(StageWiring::Omega, 2, 3);
        assert_eq!((omega.nodes(), omega.switches(), omega.links().len()), (8, 12, 32));
        assert_eq!(omega.home(NodeId(6)), (SwitchId(2), PortId(1)));
        let (_, end) = omega.wire(SwitchId(1), PortId(1)).expect("it is wired");
        assert_eq!(end, End::Switch(SwitchId(4 + 3), PortId(0)));
        assert_eq!(omega.exit(NodeId(6)), (SwitchId(8 + 3), PortId(0)));
        assert_eq!(omega.classes(), ["node", "stage-1", "stage-2"]);
    }

    #[test]
    fn a_butterfly_exchanges_a_digit_less_high_in_each_stage() {
        // Between the stages of the 2-ary 3-fly digit 0 is exchanged with digit 2, then with digit 1.
        let fly = topology(StageWiring::Butterfly, 2, 3);
        assert_eq!(fly.home(NodeId(6)), (SwitchId(3), PortId(0)));
        let leads_to = |switch, port| fly.wire(SwitchId(switch), PortId(port)).map(|(_, end)| end);
        assert_eq!(leads_to(0, 1), Some(End::Switch(SwitchId(4 + 2), PortId(0))));
        assert_eq!(leads_to(4, 1), Some(End::Switch(SwitchId(8 + 1), PortId(0))));
        assert_eq!(leads_to(8 + 3, 1), Some(End::Node(NodeId(7))));
    }

    #[test]
    fn what_comes_in_at_a_port_need_not_go_where_it_leads() {
        for wiring in [StageWiring::Omega, StageWiring::Butterfly] {
            let topology = topology(wiring, 3, 2);
            for switch in (0..topology.switches()).map(SwitchId) {
                for port in (0..3).map(PortId) {
                    let (link, to) = topology.wire(switch, port).expect("every output is wired");
                    assert_eq!(topology.links()[link.index()].ends, [End::Switch(switch, port), to]);
                    let (link, from) = topology.feeder(switch, port).expect("every input is wired");
                    assert_eq!(topology.links()[link.index()].ends, [from, End::Switch(switch, port)]);
                }
            }
        }
    }
}
