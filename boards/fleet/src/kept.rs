//! A list in a device's flash: what is written before it, how it gets there, and whose it is.

use dunlin::fleet::list_digest;
use dunlin::probe::FleetEvent;

use crate::link::Broker;
use crate::list::Device;

/// How a place begins that holds a list. Its last byte is the version of the header: one of another
/// version is none, and the planner sends the list again.
const MAGIC: u32 = 0x6466_6c32;
/// Magic, version, length, the digest of the list with the version in it, and owner.
const WORDS: usize = 5;
/// What is written in one go: a page of the RP2350's flash, eight words of an STM32H7's. The first
/// of a place has the header, and is written last.
pub const CHUNK: usize = 256;

/// A part of flash that holds one list.
pub trait Place {
    /// Bytes that are erased in one go.
    const SECTOR: usize;
    /// Erases the sector that begins at this byte of the place; false if it cannot.
    fn erase(&mut self, from: usize) -> bool;
    /// Writes a chunk at this byte of the place; false if it cannot.
    fn write(&mut self, at: usize, chunk: &[u8; CHUNK]) -> bool;
    /// The whole place, as it is now.
    fn bytes(&self) -> &[u8];
    /// Something to be logged.
    fn tell(&mut self, event: FleetEvent);
}

/// A list that was found in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptList<'a> {
    /// The version that the planner gave it.
    pub version: u32,
    /// The list itself, as a page image.
    pub image: &'a [u8],
}

/// What tells a probe of one fleet from another probe, and from one of another fleet. Versions of
/// lists are counted for each of them: a device that was given other credentials must not take the
/// list it had for one of theirs.
pub fn owner(broker: &Broker<'_>) -> u32 {
    let port = broker.port.to_le_bytes();
    let parts = [
        broker.host.as_bytes(),
        &port,
        broker.fleet.as_bytes(),
        broker.probe.as_bytes(),
        broker.user.as_bytes(),
    ];
    // FNV-1a, with a zero behind each part.
    let bytes = parts.into_iter().flat_map(|part| part.iter().chain(&[0]));
    bytes.fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// The list that a place holds, if it is whole and this owner's. Work: one look at each byte of it.
pub fn find(place: &[u8], owner: u32) -> Option<KeptList<'_>> {
    let (header, rest) = place.split_at_checked(CHUNK)?;
    let mut words = header.as_chunks().0.iter().copied().map(u32::from_le_bytes);
    let magic = words.next()?;
    let version = words.next()?;
    let length = words.next()?;
    let digest = words.next()?;
    let whose = words.next()?;
    let image = rest.get(..length as usize)?;
    let is_its = magic == MAGIC && version > 0 && whose == owner;
    (is_its && list_digest(image) ^ version == digest).then_some(KeptList { version, image })
}

/// Takes a list on its way into a place. A sector is erased when the first byte of it comes, so
/// that no call stops the device for longer than one erase or two.
#[derive(Debug)]
pub struct ListWriter<P> {
    place: P,
    owner: u32,
    /// Can the device run on that?
    fits: fn(&[u8]) -> bool,
    /// Bytes that were announced, …
    announced: usize,
    /// … those that are in flash, behind the header, …
    length: usize,
    /// … and those that do not fill a chunk yet.
    chunk: [u8; CHUNK],
    held: usize,
    /// Bytes of the place, from its beginning, that are erased.
    erased: usize,
}

impl<P: Place> ListWriter<P> {
    /// For a place that is not in use, of a device that can run on what `fits`.
    pub fn new(place: P, owner: u32, fits: fn(&[u8]) -> bool) -> Self {
        Self {
            place,
            owner,
            fits,
            announced: 0,
            length: 0,
            chunk: [0; CHUNK],
            held: 0,
            erased: 0,
        }
    }

    /// Erases as much of the place as has to be for so many bytes.
    fn erase_to(&mut self, end: usize) -> bool {
        while self.erased < end {
            if !self.place.erase(self.erased) {
                return false;
            }
            self.erased += P::SECTOR;
        }
        true
    }

    /// Writes what is held, and ones behind it.
    fn flush(&mut self) -> bool {
        let at = CHUNK + self.length;
        if let Some(rest) = self.chunk.get_mut(self.held..) {
            rest.fill(0xff);
        }
        let written = self.erase_to(at + CHUNK) && self.place.write(at, &self.chunk);
        self.length += self.held;
        self.held = 0;
        written
    }
}

impl<P: Place> Device for ListWriter<P> {
    fn room(&self) -> u32 {
        self.place.bytes().len().saturating_sub(CHUNK) as u32
    }

    fn begin(&mut self, length: u32) -> bool {
        (self.length, self.held, self.erased) = (0, 0, 0);
        self.announced = length as usize;
        // With its header goes the list that was there.
        self.erase_to(CHUNK)
    }

    fn write(&mut self, mut bytes: &[u8]) -> bool {
        if self.length + self.held + bytes.len() > self.announced.min(self.room() as usize) {
            return false;
        }
        while !bytes.is_empty() {
            let free = self.chunk.get_mut(self.held..).unwrap_or_default();
            let (now, later) = bytes.split_at(free.len().min(bytes.len()));
            for (to, from) in free.iter_mut().zip(now) {
                *to = *from;
            }
            self.held += now.len();
            bytes = later;
            let is_last = self.length + self.held == self.announced;
            if (self.held == CHUNK || is_last) && !self.flush() {
                return false;
            }
        }
        true
    }

    fn written(&self) -> &[u8] {
        let list = self.place.bytes().get(CHUNK..);
        let list = list.and_then(|list| list.get(..self.length));
        list.unwrap_or_default()
    }

