//! What the tests of several crates need: wrong input with its messages, text that is damaged at random, and what every
//! switch must keep.

pub mod cases;
pub mod fuzz;
pub mod switch;
