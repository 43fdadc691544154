//! What a planner answers by HTTP: lists to probes, orders of its owner, and a page for everybody
//! who may look.

use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::coordinator::Coordinator;
use super::orders::Order;
use super::view::{FleetView, metrics};
use crate::error::Error;
use crate::monitor::metrics::CONTENT_TYPE;
use crate::monitor::web::places::Places;
use crate::monitor::web::request::{is_loopback, is_same};
use crate::monitor::web::send_within;
use crate::output::Table;

/// The longest head of a request, and the longest order.
const LONGEST: usize = 8 * 1024;
/// How long a whole request may take, however slowly it trickles: others wait for its place.
const ASKING: Duration = Duration::from_secs(5);
/// How long a whole answer may take: a list over a slow line.
const ANSWERING: Duration = Duration::from_secs(60);
const HEADERS: usize = 64;
/// A browser asks for the page again after so many seconds.
const REFRESH_S: u32 = 5;

/// The planner's decisions, and its clock.
pub struct Shared {
    /// What decides who has which host, and how much each may fetch.
    pub coordinator: Mutex<Coordinator>,
    /// When the planner started: its clock counts from here.
    pub start: Instant,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// Now, as the coordinator counts time.
    pub fn now(&self) -> dunlin::time::Instant {
        dunlin::time::Instant::ZERO + dunlin::time::Duration::from(self.start.elapsed())
    }

    /// Its mind, for a moment.
    pub fn lock(&self) -> std::sync::MutexGuard<'_, Coordinator> {
        self.coordinator
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The fleet as it is now.
    pub fn view(&self) -> FleetView {
        self.lock().view(self.now())
    }
}

/// What is answered, and to whom.
#[derive(Clone)]
pub enum Site {
    /// Lists to who knows their token, orders to who knows this one.
    Control {
        /// The token that the owner's orders have to show.
        token: String,
        /// The planner that is given the orders.
        shared: Arc<Shared>,
    },
    /// The page and the figures; with a token, to who knows it.
    Seen {
        /// What everybody has to know who looks.
        token: Option<String>,
        /// The fleet as it is now.
        look: Look,
    },
}

/// The fleet as it is now, whoever knows it.
pub type Look = Arc<dyn Fn() -> FleetView + Send + Sync>;

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Tokens are nobody's business.
        f.write_str(match self {
            Self::Control { .. } => "Control",
            Self::Seen { .. } => "Seen",
        })
    }
}

/// Listens at an address; also where that is.
///
/// # Errors
/// The address cannot be listened on.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let wrong = |why: io::Error| Error::listening(address, why);
    let listener = TcpListener::bind(address).map_err(wrong)?;
    let address = listener.local_addr().map_err(wrong)?;
    Ok((listener, address))
}

/// Starts a server; it lasts as long as the process.
pub fn serve(listener: TcpListener, site: Site) {
    let address = listener.local_addr();
    let local_only = address.is_ok_and(|address| address.ip().is_loopback());
    let places = Places::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let client = stream.peer_addr().map(|client| client.ip());
            let Some(place) = client.ok().and_then(|client| places.take(client)) else {
                let _ = stream.set_nonblocking(true);
                let busy = Reply::text("503 Service Unavailable", "busy");
                let _ = busy.write(&stream);
                continue;
            };
            let site = site.clone();
            std::thread::spawn(move || {
                // A client that went away is nobody's problem but its own.
                let _ = answer(&stream, &site, local_only);
                drop(place);
            });
        }
    });
}

/// An answer before it is written to a connection.
struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Reply {
    fn text(status: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: (text.into() + "\n").into_bytes(),
        }
    }

    fn ok(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: "200 OK",
            content_type,
            body: body.into(),
        }
    }

    /// Writes all of it within [`ANSWERING`], or drops the client.
    fn write(&self, stream: &TcpStream) -> io::Result<()> {
        let Self {
            status,
            content_type,
            body,
        } = self;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n",
            body.len()
        );
        send_within(ANSWERING, stream, &[head.as_bytes(), body].concat())
    }
}

/// What is asked for.
struct Asked {
    method: String,
    path: String,
    token: Option<Vec<u8>>,
    host: String,
    body_from: usize,
    length: usize,
}

