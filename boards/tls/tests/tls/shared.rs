//! One client, several users: pages, and a connection that stays open, as to a broker.

use std::net::TcpStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dunlin_tls::TlsConnection;
use dunlin_tls::computer::{Socket, finish};
use embedded_io_async::{Read as _, Write as _};

use crate::client::{Fetch, fetch};
use crate::peers::{Authority, Leaf, Server, Versions};

#[test]
fn who_stays_open_leaves_the_buffer_to_others() {
    let authority = Authority::new("our own");
    let identity = authority.leaf(&Leaf::named("a.test"));
    let pages = Server::start(identity.clone(), Versions::Tls13);
    let broker = Server::start_and_stay(identity, Versions::Tls13);
    let page = Fetch::of(&pages, "a.test").trusting(&authority);
    let tls = page.client.unwrap();
    let socket = Socket(TcpStream::connect(broker.address).unwrap());
    let port = broker.address.port();
    let open = TlsConnection::open_for(tls, socket, "a.test", port, &[]);
    let mut open = finish(open).unwrap();

    // It says nothing, and is in nobody's way.
    assert_eq!(fetch(&page).text(), "hello");

    // A part of its answer is in the buffer: others wait until it has been read.
    finish(open.write_all(b"GET / HTTP/1.1\r\n\r\n")).unwrap();
    let mut first = [0; 1];
    assert_eq!(finish(open.read(&mut first)).unwrap(), 1);
    let socket = Socket(TcpStream::connect(pages.address).unwrap());
    let mut other = pin!(TlsConnection::open(tls, socket, "a.test", 443));
    let mut context = Context::from_waker(Waker::noop());
    assert!(other.as_mut().poll(&mut context).is_pending());
    // Nothing comes after the answer: a goodbye might be in the buffer by now, or not, and whoever
    // has it would rightly keep the buffer until it is read.
    let mut rest = [0; 256];
    let mut answer = first.to_vec();
    while !answer.ends_with(b"hello") {
        let length = finish(open.read(&mut rest)).unwrap();
        assert!(length > 0, "ended after {}", answer.escape_ascii());
        answer.extend_from_slice(&rest[..length]);
    }
    match other.as_mut().poll(&mut context) {
        Poll::Ready(opened) => assert!(!opened.unwrap().is_resumed()),
        Poll::Pending => panic!("it still waits"),
    }
}
