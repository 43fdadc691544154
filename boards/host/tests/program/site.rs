//! A web server for tests: what it answers is a function of what it is asked for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A request: its path, its fields and its body.
pub struct Request {
    pub path: String,
    pub head: String,
    pub body: Vec<u8>,
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let named = name.eq_ignore_ascii_case("content-length");
        named.then(|| value.parse::<usize>().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        path: head.split(' ').nth(1)?.to_owned(),
        head,
        body,
    })
}

/// Answers each request with what `site` says; returns its port.
pub fn serve(site: impl Fn(&Request) -> String + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let site = Arc::new(site);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let site = Arc::clone(&site);
            std::thread::spawn(move || {
                let request = read(&stream)?;
                (&stream).write_all(site(&request).as_bytes()).ok()
            });
        }
    });
    port
}

/// An answer with a body.
pub fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// An answer with a page of HTML.
pub fn page(body: &str) -> String {
    answer("200 OK\r\nContent-Type: text/html", body)
}
