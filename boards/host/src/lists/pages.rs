//! PAGES.csv: what to crawl; or a plain list of URLs, a sitemap, or OPML.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::convert::Infallible;
use std::hash::BuildHasher as _;
use std::io::BufRead;
use std::net::IpAddr;
use std::path::Path;

use dunlin::fetch::{Url, UrlError, UrlHost};
use dunlin::model::quasi;
use dunlin::time::Duration;

use crate::duration;
use crate::error::{Error, InputError, quoted};
use crate::filter::Filter;
use crate::filter::markers::Markers;
use crate::lists::budget::LONGEST_EVERY;
use crate::lists::markup;
use crate::lists::table_file::{
    self, Column, Field, HeaderRow, Row, TableFile, optional, required,
};

const COLUMNS: &[Column] = &[
    required("url"),
    optional("weight"),
    optional("model"),
    optional("changes_per_day"),
    optional("shape"),
    optional("updates"),
    optional("min"),
    optional("max"),
    optional("every"),
    optional("name"),
    optional("pinned"),
    optional("select"),
    optional("ignore"),
];

/// Shorter is a slip of the pen.
const SHORTEST_EVERY: Duration = Duration::from_secs(1);

/// Every page of a list, and the hosts they live on.
#[derive(Clone, Debug, Default)]
pub struct PageList {
    /// The pages, in the order of the file.
    pub pages: Vec<ListedPage>,
    /// The hosts, as `name` or `name:port`, in order of first appearance.
    pub hosts: Vec<String>,
    /// How many lines were comments.
    pub comments: u64,
    /// How many entries named a page that was there already; only sitemaps and OPML may.
    pub repeated: u64,
    /// How many URLs were encoded, as [`as_browsers_send`] says.
    pub encoded: u64,
    /// The first of them: its line, and the URL it became.
    pub first_encoded: Option<(u64, String)>,
    /// Pages that are never replaced by others, in their order.
    pub pinned: Vec<usize>,
}

/// One page of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPage {
    /// The URL as it is written in the file, but encoded as browsers do: see [`as_browsers_send`].
    pub url: String,
    /// What people call the page.
    pub name: Option<String>,
    /// The page's host, as an index into [`PageList::hosts`].
    pub host: usize,
    /// How important the page is; above 0.
    pub weight: f64,
    /// How the page changes.
    pub change: ListedChange,
    /// Fewest crawls in an interval.
    pub min: u32,
    /// Most crawls in an interval.
    pub max: Option<u32>,
    /// The time between two visits, within politeness; `None` to leave it to the scheduler.
    pub every: Option<Duration>,
    /// What of it counts as a change; `None` for all of it.
    pub filter: Option<Filter>,
}

/// How a page changes; rates are changes a day, `None` where they are still to be learnt.
#[derive(Clone, Debug, PartialEq)]
pub enum ListedChange {
    /// The page changes at any moment alike.
    Poisson {
        /// Mean changes a day.
        rate: Option<f64>,
    },
    /// The gaps between changes follow a Weibull law.
    Weibull {
        /// Mean changes a day.
        rate: Option<f64>,
        /// The law's shape, α > 0.
        shape: f64,
    },
    /// The gaps between changes follow a Pareto law.
    Pareto {
        /// Mean changes a day.
        rate: Option<f64>,
        /// The law's shape, α > 1.
        shape: f64,
    },
    /// The page changes at known times of the interval, at each with a probability.
    Quasi {
        /// The updates, in order of time.
        updates: Vec<ListedUpdate>,
    },
}

impl ListedChange {
    /// Does the list say how often?
    pub fn is_known(&self) -> bool {
        match self {
            Self::Poisson { rate } | Self::Weibull { rate, .. } | Self::Pareto { rate, .. } => {
                rate.is_some()
            }
            Self::Quasi { .. } => true,
        }
    }
}

/// A moment at which a quasi-deterministic page may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListedUpdate {
    /// When it is, from the start of the interval.
    pub offset: Duration,
    /// The probability of a real change then, 0 to 1.
    pub probability: f64,
}

