//! Names: where a request's host is, by the owner's table, by what is remembered, or by the
//! network's word.

use super::origin::Origin;
use super::{Board, Failure, Probe};
use crate::fetch::{Addresses, Resolve};
use crate::scheduler::Storage;

/// A slot's resolver with the probe's memory before it.
pub(super) struct Names<'n, 'a, S: Storage, B, R> {
    pub probe: &'n Probe<'a, S, B>,
    /// Who is asked, and whose address is remembered.
    pub origin: Origin,
    pub resolve: &'n mut R,
}

impl<S: Storage, B: Board, R: Resolve> Resolve for Names<'_, '_, S, B, R> {
    type Error = Failure;

    fn is_named(&self, name: &str) -> bool {
        self.probe.setup.image.named(name).is_some() || self.resolve.is_named(name)
    }

    /// One address is enough: the first is the best.
    async fn resolve(&mut self, name: &str) -> Result<Addresses, Failure> {
        if let Some(address) = self.probe.setup.image.named(name) {
            return Ok([address.into()].into_iter().collect());
        }
        let now = self.probe.board.now();
        let known = {
            let mut state = self.probe.state();
            let host = state.known.origins.get_mut(self.origin);
            host.and_then(|host| host.address(now))
        };
        let found = match known {
            Some(known) => known,
            None => {
                let found = self.resolve.resolve(name).await.ok();
                let found = found.and_then(|found| found.first().copied());
                let now = self.probe.board.now();
                let mut state = self.probe.state();
                // While the network is away, no name is to blame.
                let counts = state.online || found.is_some();
                let host = state.known.origins.get_mut(self.origin);
                if let Some(host) = host.filter(|_| counts) {
                    host.set_address(found, now);
                }
                found
            }
        };
        let address = found.ok_or(Failure::Name)?;
        Ok([address].into_iter().collect())
    }
}
