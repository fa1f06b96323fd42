//! Places for the boxes of a graph: first so that distances follow the numbers of links between switches, then so that no
//! box covers another.
//!
//! Source: Zheng, Pawar and Goodman, "Graph drawing by stochastic gradient descent", IEEE TVCG 25 (2019), section 2: pairs of
//! vertices are moved towards their distance one pair after the other, less in each turn. The order of pairs is a fixed
//! permutation here, so that a graph always looks the same.

use super::Spot;
use std::collections::VecDeque;

/// Turns over all pairs.
const TURNS: u32 = 30;

/// How much of the way a pair at distance 1 moves in the last turn.
const LAST_STEP: f64 = 0.1;

/// Boxes push each other away so often at most.
const PUSHES: u32 = 200;

/// What boxes fill of the picture.
const FILL: f64 = 0.44;

/// The height of a picture of few boxes.
const LOW: f64 = 640.0;

/// How many links every vertex is from every other.
fn distances(neighbours: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let from = |start: usize| {
        let mut far = vec![u32::MAX; neighbours.len()];
        far[start] = 0;
        let mut next = VecDeque::from([start]);
        while let Some(here) = next.pop_front() {
            for &other in &neighbours[here] {
                if far[other as usize] == u32::MAX {
                    far[other as usize] = far[here] + 1;
                    next.push_back(other as usize);
                }
            }
        }
        far
    };
    (0..neighbours.len()).map(from).collect()
}

/// A stride through `count` things that meets each once, about the golden section of them.
fn stride(count: usize) -> usize {
    let has_common = |mut a: usize, mut b: usize| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a > 1
    };
    let golden = ((count as f64 * 0.618) as usize).max(1);
    (golden..).find(|&stride| !has_common(stride, count)).unwrap_or(1)
}

/// Where vertices stand that are joined as `neighbours` say, one link about 1 long, with links along the axes where most of
/// them agree.
pub(super) fn stress(neighbours: &[Vec<u32>]) -> Vec<Spot> {
    let count = neighbours.len();
    let far = distances(neighbours);
    let longest =
        f64::from(far.iter().flatten().copied().filter(|&far| far < u32::MAX).max().unwrap_or(1).max(1));
    let mut spots: Vec<Spot> = (0..count)
        .map(|place| {
            let angle = std::f64::consts::TAU * place as f64 / count as f64;
            (longest / 2.0 * angle.cos(), longest / 2.0 * angle.sin())
        })
        .collect();
    let pairs: Vec<(usize, usize)> =
        (0..count).flat_map(|one| (0..one).map(move |other| (one, other))).collect();
    let stride = stride(pairs.len());
    let first_step = longest * longest;
    let decay = (first_step / LAST_STEP).ln() / f64::from(TURNS - 1);
    let mut at = 0;
    for turn in 0..TURNS {
        let step = first_step * (-decay * f64::from(turn)).exp();
        for _ in 0..pairs.len() {
            at = (at + stride) % pairs.len();
            let (one, other) = pairs[at];
            let wanted = f64::from(far[one][other]);
            let (dx, dy) = (spots[one].0 - spots[other].0, spots[one].1 - spots[other].1);
            let distance = dx.hypot(dy).max(1e-9);
            let part = (step / (wanted * wanted)).min(1.0) * (distance - wanted) / 2.0 / distance;
            spots[one] = (spots[one].0 - part * dx, spots[one].1 - part * dy);
            spots[other] = (spots[other].0 + part * dx, spots[other].1 + part * dy);
        }
        at += 1;
    }
    turned(&spots, neighbours)
}

/// The same turned so that links lie along the axes, as far as they agree, the longer side across, the first one above on the
/// left.
fn turned(spots: &[Spot], neighbours: &[Vec<u32>]) -> Vec<Spot> {
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (one, others) in spots.iter().zip(neighbours) {
        for &other in others {
            let (dx, dy) = (spots[other as usize].0 - one.0, spots[other as usize].1 - one.1);
            let angle = 4.0 * dy.atan2(dx);
            (sine, cosine) = (sine + angle.sin(), cosine + angle.cos());
        }
    }
    let angle = -sine.atan2(cosine) / 4.0;
    let (sine, cosine) = angle.sin_cos();
    let turned: Vec<Spot> =
        spots.iter().map(|at| (at.0 * cosine - at.1 * sine, at.0 * sine + at.1 * cosine)).collect();
    let [across, down] = reach(&turned).map(|(low, high)| high - low);
    let lying: Vec<Spot> = if down > across { turned.iter().map(|&(x, y)| (y, x)).collect() } else { turned };
    // The first one is on the left, above.
    let [middle_x, middle_y] = reach(&lying).map(|(low, high)| (low + high) / 2.0);
    let [flip_x, flip_y] =
        [lying[0].0 > middle_x, lying[0].1 > middle_y].map(|flips| if flips { -1.0 } else { 1.0 });
    lying.iter().map(|&(x, y)| (x * flip_x, y * flip_y)).collect()
}

/// The least and the most of both coordinates.
pub(super) fn reach(spots: &[Spot]) -> [(f64, f64); 2] {
    let of = |axis: &dyn Fn(&Spot) -> f64| {
        let all = || spots.iter().map(axis);
        (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max))
    };
    [of(&|spot| spot.0), of(&|spot| spot.1)]
}

