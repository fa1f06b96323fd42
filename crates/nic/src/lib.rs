//! The NICs, one folder each, and the only list of them.
//!
//! A NIC stands between the process of a node and its NIC ports: what the process makes goes down through it, and what comes
//! in goes up through it. To the fabric it is the [`Endpoint`] of the node; to what runs there it is the way out. It is generic
//! in the process, and knows none.
//!
//! A folder has the normative text of its NIC in the header of `mod.rs`, its settings and its parts. Nothing here knows files,
//! traffic or switches, and no NIC knows another.

pub mod bounded;
pub mod elan4;
pub mod host;
pub mod ideal;
pub mod nap;
pub mod th;

use flitway_fabric::{Endpoint, NicPorts};
use flitway_wiring::NodeId;
use std::fmt::Debug;

/// The settings of a NIC, which make the NIC of each node.
pub trait NicModel: Clone + Debug + Send + Sync {
    /// The NIC of a node that runs a process.
    type Nic<P: Endpoint>: Nic<Process = P>;

    /// The NIC ports that it stands on: bounded ones if it is a bounded [`Endpoint`].
    const PORTS: NicPorts;

    /// Replies that it holds in each rail until they are sent, before it keeps requests in the NIC port; `None` for any number.
    fn reply_places(&self) -> Option<u32> {
        None
    }

    /// The NIC of the node that `place` names, on which `process` runs.
    fn nic<P: Endpoint>(&self, place: Place, process: P) -> Self::Nic<P>;
}

/// The NIC of one node, with the process that runs there.
///
/// It wakes the process when that wants to be woken. The process hears each delivery that is for it, once, when the NIC has
/// it ready, and each release; what NIC ports have sent is the business of the NIC.
pub trait Nic: Endpoint {
    /// What runs on the node.
    type Process: Endpoint;

    /// The process, for what is asked of it between two windows.
    fn process_mut(&mut self) -> &mut Self::Process;
}

/// Where a NIC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// On which node.
    pub node: NodeId,
    /// Rails, in each of which it has a NIC port.
    pub rails: u32,
    /// The seed of every random choice of the run.
    pub seed: u64,
}

/// Makes what has an entry for each NIC: a new one is a folder and a line here and in [`on_nic`].
macro_rules! nics {
    ($($(#[$meta:meta])* $Name:ident($Settings:ty);)+) => {
        /// The settings of one of the NICs.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum NicSettings {
            $($(#[$meta])* $Name($Settings),)+
            /// That of TH Express-2, on the bus of a host. Processes that hand packets to the NIC ports themselves pass it by.
            Th(Box<th::ThSettings>),
            /// That of QsNetII, on the bus of a host, which is passed by likewise.
            Elan4(Box<elan4::ElanSettings>),
            /// That of Dawning 5000, on the bus of a host, which is passed by likewise.
            Nap(Box<nap::NapSettings>),
        }

        impl NicSettings {
            /// The NIC ports that it stands on, where processes hand packets to them.
            #[must_use]
            pub fn ports(&self) -> NicPorts {
                match self {
                    $(NicSettings::$Name(_) => <$Settings as NicModel>::PORTS,)+
                    NicSettings::Th(_) | NicSettings::Elan4(_) | NicSettings::Nap(_) => NicPorts::Ideal,
                }
            }

            /// What it can do, if it is on the bus of a host.
            #[must_use]
            pub fn on_a_bus(&self) -> Option<&dyn host::OnABus> {
                match self {
                    $(NicSettings::$Name(_) => None,)+
                    NicSettings::Th(settings) => Some(&**settings),
                    NicSettings::Elan4(settings) => Some(&**settings),
                    NicSettings::Nap(settings) => Some(&**settings),
                }
            }

            /// See [`NicModel::reply_places`].
            #[must_use]
            pub fn reply_places(&self) -> Option<u32> {
                match self {
                    $(NicSettings::$Name(settings) => settings.reply_places(),)+
                    NicSettings::Th(_) | NicSettings::Elan4(_) | NicSettings::Nap(_) => None,
                }
            }
        }
    };
}

nics! {
    /// Passes everything on, in no time.
    Ideal(ideal::IdealSettings);
    /// The same with a reply queue that can be full.
    Bounded(bounded::BoundedSettings);
}

/// What comes of `$run` with the [`NicModel`] of `$any`, a [`NicSettings`]: it is `$model`.
#[macro_export]
macro_rules! on_nic {
    ($any:expr, $model:ident => $run:expr) => {
        match $any {
            $crate::NicSettings::Ideal($model) => $run,
            $crate::NicSettings::Bounded($model) => $run,
            $crate::NicSettings::Th(_) | $crate::NicSettings::Elan4(_) | $crate::NicSettings::Nap(_) => {
                let $model = &$crate::ideal::IdealSettings;
                $run
            }
        }
    };
}
