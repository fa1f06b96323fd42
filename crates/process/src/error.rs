//! What keeps operations that switches carry out from a machine.

use flitway_wiring::multicast::GroupError;
use std::fmt;

/// Why operations cannot be carried out so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The switches have no room for that many groups.
    TooManyGroups {
        /// Groups needed.
        needed: u32,
        /// Groups there is room for.
        room: u32,
    },
    /// Barriers have no virtual channel of their own, and multicast has the one that they share.
    SameChannel,
    /// The groups cannot be laid over the fabric.
    Groups(GroupError),
    /// The switches copy nothing.
    NoCopies,
    /// Receivers are drawn for each operation, and the switches have tables of groups.
    FreshNeedsWorms,
    /// Worms do not go to ranges.
    RangesOfWorms,
    /// Broadcasts to ranges go up and down a tree, and the routing has none.
    RangesNeedTree,
    /// Broadcasts are to be answered by all nodes at once, and switches carry no answers, or none to ranges.
    NoAnswers,
    /// Worms do not go by way of roots that their senders choose.
    RootOfWorms,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::TooManyGroups { needed, room } => {
                write!(f, "{needed} groups are needed, and the switches have room for {room}")
            }
            PlanError::SameChannel => f.write_str(
                "a multicast goes before the barrier, and both cannot share the only virtual channel of the switches",
            ),
            PlanError::Groups(error) => error.fmt(f),
            PlanError::NoCopies => f.write_str("the switches of this machine copy nothing"),
            PlanError::FreshNeedsWorms => f.write_str(
                "receivers that are drawn for each operation are in no table, and the switches copy by tables",
            ),
            PlanError::RangesOfWorms => {
                f.write_str("a worm names its receivers one by one, and not ranges of them")
            }
            PlanError::RangesNeedTree => {
                f.write_str("broadcasts go up and down a tree, and packets of this routing do not")
            }
            PlanError::NoAnswers => {
                f.write_str("the switches of this machine broadcast to no ranges of nodes whose answers they combine")
            }
            PlanError::RootOfWorms => {
                f.write_str("worms find their way themselves, and not by way of a root that is chosen")
            }
        }
    }
}

impl std::error::Error for PlanError {}
