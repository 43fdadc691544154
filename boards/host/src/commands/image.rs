//! `dunlin image`: the page image of a list, for a firmware of one's own.

use std::path::PathBuf;

use dunlin::time::Duration;
use serde::Serialize;

use crate::error::Error;
use crate::lists::listing::ListingArgs;
use crate::lists::page_image::{self, Capacity};
use crate::lists::probe_args::ProbeArgs;
use crate::output::{self, Format, Table, file};

/// Make the page image of a list, for a firmware of your own
///
/// `cargo xtask qemu` and `flash` do this by themselves. A firmware of your own has the image in
/// its flash, or compiled in:
///
///   dunlin image PAGES.csv --out pages.img
///
///   static PAGES: &[u8] = include_bytes!("pages.img");
///   let image = Image::parse(PAGES)?;
///
/// The image holds the pages, their hosts with politeness and hours, and the settings below; it is
/// checked as a probe would.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    /// Write the image to this file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The firmware speaks https itself: https pages need no --gateway
    #[arg(long)]
    https: bool,
    #[command(flatten)]
    probe: ProbeArgs,
}

/// What the command has written.
#[derive(Serialize)]
struct Written {
    file: String,
    pages: usize,
    hosts: usize,
    bytes: usize,
}

/// What a host gets between two fetches unless the user says otherwise.
const POLITE: Duration = Duration::from_secs(15);
/// As many as the format can count.
const MOST: usize = u16::MAX as usize - 1;

/// Runs the command.
///
/// # Errors
/// The first thing wrong with a file or an option; an image that cannot be written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    file::keep_apart(&[("--out", &args.out)], &args.listing.files())?;
    let listing = args.listing.read(POLITE)?;
    let options = args.probe.options(&listing)?;
    let capacity = Capacity {
        pages: MOST,
        hosts: MOST,
        https: args.https,
        ipv6: false,
    };
    let (image, _) = page_image::build(&listing, &options, capacity)?;
    file::write_bytes(&args.out, &image)?;
    let written = Written {
        file: args.out.display().to_string(),
        pages: listing.list.pages.len(),
        hosts: listing.list.hosts.len(),
        bytes: image.len(),
    };
    output::say(args.probe.manners(&listing));
    match format {
        Format::Json => output::print(&output::json(&written)),
        Format::Csv => output::print(&table(&written).to_csv()),
        Format::Table => output::print(&table(&written).to_text()),
    }
}

fn table(written: &Written) -> Table {
    let mut table = Table::new(&["file", "pages", "hosts", "bytes"]);
    table.row(vec![
        written.file.clone(),
        written.pages.to_string(),
        written.hosts.to_string(),
        written.bytes.to_string(),
    ]);
    table
}
