//! What one fetch holds in memory.

use std::convert::Infallible;

use dunlin::fetch::{
    Addresses, Agent, Ask, Client, Connect, Connection, Endpoint, Etag, Fingerprinter, HttpDate,
    Request, Resolve, Url,
};
use embedded_io_async::{ErrorType, Read, Write};

use super::Row;

/// The window that everything passes through, as large as boards choose it.
const WINDOW: usize = 1024;

/// A connection that takes no memory of its own.
struct Nowhere;

impl ErrorType for Nowhere {
    type Error = Infallible;
}

impl Read for Nowhere {
    async fn read(&mut self, _: &mut [u8]) -> Result<usize, Infallible> {
        Ok(0)
    }
}

impl Write for Nowhere {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(bytes.len())
    }
    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Connection for Nowhere {}

impl Connect for Nowhere {
    type Error = Infallible;
    type Connection<'c> = Nowhere;

    async fn connect(&mut self, _: Endpoint<'_>) -> Result<Nowhere, Infallible> {
        Ok(Nowhere)
    }
}

impl Resolve for Nowhere {
    type Error = Infallible;

    async fn resolve(&mut self, _: &str) -> Result<Addresses, Infallible> {
        Ok(Addresses::new())
    }
}

/// The state of a conditional request for a page that is on its way, with all it refers to.
pub fn rows(rows: &mut Vec<Row>) {
    let Ok((url, agent)) = Url::parse("http://example.org/")
        .map_err(drop)
        .and_then(|url| Ok((url, Agent::new("dunlin", None).map_err(drop)?)))
    else {
        return;
    };
    let etag = Etag::new(b"\"v1\"");
    let mut request = Request::get(url, agent);
    request.etag = etag.as_ref();
    request.last_modified = HttpDate::from_unix(0);
    let mut ask = Ask::new(request);
    let mut window = [0; WINDOW];
    let mut connector = Nowhere;
    let mut names = Nowhere;
    let mut hasher = Fingerprinter::new(&[0; 16], &[]);
    let mut client = Client::new(&mut connector);
    let state = client.request(&mut ask, &mut names, &mut window, &mut hasher);
    let state = size_of_val(&state) + size_of::<Fingerprinter<'_>>();
    let bytes = state + size_of::<Ask<'_>>() + size_of_val(&etag) + WINDOW;
    rows.push(Row {
        room: "fetch",
        what: "one fetch, state and buffers, with pointers of 64 bits".into(),
        ours: bytes as f64,
        unit: "bytes",
        other: Some(("the window alone", WINDOW as f64)),
        // By the sizes that `dunlin::fetch` lists; this computer's pointers are twice as long.
        limit: "2,560 on a device, where it is some 2,390".into(),
        grows: None,
    });
}
