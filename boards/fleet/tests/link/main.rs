//! The link of a probe, over connections in memory to a broker that does what a test wants: what a
//! real one would never send, and what has to happen at an exact moment. The real one is in the
//! end-to-end cases.

mod broker;
mod day;
mod hostile;
mod lists;
mod messages;
mod world;
