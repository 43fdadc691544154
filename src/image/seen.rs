//! When pages were last visited by whoever had them, in a section that a reader may skip: a probe
//! that is given a list goes on where the one before it was, and does not begin with all pages at
//! once.
//!
//! | byte | payload |
//! |---|---|
//! | 0 | the price `f32` at which the fleet's probes fetch: what a fetch has to be worth |
//! | 4 | for each page in its order, how many seconds ago it was visited `u32`; all ones for never |

use super::{Image, Tag};
use crate::time::Duration;

/// Bytes of the price, and of each page.
const WORD: usize = 4;

/// What an image says of the latest visits to its pages, before it was made.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What a fetch has to be worth; anything, if the image was not made with care.
    pub price: f32,
    ages: &'a [[u8; WORD]],
}

impl Seen<'_> {
    /// How long ago a page was visited; `None` if nobody has.
    pub fn ago(&self, page: u16) -> Option<Duration> {
        let age = self.ages.get(usize::from(page))?;
        let seconds = u32::from_le_bytes(*age);
        (seconds != u32::MAX).then(|| Duration::from_secs(seconds.into()))
    }
}

impl<'a> Image<'a> {
    /// When its pages were last visited; `None` if it does not say. Work: the headers of the
    /// sections.
    pub fn seen(&self) -> Option<Seen<'a>> {
        let (words, _) = self.section(Tag::SEEN)?.as_chunks::<WORD>();
        let (price, ages) = words.split_first()?;
        let price = f32::from_le_bytes(*price);
        Some(Seen { price, ages })
    }
}

#[cfg(feature = "std")]
impl super::Builder {
    /// Adds what a fetch has to be worth, and how many seconds ago each page was visited by whoever
    /// had it. A firmware that does not know it begins with all pages at once.
    pub fn seen(self, price: f32, ages: &[Option<u32>]) -> Self {
        if ages.iter().all(Option::is_none) {
            return self;
        }
        let mut payload = std::vec::Vec::with_capacity(WORD + WORD * ages.len());
        payload.extend(price.to_le_bytes());
        for age in ages {
            payload.extend(age.unwrap_or(u32::MAX).to_le_bytes());
        }
        self.section(Tag::SEEN, &payload)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::catalog::{Config, Host, Page};
    use crate::image::Builder;

    fn image(ages: &[Option<u32>]) -> std::vec::Vec<u8> {
        let host = Host {
            pages: 2,
            ..Host::new("example.org", 0)
        };
        let pages = ["http://example.org/a", "http://example.org/b"];
        Builder::new(&Config::new("dunlin/0.1"))
            .hosts(&[host])
            .pages(&pages.map(|url| Page::new(0, url)))
            .seen(1.5, ages)
            .build()
            .expect("an image")
    }

    #[test]
    fn ages_are_stored_like_this_and_read_again() {
        let bytes = image(&[None, Some(258)]);
        let image = Image::parse(&bytes).expect("an image");
        let stored = [0, 0, 0xc0, 0x3f, 255, 255, 255, 255, 2, 1, 0, 0];
        assert_eq!(image.section(Tag::SEEN), Some(&stored[..]));
        let seen = image.seen().expect("a section");
        assert_eq!(seen.price, 1.5);
        let ages = [0, 1, 2].map(|page| seen.ago(page));
        assert_eq!(ages, [None, Some(Duration::from_secs(258)), None]);
    }

    #[test]
    fn where_nobody_was_nothing_is_said() {
        let bytes = image(&[None, None]);
        let image = Image::parse(&bytes).expect("an image");
        assert!(image.seen().is_none() && image.section(Tag::SEEN).is_none());
    }
}
