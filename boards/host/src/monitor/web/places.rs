//! Who may have a connection: so many in all, so many an address, and some for those who ask and
//! go.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections at a time; a browser takes one for each open page.
pub const MOST_CONNECTIONS: usize = 32;
/// Connections of one address at a time.
pub const MOST_OF_AN_ADDRESS: usize = 8;
/// Places that no reader of events takes, in all and of each address: events have no end, and
/// whoever asks for figures once has to get in.
pub const KEPT_FREE: usize = 4;

/// The connections that are open.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    all: Count,
    by_address: HashMap<IpAddr, Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    connections: usize,
    /// Those of them that read events.
    readers: usize,
}

/// One of the connections that may be open; its place is free again when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    address: IpAddr,
    reads_events: bool,
}

impl Places {
    /// A place for a client; `None` if there is none left for it.
    pub fn take(&self, client: IpAddr) -> Option<Place> {
        let address = network(client);
        let mut open = self.open();
        let of_address = open.by_address.get(&address).copied().unwrap_or_default();
        if open.all.connections >= MOST_CONNECTIONS || of_address.connections >= MOST_OF_AN_ADDRESS
        {
            return None;
        }
        open.all.connections += 1;
        open.by_address.entry(address).or_default().connections += 1;
        Some(Place {
            places: self.clone(),
            address,
            reads_events: false,
        })
    }

    /// Counts cannot be left half-way, so a thread that panicked has not harmed them.
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// From now on it reads events; false if there are too many that do.
    pub fn read_events(&mut self) -> bool {
        let mut open = self.places.open();
        let of_address = open.by_address.entry(self.address).or_default();
        let fits = of_address.readers < MOST_OF_AN_ADDRESS - KEPT_FREE;
        if !fits || open.all.readers >= MOST_CONNECTIONS - KEPT_FREE {
            return false;
        }
        open.all.readers += 1;
        open.by_address.entry(self.address).or_default().readers += 1;
        self.reads_events = true;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.open();
        let reader = usize::from(self.reads_events);
        open.all.connections -= 1;
        open.all.readers -= reader;
        let of_address = open.by_address.entry(self.address).or_default();
        of_address.connections -= 1;
        of_address.readers -= reader;
        if of_address.connections == 0 {
            open.by_address.remove(&self.address);
        }
    }
}

/// What counts as one address: of IPv6, everybody has a whole network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn an_address_has_eight_places_and_they_come_back() {
        let places = Places::default();
        let mut held: Vec<Place> = (0..8).filter_map(|_| places.take(address(1))).collect();
        assert_eq!(held.len(), 8);
        assert!(places.take(address(1)).is_none());
        assert!(places.take(address(2)).is_some(), "others have their own");
        held.pop();
        assert!(places.take(address(1)).is_some());
        drop(held);
        assert!(places.open().by_address.is_empty(), "nobody is remembered");
    }

    #[test]
    fn readers_of_events_leave_four_places_of_an_address_and_of_all() {
        let places = Places::default();
        let mut readers = Vec::new();
        for last in 0..8 {
            let mut held: Vec<Place> = (0..4).filter_map(|_| places.take(address(last))).collect();
            let more = held
                .iter_mut()
                .filter_map(|place| place.read_events().then_some(()));
            let more = more.count();
            assert_eq!(more, if last < 7 { 4 } else { 0 }, "address {last}");
            if last == 0 {
                let mut one_more = places.take(address(0)).expect("a fifth place");
                assert!(!one_more.read_events(), "a fifth reader of one address");
            }
            held.truncate(more);
            readers.extend(held);
        }
        assert_eq!(readers.len(), MOST_CONNECTIONS - KEPT_FREE);
        let free: Vec<Place> = (0..9)
            .filter_map(|last| places.take(address(last)))
            .collect();
        assert_eq!(free.len(), KEPT_FREE);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let places = Places::default();
        let held: Vec<Place> = (0..20_u16)
            .filter_map(|last| {
                places.take(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last).into())
            })
            .collect();
        assert_eq!(held.len(), MOST_OF_AN_ADDRESS);
        let mapped = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x0a00, 1);
        assert_eq!(network(mapped.into()), address(1));
    }
}
