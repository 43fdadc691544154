//! `dunlin release-list`: a page list as a signed update.

use dunlin::image::VERSION;
use dunlin::time::Duration;
use dunlin::update::PayloadKind;

use crate::error::Error;
use crate::lists::listing::ListingArgs;
use crate::lists::page_image::{self, Capacity};
use crate::lists::probe_args::ProbeArgs;
use crate::output::{self, Format, Table};
use crate::release::{Payload, ReleaseArgs};

/// Release a page list as a signed update for probes that are out there
///
/// Writes the page image and a signed manifest into a folder, which any web server can hand out.
/// Probes that look below its URL take the list over, and keep what they have learnt of pages that
/// stay:
///
///   dunlin release-list PAGES.csv --key list.sec --out updates
///
/// Who wants to see what a probe would see: signify-openbsd -V -e -p list.pub -x
/// updates/qemu-mps2-list.sig -m -
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    listing: ListingArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    /// For probes of this board
    #[arg(long, value_name = "NAME", default_value = "qemu-mps2")]
    board: String,
    /// The firmware speaks https itself: https pages need no --gateway
    #[arg(long)]
    https: bool,
    #[command(flatten)]
    probe: ProbeArgs,
}

/// What a host gets between two fetches unless the user says otherwise.
const POLITE: Duration = Duration::from_secs(15);
/// As many as the format can count: the probe refuses what it has no room for.
const MOST: usize = u16::MAX as usize - 1;

/// Runs the command.
///
/// # Errors
/// The first thing wrong with a file or an option; a folder that cannot be written.
pub fn run(args: &Args, format: Format) -> Result<(), Error> {
    let key = args.release.secret_key()?;
    let listing = args.listing.read(POLITE)?;
    let options = args.probe.options(&listing)?;
    let capacity = Capacity {
        pages: MOST,
        hosts: MOST,
        https: args.https,
        ipv6: false,
    };
    let (image, _) = page_image::build(&listing, &options, capacity)?;
    let payload = Payload {
        kind: PayloadKind::List,
        board: &args.board,
        build: None,
        bytes: &image,
        store: 0,
        image: VERSION,
    };
    let written = args.release.write(&key, &payload)?;
    let names = [
        "manifest", "payload", "sequence", "counter", "bytes", "build",
    ];
    let mut table = Table::new(&names);
    table.row(vec![
        written.manifest.display().to_string(),
        written.payload.display().to_string(),
        written.sequence.to_string(),
        written.counter.to_string(),
        written.bytes.to_string(),
        written.build.clone(),
    ]);
    match format {
        Format::Json => output::print(&output::json(&written)),
        Format::Csv => output::print(&table.to_csv()),
        Format::Table => output::print(&table.to_text()),
    }
}
