//! What changes in a running fabric, and who orders it.
//!
//! A [`Change`] has a date. It is told to the components that it is for before that date, as mail is, and they know it by then
//! whatever shard, or host, they live in. A sender decides some way ahead (a packet that has begun goes on without a gap), so
//! a change has to be told before; see [`Simulation::earliest_change`](crate::Simulation::earliest_change). What happens to
//! a fabric from outside (a cable is cut at a date) is told as soon as it is known. What management does about it goes
//! through a [`Manager`](crate::Manager), and takes its latency.

use crate::Rate;
use flitway_engine::Cycle;
use flitway_wiring::RailId;
use flitway_wiring::topology::End;
use std::fmt;

/// A change of a running fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The first cycle in which it counts.
    pub at: Cycle,
    /// In which rail.
    pub rail: RailId,
    /// What is other than before.
    pub kind: ChangeKind,
}

/// What a change changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The channel that `sender` sends on has another rate: some of its lanes fail, or come back. While it is `None` nothing is
    /// sent; what has been sent arrives, and nothing is lost.
    Rate {
        /// The end that sends.
        sender: End,
        /// Flits per cycle.
        rate: Option<Rate>,
    },
}

/// Why a change cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The switches do not offer changes.
    NotOffered,
    /// It comes too early: senders may have decided for that cycle. The first that can be changed is this one.
    TooEarly(Cycle),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::NotOffered => write!(f, "these switches run no changes"),
            ChangeError::TooEarly(earliest) => {
                write!(f, "senders have decided by then; the first cycle that can be changed is {earliest}")
            }
        }
    }
}

impl std::error::Error for ChangeError {}
