#![no_std]
#![forbid(unsafe_code)]
//! The registers of a LAN9118 Ethernet controller, over any bus: the emulated board's, or a model
//! of the chip in a test.
//!
//! Facts are from the LAN9118 data sheet (§3, §5); where QEMU's model differs, the code says so.
//! Every loop is bounded: a chip that does not answer must not stop the firmware.

/// Reads and writes 32-bit registers by their offset.
pub trait Bus {
    /// One read. The FIFOs give another word each time.
    fn read(&mut self, offset: usize) -> u32;
    /// Writes a word to the register at this offset.
    fn write(&mut self, offset: usize, value: u32);
}

/// Where the registers are, from the chip's first byte on.
pub mod register {
    #![allow(missing_docs)] // Named as in the data sheet.
    pub const RX_DATA: usize = 0x00;
    pub const TX_DATA: usize = 0x20;
    pub const RX_STATUS: usize = 0x40;
    pub const TX_STATUS: usize = 0x48;
    pub const IRQ_CFG: usize = 0x54;
    pub const INT_STS: usize = 0x58;
    pub const INT_EN: usize = 0x5c;
    pub const BYTE_TEST: usize = 0x64;
    pub const FIFO_INT: usize = 0x68;
    pub const RX_CFG: usize = 0x6c;
    pub const TX_CFG: usize = 0x70;
    pub const HW_CFG: usize = 0x74;
    pub const RX_FIFO_INF: usize = 0x7c;
    pub const TX_FIFO_INF: usize = 0x80;
    pub const MAC_CSR_CMD: usize = 0xa4;
    pub const MAC_CSR_DATA: usize = 0xa8;
}
use register as r;

/// `INT_STS`: frames wait to be read.
pub const FRAMES: u32 = 1 << 3;
/// `INT_STS`: the transmitter has room for a frame again.
pub const ROOM: u32 = 1 << 9;
/// `INT_STS`: the PHY has news about the link.
pub const LINK: u32 = 1 << 18;
/// The longest frame, without its checksum.
pub const MTU: usize = 1514;

/// What a frame takes of the transmitter's FIFO: two words of commands, and ends that are rounded
/// up.
const FRAME_ROOM: usize = MTU + 16;
/// `FIFO_INT` counts the transmitter's room in blocks of 64 bytes, and [`ROOM`] means more than so
/// many.
const ROOM_LEVEL: u32 = (FRAME_ROOM as u32).div_ceil(64) << 24;

/// Header of an Ethernet frame: what is shorter is no frame.
const SHORTEST: usize = 14;
/// The frame check sequence, which the chip counts and we do not want.
const CHECKSUM: usize = 4;
/// What `BYTE_TEST` reads when the bus works.
const BYTE_ORDER: u32 = 0x8765_4321;
/// Frames thrown away in one call: as many as the chip's FIFO can hold of the shortest.
const MOST_DROPPED: usize = 176;

// The MAC's own registers, behind MAC_CSR_CMD.
const MAC_CR: u32 = 1;
const MAC_ADDRESS_HIGH: u32 = 2;
const MAC_ADDRESS_LOW: u32 = 3;
const MII_ACCESS: u32 = 6;
const MII_DATA: u32 = 7;
// The PHY's registers, behind MII_ACCESS.
const PHY_STATUS: u32 = 1;
const PHY_INTERRUPT_SOURCE: u32 = 29;
const PHY_INTERRUPT_MASK: u32 = 30;

/// The chip did not say who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotThere {
    /// What it said instead of `BYTE_ORDER`.
    pub found: u32,
}

/// The chip, reached over a bus.
#[derive(Debug)]
pub struct Chip<B> {
    bus: B,
}

impl<B: Bus> Chip<B> {
    /// Resets the chip and switches receiver and transmitter on; interrupts stay off until
    /// [`Self::listen`].
    ///
    /// # Errors
    /// [`NotThere`], if something else is at its place.
    pub fn start(mut bus: B, address: [u8; 6]) -> Result<Self, NotThere> {
        bus.write(r::HW_CFG, 1);
        let found = bus.read(r::BYTE_TEST);
        if found != BYTE_ORDER {
            return Err(NotThere { found });
        }
        for (offset, value) in [
            (r::INT_EN, 0),
            (r::INT_STS, !0),
            // Active high, push-pull, enabled: otherwise the line is inverted.
            (r::IRQ_CFG, 0x111),
            // A single frame interrupts.
            (r::FIFO_INT, ROOM_LEVEL),
            (r::TX_CFG, 0b10),
            (r::RX_CFG, 0),
        ] {
            bus.write(offset, value);
        }
        let mut chip = Self { bus };
        let [a, b, c, d, e, f] = address;
        chip.mac_write(MAC_ADDRESS_LOW, u32::from_le_bytes([a, b, c, d]));
        chip.mac_write(MAC_ADDRESS_HIGH, u32::from_le_bytes([e, f, 0, 0]));
        let control = chip.mac_read(MAC_CR);
        chip.mac_write(MAC_CR, control | 0b1100); // receiver and transmitter on
        chip.phy_write(PHY_INTERRUPT_MASK, 0b1101_0000); // energy on, negotiated, link down
        Ok(chip)
    }

