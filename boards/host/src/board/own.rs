//! Headers of the owner's, for the hosts of a list and for nobody else.

use std::collections::{HashMap, HashSet};

use dunlin::fetch::{Endpoint, Scheme, Url};

use crate::error::Error;
use crate::lists::listing::Listing;
use crate::lists::pages::host_of;

/// Fields for requests, by whom they go to. They are secrets as a rule, so a redirect to another
/// host, or from https to http, does not take them along.
#[derive(Default)]
pub struct OwnFields {
    of: HashMap<(bool, String, u16), String>,
}

impl std::fmt::Debug for OwnFields {
    /// Leaves the fields out, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnFields").finish_non_exhaustive()
    }
}

impl OwnFields {
    /// What the list says, with the values of these variables.
    ///
    /// # Errors
    /// A variable that is missing, or no line.
    pub fn of_list(
        listing: &Listing,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let mut lines = HashMap::new();
        for (host, headers) in &listing.headers {
            let line = |header: &crate::lists::headers::Header| {
                let wrong = |why| Error::Usage(format!("{host}: {why}"));
                header.line(&variable).map_err(wrong)
            };
            let all: Result<String, Error> = headers.iter().map(line).collect();
            lines.insert(host.as_str(), all?);
        }
        let mut of = HashMap::new();
        for page in &listing.list.pages {
            let Ok(url) = Url::parse(&page.url) else {
                continue;
            };
            if let Some(lines) = lines.get(host_of(&url).as_str()) {
                let https = url.scheme() == Scheme::Https;
                let host = plain(url.host_text());
                of.insert((https, host, url.port()), lines.clone());
            }
        }
        Ok(Self { of })
    }

    /// The fields for requests that go there.
    pub fn of(&self, to: &Endpoint<'_>) -> Option<&str> {
        if self.of.is_empty() {
            return None;
        }
        let key = (to.scheme == Scheme::Https, plain(to.host), to.port);
        self.of.get(&key).map(String::as_str)
    }

    /// As a board is told them: on each line an origin, a space, and its headers with `|` between
    /// them.
    pub fn lines(&self) -> String {
        let line = |((https, host, port), fields): (&(bool, String, u16), &String)| {
            let scheme = if *https { "https" } else { "http" };
            let fields = fields.trim_end().replace("\r\n", "|");
            format!("{scheme}://{host}:{port} {fields}\n")
        };
        let mut lines: Vec<String> = self.of.iter().map(line).collect();
        lines.sort();
        lines.concat()
    }

    /// Hosts that get secrets over connections that others can read.
    pub fn in_the_clear(&self) -> Vec<String> {
        let plain = self
            .of
            .keys()
            .filter(|(https, host, _)| !https && !super::proxy::is_local(host));
        let hosts: HashSet<&String> = plain.map(|(_, host, _)| host).collect();
        let mut hosts: Vec<String> = hosts.into_iter().cloned().collect();
        hosts.sort();
        hosts
    }
}

fn plain(host: &str) -> String {
    let host = host.trim_end_matches('.');
    host.to_ascii_lowercase()
}
