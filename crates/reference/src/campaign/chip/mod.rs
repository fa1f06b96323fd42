//! What the campaign knows of each switch, a file each, and the only list of them here.

mod elite;
mod hpp;
mod sp;
mod tiled;

use super::case::Case;
use super::compare::Coverage;
use super::text::choice;
use crate::driver::Model;
use flitway_engine::Cycle;
use flitway_fabric::{Change, Fabric};
use flitway_switch::SwitchSettings;
use flitway_switch::elite::EliteSettings;
use flitway_switch::hpp::HppSettings;
use flitway_switch::sp::SpSettings;
use flitway_switch::tiled::TiledSettings;
use flitway_wiring::routing::Routing;

/// The settings of a switch that campaigns try.
pub(super) trait Tested: Sized + 'static {
    /// Its reference model.
    type Model: Model;

    /// Whether its reference tells which packets cross switches and leave by links.
    const FOLLOWS_PACKETS: bool = false;

    /// Changes that make it plainer. Each may be tried several times over.
    const CHANGES: &'static [fn(&mut Self)];

    /// The case of a seed.
    fn case(seed: u64) -> Case;

    /// The model of `fabric`, with these changes during the run, and these tables written.
    fn model(fabric: &Fabric<Self>, changes: &[Change], tables: &[(Cycle, Routing)]) -> Self::Model;

    /// Counts the ways in which it can work, of which `fabric` takes some.
    fn cover(fabric: &Fabric<Self>, coverage: &mut Coverage);
}

/// Makes what has an entry for each switch: its share of all cases, its name in the table of switches, and its settings.
macro_rules! chips {
    ($($share:literal $Name:ident($Settings:ty);)+) => {
        /// Of so many cases as all shares together, how many are of each switch, and how they are made.
        pub(super) const GENERATORS: &[(u64, fn(u64) -> Case)] = &[$(($share, <$Settings as Tested>::case)),+];

        choice!(SwitchSettings { $($Name(settings)),+ });

        /// Makes a switch plainer in the way of that number; says whether there are so many ways.
        pub(super) fn simplify(chip: &mut SwitchSettings, way: usize) -> bool {
            match chip {
                $(SwitchSettings::$Name(settings) => {
                    let change = <$Settings as Tested>::CHANGES.get(way);
                    change.map(|change| change(settings)).is_some()
                })+
            }
        }
    };
}

chips! {
    3 Hpp(HppSettings);
    1 Sp(SpSettings);
    2 Tiled(TiledSettings);
    2 Elite(EliteSettings);
}
