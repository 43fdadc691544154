//! The collector: bodies from probes, over HTTP, into one archive.
//!
//! A probe opens a second connection while it fetches a page and posts what goes over the first one
//! as it goes, in [`frames`]: what is fetched, the request, the answer, and at last a verdict. The
//! [`server`] keeps what has changed, drops what is the same, and drops what was cut before the
//! verdict. What it has acknowledged is in the archive, whatever happens next. [`publish`] says
//! when readers see it. Bad [`news`] is posted beside. [`client`] is what `dunlin run --collect`
//! sends with.

pub mod client;
pub mod frames;
pub mod news;
pub mod publish;
pub mod server;
pub mod tokens;