/// Middles of boxes of `size` with the room around them, about as `spots` lie to each other, in a picture that is `wide` and as
/// high as they need: its height too. No box covers another.
pub(super) fn apart(spots: &[Spot], size: Spot, wide: f64) -> (Vec<Spot>, f64) {
    let needed = spots.len() as f64 * size.0 * size.1 / FILL / wide;
    let [(left, right), (top, bottom)] = reach(spots);
    let (across, down) = ((right - left).max(1e-9), (bottom - top).max(1e-9));
    let low = (wide * down / across).min(LOW);
    let (room, height) = (wide - size.0, needed.max(low) - size.1);
    let place =
        |at: &Spot| (size.0 / 2.0 + (at.0 - left) / across * room, (at.1 - top) / down * height.max(0.0));
    let mut places: Vec<Spot> = spots.iter().map(place).collect();
    let bounds = (size.0 / 2.0, wide - size.0 / 2.0);
    for _ in 0..PUSHES {
        if !push(&mut places, size, bounds) {
            break;
        }
    }
    settle(&mut places, size);
    let top = reach(&places)[1].0 - size.1 / 2.0;
    places.iter_mut().for_each(|at| at.1 -= top);
    let height = reach(&places)[1].1 + size.1 / 2.0;
    (places, height)
}

/// How much the boxes at two places cover each other, along both axes, if they do.
fn covered(one: Spot, other: Spot, size: Spot) -> Option<Spot> {
    let (x, y) = (size.0 - (one.0 - other.0).abs(), size.1 - (one.1 - other.1).abs());
    (x > 1e-6 && y > 1e-6).then_some((x, y))
}

/// Pushes boxes apart that cover each other, between `bounds` from the left; whether there were any.
fn push(places: &mut [Spot], size: Spot, bounds: Spot) -> bool {
    let mut has_moved = false;
    for one in 0..places.len() {
        for other in 0..one {
            let (a, b) = (places[one], places[other]);
            let Some((x, y)) = covered(a, b, size) else { continue };
            has_moved = true;
            if x / size.0 < y / size.1 {
                let half = if a.0 < b.0 { -x / 2.0 } else { x / 2.0 };
                places[one].0 = (a.0 + half).clamp(bounds.0, bounds.1);
                places[other].0 = (b.0 - half).clamp(bounds.0, bounds.1);
            } else {
                let half = if a.1 < b.1 { -y / 2.0 } else { y / 2.0 };
                (places[one].1, places[other].1) = (a.1 + half, b.1 - half);
            }
        }
    }
    has_moved
}

/// Moves boxes down, from the top, until none covers another.
fn settle(places: &mut [Spot], size: Spot) {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].1.total_cmp(&places[b].1));
    for (turn, &one) in order.iter().enumerate() {
        let below = |places: &[Spot]| {
            let covering =
                order[..turn].iter().filter(|&&other| covered(places[one], places[other], size).is_some());
            covering.map(|&other| places[other].1 + size.1).max_by(f64::total_cmp)
        };
        while let Some(y) = below(places) {
            places[one].1 = y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mesh of so many rows and columns.
    fn mesh(columns: u32, rows: u32) -> Vec<Vec<u32>> {
        let joins = |one: u32, other: u32| {
            let (dx, dy) =
                ((one % columns).abs_diff(other % columns), (one / columns).abs_diff(other / columns));
            dx + dy == 1
        };
        let all = 0..columns * rows;
        all.clone().map(|one| all.clone().filter(|&other| joins(one, other)).collect()).collect()
    }

    #[test]
    fn a_mesh_lies_as_a_mesh() {
        let neighbours = mesh(9, 6);
        let spots = stress(&neighbours);
        let [across, down] = reach(&spots).map(|(low, high)| high - low);
        // Diagonals are shorter than the links along them: that pulls apart.
        assert!((8.0..10.0).contains(&across) && (5.0..7.0).contains(&down), "{across} x {down}");
        for (one, others) in spots.iter().zip(&neighbours) {
            for &other in others {
                let (dx, dy) = (spots[other as usize].0 - one.0, spots[other as usize].1 - one.1);
                assert!((0.8..1.6).contains(&dx.hypot(dy)), "a link of {dx} by {dy}");
                assert!(dx.abs().min(dy.abs()) < 0.5, "a link of {dx} by {dy}");
            }
        }
    }

    #[test]
    fn boxes_part_wherever_they_were() {
        for spots in [vec![(0.0, 0.0); 40], (0..90).map(|at| (f64::from(at), 0.0)).collect()] {
            let size = (60.0, 30.0);
            let (places, height) = apart(&spots, size, 1000.0);
            for (at, &one) in places.iter().enumerate() {
                assert!(
                    (30.0..=970.0).contains(&one.0) && (15.0 - 1e-6..=height - 15.0 + 1e-6).contains(&one.1)
                );
                assert!(places[..at].iter().all(|&other| covered(one, other, size).is_none()), "{places:?}");
            }
        }
    }

    #[test]
    fn a_stride_meets_all() {
        for count in [1, 2, 3, 10, 45, 1225] {
            let stride = stride(count);
            let met: std::collections::BTreeSet<usize> =
                (0..count).map(|turn| turn * stride % count).collect();
            assert_eq!(met.len(), count);
        }
    }
}
