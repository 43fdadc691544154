//! settings: what one device is told by a cable and by nothing else: the network that it joins, and
//! secrets that neither firmware nor page image may hold, since both are published.
//!
//! They lie in a part of flash of their own, which an update never touches.
//!
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(not(feature = "std"), doc = "```ignore")]
//! use dunlin::settings::{DeviceSettings, SettingKey, build};
//!
//! let network = (SettingKey::WifiNetwork, "roof");
//! let flash = build(&[network, (SettingKey::WifiPassword, "a secret")])?;
//! let settings = DeviceSettings::parse(&flash);
//! assert_eq!(settings.get(SettingKey::WifiNetwork), Some("roof"));
//! assert_eq!(settings.get(SettingKey::UpdateUrl), None);
//! # Ok::<(), dunlin::settings::TooLong>(())
//! ```
//!
//! # Version 1
//! Numbers are little-endian. A key that is not known is passed over; the first of two that are the
//! same counts.
//!
//! | byte | header |
//! |---|---|
//! | 0 | magic `dset` |
//! | 4 | version `u16` |
//! | 6 | two bytes of zero |
//! | 8 | length of the whole `u32` |
//! | 12 | CRC-32 (IEEE 802.3) `u32` of bytes 4 to 11 and of all bytes from 16 on |
//!
//! | byte | each setting |
//! |---|---|
//! | 0 | key `u8` |
//! | 1 | length of the value `u16` |
//! | 3 | value: text in UTF-8 |

use crate::math::crc32;

const MAGIC: [u8; 4] = *b"dset";
const VERSION: u16 = 1;
const HEADER: usize = 16;

/// Bytes of all settings at most: one sector of most flashes.
pub const ROOM: usize = 4096;

/// What can be set. Numbers keep their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum SettingKey {
    /// The name of the Wi-Fi network.
    WifiNetwork = 1,
    /// Its password; none for an open network.
    WifiPassword = 2,
    /// Where signed updates are looked for, instead of where the page list says.
    UpdateUrl = 3,
    /// What the collector knows the device by.
    CollectorToken = 4,
    /// Who the device is to the fleet's broker.
    BrokerUser = 5,
    /// What the broker knows it by.
    BrokerPassword = 6,
    /// Where the fleet's broker is, and the fleet's name: `mqtt://HOST:PORT/FLEET`.
    Broker = 7,
    /// Headers for single hosts, in lines of an origin, a space, and headers with `|` between them.
    Headers = 8,
    /// Who may say that pages have changed: keys of 32 hexadecimal digits, with spaces between
    /// them.
    PushKeys = 9,
}

impl SettingKey {
    /// All keys that there are.
    pub const ALL: [Self; 9] = [
        Self::WifiNetwork,
        Self::WifiPassword,
        Self::UpdateUrl,
        Self::CollectorToken,
        Self::BrokerUser,
        Self::BrokerPassword,
        Self::Broker,
        Self::Headers,
        Self::PushKeys,
    ];

    /// The word that a settings file has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WifiNetwork => "wifi-network",
            Self::WifiPassword => "wifi-password",
            Self::UpdateUrl => "update-url",
            Self::CollectorToken => "collector-token",
            Self::BrokerUser => "broker-user",
            Self::BrokerPassword => "broker-password",
            Self::Broker => "broker",
            Self::Headers => "header",
            Self::PushKeys => "push-keys",
        }
    }

    /// The key of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Is its value nobody else's business? Then no log says it.
    pub const fn is_secret(self) -> bool {
        matches!(
            self,
            Self::WifiPassword
                | Self::CollectorToken
                | Self::BrokerPassword
                | Self::Headers
                | Self::PushKeys
        )
    }
}

/// The settings of a device, read in place.
#[derive(Clone, Copy, Default)]
pub struct DeviceSettings<'a> {
    entries: &'a [u8],
}

impl core::fmt::Debug for DeviceSettings<'_> {
    /// Leaves the values out, of which some are secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DeviceSettings").finish_non_exhaustive()
    }
}

impl<'a> DeviceSettings<'a> {
    /// Settings of a device that was given none.
    pub const NONE: Self = Self { entries: &[] };

    /// Reads what is at the beginning of `flash`, which may be longer: nothing if that is blank,
    /// damaged, or of a later version. Work: the settings' length.
    pub fn parse(flash: &'a [u8]) -> Self {
        Self::checked(flash).unwrap_or(Self::NONE)
    }

    fn checked(flash: &'a [u8]) -> Option<Self> {
        let (header, _) = flash.split_first_chunk::<HEADER>()?;
        let (magic, rest) = header.split_first_chunk()?;
        let (fields, sum) = rest.split_last_chunk()?;
        let (version, length) = fields.split_first_chunk()?;
        let length = u32::from_le_bytes(*length.last_chunk()?);
        let whole = flash.get(..usize::try_from(length).ok()?)?;
        let entries = whole.get(HEADER..)?;
        let good = *magic == MAGIC
            && u16::from_le_bytes(*version) == VERSION
            && crc32(&[fields, entries]) == u32::from_le_bytes(*sum);
        good.then_some(Self { entries })
    }

