//! What the tests of several crates need: wrong input with its messages, text that is damaged at random, what every
//! switch and every NIC must keep, and a NIC for it.

pub mod bytes;
pub mod cases;
pub mod fuzz;
pub mod nic;
pub mod switch;
pub mod test_nic;
