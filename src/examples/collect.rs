//! A copy of a page on its way to a collector: the bytes of one delivery.
//!
//! `cargo run --example collect --features std,collect`

use dunlin::collect::{Collector, CopyStatus, Preamble, ending, piece};
use dunlin::fetch::{Agent, Request, Url};

fn main() {
    let collector = Collector::new("http://keeper.test:8090/", Some("0123456789abcdef"))
        .expect("a URL and a token");
    let agent = Agent::new("dunlin/0.1", None).expect("a name");
    let url = Url::parse("http://example.org/").expect("a URL");
    let preamble = Preamble {
        collector: &collector,
        request: &Request::get(url, agent),
        unix_time: Some(1_800_000_000),
    };

    // First the head of the delivery and the request, through a window of any size …
    let mut delivery = Vec::new();
    let mut window = [0; 64];
    loop {
        match preamble.render(delivery.len(), &mut window) {
            0 => break,
            length => delivery.extend_from_slice(&window[..length]),
        }
    }
    // … then the answer, piece by piece, as it comes from the network, …
    for answer in ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "hello"] {
        delivery.extend_from_slice(&piece(answer.len()));
        delivery.extend_from_slice(answer.as_bytes());
    }
    // … and at last whether it is worth keeping.
    delivery.extend_from_slice(&ending(CopyStatus::Changed, 0xab));

    let shown = String::from_utf8_lossy(&delivery);
    println!(
        "{}",
        shown.escape_debug().to_string().replace(r"\r\n", "\n")
    );
    assert!(shown.starts_with("POST /v1/exchanges HTTP/1.1\r\n"));
    assert!(shown.contains("hello") && shown.contains("changed 00000000000000ab"));
}
