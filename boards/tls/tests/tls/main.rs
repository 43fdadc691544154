//! The client that boards have, against servers on this computer.

mod client;
mod exhausted;
mod peers;
mod shared;

use client::{Fetch, fetch};
use dunlin::fetch::TlsError;
use peers::{Authority, Leaf, Server, Versions, flipping};

#[test]
fn a_page_comes_over_both_versions_and_every_kind_of_key() {
    let keys = [
        (Versions::Tls13, "p256"),
        (Versions::Tls13, "p384"),
        (Versions::Tls13, "2048"),
        (Versions::Tls13, "4096"),
        (Versions::Tls12, "p256"),
        (Versions::Tls12, "p384"),
        (Versions::Tls12, "3072"),
    ];
    for (versions, key) in keys {
        let authority = Authority::new("our own");
        let leaf = Leaf::named("a.test").with_key(key);
        let server = Server::start(authority.leaf(&leaf), versions);
        let got = fetch(&Fetch::of(&server, "a.test").trusting(&authority));
        assert_eq!(got.text(), "hello", "{key} over {versions:?}");
        assert!(!got.resumed);
    }
}

#[test]
fn the_second_visit_resumes() {
    for versions in [Versions::Tls13, Versions::Tls12] {
        let authority = Authority::new("our own");
        let server = Server::start(authority.leaf(&Leaf::named("a.test")), versions);
        let ask = Fetch::of(&server, "a.test").trusting(&authority);
        assert!(!fetch(&ask).resumed);
        let second = fetch(&ask);
        assert_eq!(second.text(), "hello");
        assert!(second.resumed, "{versions:?}");
    }
}

#[test]
fn two_servers_of_one_name_have_a_session_each() {
    let authority = Authority::new("our own");
    let identity = authority.leaf(&Leaf::named("a.test"));
    let one = Server::start(identity.clone(), Versions::Tls13);
    let other = Server::start(identity, Versions::Tls13);
    let first = Fetch::of(&one, "a.test").trusting(&authority);
    let second = first.at(&other);
    assert!(!fetch(&first).resumed);
    // It would not know a session of the first one's.
    assert!(!fetch(&second).resumed);
    assert!(fetch(&first).resumed);
    assert!(fetch(&second).resumed);
}

#[test]
fn strangers_are_refused() {
    let authority = Authority::new("our own");
    let other = Authority::new("our own");
    let server = Server::start(other.leaf(&Leaf::named("a.test")), Versions::Tls13);
    let refused = fetch(&Fetch::of(&server, "a.test").trusting(&authority));
    assert_eq!(refused.error(), TlsError::Certificate);
    let refused = fetch(&Fetch::of(&server, "a.test"));
    assert_eq!(refused.error(), TlsError::Issuer);
}

#[test]
fn who_shows_the_certificate_of_another_is_refused() {
    let authority = Authority::new("our own");
    for key in ["p256", "p384", "2048", "4096"] {
        let identity = authority.leaf(&Leaf::named("a.test").with_key(key));
        let stolen = identity.stolen(key);
        for versions in [Versions::Tls13, Versions::Tls12] {
            let thief = Server::start(stolen.clone(), versions);
            let refused = fetch(&Fetch::of(&thief, "a.test").trusting(&authority));
            let why = refused.error();
            assert_eq!(why, TlsError::Certificate, "{key} over {versions:?}");
        }
    }
}

#[test]
fn an_authority_with_rsa_is_believed_and_nobody_in_its_name() {
    for bits in ["2048", "4096"] {
        let authority = Authority::with_key("our own", bits);
        let leaf = Leaf::named("a.test");
        let server = |identity| Server::start(identity, Versions::Tls13);
        let honest = authority.leaf(&leaf);
        let ask = Fetch::of(&server(honest.clone()), "a.test").trusting(&authority);
        assert_eq!(fetch(&ask).text(), "hello", "{bits}");
        let forged = ask.at(&server(honest.forged()));
        assert_eq!(fetch(&forged).error(), TlsError::Certificate, "{bits}");
        let namesake = Authority::with_key("our own", "2048");
        let false_root = ask.at(&server(namesake.leaf(&leaf)));
        assert_eq!(fetch(&false_root).error(), TlsError::Certificate, "{bits}");
    }
}

#[test]
fn a_record_of_tls_12_that_was_changed_on_its_way_is_refused() {
    const HANDSHAKE: u8 = 22;
    const TEXT: u8 = 23;
    let authority = Authority::new("our own");
    let identity = authority.leaf(&Leaf::named("a.test"));
    let server = Server::start(identity, Versions::Tls12);
    for kind in [HANDSHAKE, TEXT] {
        let changed = flipping(&server, kind);
        let refused = fetch(&Fetch::of(&changed, "a.test").trusting(&authority));
        assert_eq!(
            refused.error(),
            TlsError::Protocol,
            "records of type {kind}"
        );
    }
    assert_eq!(
        fetch(&Fetch::of(&server, "a.test").trusting(&authority)).text(),
        "hello"
    );
}
