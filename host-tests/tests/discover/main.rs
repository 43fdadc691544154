//! Links and sitemaps: what is found in them, beside what a browser's reader finds.

mod pages;
mod parts;
mod ranking;
mod sitemaps;
