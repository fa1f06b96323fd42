//! What links do to flits: errors by rate, and by rule.

use crate::name::ComponentNumber;
use flitway_engine::Cycle;
use flitway_engine::random::{Draws, Purpose};
use flitway_wiring::PortId;

/// What befalls flits on the links of a fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkErrors {
    /// Of the draws.
    pub seed: u64,
    /// Probability that a link corrupts a flit, in units of 2^-64.
    pub flit: u64,
    /// The same of channels that have a probability of their own.
    pub channels: Vec<ChannelRate>,
    /// Probability that it corrupts a packet so that no check shows it, likewise.
    pub undetected: u64,
    /// What is corrupted whatever is drawn.
    pub rules: Vec<ErrorRule>,
}

/// A channel that has a probability of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelRate {
    /// Who sends, as in an [`ErrorRule`].
    pub component: ComponentNumber,
    /// By which port (of a node: the rail).
    pub port: PortId,
    /// Probability that a flit is corrupted, in units of 2^-64.
    pub flit: u64,
}

/// Something on a channel is corrupted: the `nth`, from 1, of its kind that the link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRule {
    /// Who sends: the switches of rail 0, of rail 1, ..., then the nodes.
    pub component: ComponentNumber,
    /// By which port (of a node: the rail).
    pub port: PortId,
    /// What.
    pub kind: SentKind,
    /// Which of them; what is sent again counts again.
    pub nth: u64,
}

/// What a link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentKind {
    /// A packet, with what goes along with it.
    Packet,
    /// An acknowledgement alone; under Elite4s an answer.
    Acknowledgement,
}

impl LinkErrors {
    /// Whether links corrupt nothing.
    #[must_use]
    pub fn are_none(&self) -> bool {
        !self.are_drawn() && self.undetected == 0 && self.rules.is_empty()
    }

    /// Whether any link corrupts flits at random.
    #[must_use]
    pub fn are_drawn(&self) -> bool {
        self.flit > 0 || self.channels.iter().any(|channel| channel.flit > 0)
    }

    /// Those of the channel on which `component` sends by `port`.
    #[must_use]
    pub fn of(&self, component: ComponentNumber, port: PortId) -> ChannelErrors {
        let channel = u64::from(component) << 16 | u64::from(port.0);
        let own = self.channels.iter().find(|it| it.component == component && it.port == port);
        let here = self.rules.iter().filter(|rule| rule.component == component && rule.port == port);
        ChannelErrors {
            draws: Draws::new(self.seed, channel, Purpose::FlitError),
            flit: own.map_or(self.flit, |it| it.flit),
            answers: Draws::new(self.seed, channel, Purpose::AnswerError),
            undetected: (Draws::new(self.seed, channel, Purpose::UndetectedError), self.undetected),
            rules: here.map(|rule| (rule.kind, rule.nth)).collect(),
            sent: [0; 2],
        }
    }
}

/// What befalls the flits of a channel.
#[derive(Clone, Debug)]
pub struct ChannelErrors {
    draws: Draws,
    answers: Draws,
    flit: u64,
    undetected: (Draws, u64),
    rules: Box<[(SentKind, u64)]>,
    /// Packets and acknowledgements sent so far.
    sent: [u64; 2],
}

impl ChannelErrors {
    /// Whether what is sent now is corrupted, whose flits are in these slots: a number is drawn for each.
    pub fn corrupts(&mut self, kind: SentKind, mut slots: impl Iterator<Item = Cycle>) -> bool {
        let sent = &mut self.sent[kind as usize];
        *sent += 1;
        let by_rule = self.rules.contains(&(kind, *sent));
        by_rule || self.flit > 0 && slots.any(|slot| self.draws.chance(slot.0, self.flit))
    }

    /// Whether an answer to a packet on virtual channel `vc` is corrupted, which has a flit and wires of its own, and comes in
    /// cycle `at`. Asked of each in the order in which they come; of those of one cycle from the lowest virtual channel on.
    pub fn corrupts_answer(&mut self, at: Cycle, vc: u8) -> bool {
        let sent = &mut self.sent[SentKind::Acknowledgement as usize];
        *sent += 1;
        let by_rule = self.rules.contains(&(SentKind::Acknowledgement, *sent));
        by_rule || self.flit > 0 && self.answers.chance(at.0 << 8 | u64::from(vc), self.flit)
    }

    /// Whether a packet that is sent from cycle `begun` on is corrupted, and no check shows it.
    #[must_use]
    pub fn corrupts_undetected(&self, begun: Cycle) -> bool {
        let (draws, probability) = self.undetected;
        probability > 0 && draws.chance(begun.0, probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_count_by_kind_and_channel_and_draws_are_by_slot() {
        let rule = |kind, nth| ErrorRule { component: 7, port: PortId(2), kind, nth };
        let rules = vec![rule(SentKind::Packet, 2), rule(SentKind::Acknowledgement, 1)];
        let errors = LinkErrors { rules, ..LinkErrors::default() };
        assert!(!errors.are_none() && LinkErrors::default().are_none());
        let slots = || (0..9).map(Cycle);
        let mut here = errors.of(7, PortId(2));
        let packets = [1, 2, 3].map(|_| here.corrupts(SentKind::Packet, slots()));
        assert_eq!(packets, [false, true, false]);
        assert!(here.corrupts(SentKind::Acknowledgement, slots()));
        assert!(!errors.of(7, PortId(1)).corrupts(SentKind::Acknowledgement, slots()));
        let undetected = LinkErrors { undetected: u64::MAX / 4, ..LinkErrors::default() };
        assert!(!undetected.are_none());
        let here = undetected.of(7, PortId(2));
        let count = (0..4_000).filter(|&at| here.corrupts_undetected(Cycle(at))).count();
        assert!((800..1_200).contains(&count), "{count}");
        let own = ChannelRate { component: 7, port: PortId(2), flit: u64::MAX };
        let one = LinkErrors { channels: vec![own], ..LinkErrors::default() };
        assert!(one.are_drawn() && !one.are_none());
        assert!(one.of(7, PortId(2)).corrupts(SentKind::Packet, slots()));
        assert!(!one.of(7, PortId(1)).corrupts(SentKind::Packet, slots()));
        let often = LinkErrors { flit: u64::MAX / 9, ..LinkErrors::default() };
        let mut drawn = [often.of(7, PortId(2)), often.of(7, PortId(2))];
        drawn[0].corrupts(SentKind::Packet, (500..600).map(Cycle));
        let packet = |at: u64| (at..at + 9).map(Cycle);
        for at in 0..500 {
            let [a, b] = drawn.each_mut().map(|it| it.corrupts(SentKind::Packet, packet(at)));
            assert_eq!(a, b, "whatever was sent before");
        }
    }
}
