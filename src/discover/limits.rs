//! URLs that are refused by their looks: what traps are made of. Endless calendars, sessions, paths
//! that repeat themselves; and what is outside of the scope.

use crate::fetch::Url;
use crate::fetch::ascii::{same, word_at};
use crate::fetch::percent::{EQUALS, QUESTION};

/// How far URLs may go. What is beyond is no page that somebody would miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlLimits {
    /// Bytes of the whole URL.
    pub length: u16,
    /// Segments of the path.
    pub depth: u8,
    /// Parameters of the query.
    pub parameters: u8,
    /// How often one segment may stand in a path.
    pub repeats: u8,
}

impl UrlLimits {
    /// What pages that people link to stay within.
    pub const DEFAULT: Self = Self {
        length: 200,
        depth: 8,
        parameters: 4,
        repeats: 2,
    };
}

/// Why a URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum UrlRefusal {
    /// It is outside of the scope.
    Scope,
    /// It is too long.
    Length,
    /// Its path is too deep.
    Depth,
    /// Its query has too many parameters.
    Parameters,
    /// A segment of its path comes too often.
    Repeats,
    /// It names a session: the same page has as many URLs as there are visits.
    Session,
    /// There are too many URLs of its host.
    Host,
    /// There are too many URLs in its directory.
    Directory,
    /// Another page has the same content.
    Duplicate,
    /// robots.txt does not allow it.
    Robots,
    /// It is not there, or redirects to another URL.
    Gone,
    /// It asks not to be kept (`noindex`), or names another URL as its own.
    Unwilling,
}

impl core::fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Scope => "outside of the scope",
            Self::Length => "URL too long",
            Self::Depth => "path too deep",
            Self::Parameters => "too many parameters",
            Self::Repeats => "path repeats itself",
            Self::Session => "names a session",
            Self::Host => "too many URLs of its host",
            Self::Directory => "too many URLs in its directory",
            Self::Duplicate => "same content as another page",
            Self::Robots => "not allowed by robots.txt",
            Self::Gone => "not there",
            Self::Unwilling => "does not want to be kept",
        })
    }
}

/// Parameters that name a session, in lower case.
const SESSIONS: &str =
    "phpsessid jsessionid aspsessionid sessionid session_id session sessid sid cfid";

impl UrlLimits {
    /// Is a URL within them? Work: its length, times the segments of its path.
    ///
    /// ```
    /// use dunlin::discover::{UrlLimits, UrlRefusal};
    /// use dunlin::fetch::Url;
    ///
    /// let check = |text| Url::parse(text).map(|url| UrlLimits::DEFAULT.check(&url));
    /// assert_eq!(check("http://a.test/b/c?d=1")?, Ok(()));
    /// assert_eq!(check("http://a.test/b?PHPSESSID=1")?, Err(UrlRefusal::Session));
    /// assert_eq!(check("http://a.test/b/b/c/b")?, Err(UrlRefusal::Repeats));
    /// # Ok::<(), dunlin::fetch::UrlError>(())
    /// ```
    pub fn check(&self, url: &Url<'_>) -> Result<(), UrlRefusal> {
        let target = url.path_and_query();
        let length = url.scheme().name().len() + 3 + url.host_text().len() + target.len();
        if length > usize::from(self.length) {
            return Err(UrlRefusal::Length);
        }
        let (path, query) = url.split_target();
        self.check_segments(path)?;
        // A path may have parameters, too: `/a;jsessionid=1`.
        let (parameters, names_session) = match url.kinds() & (QUESTION | EQUALS) {
            0 => (0, false),
            _ => {
                let (_, of_path) = look_at_parameters(path, b'/');
                let (parameters, of_query) = look_at_parameters(query, b'&');
                (parameters, of_path || of_query)
            }
        };
        if parameters > usize::from(self.parameters) {
            return Err(UrlRefusal::Parameters);
        }
        match names_session {
            true => Err(UrlRefusal::Session),
            false => Ok(()),
        }
    }

    /// Are there not too many segments in a path, and does none come too often?
    fn check_segments(&self, path: &[u8]) -> Result<(), UrlRefusal> {
        let (depth, repeats) = (usize::from(self.depth), usize::from(self.repeats));
        let (slashes, alike) = measure_segments(path);
        if slashes <= depth && alike <= repeats {
            return Ok(());
        }
        let segments = |path| Segments(path).filter(|segment| !segment.is_empty());
        let mut left = segments(path).count();
        if left > depth {
            return Err(UrlRefusal::Depth);
        }
        let mut rest = Segments(path);
        // As long as enough of them follow.
        while left > repeats
            && let Some(segment) = rest.find(|segment| !segment.is_empty())
        {
            left -= 1;
            let again = segments(rest.0).filter(|other| *other == segment).count();
            if again >= repeats {
                return Err(UrlRefusal::Repeats);
            }
        }
        Ok(())
    }
}