impl PageList {
    /// Reads a page list.
    ///
    /// # Errors
    /// The first thing wrong with it, with its place.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (name, mut input) = table_file::open(path)?;
        let begin = input.fill_buf();
        let begin = begin.map_err(|source| Error::reading(path, source))?;
        if begin.trim_ascii_start().starts_with(b"<") {
            return Self::from_markup(&name, input);
        }
        Self::from_table(TableFile::new(name, input, COLUMNS, HeaderRow::UnlessUrl)?)
    }

    fn from_table(mut table: TableFile) -> Result<Self, Error> {
        let mut builder = Builder::default();
        let mut work = 0;
        let is_plain = table.is_plain();
        while let Some(row) = table.next_row()? {
            let field = row.need("url", EXPECTED_URL)?;
            if is_plain && field.text.contains("/ ") {
                return Err(field.error(EXPECTED_NO_TAGS).into());
            }
            let url = as_browsers_send(field.text);
            builder.list.note_encoded(field.text, &url, row.line());
            let host = match builder.enter(&url, row.line()) {
                Ok(Place::New { host }) => host,
                Ok(Place::Repeated { line }) => {
                    return Err(field
                        .error(format!("each URL once (it stands on line {line} already)"))
                        .into());
                }
                Err(expected) => return Err(field.error(expected).into()),
            };
            let page = read_page(&row, url.into_owned(), host)?;
            if let ListedChange::Quasi { updates } = &page.change {
                work += quasi::long_run_steps(updates.len());
                if work > FULL_PAGES * quasi::long_run_steps(MOST_UPDATES) {
                    return Err(row
                        .need("updates", EXPECTED_UPDATES)?
                        .error("fewer updates in the list so far: planning would take minutes")
                        .into());
                }
            }
            if row.get("pinned").map(read_pinned).transpose()? == Some(true) {
                builder.list.pinned.push(builder.list.pages.len());
            }
            builder.list.pages.push(page);
        }
        builder.list.comments = table.comments();
        Ok(builder.list)
    }

    fn from_markup(file: &str, input: Box<dyn BufRead>) -> Result<Self, Error> {
        let mut builder = Builder::default();
        markup::read(file, input, |entry| {
            let url = as_browsers_send(&entry.url);
            builder.list.note_encoded(&entry.url, &url, entry.line);
            let place = builder
                .enter(&url, entry.line)
                .map_err(|expected| InputError {
                    file: file.to_owned(),
                    line: entry.line,
                    column: None,
                    found: quoted(&entry.url),
                    expected,
                })?;
            match place {
                Place::New { host } => builder.list.pages.push(ListedPage {
                    url: url.into_owned(),
                    name: entry.name,
                    host,
                    weight: 1.0,
                    change: ListedChange::Poisson { rate: None },
                    min: 0,
                    max: None,
                    every: None,
                    filter: None,
                }),
                // A feed may stand in several folders.
                Place::Repeated { .. } => builder.list.repeated += 1,
            }
            Ok(())
        })?;
        Ok(builder.list)
    }

    /// Counts a URL that had to be encoded: it may be another page than its owner means.
    fn note_encoded(&mut self, written: &str, url: &str, line: u64) {
        if url != written {
            self.encoded += 1;
            self.first_encoded
                .get_or_insert_with(|| (line, url.to_owned()));
        }
    }
}

/// A list in the making.
#[derive(Default)]
struct Builder {
    list: PageList,
    hosts: HashMap<String, usize>,
    known: Known,
}

/// What a URL is to a list.
enum Place {
    /// New, on this host.
    New { host: usize },
    /// There already, on this line.
    Repeated { line: u32 },
}

impl Builder {
    /// Finds the host of the page that comes next, or says what was expected of its URL.
    fn enter(&mut self, url: &str, line: u64) -> Result<Place, String> {
        let url = parse_url(url)?;
        if let Some(line) = self.known.insert(&url, line, &self.list.pages) {
            return Ok(Place::Repeated { line });
        }
        let next = self.hosts.len();
        let host = *self.hosts.entry(host_of(&url)).or_insert_with_key(|host| {
            self.list.hosts.push(host.clone());
            next
        });
        Ok(Place::New { host })
    }
}

/// Which URLs there are already, by what they mean: `%7E` is `~`, and `:80` is no port at all.
///
/// Digests may collide, so the URLs themselves decide. They have a key that is drawn anew in every
/// run: whoever writes the list cannot choose URLs that collide.
#[derive(Default)]
struct Known {
    key: RandomState,
    /// The first page and its line, by digest.
    first: HashMap<u64, Seen>,
    /// The pages after the first.
    others: HashMap<u64, Vec<Seen>>,
}

/// A page's index, and the line it stands on.
#[derive(Clone, Copy)]
struct Seen {
    page: u32,
    line: u32,
}

