//! Crawls over a link graph: in what order are pages found, which are kept, and what do several
//! crawlers have to tell each other? The frontier and the ranking are the device's.

pub mod generate;
pub mod graph;
pub mod incremental;
pub mod order;
pub mod parallel;
pub mod selection;

pub use graph::Graph;
