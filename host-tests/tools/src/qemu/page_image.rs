//! Page images for the QEMU board: made for its capacity, in files that QEMU loads.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dunlin_host::error::Error;
use dunlin_host::lists::listing::Listing;
use dunlin_host::lists::page_image::{self, Capacity};
use dunlin_host::lists::pages::ListedPage;
use object::{Object, ObjectSymbol};

pub use dunlin_host::lists::page_image::{Options, pairs};

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
    options.gateway.is_none() && pages.iter().any(is_https)
        || !options.authorities.is_empty()
        || !listing.pins.is_empty()
}

/// An image in a file of its own, removed when dropped.
#[derive(Debug)]
pub struct ImageFile {
    pub path: PathBuf,
    /// Where the firmware expects it.
    pub address: u64,
}

impl ImageFile {
    /// Writes `bytes` for the firmware `elf`.
    pub fn write(bytes: &[u8], elf: &Path) -> Result<Self> {
        let elf = fs::read(elf)?;
        let file = object::File::parse(&*elf)?;
        let symbol = |name| {
            file.symbols()
                .find(|symbol| symbol.name() == Ok(name))
                .map(|symbol| symbol.address())
        };
        let (start, end) = symbol("_image_start")
            .zip(symbol("_image_end"))
            .context("the firmware has no place for images")?;
        let room = (end - start) as usize;
        ensure!(
            bytes.len() <= room,
            "the page image takes {} bytes, the firmware has room for {room}",
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
