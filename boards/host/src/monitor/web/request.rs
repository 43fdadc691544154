//! The little of HTTP that a page for one's own browser needs: a request line, a `Host`, and
//! nothing else believed.

use crate::archive::cdxj;

/// No request of a browser for our page is longer.
pub const LONGEST: usize = 8 * 1024;
/// Header lines of a request; browsers send about twenty.
const HEADERS: usize = 64;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The page itself, at `/`.
    Page,
    /// The stream of events, at `/events`.
    Events,
    /// The figures for Prometheus, at `/metrics`.
    Metrics,
    /// The latest news for feed readers, at `/changes.atom`.
    Feed,
    /// The latest news, at `/changes`.
    Changes,
    /// The versions of a page, at `/history?url=…`.
    History,
    /// What changed between two of them, at `/diff?url=…`.
    Diff,
}

/// What follows a path: names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind a question mark.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        Self(pairs.map(pair).collect())
    }

    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let same = |pair: &&(String, String)| pair.0 == name;
        self.0.iter().find(same).map(|(_, value)| value.as_str())
    }
}

/// A part of a query as it was meant.
fn decoded(text: &str) -> String {
    let bytes: Vec<u8> = text
        .bytes()
        .map(|byte| if byte == b'+' { b' ' } else { byte })
        .collect();
    String::from_utf8_lossy(&cdxj::decode(&bytes)).into_owned()
}

/// What is asked for, and with which arguments.
pub type WebRequest = (Route, Query);

/// Why a request is not answered, as a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 400: it is no request.
    Bad,
    /// 404: there is nothing at this path.
    NotFound,
    /// 405: only GET is answered.
    Method,
    /// 403: another site's name leads here.
    Host,
    /// 401: it does not know the token.
    Token,
    /// 431: its head is too long.
    TooLong,
    /// 408: it did not come in time.
    TooSlow,
    /// 503: too many connections are open.
    Busy,
}

impl Refusal {
    /// Its status and reason, as in the answer.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Bad => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::Method => "405 Method Not Allowed",
            Self::Host => "403 Forbidden",
            Self::Token => "401 Unauthorized",
            Self::TooLong => "431 Request Header Fields Too Large",
            Self::TooSlow => "408 Request Timeout",
            Self::Busy => "503 Service Unavailable",
        }
    }
}

/// Which requests are answered.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The server listens on loopback, so a request has to name loopback. A page of another site
    /// could otherwise have its own name lead here and read along.
    pub local_only: bool,
    /// What a request has to know: as `Authorization: Bearer TOKEN`, or as `?token=TOKEN`.
    pub token: Option<String>,
}

impl Access {
    /// Does the request know the token, if there is one?
    fn admits(&self, request: &httparse::Request<'_, '_>) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let authorization = request
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("authorization"))
            .filter_map(|header| header.value.strip_prefix(b"Bearer "));
        let query = request
            .path
            .and_then(|path| path.split_once('?'))
            .map_or("", |(_, query)| query);
        let named = query
            .split('&')
            .filter_map(|pair| pair.strip_prefix("token="))
            .map(str::as_bytes);
        authorization
            .chain(named)
            .any(|given| is_same(given, token.as_bytes()))
    }
}

/// Compares without telling by the time it takes how much of it was right.
pub fn is_same(given: &[u8], token: &[u8]) -> bool {
    let differences = given.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differences == 0
}

/// Reads a request's head, as far as it is there: `None` while it is not complete.
pub fn read(head: &[u8], access: &Access) -> Option<Result<WebRequest, Refusal>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) if head.len() < LONGEST => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(Err(Refusal::TooLong));
        }
        Ok(httparse::Status::Complete(_)) => {}
        Err(_) => return Some(Err(Refusal::Bad)),
    }
    let mut hosts = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = hosts.next();
    let more = hosts.next();
    let host = match (host.map(|host| std::str::from_utf8(host.value)), more) {
        (Some(Ok(host)), None) => host,
        _ => return Some(Err(Refusal::Bad)),
    };
    if access.local_only && !is_loopback(host) {
        return Some(Err(Refusal::Host));
    }
    if request.method != Some("GET") {
        return Some(Err(Refusal::Method));
    }
    if !access.admits(&request) {
        return Some(Err(Refusal::Token));
    }
    let path = request.path.unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let route = match path {
        "/" => Route::Page,
        "/events" => Route::Events,
        "/metrics" => Route::Metrics,
        "/changes.atom" => Route::Feed,
        "/changes" => Route::Changes,
        "/history" => Route::History,
        "/diff" => Route::Diff,
        _ => return Some(Err(Refusal::NotFound)),
    };
    Some(Ok((route, Query::parse(query))))
}