    /// Is there a carrier?
    pub fn link_is_up(&mut self) -> bool {
        // Reading the source clears it; only then is the chip's own flag free to be set again.
        self.phy_read(PHY_INTERRUPT_SOURCE);
        self.bus.write(r::INT_STS, LINK);
        self.phy_read(PHY_STATUS) & 0b100 != 0
    }

    /// Has the link changed since [`Self::link_is_up`] was asked?
    pub fn link_changed(&mut self) -> bool {
        self.bus.read(r::INT_STS) & LINK != 0
    }

    /// Asks for an interrupt when a frame arrives or the link changes. False if a frame is there
    /// already.
    pub fn listen(&mut self) -> bool {
        self.bus.write(r::INT_STS, FRAMES);
        if self.frames_waiting() > 0 {
            return false;
        }
        // A frame that came since has set its flag again, and interrupts at once.
        self.bus.write(r::INT_EN, FRAMES | LINK);
        true
    }

    /// Reads the next good frame into `frame`: its length, or `None` if no frame waits. Runts,
    /// giants and frames with errors are read and forgotten: skipping without reading (RX_DP_CTRL)
    /// is broken in QEMU.
    pub fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        for _ in 0..MOST_DROPPED {
            if self.frames_waiting() == 0 {
                return None;
            }
            let status = self.bus.read(r::RX_STATUS);
            let length = (status >> 16 & 0x3fff) as usize;
            let words = length.div_ceil(4);
            let body = length.saturating_sub(CHECKSUM);
            let good = status & 1 << 15 == 0 && (SHORTEST..=frame.len()).contains(&body);
            let place = if good { frame.get_mut(..body) } else { None }.unwrap_or_default();
            let (whole, mut rest) = place.as_chunks_mut::<4>();
            for word in &mut *whole {
                *word = self.bus.read(r::RX_DATA).to_le_bytes();
            }
            // Bytes that are left, and a checksum that nobody wants.
            for _ in whole.len()..words {
                let bytes = self.bus.read(r::RX_DATA).to_le_bytes();
                let rest = core::mem::take(&mut rest);
                rest.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            }
            if good {
                return Some(body);
            }
        }
        None
    }

    /// Is there room for a frame of the greatest length?
    pub fn can_send(&mut self) -> bool {
        let info = self.bus.read(r::TX_FIFO_INF);
        // What became of earlier frames is of no interest, but a full status FIFO would stop the
        // transmitter.
        for _ in 0..info >> 16 & 0xff {
            self.bus.read(r::TX_STATUS);
        }
        (info & 0xffff) as usize >= FRAME_ROOM
    }

    /// Asks for an interrupt when [`Self::can_send`] may have become true. False if it has already.
    /// Frames that arrive meanwhile do not interrupt: without room for answers, nobody reads them.
    /// QEMU sends at once, and has always room.
    pub fn await_room(&mut self) -> bool {
        self.bus.write(r::INT_STS, ROOM);
        if self.can_send() {
            return false;
        }
        self.bus.write(r::INT_EN, ROOM | LINK);
        true
    }

    /// Sends a frame. Ask [`Self::can_send`] before.
    pub fn send(&mut self, frame: &[u8]) {
        let length = frame.len().min(MTU);
        let frame = frame.get(..length).unwrap_or_default();
        self.bus
            .write(r::TX_DATA, 1 << 13 | 1 << 12 | length as u32); // first and last piece
        self.bus.write(r::TX_DATA, length as u32);
        let (words, rest) = frame.as_chunks::<4>();
        for word in words {
            self.bus.write(r::TX_DATA, u32::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 4];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.bus.write(r::TX_DATA, u32::from_le_bytes(word));
        }
    }

    fn frames_waiting(&mut self) -> u32 {
        self.bus.read(r::RX_FIFO_INF) >> 16 & 0xff
    }

    fn mac_read(&mut self, register: u32) -> u32 {
        self.bus.write(r::MAC_CSR_CMD, 0xc000_0000 | register);
        self.wait_for_mac();
        self.bus.read(r::MAC_CSR_DATA)
    }

    fn mac_write(&mut self, register: u32, value: u32) {
        self.bus.write(r::MAC_CSR_DATA, value);
        self.bus.write(r::MAC_CSR_CMD, 0x8000_0000 | register);
        self.wait_for_mac();
    }

    fn wait_for_mac(&mut self) {
        for _ in 0..1_000 {
            if self.bus.read(r::MAC_CSR_CMD) & 1 << 31 == 0 {
                return;
            }
        }
    }

    fn phy_read(&mut self, register: u32) -> u32 {
        self.mac_write(MII_ACCESS, 1 << 11 | register << 6 | 1);
        self.mac_read(MII_DATA)
    }

    fn phy_write(&mut self, register: u32, value: u32) {
        self.mac_write(MII_DATA, value);
        self.mac_write(MII_ACCESS, 1 << 11 | register << 6 | 0b11);
    }
}
