//! Names: where a request's host is, by the owner's table, by what is remembered, or by the
//! network's word.

use core::net::IpAddr;

use super::connection::Unanswered;
use super::memory::HostMemory;
use super::origin::Origin;
use super::{Board, Failure, Probe, State};
use crate::fetch::{Addresses, Resolve};
use crate::time::Instant;

/// A slot's resolver with the probe's memory before it.
pub(super) struct Names<'n, 'a, B, R> {
    pub probe: &'n Probe<'a, B>,
    /// Who is asked, and whose address is remembered.
    pub origin: Origin<'n>,
    pub resolve: &'n mut R,
    /// Until when the slot's connection may be used again, if it has one: a look-up may take
    /// longer.
    pub kept_until: Option<Instant>,
}

impl<B: Board, R: Resolve> Resolve for Names<'_, '_, B, R> {
    type Error = Unanswered;

    fn owner_address(&self, host: &str) -> Option<IpAddr> {
        self.probe.setup.named(host).map(IpAddr::from)
    }

    fn is_named(&self, name: &str) -> bool {
        self.owner_address(name).is_some() || self.resolve.is_named(name)
    }

    /// One address is enough: the first is the best.
    async fn resolve(&mut self, name: &str) -> Result<Addresses, Unanswered> {
        let found = match self.known_address(name) {
            Some(known) => known,
            None => {
                let found = self.resolve.resolve(name).await.ok();
                let found = found.and_then(|found| found.first().copied());
                self.remember(name, found)?;
                if self.is_connection_too_old() {
                    return Err(Unanswered::Stale);
                }
                found
            }
        };
        let mut addresses = Addresses::new();
        // There is room for one.
        let _ = addresses.push(found.ok_or(Unanswered::Failed(Failure::Name))?);
        Ok(addresses)
    }
}

impl<B: Board, R: Resolve> Names<'_, '_, B, R> {
    fn is_connection_too_old(&self) -> bool {
        self.kept_until
            .is_some_and(|until| until <= self.probe.board.now())
    }

    /// Where the address of this name is remembered: it is that of whom is asked, or the gateway's.
    fn memory<'s>(&self, name: &str, state: &'s mut State<'_>) -> Option<&'s mut HostMemory> {
        let gateway = self.probe.setup.config.gateway;
        match gateway.is_some_and(|gateway| gateway.host == name) {
            true => Some(&mut state.known.origins.gateway),
            false => state.known.origins.get_mut(&self.origin),
        }
    }

    /// Remembers the address of a name, or that there is none.
    ///
    /// # Errors
    /// The name leads into a private network, and has led to the open Internet before.
    #[inline(never)] // Out of the futures' code, which would be larger.
    fn remember(&self, name: &str, found: Option<IpAddr>) -> Result<(), Unanswered> {
        let now = self.probe.board.now();
        let mut state = self.probe.state();
        // While the network is away, no name is to blame.
        let counts = state.online || found.is_some();
        let host = self.memory(name, &mut state);
        let Some(host) = host.filter(|_| counts) else {
            return Ok(());
        };
        if found.is_some_and(|found| !host.may_be_at(found)) {
            host.set_address(None, now);
            return Err(Unanswered::Failed(Failure::PrivateAddress));
        }
        host.set_address(found, now);
        #[cfg(feature = "discover")]
        if self.resolve.is_named(name) {
            host.set_named();
        }
        Ok(())
    }

    /// The address that is remembered of a name; `Some(None)` if it is known to have none.
    #[inline(never)] // Out of the futures' code, which would be larger.
    fn known_address(&self, name: &str) -> Option<Option<IpAddr>> {
        let now = self.probe.board.now();
        let mut state = self.probe.state();
        self.memory(name, &mut state)?.address(now)
    }
}
