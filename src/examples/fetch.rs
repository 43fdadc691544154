//! One page over HTTP: resolve, check the address, connect, exchange, and compare fingerprints.
//!
//! `cargo run --example fetch --features std,probe`

mod memory;

use dunlin::fetch::{Agent, AnswerKind, Ask, Client, Fingerprinter, Request, Url};
use memory::{Network, run};

/// The secret that keeps a server from making two versions of a page look alike.
const KEY: [u8; 16] = *b"kept on a device";

/// Fetches a page and takes its fingerprint.
///
/// *Cancellation*: the connection is dropped where it is.
async fn fetch(url: Url<'_>, agent: Agent<'_>) -> Option<u64> {
    let mut network = Network;
    let mut names = Network;
    let mut client = Client::new(&mut network);
    let mut window = [0; 512];
    let mut fingerprinter = Fingerprinter::new(&KEY, &[]);
    let mut ask = Ask::new(Request::get(url, agent));
    let answer = client
        .request(&mut ask, &mut names, &mut window, &mut fingerprinter)
        .await
        .ok()?;
    println!("{:?}, {} bytes", answer.kind, answer.bytes);
    (answer.kind == AnswerKind::Page).then(|| fingerprinter.finish().short())
}

fn main() {
    let agent = Agent::new("dunlin/0.1", Some("https://example.org/bot")).expect("a good name");
    let url = Url::parse("http://example.org/").expect("a good URL");
    let first = run(fetch(url, agent)).flatten();
    let second = run(fetch(url, agent)).flatten();
    assert!(first.is_some());
    println!("changed since the first visit: {}", first != second);
    assert_eq!(first, second);
}
