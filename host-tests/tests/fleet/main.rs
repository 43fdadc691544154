//! Many probes, one collection: messages, leases, budgets, assignment.

mod assignment;
mod failures;
mod messages;
mod model;
