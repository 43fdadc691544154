//! The store: what it holds after power cuts at every byte, after damage, and what it costs.

mod damage;
mod format;
mod power_cuts;
mod restart;
mod texts;
mod truth;
mod wear;
