//! HOSTS.csv: what is special about some hosts.

use std::collections::HashSet;
use std::path::Path;

use dunlin::fetch::Url;
use dunlin::time::Duration;

use crate::duration;
use crate::error::{Error, InputError};
use crate::lists::headers::Header;
use crate::lists::pages::{as_dns_knows, host_of};
use crate::lists::table_file::{Column, Field, Row, TableFile, optional, required};
use crate::lists::trust::{self, Pin};

const COLUMNS: &[Column] = &[
    required("host"),
    optional("politeness"),
    optional("group"),
    optional("hours"),
    optional("hints"),
    optional("pin"),
    optional("provider"),
    optional("header"),
];

/// The names of all columns.
pub fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.name)
}

/// What the file says about one host.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedHost {
    /// The host, as `name` or `name:port`.
    pub name: String,
    /// The line it stands on, counted from 1.
    pub line: u64,
    /// Least time between two fetches, instead of the general one.
    pub politeness: Option<Duration>,
    /// Hosts of the same group share one gate.
    pub group: Option<String>,
    /// When fetching is allowed.
    pub hours: Option<ListedHours>,
    /// Where it says when its pages changed.
    pub hints: Option<ListedHints>,
    /// The key it must have, for https.
    pub pin: Option<Pin>,
    /// How much it tells about its changes, for simulation.
    pub provider: ProviderKind,
    /// What its requests carry besides.
    pub headers: Vec<Header>,
}

/// Local hours in which fetching is allowed; `22-06` wraps around midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedHours {
    /// The first hour, 0 to 23.
    pub from: u8,
    /// The hour at which they end, 0 to 24.
    pub to: u8,
}

/// Where a host says when its pages changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedHints {
    /// At this URL there is a sitemap or a feed.
    At(String),
    /// Where its robots.txt says, or else where sitemaps are as a rule.
    Auto,
}

/// How much a host tells about its changes (Xu et al.).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderKind {
    /// It tells nothing about its changes.
    #[default]
    Normal,
    /// It tells when it has changed.
    Smart,
    /// It tells when it will change.
    Super,
}

/// Reads a host file.
///
/// # Errors
/// The first thing wrong with it, with its place.
pub fn read(path: &Path) -> Result<Vec<ListedHost>, Error> {
    let mut table = TableFile::open(path, COLUMNS)?;
    let mut hosts: Vec<ListedHost> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    while let Some(row) = table.next_row()? {
        let host = read_host(&row)?;
        if !known.insert(host.name.clone()) {
            return Err(row.need("host", "")?.error("each host once").into());
        }
        hosts.push(host);
    }
    Ok(hosts)
}

/// A host as [`host_of`] spells it: IPv6 addresses and international names may be written in several
/// ways.
fn spelled_as_in_pages(host: &str) -> String {
    let url = format!("http://{host}/");
    match Url::parse(&url) {
        Ok(url) if host.starts_with('[') => host_of(&url),
        _ => as_dns_knows(host).to_ascii_lowercase(),
    }
}

fn read_host(row: &Row<'_>) -> Result<ListedHost, InputError> {
    let politeness =
        |field: Field<'_>| duration::parse(field.text).map_err(|_| field.error(duration::EXPECTED));
    let name = row.need("host", EXPECTED_HOST)?;
    if name
        .text
        .contains(|c: char| c.is_whitespace() || "/?#@".contains(c))
    {
        return Err(name.error(EXPECTED_HOST));
    }
    Ok(ListedHost {
        name: spelled_as_in_pages(name.text),
        line: row.line(),
        politeness: row.get("politeness").map(politeness).transpose()?,
        group: row.get("group").map(|field| field.text.to_owned()),
        hours: row
            .get("hours")
            .map(|field| read_hours(&field))
            .transpose()?,
        hints: row
            .get("hints")
            .map(|field| read_hints(&field, name.text))
            .transpose()?,
        pin: row
            .get("pin")
            .map(|field| trust::pin(field.text).ok_or_else(|| field.error(EXPECTED_PIN)))
            .transpose()?,
        provider: match row.get("provider") {
            None => ProviderKind::Normal,
            Some(field) => match field.text {
                "normal" => ProviderKind::Normal,
                "smart" => ProviderKind::Smart,
                "super" => ProviderKind::Super,
                _ => return Err(field.error("normal, smart or super")),
            },
        },
        headers: row
            .get("header")
            .map(|field| {
                // What was found may be a secret: it is not said.
                let headers = Header::parse_several(field.text);
                headers.ok_or_else(|| field.hidden().error(Header::EXPECTED))
            })
            .transpose()?
            .unwrap_or_default(),
    })
}

const EXPECTED_PIN: &str =
    "sha256/ and the SHA-256 of the host's public key in base64, 44 characters";
const EXPECTED_HINTS: &str =
    "auto, or the URL of a sitemap or feed on this host, such as http://example.org/sitemap.xml";
const EXPECTED_HOST: &str = "a host such as example.org or example.org:8080";

/// A sitemap speaks for its own host only.
fn read_hints(field: &Field<'_>, host: &str) -> Result<ListedHints, InputError> {
    let wrong = || field.error(EXPECTED_HINTS);
    if field.text == "auto" {
        return Ok(ListedHints::Auto);
    }
    let url = Url::parse(field.text).map_err(|_| wrong())?;
    let on = |scheme: &str| {
        let root = format!("{scheme}://{host}/");
        Url::parse(&root).is_ok_and(|root| root.same_server(&url) && root.scheme() == url.scheme())
    };
    match on("http") || on("https") {
        true => Ok(ListedHints::At(field.text.to_owned())),
        false => Err(wrong()),
    }
}

fn read_hours(field: &Field<'_>) -> Result<ListedHours, InputError> {
    let wrong = || field.error("local hours such as 22-06, from 0-23 to 1-24, not empty");
    let (from, to) = field.text.split_once('-').ok_or_else(wrong)?;
    let hours = ListedHours {
        from: from.trim().parse().map_err(|_| wrong())?,
        to: to.trim().parse().map_err(|_| wrong())?,
    };
    if hours.from > 23 || hours.to > 24 || hours.from == hours.to {
        Err(wrong())
    } else {
        Ok(hours)
    }
}
