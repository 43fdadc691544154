//! feed: what a host says about its own pages, in one document: a sitemap, an RSS, Atom or JSON
//! feed, or a list with a URL in each line.
//!
//! [`FeedReader`] takes a document of any kind and size, in any pieces, and gives a [`FeedEntry`]
//! for each page that it names: where the page is, and when it last changed. Nothing in a document
//! makes it grow, or work longer than the document is. It holds 432 bytes.
//!
//! | document | pages | dates |
//! |---|---|---|
//! | sitemap (sitemaps.org) | `loc` of each `url` | `lastmod` |
//! | index of sitemaps | `loc` of each `sitemap`, which are documents themselves | `lastmod` |
//! | RSS 0.9 to 2.0 | `link` of each `item`, else a `guid` that is a URL | `pubDate`, `dc:date`, `updated` of Atom |
//! | Atom | `link` to the alternate form of each `entry` | `updated`, `published` |
//! | JSON Feed | `url` of each of the `items`, else an `id` that is a URL | `date_modified`, `date_published` |
//! | text | each line | none |
//!
//! The latest date of a page counts. Dates are read in the spellings that are met in the wild, see
//! [`HttpDate::parse_any`](crate::fetch::HttpDate::parse_any).
//!
//! | question | file |
//! |---|---|
//! | what kind of document is it? | `reader.rs` |
//! | which elements matter? | `dialect.rs`, `word.rs` |
//! | how is JSON read? | `json.rs` |
//! | what is known of the page at hand? | `draft.rs` |

mod dialect;
mod draft;
#[cfg(feature = "hints")]
mod json;
mod reader;
mod word;

pub use draft::{FeedEntry, LONGEST_URL};
pub use reader::{FeedError, FeedReader};
