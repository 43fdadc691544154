//! Links and sitemaps: what is found in them, beside what a browser's reader finds.

mod pages;
mod ranking;
mod sitemaps;
