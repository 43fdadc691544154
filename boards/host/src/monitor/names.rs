//! What the log's numbers stand for: places in the page image that the probe runs on.

use dunlin::image::{Image, ImageError};
use dunlin::learn::Prior;
use dunlin::time::Duration;

use crate::error::Error;
use crate::lists::listing::Listing;
use crate::lists::page_image::{self, Capacity, Options};

/// Pages and hosts, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The pages, by their numbers.
    pub pages: Vec<PageName>,
    /// The hosts, by their numbers.
    pub hosts: Vec<HostName>,
}

/// What is known of a page beforehand.
#[derive(Clone, Debug)]
pub struct PageName {
    /// The URL of the page.
    pub url: String,
    /// What the list calls it.
    pub name: Option<String>,
    /// The list does not have it: it is listened to for what it says about others.
    pub is_teller: bool,
    /// The number of its host.
    pub host: u16,
    /// How important the page is.
    pub weight: f32,
    /// What is believed about its changes, if anything is.
    pub prior: Option<Prior>,
}

/// What is known of a host beforehand.
#[derive(Clone, Debug)]
pub struct HostName {
    /// The host, as `name` or `name:port`.
    pub name: String,
    /// Least time between two requests.
    pub gap: Duration,
    /// The host whose gate it shares: itself, as a rule.
    pub gate: u16,
}

impl Names {
    /// From the page list that the image was made from.
    ///
    /// # Errors
    /// A list that no image can be made from.
    pub fn from_listing(listing: &Listing) -> Result<Self, Error> {
        let capacity = Capacity {
            pages: u16::MAX.into(),
            hosts: u16::MAX.into(),
            https: true,
            ipv6: true,
        };
        let (image, order) = page_image::build(listing, &Options::default(), capacity)?;
        let names = Image::parse(&image).and_then(|image| Self::of(&image));
        let mut names = names.map_err(|why| Error::Usage(why.to_string()))?;
        for (index, page) in names.pages.iter_mut().enumerate() {
            let listed = order
                .get(index)
                .and_then(|place| listing.list.pages.get(*place));
            page.is_teller = listed.is_none();
            page.name = listed.and_then(|listed| listed.name.clone());
        }
        Ok(names)
    }

    /// From the image itself.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn of(image: &Image<'_>) -> Result<Self, ImageError> {
        let page = |index: usize| {
            let page = image.page(index)?;
            let prior = page.rate.map(|rate| Prior::new(rate, page.confidence));
            Ok(PageName {
                url: page.url.to_owned(),
                name: None,
                is_teller: false,
                host: page.host,
                weight: page.weight,
                prior,
            })
        };
        let host = |index: usize| {
            let host = image.host(index)?;
            let gap = Duration::from_millis(host.gap_ms.into());
            Ok(HostName {
                name: host.name.to_owned(),
                gap,
                gate: host.gate,
            })
        };
        Ok(Self {
            pages: (0..image.pages())
                .map(page)
                .collect::<Result<_, ImageError>>()?,
            hosts: (0..image.hosts())
                .map(host)
                .collect::<Result<_, ImageError>>()?,
        })
    }
}
