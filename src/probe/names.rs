//! Names: where a request's host is, by the owner's table, by what is remembered, or by the
//! network's word.

use core::net::IpAddr;

use super::origin::Origin;
use super::{Board, Failure, Probe};
use crate::fetch::{Addresses, Resolve};

/// A slot's resolver with the probe's memory before it.
pub(super) struct Names<'n, 'a, B, R> {
    pub probe: &'n Probe<'a, B>,
    /// Who is asked, and whose address is remembered.
    pub origin: Origin,
    pub resolve: &'n mut R,
}

impl<B: Board, R: Resolve> Resolve for Names<'_, '_, B, R> {
    type Error = Failure;

    fn owner_address(&self, host: &str) -> Option<IpAddr> {
        self.probe.setup.image.named(host).map(IpAddr::from)
    }

    fn is_named(&self, name: &str) -> bool {
        self.owner_address(name).is_some() || self.resolve.is_named(name)
    }

    /// One address is enough: the first is the best.
    async fn resolve(&mut self, name: &str) -> Result<Addresses, Failure> {
        let found = match self.known_address() {
            Some(known) => known,
            None => {
                let found = self.resolve.resolve(name).await.ok();
                let found = found.and_then(|found| found.first().copied());
                self.remember(found);
                found
            }
        };
        let mut addresses = Addresses::new();
        // There is room for one.
        let _ = addresses.push(found.ok_or(Failure::Name)?);
        Ok(addresses)
    }
}

impl<B: Board, R> Names<'_, '_, B, R> {
    /// Remembers the address of whom is asked, or that there is none.
    #[inline(never)] // Out of the futures' code, which would be larger.
    fn remember(&self, found: Option<IpAddr>) {
        let now = self.probe.board.now();
        let mut state = self.probe.state();
        // While the network is away, no name is to blame.
        let counts = state.online || found.is_some();
        let host = state.known.origins.get_mut(self.origin);
        if let Some(host) = host.filter(|_| counts) {
            host.set_address(found, now);
        }
    }

    /// The address that is remembered of whom is asked; `Some(None)` if it is known to have none.
    #[inline(never)] // Out of the futures' code, which would be larger.
    fn known_address(&self) -> Option<Option<IpAddr>> {
        let now = self.probe.board.now();
        let mut state = self.probe.state();
        state.known.origins.get_mut(self.origin)?.address(now)
    }
}
