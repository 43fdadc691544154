//! Names of servers that the owner named for other things than pages.

use core::net::IpAddr;

use crate::fetch::{Addresses, Resolve};
use crate::image::Image;

/// The owner's table of names in an image, before a resolver: for a collector or a broker, which
/// the owner named.
#[derive(Debug)]
pub struct OwnerNames<'n, 'a, R> {
    /// Whose table it is.
    pub image: &'n Image<'a>,
    /// Turns all other names into addresses.
    pub resolve: &'n mut R,
}

impl<R: Resolve> Resolve for OwnerNames<'_, '_, R> {
    type Error = R::Error;

    fn owner_address(&self, host: &str) -> Option<IpAddr> {
        self.image.named(host).map(IpAddr::from)
    }

    async fn resolve(&mut self, name: &str) -> Result<Addresses, R::Error> {
        self.resolve.resolve(name).await
    }
}