impl Known {
    /// Remembers the next page's URL; the line of an equal one, if there is one.
    fn insert(&mut self, url: &Url<'_>, line: u64, pages: &[ListedPage]) -> Option<u32> {
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let place = Seen {
            page: narrow(pages.len() as u64),
            line: narrow(line),
        };
        let digest = self.key.hash_one(url);
        let Entry::Occupied(first) = self.first.entry(digest) else {
            self.first.insert(digest, place);
            return None;
        };
        let others = self.others.entry(digest).or_default();
        let equal = |place: &&Seen| {
            Url::parse(&pages[place.page as usize].url).is_ok_and(|known| known == *url)
        };
        let found = [first.get()]
            .into_iter()
            .chain(others.iter())
            .find(equal)
            .map(|place| place.line);
        others.push(place);
        found
    }
}

fn read_page(row: &Row<'_>, url: String, host: usize) -> Result<ListedPage, InputError> {
    let above_zero = |field: Field<'_>| field.number("a number above 0", |number| number > 0.0);
    let weight = row
        .get("weight")
        .map(above_zero)
        .transpose()?
        .unwrap_or(1.0);
    let min = row
        .get("min")
        .map(|field| field.count())
        .transpose()?
        .unwrap_or(0);
    let max = row.get("max").map(|field| field.count()).transpose()?;
    if let Some(field) = row.get("max").filter(|_| max.is_some_and(|max| max < min)) {
        return Err(field.error(format!("at least the minimum, {min}")));
    }
    let every = row.get("every").map(read_every).transpose()?;
    if let Some(field) = row.get("every").filter(|_| min > 0 || max.is_some()) {
        return Err(field.error("nothing here where min or max says how often to visit the page"));
    }
    Ok(ListedPage {
        url,
        name: row.get("name").map(|field| field.text.to_owned()),
        host,
        weight,
        change: read_change(row)?,
        min,
        max,
        every,
        filter: read_filter(row)?,
    })
}

fn read_pinned(field: Field<'_>) -> Result<bool, InputError> {
    match field.text {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(field.error("yes or no")),
    }
}

/// What `select` and `ignore` say.
fn read_filter(row: &Row<'_>) -> Result<Option<Filter>, InputError> {
    let select = |field: Field<'_>| {
        Filter::read_select(field.text).map_err(|expected| field.error(expected))
    };
    let ignore = |field: Field<'_>| {
        let markers = Markers::parse_several(field.text);
        markers.ok_or_else(|| field.error(format!("{}, several separated by |", Markers::EXPECTED)))
    };
    let filter = Filter {
        select: row.get("select").map(select).transpose()?,
        ignore: row
            .get("ignore")
            .map(ignore)
            .transpose()?
            .unwrap_or_default(),
    };
    Ok(Some(filter).filter(|filter| !filter.is_empty()))
}

fn read_every(field: Field<'_>) -> Result<Duration, InputError> {
    let every = duration::parse(field.text).ok();
    every
        .filter(|every| (SHORTEST_EVERY..=LONGEST_EVERY).contains(every))
        .ok_or_else(|| field.error("a time between two visits from 1s to 49d, such as 10m or 6h"))
}

fn read_change(row: &Row<'_>) -> Result<ListedChange, InputError> {
    let not_negative =
        |field: Field<'_>| field.number("a number from 0, or nothing", |number| number >= 0.0);
    let rate = row.get("changes_per_day").map(not_negative).transpose()?;
    let model = row.get("model");
    let name = model.map_or("poisson", |field| field.text);
    let unused = |column: &'static str, models: &str| match row.get(column) {
        Some(field) => Err(field.error(format!(
            "nothing here for model {name} (it is for {models})"
        ))),
        None => Ok(()),
    };
    if name != "quasi" {
        unused("updates", "quasi")?;
    }
    match name {
        "poisson" => {
            unused("shape", "weibull and pareto")?;
            Ok(ListedChange::Poisson { rate })
        }
        "weibull" => {
            let expected = "a shape above 0 (a Weibull law)";
            let shape = row
                .need("shape", expected)?
                .number(expected, |shape| shape > 0.0)?;
            Ok(ListedChange::Weibull { rate, shape })
        }
        "pareto" => {
            let expected = "a shape above 1 (a Pareto law with less has no mean)";
            let shape = row
                .need("shape", expected)?
                .number(expected, |shape| shape > 1.0)?;
            Ok(ListedChange::Pareto { rate, shape })
        }
        "quasi" => {
            unused("shape", "weibull and pareto")?;
            unused("changes_per_day", "the other models")?;
            Ok(ListedChange::Quasi {
                updates: read_updates(&row.need("updates", EXPECTED_UPDATES)?)?,
            })
        }
        _ => match model {
            Some(field) => Err(field.error("poisson, weibull, pareto or quasi")),
            None => Ok(ListedChange::Poisson { rate }),
        },
    }
}

