#![no_std]
#![no_main]
//! The boot loader of the W5500-EVB-Pico2: 2 MiB of flash.

#[cortex_m_rt::entry]
fn main() -> ! {
    rp2350_boot::run::<{ 2 * 1024 * 1024 }>()
}
