//! A switch, in one of two models that do the same: where every packet is long, [`Long`] takes less time.

use super::long::Long;
use super::switch::Switch;
use super::token::Inbox;
use super::{Cx, Hpp, Shared};
use crate::PortId;
use crate::deadlock::Waiting;
use crate::observer::Observer;
use crate::simulation::{Conservation, Post, Rest, Stage, SwitchModel, Wire};
use flitway_engine::Cycle;

/// An HPP Switch.
#[derive(Debug)]
pub enum Chip {
    /// With packets of any length.
    Any(Switch),
    /// With long packets, and 1 to 4 VCs.
    Long1(Long<1>),
    Long2(Long<2>),
    Long3(Long<3>),
    Long4(Long<4>),
}

impl Chip {
    pub(super) fn new(shared: &mut Shared, number: u32, wires: &[Option<Wire>]) -> Self {
        match shared.timing.vcs {
            _ if !shared.timing.is_long => Chip::Any(Switch::new(shared, number, wires)),
            1 => Chip::Long1(Long::new(shared, number, wires)),
            2 => Chip::Long2(Long::new(shared, number, wires)),
            3 => Chip::Long3(Long::new(shared, number, wires)),
            4 => Chip::Long4(Long::new(shared, number, wires)),
            _ => Chip::Any(Switch::new(shared, number, wires)),
        }
    }

    /// See [`Long::count_from`].
    pub(super) fn count_from(&mut self, span: u32) {
        match self {
            Chip::Any(_) => {}
            Chip::Long1(model) => model.count_from(span),
            Chip::Long2(model) => model.count_from(span),
            Chip::Long3(model) => model.count_from(span),
            Chip::Long4(model) => model.count_from(span),
        }
    }
}

/// What the model of `$chip` answers.
macro_rules! ask {
    ($chip:expr, $model:ident => $answer:expr) => {
        match $chip {
            Chip::Any($model) => $answer,
            Chip::Long1($model) => $answer,
            Chip::Long2($model) => $answer,
            Chip::Long3($model) => $answer,
            Chip::Long4($model) => $answer,
        }
    };
}

impl SwitchModel<Hpp> for Chip {
    #[inline]
    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        ask!(self, model => model.receive(shared, inbox, start));
    }

    #[inline]
    fn prefetch(&self, shared: &Shared, post: &Post<Hpp>, place: usize, until: Cycle, stage: Stage) {
        ask!(self, model => model.prefetch(shared, post, place, until, stage));
    }

    #[inline]
    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        ask!(self, model => model.run(cx, until))
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        ask!(self, model => model.settle(cx, now));
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        ask!(self, model => model.audit(shared, now, books));
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        ask!(self, model => model.waiting(shared, now))
    }

    fn position(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        ask!(self, model => model.position(shared, port, vc, now))
    }

    fn queued_flits(&self, shared: &Shared, inbox: &Inbox, now: Cycle) -> u64 {
        ask!(self, model => model.queued_flits(shared, inbox, now))
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        ask!(self, model => model.sent_flits(port))
    }
}
