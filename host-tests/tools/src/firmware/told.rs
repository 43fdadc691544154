//! What a device is told by a cable alone: a file of the user's, and the Wi-Fi network's name.

use std::fs;
use std::path::Path;

use anyhow::Result;
use dunlin::fetch::Url;
use dunlin::settings::{SettingKey, build};
use dunlin_host::error::Error;
use dunlin_host::fleet::join_args::Place;

use crate::firmware::boards::Board;
use crate::shell::root;

/// Settings of a device, as they will lie in its flash.
#[derive(Clone, Debug, Default)]
pub struct Told(Vec<(SettingKey, String)>);

impl Told {
    /// For a board: those of a file, and for one with Wi-Fi the network and its password of the
    /// environment or of `wifi.txt`, unless the file says so.
    ///
    /// # Errors
    /// [`Error::Usage`] names the line, or says where the network's name belongs.
    pub fn read(board: &Board, file: Option<&Path>) -> Result<Self, Error> {
        let mut told = match file {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|why| Error::reading(path, why))?;
                Self::parse(&path.display().to_string(), &text)?
            }
            None => Self::default(),
        };
        if board.wifi {
            told.add_network(board)?;
        }
        Ok(told)
    }

    /// With the fleet that the device belongs to, which takes the place of what the file says of
    /// one.
    ///
    /// # Errors
    /// [`Error::Usage`]: a device has one name.
    pub fn with_fleet(mut self, place: Place<'_>) -> Result<Self, Error> {
        let Place { broker, probe, .. } = place;
        if broker.user != probe {
            let user = &broker.user;
            return Err(Error::Usage(format!(
                "found user {user:?} and --probe {probe}, expected one name: a device has no other than that of its credentials"
            )));
        }
        let scheme = if broker.tls { "mqtts" } else { "mqtt" };
        let url = format!(
            "{scheme}://{}:{}/{}",
            broker.host, broker.port, broker.fleet
        );
        let told = [
            (SettingKey::Broker, url),
            (SettingKey::BrokerUser, probe.to_owned()),
            (SettingKey::BrokerPassword, broker.password.clone()),
        ];
        self.0
            .retain(|(known, _)| told.iter().all(|(key, _)| key != known));
        self.0.extend(told);
        Ok(self)
    }

    /// With headers for single hosts, in lines as the device reads them, before those of the file:
    /// the first for an origin counts.
    #[must_use]
    pub fn with_headers(mut self, lines: &str) -> Self {
        if !lines.is_empty() {
            self.add_headers(lines, true);
        }
        self
    }

    /// Has it headers for single hosts?
    pub fn has_headers(&self) -> bool {
        self.get(SettingKey::Headers).is_some()
    }

    /// Are there keys of senders who may push?
    pub fn has_push_keys(&self) -> bool {
        self.get(SettingKey::PushKeys).is_some()
    }

    fn add_headers(&mut self, lines: &str, first: bool) {
        let before = self
            .0
            .iter_mut()
            .find(|(key, _)| *key == SettingKey::Headers);
        match before {
            Some((_, known)) if first => *known = format!("{}\n{known}", lines.trim_end()),
            Some((_, known)) => *known = format!("{known}\n{lines}"),
            None => self
                .0
                .push((SettingKey::Headers, lines.trim_end().to_owned())),
        }
    }

    /// Lines of `key = value`; empty ones and those that begin with `#` say nothing.
    fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let mut told = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let known = || {
                let names: Vec<&str> = SettingKey::ALL.iter().map(|key| key.name()).collect();
                names.join(", ")
            };
            let parts = line.split_once('=');
            let Some((name, value)) = parts.map(|(name, value)| (name.trim(), value.trim())) else {
                return Err(Error::Usage(format!(
                    "{file}, line {number}: found no `=`, expected KEY = VALUE with one of {}",
                    known()
                )));
            };
            let Some(key) = SettingKey::named(name) else {
                return Err(Error::Usage(format!(
                    "{file}, line {number}: found {name:?}, expected one of {}",
                    known()
                )));
            };
            // One for each host: they become lines of one setting.
            if key == SettingKey::Headers {
                if !is_header_line(value) {
                    return Err(Error::Usage(format!(
                        "{file}, line {number}: found no origin and header, expected header = http://HOST[:PORT] NAME: VALUE"
                    )));
                }
                told.add_headers(value, false);
                continue;
            }
            if told.get(key).is_some() {
                return Err(Error::Usage(format!(
                    "{file}, line {number}: found {name} once more, expected it once"
                )));
            }
            told.0.push((key, value.to_owned()));
        }
        Ok(told)
    }

    /// Where updates are looked for, if the file says so; else this is from now on, if there is
    /// one.
    pub fn update_url(&mut self, otherwise: Option<&str>) -> Option<&str> {
        if let (None, Some(url)) = (self.get(SettingKey::UpdateUrl), otherwise) {
            self.0.push((SettingKey::UpdateUrl, url.to_owned()));
        }
        self.get(SettingKey::UpdateUrl)
    }

    fn get(&self, key: SettingKey) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.as_str())
    }

    fn add_network(&mut self, board: &Board) -> Result<(), Error> {
        if self.get(SettingKey::WifiNetwork).is_some() {
            return Ok(());
        }
        let file = root().join("boards").join(board.name).join("wifi.txt");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines();
        let names = [
            (SettingKey::WifiNetwork, "DUNLIN_WIFI_NETWORK"),
            (SettingKey::WifiPassword, "DUNLIN_WIFI_PASSWORD"),
        ];
        for (key, name) in names {
            let line = lines.next().unwrap_or_default().to_owned();
            let value = std::env::var(name).unwrap_or(line);
            if !value.is_empty() {
                self.0.push((key, value));
            }
        }
        if self.get(SettingKey::WifiNetwork).is_some() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "found no Wi-Fi network for {}, expected its name in DUNLIN_WIFI_NETWORK and its password in \
            DUNLIN_WIFI_PASSWORD, both in {}, a line each, or both in the file of --settings",
            board.name,
            file.display()
        )))
    }

    /// As the device reads them; `None` if there are none.
    ///
    /// # Errors
    /// [`Error::Usage`], if they are too long.
    pub fn bytes(&self) -> Result<Option<Vec<u8>>, Error> {
        let settings: Vec<_> = self.0.iter().map(|(key, text)| (*key, &**text)).collect();
        match settings.is_empty() {
            true => Ok(None),
            false => build(&settings)
                .map(Some)
                .map_err(|why| Error::Usage(why.to_string())),
        }
    }
}

