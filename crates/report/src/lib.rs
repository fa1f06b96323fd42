//! Observers and statistics, and what is made of them: results as values, JSON and tables.
//!
//! This crate reads a running simulation and decides how long it runs; it changes nothing in it, reads no files and
//! prints nothing.

pub mod barriers;
pub mod bill;
pub mod cabling;
pub mod channels;
pub mod details;
pub mod export;
pub mod facts;
pub mod fault_record;
pub mod faults;
pub mod graph;
pub mod latencies;
pub mod link_counts;
pub mod measure;
pub mod memory;
pub mod operations;
mod order;
pub mod page;
pub mod point;
pub mod recorder;
pub mod registers;
pub mod replies;
pub mod session;
pub mod shown;
pub mod stages;
pub mod stations;
pub mod stats;
pub mod story;
pub mod tally;
pub mod theory;
pub mod trace;
pub mod watch;
