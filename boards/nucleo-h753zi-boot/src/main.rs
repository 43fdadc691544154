#![no_std]
#![no_main]
//! The boot loader: firmware is swapped in or back if need be, and started from where it lies. It
//! runs as the chip wakes up, on the internal oscillator.
//!
//! It has no log and no cryptography: what lies in its slot is started, whoever put it there.

use core::panic::PanicInfo;

use boot_chain::{AlignedBuffer, Part, StateWords, start};
use embassy_stm32::pac::IWDG1;
use embassy_stm32::pac::iwdg::vals::{Key, Pr};
use nucleo_h753zi_flash::{BASE, EccFlash, WORD};

/// Bytes that are copied at once.
const PIECE: usize = 4096;
/// The watchdog's count, at 32 kHz divided by 128: ten seconds, as in the firmware. Erasing a
/// sector takes four at most.
const PATIENCE: u16 = 2_500;

unsafe extern "C" {
    static _boot_state_start: u8;
    static _boot_state_end: u8;
    static _active_start: u8;
    static _active_end: u8;
    static _dfu_start: u8;
    static _dfu_end: u8;
}

#[cortex_m_rt::entry]
fn main() -> ! {
    // Before anything can hang.
    IWDG1.kr().write(|key| key.set_key(Key::START));
    IWDG1.kr().write(|key| key.set_key(Key::ENABLE));
    IWDG1.pr().write(|divider| divider.set_pr(Pr::DIVIDE_BY128));
    IWDG1.rlr().write(|reload| reload.set_rl(PATIENCE));
    feed();
    let part = |from: *const u8, to: *const u8| {
        Part::new(
            EccFlash::another(),
            from.addr() as u32 - BASE,
            to.addr() as u32 - BASE,
            feed,
        )
    };
    let active = &raw const _active_start;
    let mut buffer = AlignedBuffer([0; PIECE]);
    let prepared = start(
        part(active, &raw const _active_end),
        part(&raw const _dfu_start, &raw const _dfu_end),
        StateWords::<_, WORD>::new(part(
            &raw const _boot_state_start,
            &raw const _boot_state_end,
        )),
        &mut buffer.0,
    );
    if prepared.is_err() {
        // Again, from the beginning.
        cortex_m::peripheral::SCB::sys_reset();
    }
    feed();
    // SAFETY: a register of the core's own; the firmware's vectors are where it points to.
    unsafe {
        (*cortex_m::peripheral::SCB::PTR)
            .vtor
            .write(active.addr() as u32)
    };
    // SAFETY: the firmware begins with its vectors: the stack's top, and where it starts. A slot
    // without one makes the core fault, and the watchdog starts it again.
    unsafe { cortex_m::asm::bootload(active.cast()) }
}

fn feed() {
    IWDG1.kr().write(|key| key.set_key(Key::RESET));
}

/// The watchdog ends it.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        cortex_m::asm::nop();
    }
}
