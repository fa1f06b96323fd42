//! The tree of a group: who waits for whom.

use flitway_fabric::barrier::Place;
use flitway_wiring::PortId;

/// The port of every parent; far from those of the children, so that nobody takes one for the other.
const UP: PortId = PortId(63);

/// What hangs below a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A node with one process.
    Leaf,
    /// A switch with children.
    Switch(Vec<Shape>),
}

/// A switch or a leaf of the tree.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) place: Place,
    /// The member above, and this one's port there; none at the root.
    pub(super) parent: Option<(usize, PortId)>,
    /// The members below; none at a leaf, whose child is its process.
    pub(super) children: Vec<usize>,
    /// Members that look alike from above have equal numbers.
    pub(super) kind: usize,
    pub(super) name: String,
}

impl Member {
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }
}

/// A tree; member 0 is the root, and the members below one follow it.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) members: Vec<Member>,
}

impl Tree {
    /// One switch with so many leaves.
    #[must_use]
    pub fn star(leaves: usize) -> Self {
        Tree::new(&Shape::star(leaves))
    }

    /// A tree of a shape.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        let mut tree = Tree { members: Vec::new() };
        tree.add(shape, None, &mut Vec::new());
        tree
    }

    fn add(&mut self, shape: &Shape, parent: Option<(usize, PortId)>, shapes: &mut Vec<Shape>) -> usize {
        let number = self.members.len();
        let kind = shapes.iter().position(|known| known == shape).unwrap_or(shapes.len());
        if kind == shapes.len() {
            shapes.push(shape.clone());
        }
        let below = match shape {
            Shape::Leaf => &[][..],
            Shape::Switch(children) => children,
        };
        let ports = below.len().max(1);
        let place = Place::new((1 << ports) - 1, parent.map(|_| UP));
        let name = self.name(below.is_empty());
        self.members.push(Member { place, parent, children: Vec::new(), kind, name });
        let children = below
            .iter()
            .enumerate()
            .map(|(port, child)| self.add(child, Some((number, PortId::new(port))), shapes))
            .collect();
        self.members[number].children = children;
        number
    }

    /// Leaves are A, B, C, ...; switches have numbers.
    fn name(&self, is_leaf: bool) -> String {
        let alike =
            self.members.iter().skip(1).filter(|member| member.name.starts_with("leaf") == is_leaf).count();
        match (self.members.is_empty(), is_leaf) {
            (true, _) => "the root".to_owned(),
            (_, true) => format!("leaf {}", char::from(b'A' + alike as u8)),
            (_, false) => format!("switch {}", alike + 1),
        }
    }

    /// The leaves.
    pub(super) fn leaves(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|&member| self.members[member].is_leaf())
    }
}

impl Shape {
    /// A switch with so many leaves.
    #[must_use]
    pub fn star(leaves: usize) -> Self {
        Shape::Switch(vec![Shape::Leaf; leaves])
    }
}
