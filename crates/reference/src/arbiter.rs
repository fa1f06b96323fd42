//! Arbiters, as plain as they come. The matrix is the hardware's own.

use flitway_fabric::arbiter::{ArbiterKind, Matrix};

/// One arbiter.
#[derive(Clone, Debug)]
pub(crate) enum Arbiter {
    /// `W[i][j]` bits.
    Matrix(Matrix),
    /// The input granted last.
    RoundRobin { last: usize },
    /// The inputs, least recently granted first.
    LeastRecentlyGranted(Vec<usize>),
}

impl Arbiter {
    pub(crate) fn new(kind: ArbiterKind, inputs: usize) -> Self {
        match kind {
            ArbiterKind::Matrix => Arbiter::Matrix(Matrix::new(inputs)),
            ArbiterKind::RoundRobin => Arbiter::RoundRobin { last: inputs - 1 },
            ArbiterKind::LeastRecentlyGranted => Arbiter::LeastRecentlyGranted((0..inputs).collect()),
        }
    }

    /// Grants one of the inputs that request, if any does.
    pub(crate) fn grant(&mut self, requests: &[bool]) -> Option<usize> {
        match self {
            Arbiter::Matrix(matrix) => matrix.grant(requests),
            Arbiter::RoundRobin { last } => {
                let winner = first_after(*last, requests.len(), |input| requests[input])?;
                *last = winner;
                Some(winner)
            }
            Arbiter::LeastRecentlyGranted(order) => {
                let place = order.iter().position(|&input| requests[input])?;
                let winner = order.remove(place);
                order.push(winner);
                Some(winner)
            }
        }
    }
}

/// The first of `places` after `last` that is wanted, going round; `last` itself comes last.
pub(crate) fn first_after(
    last: usize,
    places: usize,
    mut wanted: impl FnMut(usize) -> bool,
) -> Option<usize> {
    (1..=places).map(|step| (last + step) % places).find(|&place| wanted(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};
    use flitway_fabric::arbiter::{ArbiterBank, WideBank};
    use flitway_fabric::bits::WideMask;

    #[test]
    fn each_kind_remembers_in_its_own_way() {
        let sequence = [[false, false, true, false], [true, true, false, true], [true, true, true, false]];
        let grants = |kind| {
            let mut arbiter = Arbiter::new(kind, 4);
            sequence.map(|requests| arbiter.grant(&requests))
        };
        assert_eq!(grants(ArbiterKind::RoundRobin), [Some(2), Some(3), Some(0)]);
        assert_eq!(grants(ArbiterKind::LeastRecentlyGranted), [Some(2), Some(0), Some(1)]);
        assert_eq!(grants(ArbiterKind::Matrix), [Some(2), Some(0), Some(1)]);
    }

    #[test]
    fn every_kind_grants_as_the_arbiters_of_the_engine_do() {
        for &kind in ArbiterKind::ALL {
            for inputs in [1, 2, 7, 16, 64] {
                let mut stream = Stream::new(7, inputs as u64, Purpose::Test);
                let (mut plain, mut bank) = (Arbiter::new(kind, inputs), ArbiterBank::new(kind, 1, inputs));
                for _ in 0..1_000 {
                    let requests: Vec<bool> = (0..inputs).map(|_| stream.below(3) == 0).collect();
                    let mask = requests.iter().rev().fold(0, |mask, &bit| mask << 1 | u64::from(bit));
                    let granted = (mask != 0).then(|| bank.grant(0, mask));
                    assert_eq!(plain.grant(&requests), granted, "{kind:?} with {inputs} inputs");
                }
            }
        }
    }

    #[test]
    fn and_as_those_of_many_inputs_do() {
        for &kind in ArbiterKind::ALL {
            for inputs in [1, 64, 65, 200, 512] {
                let mut stream = Stream::new(8, inputs as u64, Purpose::Test);
                let (mut plain, mut bank) = (Arbiter::new(kind, inputs), WideBank::new(kind, 2, inputs));
                for _ in 0..500 {
                    let often = 1 + stream.below(100);
                    let requests: Vec<bool> = (0..inputs).map(|_| stream.below(often) == 0).collect();
                    let mut mask = WideMask::NONE;
                    (0..inputs).filter(|&input| requests[input]).for_each(|input| mask.insert(input));
                    let granted = (!mask.is_empty()).then(|| bank.grant(1, mask));
                    assert_eq!(plain.grant(&requests), granted, "{kind:?} with {inputs} inputs");
                }
            }
        }
    }

    #[test]
    fn nobody_is_granted_when_nobody_asks() {
        for &kind in ArbiterKind::ALL {
            assert_eq!(Arbiter::new(kind, 3).grant(&[false; 3]), None);
        }
    }
}
