//! What the device was told by a cable alone, where memory.x says it is.

use dunlin::settings::DeviceSettings;

unsafe extern "C" {
    static _settings_start: u8;
    static _settings_end: u8;
}

/// The device's settings; none if nobody has set any.
pub fn read() -> DeviceSettings<'static> {
    let start = &raw const _settings_start;
    let length = (&raw const _settings_end)
        .addr()
        .saturating_sub(start.addr());
    // SAFETY: memory.x sets this part of flash apart, and nobody writes it while the firmware runs.
    DeviceSettings::parse(unsafe { core::slice::from_raw_parts(start, length) })
}
