//! The figures for a browser: one page, its live updates, and metrics. Reads no file and believes
//! no request.

mod kept;
pub mod places;
pub mod request;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use self::places::{Place, Places};
use self::request::{Access, LONGEST, Query, Refusal, Route, WebRequest};
use super::metrics;
use super::state::MonitoredProbe;
use super::view::View;
use crate::board::computer::unix_time;
use crate::error::Error;
use crate::filter::Filters;
use crate::output;
use crate::told::atom;
use crate::told::recent::Recent;

/// The page: markup, style and script in one.
const PAGE: &str = include_str!("page.html");
/// What leads from the page to recent changes, where there are any.
const CHANGES_LINK: &str =
    "Recent changes: <a href=\"/changes\" class=\"one\" id=\"recent\">/changes</a>.";
/// For a whole request, and for a whole answer or event, however slowly it trickles.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that the system keeps for a client that does not read them. By itself it would keep
/// megabytes, minutes of events, before anybody noticed.
#[cfg(unix)]
const UNREAD: usize = 16 * 1024;
/// The time between two events.
const EVERY: Duration = Duration::from_millis(500);
/// How many lines of the log the page shows.
const LINES: usize = 40;

/// The page needs nothing from anywhere, and nothing may be smuggled into it.
const HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    Connection: close\r\n";

/// Pages that are made here need no script, either; their content is none of their own.
const KEPT_HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; sandbox allow-forms\r\n\
    Connection: close\r\n";

/// Probes, in the order of the command line.
pub type Probes = Arc<Vec<Arc<Mutex<MonitoredProbe>>>>;

/// What can be seen.
#[derive(Clone, Debug)]
pub struct Site {
    /// The probes as they are now.
    pub probes: Probes,
    /// The latest news, for feed readers; `None` where nobody keeps it.
    pub recent: Option<Recent>,
    /// Where versions of pages are; `None` where nobody keeps them.
    pub archive: Option<PathBuf>,
    /// What of pages counts as a change.
    pub filters: Arc<Filters>,
}

/// Starts the server; it lasts as long as the process. Returns where it listens. With a token,
/// nobody is answered who does not know it.
///
/// # Errors
/// The address cannot be listened on.
pub fn start(address: SocketAddr, token: Option<String>, site: Site) -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind(address).map_err(|why| Error::listening(address, why))?;
    let address = listener
        .local_addr()
        .map_err(|why| Error::Usage(why.to_string()))?;
    let access = Arc::new(Access {
        local_only: address.ip().is_loopback(),
        token,
    });
    let places = Places::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let client = stream.peer_addr().map(|client| client.ip());
            let place = client.ok().and_then(|client| places.take(client));
            let site = site.clone();
            let access = Arc::clone(&access);
            let Some(place) = place else {
                refuse_at_once(&stream);
                continue;
            };
            std::thread::spawn(move || {
                // A client that went away, or was too slow, is nobody's problem but its own.
                let _ = answer(&stream, place, &access, &site);
            });
        }
    });
    Ok(address)
}

/// Says no without waiting for anything: this is the thread that lets others in.
fn refuse_at_once(stream: &TcpStream) {
    let _ = stream.set_nonblocking(true);
    let mut stream = stream;
    let _ = stream.write_all(refusal(Refusal::Busy).as_bytes());
}

fn refusal(why: Refusal) -> String {
    let status = why.status();
    let allow = match why {
        Refusal::Method => "Allow: GET\r\n",
        Refusal::Token => "WWW-Authenticate: Bearer\r\n",
        _ => "",
    };
    let length = status.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\n{allow}{HEADERS}Content-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{status}\n"
    )
}

