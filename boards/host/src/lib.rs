//! The host board: what the program `dunlin` is made of, for xtask and the tests as well.

pub mod cli;
pub mod commands;
pub mod duration;
pub mod error;
pub mod flash;
pub mod history;
pub mod hosts;
pub mod listing;
pub mod monitor;
pub mod net;
pub mod output;
pub mod page_image;
pub mod pages;
pub mod picture;
pub mod planning;
pub mod plot;
pub mod progress;
pub mod simulate;
pub mod table_file;
pub mod trace;
