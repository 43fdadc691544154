//! The log over USART3, which the board's ST-LINK hands to the computer as a serial line beside its
//! debug probe: `dunlin monitor --log /dev/ttyACM0`.

use dunlin_board::log_sinks::LINE;
use embassy_stm32::mode::Async;
use embassy_stm32::peripherals::{DMA1_CH0, PD8, USART3};
use embassy_stm32::usart::{Config, ConfigError, UartTx};
use embassy_stm32::{Peri, bind_interrupts, dma};

/// What `dunlin monitor` takes a serial line for, unless told otherwise.
const BAUD: u32 = 115_200;

bind_interrupts!(struct Interrupts {
    DMA1_STREAM0 => dma::InterruptHandler<DMA1_CH0>;
});

/// Opens the line.
///
/// # Errors
/// The rate cannot be made of the chip's clock.
pub fn open(
    usart: Peri<'static, USART3>,
    pin: Peri<'static, PD8>,
    dma: Peri<'static, DMA1_CH0>,
) -> Result<UartTx<'static, Async>, ConfigError> {
    let mut config = Config::default();
    config.baudrate = BAUD;
    UartTx::new(usart, pin, dma, Interrupts, config)
}

/// Sends the log, for ever.
#[embassy_executor::task]
pub async fn send(mut line: UartTx<'static, Async>) {
    let mut bytes = [0; 64];
    loop {
        let count = LINE.read(&mut bytes).await;
        // A line that nobody listens to takes everything, too.
        let _ = line.write(&bytes[..count]).await;
    }
}
