//! Page lists made up for a run, and the options that such runs share.

use std::net::Ipv4Addr;
use std::time::Duration;

use dunlin_host::lists::listing::{Gate, Listing};
use dunlin_host::lists::pages::{ListedChange, ListedPage, PageList};

use super::page_image::Options;

/// How this computer's loopback looks from inside QEMU.
pub const LOOPBACK: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// A page list of these URLs' hosts and paths, without rates.
pub fn listing(port: u16, pages: &[(&str, &str)], gap: Duration) -> Listing {
    let mut list = PageList::default();
    for (host, path) in pages {
        let name = format!("{host}:{port}");
        let known = list.hosts.iter().position(|known| *known == name);
        let host = known.unwrap_or_else(|| {
            list.hosts.push(name.clone());
            list.hosts.len() - 1
        });
        let change = ListedChange::Poisson { rate: None };
        list.pages.push(ListedPage {
            url: format!("http://{name}{path}"),
            name: None,
            host,
            weight: 1.0,
            change,
            min: 0,
            max: None,
            every: None,
            filter: None,
        });
    }
    let gate = |name: &String| Gate {
        name: name.clone(),
        politeness: gap.into(),
        hours: None,
        provider: Default::default(),
    };
    Listing {
        gates: list.hosts.iter().map(gate).collect(),
        gate_of_host: (0..list.hosts.len()).collect(),
        pins: Vec::new(),
        headers: Vec::new(),
        tellers: Vec::new(),
        list,
    }
}

/// Options for runs against a web on loopback: its hosts are there, and trouble is over soon.
pub fn options() -> Options {
    Options {
        resolve: ["good.test", "bad.test", "busy.test", "third.test"]
            .map(|host| (host.into(), LOOPBACK))
            .into(),
        back_off: dunlin::time::Duration::from_secs(2),
        deadline: dunlin::time::Duration::from_secs(5),
        contact: Some("https://example.org/about".into()),
        ..Options::default()
    }
}
