//! A seeded event simulator: pages that change, hosts that want politeness, crawlers that take time – and, in the
//! middle, a policy that decides. Freshness is integrated exactly, not sampled.

pub mod change;
pub mod policy;
pub mod world;

pub use change::{Change, Random};
pub use policy::Policy;
pub use world::{Report, SimHost, SimPage, World, run};
