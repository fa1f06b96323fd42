//! The switches, one folder each, and the only list of them.
//!
//! A folder has the normative text of its switch in the header of `mod.rs`, its settings, its parts, its NIC port, and what
//! it says of itself (`theory.rs`). Nothing here knows files or traffic, and no switch knows another.

pub mod elite;
pub mod hpp;
pub mod sp;
pub mod tiled;

use flitway_fabric::{Chip, Fabric};
use std::ops::{Deref, DerefMut};

/// Makes what has an entry for each switch: a new one is a folder and a line here and in [`on_architecture`].
macro_rules! switches {
    ($($(#[$meta:meta])* $Name:ident($Settings:ty);)+) => {
        /// The settings of one switch.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum SwitchSettings {
            $($(#[$meta])* $Name($Settings),)+
        }

        /// A fabric of one of the switches.
        #[derive(Clone, Debug)]
        pub enum AnyFabric {
            $($(#[$meta])* $Name(Fabric<$Settings>),)+
        }

        impl SwitchSettings {
            /// The switch, as it describes itself.
            #[must_use]
            pub fn chip(&self) -> &dyn Chip {
                match self {
                    $(SwitchSettings::$Name(settings) => settings,)+
                }
            }

            /// A fabric of them, with all else as in `bare`; they select among the candidates of its routing as they do.
            #[must_use]
            pub fn fabric(self, bare: Fabric<()>) -> AnyFabric {
                let bare = Fabric { routing: bare.routing.with_selection(self.chip().selection()), ..bare };
                match self {
                    $(SwitchSettings::$Name(settings) => AnyFabric::$Name(bare.with_chip(settings)),)+
                }
            }
        }

        impl Deref for AnyFabric {
            type Target = Fabric;

            fn deref(&self) -> &Fabric {
                match self {
                    $(AnyFabric::$Name(fabric) => fabric,)+
                }
            }
        }

        impl DerefMut for AnyFabric {
            fn deref_mut(&mut self) -> &mut Fabric {
                match self {
                    $(AnyFabric::$Name(fabric) => fabric,)+
                }
            }
        }
    };
}

switches! {
    /// Input-queued virtual cut-through with one crossbar per VC.
    Hpp(hpp::HppSettings);
    /// Buffered wormhole with a central buffer or large input FIFOs.
    Sp(sp::SpSettings);
    /// Tiles with buffers at the crossing points, which virtual channels share: the chip of TH Express-2.
    Tiled(tiled::TiledSettings);
    /// Wormhole with virtual channels whose paths are held until the receiver has answered: the Elite4 of QsNetII.
    Elite(elite::EliteSettings);
}

/// What comes of `$run` on the architecture of `$any`, an [`AnyFabric`]: the type is `$A`, the fabric of its kind `$fabric`.
#[macro_export]
macro_rules! on_architecture {
    ($any:expr, $A:ident, $fabric:ident => $run:expr) => {
        match $any {
            $crate::AnyFabric::Hpp($fabric) => {
                type $A = $crate::hpp::Hpp;
                $run
            }
            $crate::AnyFabric::Sp($fabric) => {
                type $A = $crate::sp::Sp;
                $run
            }
            $crate::AnyFabric::Tiled($fabric) => {
                type $A = $crate::tiled::Tiled;
                $run
            }
            $crate::AnyFabric::Elite($fabric) => {
                type $A = $crate::elite::Elite;
                $run
            }
        }
    };
}
