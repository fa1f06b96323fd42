//! What the tests of several crates need: wrong input with its messages, and text that is damaged at random.

pub mod cases;
pub mod fuzz;
