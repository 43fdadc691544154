//! Where a fleet's broker is, and who connects to it.

use dunlin::fleet::{LONGEST_NAME, is_name};

use crate::archive::cdxj;

/// Where a broker is, who connects, and for which fleet: `mqtt://USER:PASSWORD@HOST:PORT/FLEET`.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    /// The scheme is `mqtts://`: the connection goes through TLS.
    pub tls: bool,
    /// The broker's user who connects.
    pub user: String,
    /// The password of that user, which is never shown.
    pub password: String,
    /// A name or an address.
    pub host: String,
    /// The port that the broker listens on.
    pub port: u16,
    /// The name of the fleet, which is part of every topic.
    pub fleet: String,
}

impl std::fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password is nobody's business.
        write!(f, "{self}")
    }
}

impl std::fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        let Self {
            user,
            host,
            port,
            fleet,
            ..
        } = self;
        write!(f, "{scheme}://{user}@{host}:{port}/{fleet}")
    }
}

impl BrokerUrl {
    /// Reads a URL, or `@FILE`, whose first line is one: a password on a command line can be seen
    /// by others.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix('@') {
            let text = std::fs::read_to_string(path).map_err(|why| format!("{path}: {why}"))?;
            return Self::read(text.lines().next().unwrap_or_default().trim());
        }
        Self::read(text)
    }

    fn read(text: &str) -> Result<Self, String> {
        let expected = || "expected mqtt://USER:PASSWORD@HOST:PORT/FLEET, or @FILE with that in it";
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let tls = match scheme {
            "mqtt" => false,
            "mqtts" => true,
            _ => return Err(expected().into()),
        };
        let (who, rest) = rest.rsplit_once('@').ok_or_else(expected)?;
        let (user, password) = who.split_once(':').ok_or_else(expected)?;
        let (place, fleet) = rest.split_once('/').ok_or_else(expected)?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| expected())?),
            None => (place, if tls { 8883 } else { 1883 }),
        };
        let decode = |text: &str| {
            let bytes = cdxj::decode(text.as_bytes());
            String::from_utf8(bytes).map_err(|_| expected())
        };
        if host.is_empty() || user.is_empty() || port == 0 {
            return Err(expected().into());
        }
        if !is_name(fleet) {
            return Err(format!(
                "found the fleet {fleet:?}, expected up to {LONGEST_NAME} letters, digits, - _ and ."
            ));
        }
        Ok(Self {
            tls,
            user: decode(user)?,
            password: decode(password)?,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            fleet: fleet.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_who_and_where_and_its_password_is_not_shown() {
        let url = BrokerUrl::parse("mqtt://north:p%40ss@127.0.0.1:1884/roofs").expect("a URL");
        assert_eq!(
            (url.user.as_str(), url.password.as_str()),
            ("north", "p@ss")
        );
        assert_eq!(
            (url.host.as_str(), url.port, url.tls),
            ("127.0.0.1", 1884, false)
        );
        assert_eq!(url.fleet, "roofs");
        assert_eq!(format!("{url:?}"), "mqtt://north@127.0.0.1:1884/roofs");
        let url = BrokerUrl::parse("mqtts://a:b@broker.test/f").expect("a URL");
        assert_eq!((url.port, url.tls), (8883, true));
    }

    #[test]
    fn what_is_no_broker_is_refused() {
        for wrong in [
            "",
            "mqtt://",
            "http://a:b@c/d",
            "mqtt://c:1883/d",
            "mqtt://a:b@c:x/d",
            "mqtt://a:b@c:1883",
            "mqtt://a:b@c:1883/d/e",
            "mqtt://a:b@:1883/d",
        ] {
            assert!(BrokerUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}