fn answer(stream: &TcpStream, site: &Site, local_only: bool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let deadline = Instant::now() + ASKING;
    let mut bytes = vec![0; LONGEST];
    let mut length = 0;
    let asked = loop {
        length += read(stream, &mut bytes[length..], deadline)?;
        match parse(&bytes[..length]) {
            Some(Ok(asked)) => break asked,
            Some(Err(status)) => return Reply::text(status, status).write(stream),
            None => {}
        }
    };
    let end = asked.body_from.checked_add(asked.length);
    let Some(end) = end.filter(|end| *end <= LONGEST) else {
        let status = "413 Content Too Large";
        return Reply::text(status, status).write(stream);
    };
    while length < end {
        length += read(stream, &mut bytes[length..], deadline)?;
    }
    // A page of another site could have its own name lead here.
    if local_only && matches!(site, Site::Seen { .. }) && !is_loopback(&asked.host) {
        return Reply::text("403 Forbidden", "not by this name").write(stream);
    }
    let body = &bytes[asked.body_from..end];
    let reply = match site {
        Site::Control { token, shared } => control(&asked, body, token, shared),
        Site::Seen { token, look } => seen(&asked, token.as_deref(), look),
    };
    reply.write(stream)
}

fn read(mut stream: &TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    match stream.read(buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(count),
    }
}

/// Reads a request's head; `None` while it is not complete.
fn parse(head: &[u8]) -> Option<Result<Asked, &'static str>> {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    let body_from = match request.parse(head) {
        Ok(httparse::Status::Complete(body)) => body,
        Ok(httparse::Status::Partial) if head.len() < LONGEST => return None,
        _ => return Some(Err("400 Bad Request")),
    };
    let field = |name: &str| {
        let mut named = request
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        named.next().map(|field| field.value)
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let path = request.path.unwrap_or_default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let bearer = field("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
    let named = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
        .map(str::as_bytes);
    let length = match field("content-length").map(text) {
        Some(length) => match length.parse() {
            Ok(length) => length,
            Err(_) => return Some(Err("400 Bad Request")),
        },
        None => 0,
    };
    Some(Ok(Asked {
        method: request.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        token: bearer.or(named).map(<[u8]>::to_vec),
        host: field("host").map(text).unwrap_or_default(),
        body_from,
        length,
    }))
}

/// Answers who asks for a list or gives an order.
fn control(asked: &Asked, body: &[u8], token: &str, shared: &Shared) -> Reply {
    let parts: Vec<&str> = asked.path.split('/').collect();
    if let (["", "lists", probe, version, secret], "GET") = (&parts[..], asked.method.as_str()) {
        let list = shared.lock().list(probe, version, secret);
        return match list {
            Some(image) => Reply::ok("application/octet-stream", image),
            None => Reply::text("404 Not Found", "there is no such list any more"),
        };
    }
    let given = asked.token.as_deref().unwrap_or_default();
    if !is_same(given, token.as_bytes()) {
        return Reply::text(
            "401 Unauthorized",
            "expected the token of the planner's state",
        );
    }
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/fleet.json") => json(&shared.view()),
        ("POST", "/orders") => {
            let order: Result<Order, _> = serde_json::from_slice(body);
            let order = match order {
                Ok(order) => order,
                Err(why) => return Reply::text("400 Bad Request", why.to_string()),
            };
            let now = shared.now();
            match shared.lock().obey(&order, now) {
                Ok(answered) => json(&answered),
                Err(why) => Reply::text("422 Unprocessable Content", why),
            }
        }
        _ => Reply::text("404 Not Found", "expected GET /fleet.json or POST /orders"),
    }
}

/// The page and the figures.
fn seen(asked: &Asked, token: Option<&str>, look: &Look) -> Reply {
    let given = asked.token.as_deref().unwrap_or_default();
    if token.is_some_and(|token| !is_same(given, token.as_bytes())) {
        return Reply::text("401 Unauthorized", "expected ?token=TOKEN");
    }
    if asked.method != "GET" {
        return Reply::text("405 Method Not Allowed", "expected GET");
    }
    match asked.path.as_str() {
        "/" => Reply::ok("text/html; charset=utf-8", page(&look())),
        "/fleet.json" => json(&look()),
        "/metrics" => Reply::ok(CONTENT_TYPE, metrics(&look())),
        _ => Reply::text("404 Not Found", "expected /, /fleet.json or /metrics"),
    }
}

