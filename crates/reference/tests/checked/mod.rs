//! What the tests of the claims about all protocols have in common.

use flitway_reference::explore::{Claim, Effort, Expected, Model, explore};
use stateright::{Checker, Property};

fn quick<M>(claims: Vec<Claim<M>>) -> impl Iterator<Item = Claim<M>> {
    claims.into_iter().filter(|claim| claim.effort == Effort::Quick)
}

/// Checks all quick claims of a topic.
pub(crate) fn check_quick<M: Model>(claims: Vec<Claim<M>>, topic: &str) {
    let claims: Vec<Claim<M>> = quick(claims).filter(|claim| claim.topic() == topic).collect();
    assert!(!claims.is_empty(), "{topic} has claims");
    let refuted: Vec<String> =
        claims.iter().filter_map(|claim| claim.refute(&explore(&claim.world))).collect();
    assert!(refuted.is_empty(), "\n{}", refuted.join("\n"));
}

/// Every claim has a name of its own, and its topic is one of those that have a test.
pub(crate) fn each_is_tested_and_has_a_name<M>(claims: Vec<Claim<M>>, topics: &[&str]) {
    for (index, claim) in claims.iter().enumerate() {
        assert!(topics.contains(&claim.topic()), "{}", claim.name);
        assert!(claims[..index].iter().all(|other| other.name != claim.name), "{}", claim.name);
    }
}

/// A world as an independent model checker takes it. What must not be is a state of its own.
#[derive(Clone)]
struct Checked<M>(M);

impl<M: Model> stateright::Model for Checked<M> {
    type State = Option<u128>;
    type Action = Option<u128>;

    fn init_states(&self) -> Vec<Self::State> {
        vec![Some(self.0.first_key())]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        actions.extend(state.iter().flat_map(|&key| self.0.next_keys(key)));
    }

    fn next_state(&self, _: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("what must not be is not", |_, state: &Self::State| state.is_some())]
    }
}

/// The largest world that a test checks twice.
const STATES_MAX: usize = 40_000;

/// An independent checker finds the same in all small worlds. Says how many these are.
pub(crate) fn agree_with_an_independent_checker<M>(claims: Vec<Claim<M>>) -> usize
where
    M: Model + Send + Sync + 'static,
{
    let mut twice = 0;
    for Claim { name, world, expected, .. } in quick(claims) {
        let own = explore(&world);
        if own.states > STATES_MAX {
            continue;
        }
        twice += 1;
        let checker = stateright::Model::checker(Checked(world)).spawn_bfs().join();
        let steps = checker.discovery("what must not be is not").map(|path| path.into_actions().len());
        match expected {
            Expected::Unsafe(length) => assert_eq!(steps, Some(length), "{name}"),
            Expected::SafeAndLive | Expected::Stuck(_) => {
                assert_eq!(steps, None, "{name}");
                assert_eq!(checker.unique_state_count(), own.states, "{name}");
            }
        }
    }
    twice
}