    fn keep(&mut self, version: u32) -> bool {
        let list = self.written();
        if !(self.fits)(list) {
            return false;
        }
        let length = list.len() as u32;
        let header: [u32; WORDS] = [
            MAGIC,
            version,
            length,
            list_digest(list) ^ version,
            self.owner,
        ];
        let mut chunk = [0xff; CHUNK];
        for (to, word) in chunk.chunks_exact_mut(4).zip(header) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        self.place.write(0, &chunk)
    }

    fn tell(&mut self, event: FleetEvent) {
        self.place.tell(event);
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    const SECTOR: usize = 1024;

    /// Flash that can be written where it is erased, and nowhere else.
    struct Ram {
        bytes: Vec<u8>,
        /// Chunks that can still be written before the power fails.
        power: usize,
    }

    impl Ram {
        fn new() -> Self {
            Self {
                // What was there before.
                bytes: vec![0x5a; 4 * SECTOR],
                power: usize::MAX,
            }
        }
    }

    impl Place for &mut Ram {
        const SECTOR: usize = SECTOR;

        fn erase(&mut self, from: usize) -> bool {
            assert!(from.is_multiple_of(SECTOR), "{from}");
            self.bytes[from..from + SECTOR].fill(0xff);
            true
        }

        fn write(&mut self, at: usize, chunk: &[u8; CHUNK]) -> bool {
            assert!(at.is_multiple_of(CHUNK), "{at}");
            let place = &mut self.bytes[at..at + CHUNK];
            assert!(place.iter().all(|byte| *byte == 0xff), "{at} is not erased");
            let Some(power) = self.power.checked_sub(1) else {
                return false;
            };
            self.power = power;
            place.copy_from_slice(chunk);
            true
        }

        fn bytes(&self) -> &[u8] {
            &self.bytes
        }

        fn tell(&mut self, _: FleetEvent) {}
    }

    fn broker<'a>(url: &'a str, user: &'a str) -> Broker<'a> {
        Broker::told(url, user, Some("secret")).expect("a broker")
    }

    fn list(length: usize) -> Vec<u8> {
        (0..length).map(|byte| (byte % 251) as u8).collect()
    }

    /// Puts a list into a place, in pieces of so many bytes.
    fn put(ram: &mut Ram, owner: u32, version: u32, list: &[u8], pieces: usize) -> bool {
        let mut writer = ListWriter::new(ram, owner, |list| !list.is_empty());
        let begun = writer.begin(list.len() as u32);
        let written = list.chunks(pieces).all(|piece| writer.write(piece));
        begun && written && writer.written() == list && writer.keep(version)
    }

    #[test]
    fn a_list_is_found_again_by_the_probe_that_took_it_and_by_no_other() {
        const URL: &str = "mqtt://192.0.2.1:1884/roofs";
        let mut ram = Ram::new();
        let whose = owner(&broker(URL, "north"));
        for (length, pieces) in [(1, 1), (256, 100), (700, 7), (4 * SECTOR - CHUNK, 512)] {
            let list = list(length);
            let version = length as u32;
            assert!(put(&mut ram, whose, version, &list, pieces));
            let found = find(&ram.bytes, whose).expect("the list");
            assert_eq!((found.version, found.image), (version, &list[..]));
        }
        // Another probe, another fleet, another broker: a list of that version may be theirs, too.
        for (url, user) in [
            (URL, "south"),
            ("mqtt://192.0.2.1:1884/cellars", "north"),
            ("mqtt://192.0.2.2:1884/roofs", "north"),
            ("mqtt://192.0.2.1/roofs", "north"),
        ] {
            let found = find(&ram.bytes, owner(&broker(url, user)));
            assert!(found.is_none(), "{user} at {url}");
        }
        // A password that was changed makes nobody another.
        let again = Broker::told(URL, "north", Some("other")).expect("a broker");
        assert!(find(&ram.bytes, owner(&again)).is_some());
    }

    #[test]
    fn a_list_that_was_not_finished_or_is_damaged_is_none() {
        let list = list(900);
        let chunks = 900_usize.div_ceil(CHUNK) + 1;
        for power in 0..chunks {
            let mut ram = Ram::new();
            assert!(put(&mut ram, 7, 1, &list, 900));
            ram.power = power;
            assert!(!put(&mut ram, 7, 2, &list, 900));
            assert!(find(&ram.bytes, 7).is_none(), "power for {power} chunks");
        }
        let mut ram = Ram::new();
        assert_eq!(find(&ram.bytes, 7), None);
        assert!(put(&mut ram, 7, 1, &list, 900));
        // Each byte of the header that says something, and one of the list.
        for place in (0..4 * WORDS).chain([CHUNK + 800]) {
            ram.bytes[place] ^= 0x40;
            assert!(find(&ram.bytes, 7).is_none(), "byte {place}");
            ram.bytes[place] ^= 0x40;
        }
        assert!(find(&ram.bytes, 7).is_some());
        // What came before there were owners: nobody knows whose it is.
        ram.bytes[0] = b'1';
        assert_eq!(find(&ram.bytes, 7), None);
        assert_eq!(find(&ram.bytes[..CHUNK - 1], 7), None);
    }

    #[test]
    fn what_is_longer_than_announced_or_than_the_place_is_not_written() {
        let mut ram = Ram::new();
        let mut writer = ListWriter::new(&mut ram, 7, |_| true);
        assert_eq!(writer.room() as usize, 4 * SECTOR - CHUNK);
        assert!(writer.begin(10) && writer.write(&[1; 8]) && !writer.write(&[1; 3]));
        assert!(writer.begin(u32::MAX) && !writer.write(&list(4 * SECTOR)));
        let mut writer = ListWriter::new(&mut ram, 7, |list| list.len() > 5);
        assert!(writer.begin(3) && writer.write(&[1; 3]) && !writer.keep(1));
    }
}
