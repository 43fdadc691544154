//! A web server for tests: what it answers is a function of what it is asked for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Reads a request: its target and its body.
fn read(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let value = line.strip_prefix("Content-Length: ")?;
        value.parse::<usize>().ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((head.split(' ').nth(1)?.to_owned(), body))
}

/// Answers every request with what `site` says of its target and body; returns the port.
pub fn serve(site: impl Fn(&str, &[u8]) -> String + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let site = Arc::new(site);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let site = Arc::clone(&site);
            std::thread::spawn(move || {
                let (target, body) = read(&stream)?;
                let page = site(&target, &body);
                let length = page.len();
                write!(
                    &stream,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                    Connection: close\r\n\r\n{page}"
                )
                .ok()
            });
        }
    });
    port
}
