//! Synthetic traffic beside operations.

use super::broken::with_faults;
use super::load::Load;
use super::traffic;
use super::{Problem, WorkloadOptions};
use flitway_report::faults::FaultPlan;
use flitway_report::session::{self, Session};
use flitway_workload::traffic::{Traffic, TrafficChoice, destination};
use std::borrow::Cow;
use std::sync::Arc;

/// The options that say something of it; without any there is none.
pub(super) const OPTIONS: [&str; 4] = ["traffic", "packet", "arrival", "load"];

/// Synthetic traffic beside operations, checked.
#[derive(Clone, Debug)]
pub struct Beside {
    /// To whom, as written.
    pub traffic: String,
    /// To whom, how large, when.
    pub choice: TrafficChoice,
    /// Its loads; never empty.
    pub loads: Vec<Load>,
}

/// Traffic beside operations at one load, fitted to a machine, and that load.
pub type Background = (Arc<Traffic>, f64);

/// One point: operations as fitted to a machine, and the traffic beside them.
#[derive(Clone, Debug)]
pub struct Task<R> {
    /// The operations.
    pub run: R,
    /// The traffic, with its offered load.
    pub background: Option<Background>,
    /// What breaks.
    pub(super) faults: Option<FaultPlan>,
}

impl<R> Task<R> {
    /// `session`, in which breaks what is to break.
    pub(super) fn with_faults<'a>(&self, session: &'a Session) -> Cow<'a, Session> {
        with_faults(session, self.faults.as_ref())
    }

    /// The traffic, without its load.
    #[must_use]
    pub fn traffic(&self) -> Option<&Arc<Traffic>> {
        self.background.as_ref().map(|(traffic, _)| traffic)
    }

    /// The traffic, as a session takes it.
    #[must_use]
    pub fn background(&self) -> session::Background<'_> {
        self.background.as_ref().map(|(traffic, load)| (traffic, *load))
    }
}

impl Beside {
    /// What its options do not tell: what files say.
    pub(super) fn identity(&self) -> String {
        format!("{:?}{}", self.choice.sizes, self.choice.destinations.content())
    }
}

/// The traffic beside the operations: some, if anything is said of it.
#[expect(clippy::option_option, reason = "nothing asked for is not the same as something wrong")]
pub(super) fn check(options: &WorkloadOptions, problems: &mut Vec<Problem>) -> Option<Option<Beside>> {
    let given = OPTIONS.into_iter().find(|name| options.is_given(name));
    let Some(given) = given else { return Some(None) };
    let Some(load) = options.get("load") else {
        let message = "synthetic traffic beside operations needs a load";
        problems.push(Problem::new(given, message).help("add `--load 0.3`, for example"));
        return None;
    };
    let before = problems.len();
    let pattern = options.text("traffic");
    let destinations = traffic::destinations(pattern, problems);
    if let Ok(Some(_)) = destination::reply(pattern) {
        let message = "packets are answered in runs of synthetic traffic alone";
        problems.push(Problem::new("traffic", message).help("leave out `reply`"));
    }
    let packet = options.text("packet");
    let sizes = traffic::sizes("packet", packet).map_err(|errors| problems.extend(errors));
    let arrival = options.get("arrival").unwrap_or(traffic::arrival_of(load));
    let (arrivals, loads) = traffic::when(arrival, load, problems);
    match (destinations, sizes, arrivals, loads) {
        (Some(destinations), Ok(sizes), Some(arrivals), Some(loads)) if problems.len() == before => {
            let traffic = pattern.to_owned();
            Some(Some(Beside {
                traffic,
                choice: TrafficChoice { destinations, sizes, arrivals, replies: None },
                loads,
            }))
        }
        _ => None,
    }
}

/// Fits the traffic beside operations, if there is some, to the machine of `session` at each of its loads.
pub(super) fn fit(beside: Option<&Beside>, session: &Session) -> Result<Vec<Option<Background>>, Problem> {
    let Some(Beside { choice, loads, .. }) = beside else { return Ok(vec![None]) };
    let fit = |load: &Load| {
        let load = load.fraction();
        Ok(Some((Arc::new(session.traffic(choice, load)?), load.as_f64())))
    };
    loads.iter().map(fit).collect::<Result<_, _>>().map_err(|error| traffic::misfit(&error))
}
