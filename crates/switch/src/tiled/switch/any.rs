//! A switch of as many rows and columns as there may be. What holds for up to 64 of both costs nothing more there.

use super::Switch;
use crate::tiled::packet_state::Inbox;
use crate::tiled::{Cx, Shared, Tiled};
use flitway_engine::Cycle;
use flitway_fabric::bits::WideMask;
use flitway_fabric::component::{PostOf, Rest, Stage, SwitchModel};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Conservation, Wires};
use flitway_wiring::PortId;

/// A switch.
#[derive(Debug)]
pub struct AnySwitch(Width);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are narrow, and what they hold is read at once")]
enum Width {
    /// Up to 64 rows and columns.
    Narrow(Switch<u64>),
    Wide(Box<Switch<WideMask>>),
}

/// What comes of `$run` on the switch in `$any`.
macro_rules! on_width {
    ($any:expr, $it:ident => $run:expr) => {
        match &$any.0 {
            Width::Narrow($it) => $run,
            Width::Wide($it) => $run,
        }
    };
    (mut $any:expr, $it:ident => $run:expr) => {
        match &mut $any.0 {
            Width::Narrow($it) => $run,
            Width::Wide($it) => $run,
        }
    };
}

impl AnySwitch {
    /// Whether a word has a bit for each row, and for each column.
    pub(super) fn is_narrow(rows: usize, columns: usize) -> bool {
        rows.max(columns) <= u64::BITS as usize
    }

    pub(in crate::tiled) fn new(shared: &Shared, number: u32, wires: &[Wires]) -> Self {
        let [rows, columns] = [shared.settings.rows, shared.settings.columns].map(|it| it as usize);
        AnySwitch(if Self::is_narrow(rows, columns) {
            Width::Narrow(Switch::new(shared, number, wires))
        } else {
            Width::Wide(Box::new(Switch::new(shared, number, wires)))
        })
    }
}

impl SwitchModel<Tiled> for AnySwitch {
    fn first(&self) -> Cycle {
        on_width!(self, it => it.first())
    }

    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        on_width!(mut self, it => it.receive(shared, inbox, start));
    }

    fn prefetch(&self, shared: &Shared, post: &PostOf<Tiled>, place: usize, until: Cycle, stage: Stage) {
        on_width!(self, it => it.prefetch(shared, post, place, until, stage));
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        on_width!(mut self, it => it.run(cx, until))
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        on_width!(mut self, it => it.settle(cx, now));
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        on_width!(self, it => it.audit(shared, now, books));
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        on_width!(self, it => it.waiting(shared, now))
    }

    fn position(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        on_width!(self, it => it.position(shared, port, vc, now))
    }

    fn queued_flits(&self, shared: &Shared, inbox: &Inbox, now: Cycle) -> u64 {
        on_width!(self, it => it.queued_flits(shared, inbox, now))
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        on_width!(self, it => it.sent_flits(port))
    }
}
