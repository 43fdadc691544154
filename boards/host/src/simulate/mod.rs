//! A seeded event simulator: pages that change, hosts that want politeness, crawlers that take time
//! – and, in the middle, a policy that decides. Freshness is integrated exactly, not sampled.

mod beliefs;
pub mod change;
mod copy;
mod gated;
pub mod name;
pub mod policy;
pub mod repeat;
pub mod rules;
pub mod run;
pub mod scored;
pub mod siblings;
pub mod timetable;
pub mod trial;
pub mod world;

pub use change::{Change, Random};
pub use gated::{Fetched, Gated, Rule};
pub use name::PolicyName;
pub use policy::{Policy, Step};
pub use run::{Options, Report, run};
pub use world::{SimHost, SimPage, Tells, World};
