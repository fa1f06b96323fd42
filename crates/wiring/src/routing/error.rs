//! Why a routing does not go with a topology.

use super::Route;

/// Why a routing does not go with a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingError {
    /// d-mod-k needs a fat tree.
    NotATree,
    /// Dimension order needs a mesh, torus or HyperX.
    NotAGrid,
    /// Destination tags need a unidirectional multistage network.
    NotStages,
    /// Routing-table buffers need the fat tree of Tianhe-2.
    NotAThTree,
    /// s-mod-k needs a fat tree, a k-ary n-tree or an XGFT.
    NotAFullTree,
    /// Valiant's routing needs a dragonfly, a HyperX, a mesh or a torus.
    NoIntermediates,
    /// UGAL needs a dragonfly or a HyperX.
    NoAlternatives,
    /// PAR and UGAL-G need a dragonfly.
    NotADragonfly,
    /// A way by an intermediate has more hops than a packet can carry.
    TooLong,
    /// Up*/down*, minimal and multi-path routing need links that lead both ways.
    OneWay,
    /// Up*/down*, minimal and multi-path routing have tables: see [`table_entries_max`](super::table_entries_max); and so have
    /// chips: [`rtb::ITEMS_MAX`](super::rtb::ITEMS_MAX).
    TooLarge,
    /// The manager writes tables for routing-table buffers, d-mod-k and s-mod-k in trees, and for up*/down* routing of several
    /// switches.
    NoTables,
    /// Forwarding tables have to be given, and to lead every packet to its destination: see
    /// [`ForwardingTables::check`](super::ForwardingTables::check).
    Tables,
}

impl std::fmt::Display for RoutingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RoutingError::NotATree => f.write_str("d-mod-k routing needs a fat tree"),
            RoutingError::NotAGrid => {
                f.write_str("dimension-order routing needs a mesh, a torus or a HyperX")
            }
            RoutingError::NotStages => {
                f.write_str("destination-tag routing needs a unidirectional multistage network")
            }
            RoutingError::NotAThTree => f.write_str("routing-table buffers need the fat tree of Tianhe-2"),
            RoutingError::NotAFullTree => {
                f.write_str("s-mod-k routing needs a fat tree, a k-ary n-tree or an XGFT")
            }
            RoutingError::NoIntermediates => {
                f.write_str("Valiant routing needs a dragonfly, a HyperX, a mesh or a torus")
            }
            RoutingError::NoAlternatives => f.write_str("UGAL needs a dragonfly or a HyperX"),
            RoutingError::NotADragonfly => f.write_str("PAR and UGAL-G need a dragonfly"),
            RoutingError::TooLong => {
                write!(f, "a packet carries a way of at most {} hops", Route::HOPS)
            }
            RoutingError::OneWay => {
                f.write_str("up*/down*, minimal and multi-path routing need links that lead both ways")
            }
            RoutingError::TooLarge => f.write_str("the tables of this routing are too large"),
            RoutingError::NoTables => f.write_str("this routing has no tables around what is down"),
            RoutingError::Tables => f.write_str("routing by tables needs tables that lead everywhere"),
        }
    }
}

impl std::error::Error for RoutingError {}