fn json(value: &impl serde::Serialize) -> Reply {
    Reply::ok("application/json", crate::output::json(value))
}

/// A page that a browser asks for again and again; no script.
fn page(view: &FleetView) -> String {
    let mut table = Table::new(&[
        "probe",
        "state",
        "lease",
        "pages",
        "list",
        "budget a day",
        "should have",
        "price",
        "freshness",
        "fetches",
        "errors",
    ]);
    for probe in &view.probes {
        let state = match (probe.here, probe.paused, probe.online) {
            (_, true, _) => "paused",
            (true, _, true) => "here",
            (true, _, false) => "cut off",
            (false, ..) => "gone",
        };
        table.row(vec![
            probe.id.clone(),
            state.into(),
            format!("{:.0} s", probe.lease_s),
            probe.pages.to_string(),
            match probe.list == probe.list_in_force {
                true => probe.list.to_string(),
                false => format!("{} → {}", probe.list_in_force, probe.list),
            },
            format!("{:.0}", probe.budget),
            format!("{:.0}", probe.target),
            format!("{:.4}", probe.price),
            format!("{:.1} %", probe.freshness * 100.0),
            probe.fetches.to_string(),
            probe.errors.to_string(),
        ]);
    }
    let name = crate::output::plot::escape(&view.fleet);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"refresh\" content=\"{REFRESH_S}\"><title>Fleet {name}</title><style>\
         body{{font:15px/1.5 system-ui,sans-serif;margin:2em;color:#222;background:#fff}}\
         table{{border-collapse:collapse}}th,td{{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:left}}\
         .number{{text-align:right;font-variant-numeric:tabular-nums}}\
         @media(prefers-color-scheme:dark){{body{{color:#ddd;background:#181818}}th,td{{border-color:#444}}}}\
         </style></head><body><h1>Fleet {name}</h1><p>{}</p>{}\
         <p>{} visits heard of, {} found a change. Planner's start {}, last heard of {:.0} s ago. <code>/fleet.json</code> and <code>/metrics</code> have the same figures.</p></body></html>\n",
        crate::output::plot::escape(&super::view::line(view)),
        table.to_html(),
        view.visits,
        view.changes,
        view.epoch,
        view.planner_silent_s,
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A page for everybody who may look, and where it is.
    fn seen() -> SocketAddr {
        let (listener, address) = bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let look: Look = Arc::new(|| panic!("nobody is shown anything here"));
        let token = Some("correct-horse".into());
        serve(listener, Site::Seen { token, look });
        address
    }

    /// What is answered, up to the end of the connection.
    fn said(mut stream: &TcpStream) -> String {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn a_length_beyond_all_measure_is_refused() {
        let address = seen();
        for length in ["18446744073709551615", "18446744073709551600", "9000"] {
            let mut stream = TcpStream::connect(address).expect("it listens");
            let head =
                format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("sent");
            assert!(said(&stream).starts_with("HTTP/1.1 413 "), "{length}");
        }
    }

    #[test]
    fn who_does_not_come_to_the_end_of_a_request_loses_the_place_soon() {
        let mut stream = TcpStream::connect(seen()).expect("it listens");
        let start = Instant::now();
        let patience = Duration::from_secs(30);
        stream.set_read_timeout(Some(patience)).expect("a socket");
        stream.write_all(b"GET / HTTP/1.1\r\nX: ").expect("sent");
        let writing = stream.try_clone().expect("a handle");
        // A byte now and then is no sign of life.
        std::thread::spawn(move || {
            let mut writing = &writing;
            while writing.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        assert_eq!(said(&stream), "");
        assert!(start.elapsed() < patience / 2, "{:?}", start.elapsed());
    }

    #[test]
    fn who_reads_too_slowly_is_dropped_however_the_bytes_trickle() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let reader = TcpStream::connect(address).expect("it listens");
        let (writer, _) = listener.accept().expect("it connects");
        let reading = std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            // Far slower than the answer is long, and never silent for long.
            while (&reader).read(&mut piece).is_ok_and(|count| count > 0) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let start = Instant::now();
        let answer = vec![b'x'; 64 << 20];
        let sent = send_within(Duration::from_millis(600), &writer, &answer);
        assert!(sent.is_err(), "64 MiB at 200 kB a second");
        assert!(start.elapsed() < Duration::from_secs(5));
        drop(writer);
        reading.join().expect("it ends");
    }
}
