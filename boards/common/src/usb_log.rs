//! The log as a serial line over the RP2350's USB port: `dunlin monitor --log /dev/ttyACM0`.

use embassy_executor::Spawner;
use embassy_futures::join::join;
use embassy_rp::peripherals::USB;
use embassy_rp::usb::{self, Driver};
use embassy_rp::{Peri, bind_interrupts};
use embassy_usb::class::cdc_acm::{CdcAcmClass, State};
use embassy_usb::{Builder, Config};
use static_cell::StaticCell;

use crate::log_sinks::LINE;
use crate::probe::spawn;

/// Of pid.codes, for tests and private use: the line is recognised by its class, not by this.
const VENDOR: u16 = 0x1209;
const PRODUCT: u16 = 0x0001;
/// Bytes in a packet at full speed.
const PACKET: usize = 64;

bind_interrupts!(struct Interrupts {
    USBCTRL_IRQ => usb::InterruptHandler<USB>;
});

/// Starts the port. Call once, page list or not: the log says what is missing.
pub fn start(spawner: Spawner, port: Peri<'static, USB>, board: &'static str) {
    spawn(spawner, line(port, board));
}

/// Keeps the port going, and sends the log to whoever has it open.
#[embassy_executor::task]
async fn line(port: Peri<'static, USB>, board: &'static str) {
    static CONFIGURATION: StaticCell<[u8; 128]> = StaticCell::new();
    static CONTROL: StaticCell<[u8; 64]> = StaticCell::new();
    static STATE: StaticCell<State<'static>> = StaticCell::new();
    let mut config = Config::new(VENDOR, PRODUCT);
    config.manufacturer = Some("dunlin");
    config.product = Some(board);
    let mut builder = Builder::new(
        Driver::new(port, Interrupts),
        config,
        CONFIGURATION.init([0; 128]),
        &mut [],
        &mut [],
        CONTROL.init([0; 64]),
    );
    let mut class = CdcAcmClass::new(&mut builder, STATE.init(State::new()), PACKET as u16);
    let mut device = builder.build();
    let send = async {
        // A short packet ends a transfer, so that none waits for more in the computer's driver.
        let mut packet = [0; PACKET - 1];
        loop {
            class.wait_connection().await;
            loop {
                let count = LINE.read(&mut packet).await;
                // Waits until somebody has opened the line.
                if class.write_packet(&packet[..count]).await.is_err() {
                    break;
                }
            }
        }
    };
    join(device.run(), send).await;
}
