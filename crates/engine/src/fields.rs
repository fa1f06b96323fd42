//! Sums of totals, field by field, of which none can be forgotten.

/// Implements `AddAssign` and `Sum` for a type whose fields are all added up. A field that is left out does not compile.
///
/// ```
/// #[derive(Default, Debug, PartialEq)]
/// struct Totals {
///     packets: u64,
///     flits: u64,
/// }
/// flitway_engine::add_fields!(Totals { packets, flits });
/// let sum: Totals = [(1, 2), (3, 4)].map(|(packets, flits)| Totals { packets, flits }).into_iter().sum();
/// assert_eq!(sum, Totals { packets: 4, flits: 6 });
/// ```
#[macro_export]
macro_rules! add_fields {
    ($Type:ident { $($field:ident),+ $(,)? }) => {
        impl ::std::ops::AddAssign for $Type {
            fn add_assign(&mut self, other: $Type) {
                let $Type { $($field),+ } = other;
                $(self.$field += $field;)+
            }
        }

        impl ::std::iter::Sum for $Type {
            fn sum<I: Iterator<Item = $Type>>(all: I) -> $Type {
                let mut sum = $Type::default();
                all.for_each(|one| sum += one);
                sum
            }
        }
    };
}