/// Does a `Host` field name this computer itself?
pub fn is_loopback(host: &str) -> bool {
    without_port(host).eq_ignore_ascii_case("localhost")
        || address(host).is_some_and(|address| address.is_loopback())
}

/// Is a `Host` field an address? No name of somebody else's was looked up then.
pub fn is_address(host: &str) -> bool {
    address(host).is_some()
}

fn address(host: &str) -> Option<std::net::IpAddr> {
    let name = without_port(host);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.parse().ok()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(head: &str) -> Option<Result<Route, Refusal>> {
        let access = Access {
            local_only: true,
            token: None,
        };
        Some(read(head.as_bytes(), &access)?.map(|(route, _)| route))
    }

    #[test]
    fn a_token_is_asked_for_in_a_header_or_in_the_query() {
        let access = Access {
            local_only: false,
            token: Some("correct-horse".into()),
        };
        let ask = |path: &str, more: &str| {
            let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n");
            let asked = read(head.as_bytes(), &access).expect("a whole head");
            asked.map(|(route, _)| route)
        };
        let known = "Authorization: Bearer correct-horse\r\n";
        assert_eq!(ask("/metrics", known), Ok(Route::Metrics));
        assert_eq!(ask("/events?token=correct-horse", ""), Ok(Route::Events));
        assert_eq!(ask("/?a=b&token=correct-horse", ""), Ok(Route::Page));
        for path in [
            "/",
            "/metrics",
            "/events",
            "/?token=",
            "/?token=correct-hors",
            "/?token=correct-horses",
            "/?token=Correct-horse",
            "/?xtoken=correct-horse",
            "/nothing",
        ] {
            assert_eq!(ask(path, ""), Err(Refusal::Token), "{path}");
        }
        for header in [
            "Authorization: correct-horse\r\n",
            "Authorization: Bearer correct\r\n",
            "Authorization: Basic correct-horse\r\n",
            "Cookie: token=correct-horse\r\n",
        ] {
            assert_eq!(ask("/", header), Err(Refusal::Token), "{header}");
        }
    }

    #[test]
    fn some_paths_and_one_method() {
        assert_eq!(
            ask("GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n"),
            Some(Ok(Route::Page))
        );
        assert_eq!(
            ask("GET /events HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n"),
            Some(Ok(Route::Events))
        );
        assert_eq!(
            ask("GET /metrics?x=1 HTTP/1.1\r\nHost: [::1]:1\r\n\r\n"),
            Some(Ok(Route::Metrics))
        );
        assert_eq!(
            ask("GET /changes.atom HTTP/1.1\r\nHost: [::1]:1\r\n\r\n"),
            Some(Ok(Route::Feed))
        );
        for path in [
            "/../etc/passwd",
            "//",
            "/index.html",
            "/events/",
            "*",
            "http://localhost/",
        ] {
            let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(ask(&head), Some(Err(Refusal::NotFound)), "{path}");
        }
        for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            let head = format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(ask(&head), Some(Err(Refusal::Method)), "{method}");
        }
    }

    #[test]
    fn a_query_is_decoded_once() {
        let query = Query::parse("url=http%3A%2F%2Fa.test%2F%2541+b&&to=&x&url=second");
        assert_eq!(query.get("url"), Some("http://a.test/%41 b"));
        assert_eq!((query.get("to"), query.get("x")), (Some(""), Some("")));
        assert_eq!(query.get("none"), None);
        assert_eq!(Query::parse("%zz=%&%4=%ff").get("%zz"), Some("%"));
    }

    #[test]
    fn names_of_other_sites_do_not_lead_here() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1",
            "",
        ] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(ask(&head), Some(Err(Refusal::Host)), "{host}");
            let open = read(head.as_bytes(), &Access::default());
            assert_eq!(open, Some(Ok((Route::Page, Query::default()))), "{host}");
        }
        assert_eq!(ask("GET / HTTP/1.1\r\n\r\n"), Some(Err(Refusal::Bad)));
        assert_eq!(
            ask("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"),
            Some(Err(Refusal::Bad))
        );
    }

    #[test]
    fn a_head_is_complete_or_too_long() {
        let head = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for cut in 0..head.len() {
            assert_eq!(ask(&head[..cut]), None, "{:?}", &head[..cut]);
        }
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(LONGEST));
        assert_eq!(ask(&long), Some(Err(Refusal::TooLong)));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS + 1));
        assert_eq!(ask(&many), Some(Err(Refusal::TooLong)));
    }
}
