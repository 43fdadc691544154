//! The scheduler: properties against a model, freshness against the optimum, real changes.

mod bayesian;
mod constraints;
mod demo;
mod exploring;
mod figures;
mod floor;
mod freshness;
mod giving_up;
mod model;
mod news;
mod properties;
mod real;
mod restart;
mod worlds;

/// `DUNLIN_LONG=1` asks for the long variants.
fn long() -> bool {
    std::env::var_os("DUNLIN_LONG").is_some_and(|value| value != "0")
}