/// An origin, a space, and headers with `|` between them? The value may be a secret: it is not
/// shown.
fn is_header_line(line: &str) -> bool {
    let is_header = |field: &str| {
        field
            .split_once(':')
            .is_some_and(|(name, _)| !name.is_empty())
    };
    line.split_once(' ').is_some_and(|(origin, fields)| {
        Url::parse(origin).is_ok() && fields.split('|').all(|field| is_header(field.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin::settings::DeviceSettings;

    #[test]
    fn a_file_is_what_the_device_reads() {
        let text = "# for the roof\n\nwifi-network = a = b\ncollector-token=secret\n";
        let told = Told::parse("file", text).expect("settings");
        let bytes = told.bytes().expect("they fit").expect("some");
        let settings = DeviceSettings::parse(&bytes);
        assert_eq!(settings.get(SettingKey::WifiNetwork), Some("a = b"));
        assert_eq!(settings.get(SettingKey::CollectorToken), Some("secret"));
        let text = "header = https://a.test X-Key: 1|X: 2\nheader = http://b.test X-Key: 3\n";
        let told = Told::parse("file", text).expect("settings");
        let bytes = told.bytes().expect("they fit").expect("some");
        let lines = "https://a.test X-Key: 1|X: 2\nhttp://b.test X-Key: 3";
        assert_eq!(
            DeviceSettings::parse(&bytes).get(SettingKey::Headers),
            Some(lines)
        );
        assert_eq!(Told::default().bytes().expect("none fit"), None);
    }

    #[test]
    fn headers_of_the_list_come_before_those_of_the_file() {
        let told = Told::parse("file", "header = http://b.test X-Key: 3\n").expect("settings");
        assert!(told.has_headers() && !Told::default().with_headers("").has_headers());
        let told = told.with_headers("http://b.test X-Key: 4\n");
        let bytes = told.bytes().expect("they fit").expect("some");
        let lines = "http://b.test X-Key: 4\nhttp://b.test X-Key: 3";
        assert_eq!(
            DeviceSettings::parse(&bytes).get(SettingKey::Headers),
            Some(lines)
        );
    }

    #[test]
    fn the_file_counts_more_than_the_list() {
        let mut told = Told::parse("file", "update-url = http://a.test/\n").expect("settings");
        assert_eq!(
            told.update_url(Some("http://b.test/")),
            Some("http://a.test/")
        );
        let mut told = Told::default();
        assert_eq!(told.update_url(None), None);
        told.update_url(Some("http://b.test/"));
        let bytes = told.bytes().expect("it fits").expect("one");
        let settings = DeviceSettings::parse(&bytes);
        assert_eq!(settings.get(SettingKey::UpdateUrl), Some("http://b.test/"));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line() {
        for (text, expected) in [
            ("wifi-network", "line 1: found no `=`"),
            ("\nwifi = x", "line 2: found \"wifi\""),
            ("header = X-Key: 1", "line 1: found no origin and header"),
            (
                "update-url=a\nupdate-url=b",
                "line 2: found update-url once more",
            ),
        ] {
            let why = Told::parse("file", text).expect_err("wrong").to_string();
            assert!(why.contains(expected), "{why}");
        }
    }
}
