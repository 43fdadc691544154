#![no_std]
#![no_main]
//! The boot loader of the Pico 2 W: 4 MiB of flash.

#[cortex_m_rt::entry]
fn main() -> ! {
    rp2350_boot::run::<{ 4 * 1024 * 1024 }>()
}