fn answer(stream: &TcpStream, mut place: Place, access: &Access, site: &Site) -> io::Result<()> {
    let probes = &site.probes;
    stream.set_nodelay(true)?;
    #[cfg(unix)]
    rustix::net::sockopt::set_socket_send_buffer_size(stream, UNREAD)?;
    let (route, query) = match listen(stream, access)? {
        Ok(asked) => asked,
        Err(why) => return send(stream, refusal(why).as_bytes()),
    };
    match route {
        // Without probes there is nothing live to see.
        Route::Page if probes.is_empty() => {
            send(stream, kept_page(Route::Changes, &query, site).as_bytes())
        }
        Route::Page => {
            let link = match &site.recent {
                Some(_) => CHANGES_LINK,
                None => "",
            };
            let page = PAGE.replace("<!-- changes -->", link);
            let page = document("text/html; charset=utf-8", &page);
            send(stream, page.as_bytes())
        }
        Route::Metrics => {
            let guards: Vec<_> = probes
                .iter()
                .filter_map(|probe| probe.lock().ok())
                .collect();
            let text = metrics::text(guards.iter().map(|probe| &**probe));
            drop(guards);
            send(stream, document(metrics::CONTENT_TYPE, &text).as_bytes())
        }
        Route::Changes | Route::History | Route::Diff => {
            send(stream, kept_page(route, &query, site).as_bytes())
        }
        Route::Feed => match &site.recent {
            Some(recent) => {
                let feed = atom::feed(&recent.latest(), unix_time());
                send(stream, document(atom::CONTENT_TYPE, &feed).as_bytes())
            }
            None => send(stream, refusal(Refusal::NotFound).as_bytes()),
        },
        Route::Events if place.read_events() => events(stream, probes),
        Route::Events => send(stream, refusal(Refusal::Busy).as_bytes()),
    }
}

fn document(content_type: &str, body: &str) -> String {
    answered(HEADERS, content_type, body)
}

fn answered(headers: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\n{headers}Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// A page of what is kept, or why there is none.
fn kept_page(route: Route, query: &Query, site: &Site) -> String {
    let page = match (route, &site.recent, &site.archive) {
        (Route::Changes, Some(recent), archive) => {
            Ok(kept::changes(&recent.latest(), query, archive.is_some()))
        }
        (Route::History, _, Some(archive)) => kept::history(archive, query),
        (Route::Diff, _, Some(archive)) => kept::diff(archive, query, &site.filters),
        _ => return refusal(Refusal::NotFound),
    };
    match page {
        Ok(page) => answered(KEPT_HEADERS, "text/html; charset=utf-8", &page),
        Err(why) => {
            output::say(format_args!("{why}"));
            refusal(Refusal::NotFound)
        }
    }
}

/// Reads a request's head, within [`PATIENCE`] and [`LONGEST`] bytes.
fn listen(mut stream: &TcpStream, access: &Access) -> io::Result<Result<WebRequest, Refusal>> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = [0; LONGEST];
    let mut length = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(Refusal::TooSlow));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut head[length..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                return Ok(Err(Refusal::TooSlow));
            }
            Err(error) => return Err(error),
        }
        if let Some(result) = request::read(&head[..length], access) {
            return Ok(result);
        }
    }
}

/// Writes all of it within [`PATIENCE`], or drops the client.
fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    send_within(PATIENCE, stream, bytes)
}

/// Writes all of it within this time, however slowly the client reads.
///
/// # Errors
/// The client has gone, or was too slow.
pub fn send_within(patience: Duration, mut stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Server-sent events: every probe's figures, with those pages and hosts that something has
/// happened to since the last one. For as long as the browser listens.
fn events(stream: &TcpStream, probes: &Probes) -> io::Result<()> {
    send(
        stream,
        format!("HTTP/1.1 200 OK\r\n{HEADERS}Content-Type: text/event-stream\r\n\r\n").as_bytes(),
    )?;
    let mut sent = vec![0; probes.len()];
    loop {
        let mut views = Vec::new();
        for (probe, sent) in probes.iter().zip(&mut sent) {
            let Ok(probe) = probe.lock() else { continue };
            views.push(View::since(&probe, LINES, *sent));
            *sent = probe.revision + 1;
        }
        // JSON on one line holds no line end, which is what ends an event.
        let event = format!(
            "data: {}\n\n",
            serde_json::to_string(&views).unwrap_or_default()
        );
        send(stream, event.as_bytes())?;
        std::thread::sleep(EVERY);
    }
}
