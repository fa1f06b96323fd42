//! Programs that measure operations of NICs.

use flitway_nic::host::program::Program;
use flitway_process::attendant::Attendant;
use flitway_process::collective::Member;
use flitway_process::locker::Locker;
use flitway_process::matching::Matcher;
use flitway_process::operator::{Done, Operator};
use flitway_process::threads::ThreadMember;
use std::any::Any;

/// A program that measures.
pub(super) trait Measured {
    /// What it has seen.
    fn done(&self) -> &Done;

    /// Whether it has seen all that it is to see.
    fn is_done(&self) -> bool;
}

impl Measured for Operator {
    fn done(&self) -> &Done {
        Operator::done(self)
    }

    fn is_done(&self) -> bool {
        Operator::is_done(self)
    }
}

impl Measured for Attendant {
    fn done(&self) -> &Done {
        Attendant::done(self)
    }

    fn is_done(&self) -> bool {
        Attendant::is_done(self)
    }
}

impl Measured for Locker {
    fn done(&self) -> &Done {
        Locker::done(self)
    }

    fn is_done(&self) -> bool {
        Locker::is_done(self)
    }
}

/// The program as one that measures.
pub(super) fn measured(program: &dyn Program) -> &dyn Measured {
    fn of<P: Measured + 'static>(any: &dyn Any) -> Option<&dyn Measured> {
        any.downcast_ref::<P>().map(|program| program as &dyn Measured)
    }
    let any = program.as_any();
    let of_nodes = of::<Operator>(any).or_else(|| of::<Member>(any));
    let found = of_nodes.or_else(|| of::<Matcher>(any)).or_else(|| of::<ThreadMember>(any));
    let found = found.or_else(|| of::<Locker>(any)).or_else(|| of::<Attendant>(any));
    found.expect("it runs operations")
}