    /// A setting; `None` if it is not set. Work: the settings' length.
    pub fn get(&self, key: SettingKey) -> Option<&'a str> {
        let mut rest = self.entries;
        loop {
            let (&[found, low, high], behind) = rest.split_first_chunk()?;
            let length = u16::from_le_bytes([low, high]);
            let (value, behind) = behind.split_at_checked(length.into())?;
            if found == key as u8 {
                return core::str::from_utf8(value).ok();
            }
            rest = behind;
        }
    }
}

/// The settings take more than [`ROOM`].
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes that they take.
    pub found: usize,
}

#[cfg(feature = "std")]
impl core::fmt::Display for TooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let found = self.found;
        write!(
            f,
            "found {found} bytes of settings, expected {ROOM} at most"
        )
    }
}

#[cfg(feature = "std")]
impl core::error::Error for TooLong {}

/// The bytes of these settings, for a device's flash.
///
/// # Errors
/// [`TooLong`]
#[cfg(feature = "std")]
pub fn build(settings: &[(SettingKey, &str)]) -> Result<std::vec::Vec<u8>, TooLong> {
    let entries: usize = settings.iter().map(|(_, value)| 3 + value.len()).sum();
    let found = HEADER + entries;
    if found > ROOM {
        return Err(TooLong { found });
    }
    let mut fields = std::vec::Vec::from(VERSION.to_le_bytes());
    fields.extend([0; 2]);
    fields.extend((found as u32).to_le_bytes());
    let mut body = std::vec::Vec::with_capacity(entries);
    for (key, value) in settings {
        body.push(*key as u8);
        body.extend((value.len() as u16).to_le_bytes());
        body.extend(value.as_bytes());
    }
    let sum = crc32(&[&fields, &body]);
    Ok([&MAGIC[..], &fields, &sum.to_le_bytes(), &body].concat())
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::path::Path;
    use std::string::String;
    use std::vec::Vec;

    /// What host-tests/data keeps of version 1: a value for every key that there was then.
    fn full() -> Vec<(SettingKey, String)> {
        let keys = SettingKey::ALL.into_iter().take(6);
        keys.map(|key| (key, key.name().repeat(2))).collect()
    }

    #[test]
    fn every_key_is_known_by_its_name_and_kept() {
        let settings = SettingKey::ALL.map(|key| (key, key.name()));
        let bytes = build(&settings).expect("they fit");
        for (key, name) in settings {
            assert_eq!(SettingKey::named(name), Some(key));
            assert_eq!(DeviceSettings::parse(&bytes).get(key), Some(name));
        }
    }

    fn built() -> Vec<u8> {
        let full = full();
        let settings: Vec<_> = full.iter().map(|(key, text)| (*key, &**text)).collect();
        build(&settings).expect("they fit")
    }

    #[test]
    fn settings_of_every_version_are_read_and_the_newest_is_written() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("host-tests/data/settings-v1.bin");
        let stored = std::fs::read(file).expect("the stored settings");
        let settings = DeviceSettings::parse(&stored);
        for (key, value) in full() {
            assert_eq!(settings.get(key), Some(value.as_str()));
            assert_eq!(SettingKey::named(key.name()), Some(key));
        }
        assert_eq!(built(), stored);
    }

    #[test]
    fn what_is_damaged_sets_nothing() {
        let good = built();
        for bit in 0..8 * good.len() {
            let mut flipped = good.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                DeviceSettings::parse(&flipped).get(SettingKey::WifiNetwork),
                None
            );
        }
        for end in 0..good.len() {
            assert_eq!(
                DeviceSettings::parse(&good[..end]).get(SettingKey::WifiNetwork),
                None
            );
        }
        assert_eq!(
            DeviceSettings::parse(&[0xff; ROOM]).get(SettingKey::WifiNetwork),
            None
        );
    }

    #[test]
    fn a_key_that_is_not_known_is_passed_over() {
        let entries = [
            200,
            2,
            0,
            b'a',
            b'b',
            SettingKey::WifiNetwork as u8,
            1,
            0,
            b'c',
        ];
        let settings = DeviceSettings { entries: &entries };
        assert_eq!(settings.get(SettingKey::WifiNetwork), Some("c"));
        assert_eq!(settings.get(SettingKey::WifiPassword), None);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let long = "x".repeat(ROOM);
        let found = ROOM + HEADER + 3;
        assert_eq!(
            build(&[(SettingKey::UpdateUrl, &long)]),
            Err(TooLong { found })
        );
        let most = &long[..ROOM - HEADER - 3];
        let bytes = build(&[(SettingKey::UpdateUrl, most)]).expect("they fit");
        assert_eq!(
            DeviceSettings::parse(&bytes).get(SettingKey::UpdateUrl),
            Some(most)
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let bytes = built();
        let shown = std::format!("{:?}", DeviceSettings::parse(&bytes));
        assert_eq!(shown, "DeviceSettings { .. }");
    }
}
