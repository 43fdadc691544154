//! Page images for the QEMU board: made for its capacity, in files that QEMU loads.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dunlin_host::error::Error;
use dunlin_host::filter::Filter;
use dunlin_host::lists::listing::Listing;
use dunlin_host::lists::page_image::{self, Capacity};
use dunlin_host::lists::pages::ListedPage;
use object::{Object, ObjectSymbol};

pub use dunlin_host::lists::page_image::{Options, pairs};

use crate::firmware::budgets;
use crate::qemu::temporary;
use qemu_mps2_capacity::{HOSTS, PAGES};

/// Makes the image, or says why this firmware cannot run on such a list.
///
/// # Errors
/// [`Error::Usage`]
pub fn build(listing: &Listing, options: &Options) -> Result<(Vec<u8>, Vec<usize>), Error> {
    page_image::build(
        listing,
        options,
        Capacity {
            pages: PAGES,
            hosts: HOSTS,
            https: wants_https(listing, options),
            ipv6: false,
        },
    )
}

/// Does this list ask for a firmware that speaks https itself? It has an https page and no gateway,
/// or says whom to trust.
pub fn wants_https(listing: &Listing, options: &Options) -> bool {
    let is_https = |page: &ListedPage| page.url.starts_with("https:");
    let pages = &listing.list.pages;
    let updates = options.update_url.as_deref();
    let updates = updates.is_some_and(|url| url.starts_with("https:"));
    options.gateway.is_none() && (updates || pages.iter().any(is_https))
        || !options.authorities.is_empty()
        || !listing.pins.is_empty()
}

/// The features of a firmware that does what this list and these options ask for.
pub fn features(listing: &Listing, options: &Options) -> Vec<String> {
    let asked = [
        (budgets::COLLECT, options.collector.is_some()),
        (budgets::DISCOVER, options.discovery.is_some()),
        (budgets::FILTER, listing.list.pages.iter().any(is_filtered)),
        (budgets::HEADERS, !listing.headers.is_empty()),
        (budgets::HINTS, !listing.tellers.is_empty()),
        (budgets::HTTPS, wants_https(listing, options)),
        (budgets::UPDATE, options.update_url.is_some()),
    ];
    let asked = asked.into_iter().filter(|(_, asked)| *asked);
    asked.map(|(feature, _)| feature.to_owned()).collect()
}

/// Does the list say what of a page counts, so that a probe can follow it?
fn is_filtered(page: &ListedPage) -> bool {
    let markers = |filter: &Filter| !filter.ignore.is_empty() || filter.css().is_none();
    page.filter.as_ref().is_some_and(markers)
}

/// An image in a file of its own, removed when dropped.
#[derive(Debug)]
pub struct ImageFile {
    pub path: PathBuf,
    /// Where the firmware expects it.
    pub address: u64,
}

impl ImageFile {
    /// Writes a page image for the firmware `elf`.
    pub fn write(bytes: &[u8], elf: &Path) -> Result<Self> {
        Self::write_at(["_image_start", "_image_end"], bytes, elf)
    }

    /// Writes what a device is told by a cable alone, for the firmware `elf`.
    pub fn write_settings(bytes: &[u8], elf: &Path) -> Result<Self> {
        Self::write_at(["_settings_start", "_settings_end"], bytes, elf)
    }

    fn write_at([start, end]: [&str; 2], bytes: &[u8], elf: &Path) -> Result<Self> {
        let elf = fs::read(elf)?;
        let file = object::File::parse(&*elf)?;
        let symbol = |name| {
            file.symbols()
                .find(|symbol| symbol.name() == Ok(name))
                .map(|symbol| symbol.address())
        };
        let (start, end) = symbol(start)
            .zip(symbol(end))
            .with_context(|| format!("the firmware has no {start}"))?;
        let room = (end - start) as usize;
        ensure!(
            bytes.len() <= room,
            "found {} bytes to be loaded, the firmware has room for {room}",
            bytes.len()
        );
        let path = temporary("image");
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            path,
            address: start,
        })
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
