//! https on loopback, with a certificate authority of our own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use dunlin::fetch::{Client, Connect, Endpoint, Limits, Request, Scheme, TlsError, Url};
use dunlin_host::board::net::HostConnect;
use dunlin_host::board::verify::Trust;
use futures_lite::future::block_on;
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;

use crate::client::{Failure, Got, LOOPBACK, PATIENCE, agent, ask, fingerprint};

/// A server for `secure.example` that answers every connection, with or without saying goodbye; and
/// its certificate.
fn serve(goodbye: bool) -> (u16, RootCertStore) {
    let issued = rcgen::generate_simple_self_signed(["secure.example".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(issued.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let config = Arc::new(config);
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut socket = stream.unwrap();
            let mut tls = rustls::Stream::new(&mut session, &mut socket);
            // A client that does not trust us hangs up: that is its right.
            if tls.read(&mut [0; 4096]).is_ok() {
                let _ = tls.write_all(b"HTTP/1.1 200 OK\r\n\r\nsecret");
                if goodbye {
                    session.send_close_notify();
                }
                while session.wants_write() && session.write_tls(&mut socket).is_ok() {}
            }
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(issued.cert.der().clone()).unwrap();
    (port, roots)
}

fn fetch(host: &str, port: u16, roots: RootCertStore) -> Result<Got, Failure> {
    let text = format!("https://{host}:{port}/");
    let request = Request::get(Url::parse(&text).unwrap(), agent());
    block_on(async {
        let mut connector = HostConnect::trusting(roots, Trust::default());
        let mut client = Client::new(&mut connector);
        ask(&mut client, &request, Limits::DEFAULT, PATIENCE).await
    })
}

#[test]
fn https_pages_are_fetched() {
    let (port, roots) = serve(true);
    assert_eq!(
        fetch("secure.example", port, roots).unwrap().fingerprint,
        fingerprint(b"secret")
    );
}

#[test]
fn a_body_without_a_length_needs_a_goodbye() {
    let (port, roots) = serve(false);
    assert!(matches!(
        fetch("secure.example", port, roots),
        Err(Failure::Connection(_))
    ));
}

#[test]
fn strangers_are_not_trusted() {
    let (port, roots) = serve(true);
    assert!(
        matches!(
            fetch("other.example", port, roots),
            Err(Failure::Connection(_))
        ),
        "the name is not its own"
    );
    let (_, others) = serve(true);
    assert!(
        matches!(
            fetch("secure.example", port, others),
            Err(Failure::Connection(_))
        ),
        "nobody vouches for it"
    );
}

/// An authority that vouches for nobody here. Its name differs from the server's: else the
/// signature would be what is wrong.
fn somebody_else() -> RootCertStore {
    let mut params = rcgen::CertificateParams::new(["other.example".to_owned()]).unwrap();
    let name = &mut params.distinguished_name;
    name.push(rcgen::DnType::CommonName, "somebody else");
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    roots
}

/// What `run` and the probe say of a certificate that is refused.
#[test]
fn the_reason_for_which_a_certificate_is_refused_is_told() {
    let why = |host: &str, port: u16, roots: RootCertStore| {
        let mut connector = HostConnect::trusting(roots, Trust::default());
        let to = Endpoint {
            scheme: Scheme::Https,
            host,
            address: LOOPBACK,
            port,
        };
        let error = block_on(connector.connect(to)).expect_err("it is refused");
        HostConnect::tls_error(&error)
    };
    let (port, roots) = serve(true);
    assert_eq!(why("other.example", port, roots), Some(TlsError::Name));
    assert_eq!(
        why("secure.example", port, somebody_else()),
        Some(TlsError::Issuer)
    );
    let closed = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    assert_eq!(
        why("secure.example", port, somebody_else()),
        None,
        "no connection at all"
    );
}