/// Finding the best crawls of a page with known update times takes the third power of their count:
/// about a second for this many, which is one every three minutes of a day.
const MOST_UPDATES: usize = 480;
/// All pages together may take as long as so many that have the most: a minute or two.
const FULL_PAGES: usize = 100;

const EXPECTED_UPDATES: &str =
    "times and probabilities such as 6h:0.9;18h:1, in order of time, probabilities from 0 to 1";

fn read_updates(field: &Field<'_>) -> Result<Vec<ListedUpdate>, InputError> {
    let wrong = || field.error(EXPECTED_UPDATES);
    let mut updates: Vec<ListedUpdate> = Vec::new();
    for part in field.text.split(';') {
        let (offset, probability) = part.split_once(':').ok_or_else(wrong)?;
        let offset = duration::parse(offset.trim()).map_err(|_| wrong())?;
        let probability: f64 = probability.trim().parse().map_err(|_| wrong())?;
        let in_order = updates.last().is_none_or(|last| last.offset < offset);
        if !in_order || !(0.0..=1.0).contains(&probability) {
            return Err(wrong());
        }
        if updates.len() == MOST_UPDATES {
            return Err(field.error(format!("at most {MOST_UPDATES} updates a page")));
        }
        updates.push(ListedUpdate {
            offset,
            probability,
        });
    }
    Ok(updates)
}

const EXPECTED_URL: &str = "a URL such as http://example.org/page";
/// Other programs' lists have tags behind their URLs. A file's name hardly begins with a space.
const EXPECTED_NO_TAGS: &str = "a URL alone, without tags behind a space: names go into a column \
    `name`, below a header line `url,name`; a URL with this space has it as %20";

/// Parses a URL, or says what was expected of it.
fn parse_url(text: &str) -> Result<Url<'_>, String> {
    let url = Url::parse(text).map_err(|error| match error {
        UrlError::TooLong => format!("a URL of at most {} bytes", Url::MAX_LENGTH),
        UrlError::Scheme => "a URL that starts with http:// or https://".into(),
        UrlError::Userinfo => {
            "a URL without user name and password: these go into `header` of HOSTS.csv, as \
            Authorization: Basic $USER:$PASSWORD"
                .into()
        }
        UrlError::Host => "a URL with a host name, an IPv4 address or [IPv6]".into(),
        UrlError::Port => "a port from 1 to 65535".into(),
        UrlError::Character(at) => {
            format!("no space or control character, as at byte {at}: percent-encode it")
        }
        other => format!("a URL ({other})"),
    })?;
    // Nobody could be asked for the address of such a name, and no server expects it.
    match url.host_text().is_ascii() {
        true => Ok(url),
        false => Err("a host name of letters that international names may have".into()),
    }
}

/// A URL as browsers send it: spaces behind the host are encoded, and so is a host name in other
/// letters than those of DNS. `http://bücher.example/a b` is `http://xn--bcher-kva.example/a%20b`.
pub fn as_browsers_send(url: &str) -> Cow<'_, str> {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']);
    let end = end.map_or(url.len(), |at| start + at);
    let host = as_dns_knows(&url[start..end]);
    let rest = &url[end..];
    match (&host, rest.contains(' ')) {
        (Cow::Borrowed(_), false) => url.into(),
        _ => format!("{}{host}{}", &url[..start], rest.replace(' ', "%20")).into(),
    }
}

/// A URL of the command line, which is meant as one in a list is.
///
/// # Errors
/// None: what cannot be is refused where it is used.
pub fn url_argument(text: &str) -> Result<String, Infallible> {
    Ok(as_browsers_send(text).into_owned())
}

/// The name by which DNS knows a host, `xn--bcher-kva.example:80` for `bücher.example:80`. What has
/// none stays as it is, to be refused.
pub fn as_dns_knows(host: &str) -> Cow<'_, str> {
    if host.is_ascii() {
        return host.into();
    }
    let (name, port) = match host.find(':') {
        Some(at) => host.split_at(at),
        None => (host, ""),
    };
    match idna::domain_to_ascii(name) {
        Ok(name) => format!("{name}{port}").into(),
        Err(_) => host.into(),
    }
}

/// `name`, or `name:port` where the port is not the scheme's own. `a.test.` is `a.test`, and
/// `[2001:0db8::1]` is `[2001:db8::1]`.
pub fn host_of(url: &Url<'_>) -> String {
    let name = match url.host() {
        UrlHost::Address(IpAddr::V6(address)) => format!("[{address}]"),
        _ => {
            let name = url.host_text();
            name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
        }
    };
    if url.port() == url.scheme().default_port() {
        name
    } else {
        format!("{name}:{}", url.port())
    }
}
