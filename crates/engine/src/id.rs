//! Typed indices: a switch is never taken for a port.

/// Declares an index type over `u32` with `new`, `index` and ordering.
#[macro_export]
macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive($crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "::flitway_engine::serde")]
        pub struct $name(pub u32);

        impl $name {
            /// The id of position `index` in an array.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits.
            #[inline]
            #[must_use]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("an id fits 32 bits"))
            }

            /// The position in an array.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}