/// How many slashes a path has, before each segment one or more, and how many segments may be the
/// same as another one: so many have the same length, up to multiples of eight.
fn measure_segments(path: &[u8]) -> (usize, usize) {
    let mut lengths = [0_usize; 8];
    let mut slashes = 0;
    let mut most = 0;
    for segment in path.split(|byte| *byte == b'/') {
        slashes += 1;
        if let Some(count) = lengths.get_mut(segment.len() % 8) {
            *count += usize::from(!segment.is_empty());
            most = most.max(*count);
        }
    }
    (slashes - 1, most)
}

/// What stands between the slashes of a path that is yet to be read.
struct Segments<'p>(&'p [u8]);

impl<'p> Iterator for Segments<'p> {
    type Item = &'p [u8];

    fn next(&mut self) -> Option<&'p [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|byte| *byte == b'/');
        let (segment, rest) = self.0.split_at_checked(end.unwrap_or(self.0.len()))?;
        self.0 = rest.get(1..).unwrap_or_default();
        Some(segment)
    }
}

/// How many parameters stand between semicolons or such bytes, and whether one names a session.
#[inline(never)] // Once for paths and queries.
fn look_at_parameters(text: &[u8], end: u8) -> (usize, bool) {
    let parameters = text.split(|byte| *byte == b';' || *byte == end);
    let parameters = parameters.filter(|part| !part.is_empty());
    parameters.fold((0, false), |(count, found), part| {
        (count + 1, found || names_session(part))
    })
}

/// Whether a parameter names a session: `sid=…`, or another that is known.
fn names_session(parameter: &[u8]) -> bool {
    let end = parameter.iter().position(|byte| *byte == b'=');
    let split = end.and_then(|end| parameter.split_at_checked(end));
    // An equals sign, and something behind it.
    let Some((name, [_, _, ..])) = split else {
        return false;
    };
    // Some are followed by letters of their own: ASPSESSIONIDABC.
    let is = |session: &[u8], name: &[u8]| {
        let start = name.get(..session.len());
        let is_known = start.is_some_and(|start| same(start, session));
        is_known && (name.len() == session.len() || session.len() > 8)
    };
    word_at(SESSIONS, name, is).is_some()
}

/// Which URLs may be collected, by where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Scope {
    /// Hosts of the list.
    Hosts,
    /// Hosts of the list, and those below the same domain.
    Site,
    /// What lies below the directories of the list's pages.
    Prefix,
    /// Any host, in the list or not.
    Any,
}

impl Scope {
    /// Does a page of the list let this URL in?
    ///
    /// ```
    /// use dunlin::discover::Scope;
    /// use dunlin::fetch::Url;
    ///
    /// let listed = Url::parse("http://www.a.test/b/c")?;
    /// let url = Url::parse("http://x.a.test/b/d")?;
    /// assert!(Scope::Site.lets_in(&listed, &url));
    /// assert!(!Scope::Hosts.lets_in(&listed, &url));
    /// assert!(Scope::Prefix.lets_in(&listed, &Url::parse("http://www.a.test/b/d/e")?));
    /// # Ok::<(), dunlin::fetch::UrlError>(())
    /// ```
    pub fn lets_in(self, listed: &Url<'_>, url: &Url<'_>) -> bool {
        match self {
            Self::Hosts => listed.same_server(url),
            Self::Site => {
                listed.same_server(url) || is_below(site(listed), url.host_text().as_bytes())
            }
            Self::Prefix => {
                let (path, _) = listed.split_target();
                let end = path.iter().rposition(|byte| *byte == b'/');
                let directory = end.and_then(|end| path.get(..=end)).unwrap_or(b"/");
                let target = url.path_and_query().as_bytes();
                listed.same_server(url) && target.starts_with(directory)
            }
            Self::Any => true,
        }
    }
}

/// The domain that a host belongs to, as people see it: without `www`.
fn site<'u>(url: &Url<'u>) -> &'u [u8] {
    let name = url.host_text().as_bytes();
    match name.split_at_checked(4) {
        Some((start, rest)) if same(start, b"www.") => rest,
        _ => name,
    }
}

/// Is a name that of a domain, or of something below it? Addresses have nothing below them.
fn is_below(domain: &[u8], name: &[u8]) -> bool {
    let is_address = |name: &[u8]| name.iter().all(|byte| !byte.is_ascii_alphabetic());
    let start = name.len().checked_sub(domain.len());
    let Some((before, end)) = start.and_then(|start| name.split_at_checked(start)) else {
        return false;
    };
    let fits = before.is_empty() || before.ends_with(b".") && !is_address(domain);
    fits && same(end, domain) && domain.contains(&b'.')
}
