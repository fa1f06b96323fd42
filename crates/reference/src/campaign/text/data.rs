//! Values as trees and back.

use super::{Brackets, Tree};
use flitway_engine::Cycle;
use flitway_fabric::BarrierId;
use flitway_wiring::{GroupId, NodeId, PortId, RailId, SwitchId};

/// What a case is made of.
pub(in super::super) trait Data: Sized {
    /// As it is written.
    fn write(&self) -> Tree;

    /// As it was written; or what is wrong.
    fn read(tree: Tree) -> Result<Self, String>;
}

/// What is one of several things.
pub(in super::super) trait Choice: Data {
    /// Their names, all of them.
    const NAMES: &'static [&'static str];

    /// All that are no more than a name.
    fn words() -> Vec<Self> {
        Self::NAMES.iter().flat_map(|name| Self::read(Tree::word(name))).collect()
    }
}

impl Tree {
    /// A struct, or a variant of that name, with its fields; or a variant with values that have no names.
    pub(in super::super) fn of(name: &str, items: Vec<(&str, Tree)>) -> Self {
        let brackets = match items.first() {
            None => Brackets::None,
            Some(("", _)) => Brackets::Parentheses,
            Some(_) => Brackets::Braces,
        };
        let items = items.into_iter().map(|(field, item)| (field.to_owned(), item)).collect();
        Tree { name: name.to_owned(), brackets, items }
    }

    /// Its name, and what is between its brackets.
    pub(in super::super) fn open(self) -> (String, Items) {
        (self.name, Items(self.items))
    }

    pub(in super::super) fn name(&self) -> &str {
        &self.name
    }
}

/// The items of a tree, as they are taken out.
pub(in super::super) struct Items(Vec<(String, Tree)>);

impl Items {
    /// The value of `field`.
    pub(in super::super) fn field<T: Data>(&mut self, field: &str) -> Result<T, String> {
        let place = self.0.iter().position(|(name, _)| name == field);
        let place = place.ok_or_else(|| format!("there is no `{field}`"))?;
        T::read(self.0.remove(place).1).map_err(|error| format!("{field}: {error}"))
    }

    /// The next value that has no name; here it is called `part`.
    pub(in super::super) fn part<T: Data>(&mut self, part: &str) -> Result<T, String> {
        if self.0.is_empty() {
            return Err(format!("there is no {part}"));
        }
        T::read(self.0.remove(0).1)
    }

    /// `value`, if nothing is left.
    pub(in super::super) fn end<T>(self, value: T) -> Result<T, String> {
        match self.0.first() {
            None => Ok(value),
            Some((field, _)) if field.is_empty() => Err("a value too many".to_owned()),
            Some((field, _)) => Err(format!("there is no field `{field}`")),
        }
    }
}

/// A struct with all its fields.
macro_rules! record {
    ($Type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::campaign::text::Data for $Type {
            fn write(&self) -> $crate::campaign::text::Tree {
                let $Type { $($field),+ } = self;
                let items = vec![$((stringify!($field), $crate::campaign::text::Data::write($field))),+];
                $crate::campaign::text::Tree::of("", items)
            }

            fn read(tree: $crate::campaign::text::Tree) -> Result<Self, String> {
                let (_, mut items) = tree.open();
                let value = $Type { $($field: items.field(stringify!($field))?),+ };
                items.end(value)
            }
        }
    };
}

/// An enum with all its variants, and the parts or fields of each.
macro_rules! choice {
    ($Type:ident { $($Variant:ident $(($($part:ident),+))? $({ $($field:ident),+ })?),+ $(,)? }) => {
        impl $crate::campaign::text::Data for $Type {
            fn write(&self) -> $crate::campaign::text::Tree {
                match self {
                    $($Type::$Variant $(($($part),+))? $({ $($field),+ })? => $crate::campaign::text::Tree::of(
                        stringify!($Variant),
                        vec![
                            $($(("", $crate::campaign::text::Data::write($part))),+)?
                            $($((stringify!($field), $crate::campaign::text::Data::write($field))),+)?
                        ],
                    ),)+
                }
            }

            fn read(tree: $crate::campaign::text::Tree) -> Result<Self, String> {
                #[allow(unused_mut, reason = "some variants have nothing to take")]
                let (name, mut items) = tree.open();
                let value = match name.as_str() {
                    $(stringify!($Variant) => $Type::$Variant
                        $(($(items.part(stringify!($part))?),+))?
                        $({ $($field: items.field(stringify!($field))?),+ })?,)+
                    _ => return Err($crate::campaign::text::no_such::<$Type>(&name)),
                };
                items.end(value)
            }
        }

        impl $crate::campaign::text::Choice for $Type {
            const NAMES: &'static [&'static str] = &[$(stringify!($Variant)),+];
        }
    };
}

pub(in super::super) use {choice, record};

/// Why `name` cannot be read.
pub(in super::super) fn no_such<T: Choice>(name: &str) -> String {
    format!("there is no `{name}`, but {}", T::NAMES.join(", "))
}

/// Words: what they are, and how they are called.
macro_rules! words {
    ($($Type:ty, $what:literal;)+) => {$(
        impl Data for $Type {
            fn write(&self) -> Tree {
                Tree::word(self)
            }

            fn read(tree: Tree) -> Result<Self, String> {
                let (name, items) = tree.open();
                let value = name.parse().map_err(|_| format!("`{name}` is no {}", $what))?;
                items.end(value)
            }
        }
    )+};
}

words! {
    u8, "number of 8 bits";
    u16, "number of 16 bits";
    u32, "number of 32 bits";
    u64, "number of 64 bits";
    bool, "`true` or `false`";
}

/// Types around one number.
macro_rules! numbers {
    ($($Type:ident)+) => {$(
        impl Data for $Type {
            fn write(&self) -> Tree {
                self.0.write()
            }

            fn read(tree: Tree) -> Result<Self, String> {
                Data::read(tree).map($Type)
            }
        }
    )+};
}

numbers! { NodeId SwitchId PortId RailId GroupId BarrierId Cycle }

impl<T: Data> Data for Option<T> {
    fn write(&self) -> Tree {
        match self {
            None => Tree::of("None", Vec::new()),
            Some(value) => Tree::of("Some", vec![("", value.write())]),
        }
    }

    fn read(tree: Tree) -> Result<Self, String> {
        let (name, mut items) = tree.open();
        let value = match name.as_str() {
            "None" => None,
            "Some" => Some(items.part("value")?),
            _ => return Err(format!("`{name}` is neither `None` nor `Some`")),
        };
        items.end(value)
    }
}

impl<T: Data> Data for Vec<T> {
    fn write(&self) -> Tree {
        Tree::list(self.iter().map(T::write))
    }

    fn read(tree: Tree) -> Result<Self, String> {
        if tree.brackets != Brackets::Square {
            return Err(format!("`{tree}` is no list"));
        }
        tree.items.into_iter().map(|(_, item)| T::read(item)).collect()
    }
}

impl<T: Data, const N: usize> Data for [T; N] {
    fn write(&self) -> Tree {
        Tree::list(self.iter().map(T::write))
    }

    fn read(tree: Tree) -> Result<Self, String> {
        let list: Vec<T> = Data::read(tree)?;
        list.try_into().map_err(|list: Vec<T>| format!("there are {} values, and not {N}", list.len()))
    }
}
