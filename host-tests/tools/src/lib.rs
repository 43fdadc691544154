//! What the project's commands, end-to-end cases and benches share.
//!
//! | module | what it does |
//! |---|---|
//! | [`shell`] | runs other programs, and cargo in the right folder |
//! | [`setup`] | installs what is missing: Rust targets, QEMU, servers, a browser |
//! | [`firmware`] | builds boards' images and holds them against budgets, chips and promises |
//! | [`qemu`] | boots an image, reads its log, and gives it pages, flash and a network |
//! | [`web`] | a web on loopback that keeps a log, and one whose pages change |
//! | [`hostile`] | a web that misbehaves, with a trap that nobody may be led to |
//! | [`fuzz`] | libFuzzer on everything that reads what strangers send |
//! | [`mutants`] | faults put into the crate, which its tests have to catch |
//! | [`papers`] | the papers' experiments, by the program that runs them |
//! | [`python_package`] | the Python package, built as a user would and held against the program |
//! | [`words`] | what a program has said: handed on, and what speaks of failures kept |
//! | [`test_programs`] | the workspace's tests, several programs at a time |
//! | [`supply_chain`] | where the code of others comes from, and on which terms |

pub mod firmware;
pub mod fuzz;
pub mod hostile;
pub mod mutants;
pub mod papers;
pub mod python_package;
pub mod qemu;
pub mod setup;
pub mod shell;
pub mod supply_chain;
pub mod test_programs;
pub mod web;
pub mod words;
