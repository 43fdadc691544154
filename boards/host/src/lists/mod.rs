//! The files a user brings, read with an error line that names file, line and column.
//!
//! [`table_file`] reads any of them; [`pages`], [`hosts`], [`history`], [`trace`], [`last`] and
//! [`edges`] know the columns of one each. [`listing`] joins pages and hosts as most commands take them,
//! [`budget`] says how often they are visited, and [`page_image`] packs them for a probe.

pub mod budget;
pub mod constraints;
pub mod discovery;
pub mod edges;
pub mod headers;
pub mod history;
pub mod hosts;
pub mod last;
pub mod listing;
pub mod markup;
pub mod page_image;
pub mod pages;
pub mod probe_args;
pub mod table_file;
mod tellers;
mod times;
pub mod trace;
pub mod trust;
