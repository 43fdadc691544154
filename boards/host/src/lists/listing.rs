//! The options every command that takes a page list shares, and what they amount to: pages, and the
//! gates their hosts stand behind.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use dunlin::time::Duration;

use crate::duration;
use crate::error::{Error, quoted};
use crate::lists::headers::Header;
use crate::lists::hosts::{self, ListedHints, ListedHours, ProviderKind};
use crate::lists::pages::PageList;
use crate::lists::trust::Pin;
use crate::output::file::Named;
use crate::output::say;

/// Rows of HOSTS.csv that concern no page are named up to so many.
const NAMED: usize = 5;

/// A page list and what is special about its hosts.
#[derive(Debug, clap::Args)]
pub struct ListingArgs {
    /// The page list: a header row, then one page a line; or a URL a line, a sitemap, OPML; `-`
    /// for stdin
    #[arg(value_name = "PAGES.csv")]
    pub pages: PathBuf,
    /// What is special about some hosts: politeness, group, hours, hints, pin, header, provider
    #[arg(long, value_name = "HOSTS.csv")]
    pub hosts: Option<PathBuf>,
    /// Least time between two fetches from one host, such as 15s. Default: none, and 15s for what
    /// fetches
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub politeness: Option<Duration>,
}

/// Pages and gates, ready to be planned.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The page list as read.
    pub list: PageList,
    /// One a host, or one a group of hosts that share a server.
    pub gates: Vec<Gate>,
    /// For each host of the list, its gate.
    pub gate_of_host: Vec<usize>,
    /// Hosts that must have a certain key, by name without port.
    pub pins: Vec<(String, Pin)>,
    /// What requests to hosts carry besides, by host of the list.
    pub headers: Vec<(String, Vec<Header>)>,
    /// Documents in which hosts say when their pages changed, by host of the list.
    pub tellers: Vec<(usize, ListedHints)>,
}

/// What limits the fetches from one server.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The host's name, or the group's.
    pub name: String,
    /// Least time between two fetches; zero for none.
    pub politeness: Duration,
    /// When fetching is allowed; `None` for always.
    pub hours: Option<ListedHours>,
    /// How much it tells about its changes.
    pub provider: ProviderKind,
}

impl ListingArgs {
    /// The files, by what the user calls them.
    pub fn files(&self) -> Vec<Named<'_>> {
        let hosts = self.hosts.iter().map(|path| ("--hosts", path.as_path()));
        [("the page list", self.pages.as_path())]
            .into_iter()
            .chain(hosts)
            .collect()
    }

    /// Reads the files, and says on stderr what in them is without effect or was mended. A group
    /// takes the longest politeness of its hosts, the hours of the first that states them, and the
    /// provider of the first.
    ///
    /// # Errors
    /// The first thing wrong with a file.
    pub fn read(&self, default_politeness: Duration) -> Result<Listing, Error> {
        let list = PageList::read(&self.pages)?;
        if list.pages.is_empty() {
            return Err(Error::Usage(format!(
                "{}: found no pages, expected one URL a line",
                self.pages.display()
            )));
        }
        let special = self
            .hosts
            .as_deref()
            .map(hosts::read)
            .transpose()?
            .unwrap_or_default();
        self.warn(&list, &special);
        let special: HashMap<&str, &hosts::ListedHost> = special
            .iter()
            .map(|host| (host.name.as_str(), host))
            .collect();
        let general = self.politeness.unwrap_or(default_politeness);
        let mut gates: Vec<Gate> = Vec::new();
        let mut groups: HashMap<&str, usize> = HashMap::new();
        let mut gate_of_host = Vec::with_capacity(list.hosts.len());
        let mut pins = Vec::new();
        let mut headers = Vec::new();
        let mut tellers = Vec::new();
        for (index, name) in list.hosts.iter().enumerate() {
            let host = special.get(name.as_str()).copied();
            tellers.extend(host.and_then(|host| Some((index, host.hints.clone()?))));
            pins.extend(host.and_then(|host| Some((host_name(name).to_owned(), host.pin?))));
            if let Some(host) = host.filter(|host| !host.headers.is_empty()) {
                headers.push((name.clone(), host.headers.clone()));
            }
            let politeness = host.and_then(|host| host.politeness).unwrap_or(general);
            let (hours, provider) = host.map_or((None, ProviderKind::Normal), |host| {
                (host.hours, host.provider)
            });
            let group = host.and_then(|host| host.group.as_deref());
            let known = group.and_then(|group| groups.get(group)).copied();
            let index = known.unwrap_or(gates.len());
            match gates.get_mut(index) {
                Some(gate) => {
                    gate.politeness = gate.politeness.max(politeness);
                    gate.hours = gate.hours.or(hours);
                }
                None => {
                    let name = group.unwrap_or(name).to_owned();
                    gates.push(Gate {
                        name,
                        politeness,
                        hours,
                        provider,
                    });
                }
            }
            if let Some(group) = group {
                groups.insert(group, index);
            }
            gate_of_host.push(index);
        }
        Ok(Listing {
            list,
            gates,
            gate_of_host,
            pins,
            headers,
            tellers,
        })
    }

    /// What the files hold in vain: no error, for one HOSTS.csv may serve several lists.
    fn warn(&self, list: &PageList, special: &[hosts::ListedHost]) {
        if list.repeated > 0 {
            say(format_args!(
                "warning: {}: {} entries name a page that is there already",
                self.pages.display(),
                list.repeated
            ));
        }
        if let Some((line, url)) = &list.first_encoded {
            let (urls, were) = match list.encoded {
                1 => ("URL", "was"),
                _ => ("URLs", "were"),
            };
            say(format_args!(
                "note: {}: {} {urls} {were} encoded as browsers do (spaces, international host names); \
                the first is line {line}: {url}",
                self.pages.display(),
                list.encoded
            ));
        }
        let listed: HashSet<&str> = list.hosts.iter().map(String::as_str).collect();
        let idle = |host: &&hosts::ListedHost| !listed.contains(host.name.as_str());
        let idle: Vec<&hosts::ListedHost> = special.iter().filter(idle).collect();
        let Some(file) = &self.hosts else { return };
        for host in idle.iter().take(NAMED) {
            say(format_args!(
                "warning: {}: line {}: no page of the list is on {}",
                file.display(),
                host.line,
                quoted(&host.name)
            ));
        }
        if idle.len() > NAMED {
            let more = idle.len() - NAMED;
            say(format_args!(
                "warning: {}: and {more} more hosts",
                file.display()
            ));
        }
    }
}

/// A host of the list without its port.
pub fn host_name(host: &str) -> &str {
    let port = |port: &str| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, digits)) if port(digits) => name,
        _ => host,
    };
    let inner = name.strip_prefix('[');
    inner
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name)
}

impl Listing {
    /// The gate a page stands behind.
    pub fn gate_of_page(&self, page: usize) -> usize {
        self.gate_of_host[self.list.pages[page].host]
    }
}
