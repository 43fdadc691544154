//! Ethernet: a LAN9118 for embassy-net. The interrupt wakes the network task, which drains the chip
//! at once; between frames nothing runs.

use core::task::Context;

use cortex_m::peripheral::NVIC;
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use lan9118::{Bus, Chip, MTU, NotThere, register};

use crate::interrupts::{self, Line};
use crate::register::Register;

const BASE: usize = 0x4020_0000;
// SAFETY: the chip's interrupt enable register; raises a line, touches no memory.
const INTERRUPT_ENABLE: Register = unsafe { Register::at(BASE + register::INT_EN) };

static WAKER: AtomicWaker = AtomicWaker::new();

/// The chip on this board's bus. There is one: made by [`start`] only.
#[derive(Debug)]
pub struct BoardBus(());

impl BoardBus {
    fn register(offset: usize) -> Register {
        // SAFETY: every offset that `lan9118` names is a register of the LAN9118, which has no DMA.
        unsafe { Register::at(BASE + (offset & 0xfc)) }
    }
}

impl Bus for BoardBus {
    fn read(&mut self, offset: usize) -> u32 {
        Self::register(offset).read()
    }

    fn write(&mut self, offset: usize, value: u32) {
        Self::register(offset).write(value);
    }
}

/// The driver, with room for one frame each way.
#[derive(Debug)]
pub struct Ethernet {
    chip: Chip<BoardBus>,
    address: [u8; 6],
    link_up: bool,
    received: [u8; MTU],
    to_send: [u8; MTU],
}

/// Starts the chip. Call once.
///
/// # Errors
/// [`NotThere`], when QEMU runs without it.
pub fn start(address: [u8; 6]) -> Result<Ethernet, NotThere> {
    let mut chip = Chip::start(BoardBus(()), address)?;
    let link_up = chip.link_is_up();
    // SAFETY: the handler is installed in `interrupts`, and no code relies on this line being
    // masked.
    unsafe { NVIC::unmask(Line(interrupts::ETHERNET)) };
    Ok(Ethernet {
        chip,
        address,
        link_up,
        received: [0; MTU],
        to_send: [0; MTU],
    })
}

/// The interrupt handler: silent until the network task has drained the chip and asks for the next
/// one.
pub(crate) extern "C" fn on_interrupt() {
    INTERRUPT_ENABLE.write(0);
    WAKER.wake();
}

/// A frame that has arrived.
#[derive(Debug)]
pub struct Received<'a>(&'a mut [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, work: F) -> R {
        work(self.0)
    }
}

/// Room for a frame to send.
#[derive(Debug)]
pub struct Send<'a> {
    chip: &'a mut Chip<BoardBus>,
    buffer: &'a mut [u8; MTU],
}

impl TxToken for Send<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, work: F) -> R {
        // The stack keeps to the MTU it was told.
        let frame = self.buffer.get_mut(..length).unwrap_or_default();
        let result = work(frame);
        self.chip.send(frame);
        result
    }
}

impl Ethernet {
    /// Is there room for a frame? If not, there will be an interrupt.
    fn can_send(&mut self) -> bool {
        self.chip.can_send() || !self.chip.await_room()
    }
}

impl Driver for Ethernet {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Send<'a>;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(Received<'_>, Send<'_>)> {
        WAKER.register(context.waker());
        let length = loop {
            // No room to answer, no frame: it stays in the chip.
            if !self.can_send() {
                return None;
            }
            match self.chip.receive(&mut self.received) {
                Some(length) => break length,
                None if self.chip.listen() => return None,
                // One came in between.
                None => {}
            }
        };
        let frame = self.received.get_mut(..length)?;
        Some((
            Received(frame),
            Send {
                chip: &mut self.chip,
                buffer: &mut self.to_send,
            },
        ))
    }

    fn transmit(&mut self, context: &mut Context<'_>) -> Option<Send<'_>> {
        WAKER.register(context.waker());
        if !self.can_send() {
            return None;
        }
        Some(Send {
            chip: &mut self.chip,
            buffer: &mut self.to_send,
        })
    }

    fn link_state(&mut self, context: &mut Context<'_>) -> LinkState {
        WAKER.register(context.waker());
        if self.chip.link_changed() {
            self.link_up = self.chip.link_is_up();
        }
        if self.link_up {
            LinkState::Up
        } else {
            LinkState::Down
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = MTU;
        // Not 1: the stack would offer a TCP window of a single frame.
        capabilities.max_burst_size = Some(6);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.address)
    }
}
