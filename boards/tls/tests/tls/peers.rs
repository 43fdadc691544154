//! Servers, and the certificates they show.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

#[derive(Clone, Copy, Debug)]
pub enum Versions {
    Tls12,
    Tls13,
}

/// Who vouches for certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new(name: &str) -> Self {
        Self::with_key(name, "p256")
    }

    pub fn with_key(name: &str, key: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = new_key(key);
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    pub fn leaf(&self, leaf: &Leaf) -> Identity {
        let mut params = CertificateParams::new(leaf.names.clone()).unwrap();
        params.distinguished_name = named("leaf");
        let key = new_key(leaf.key);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }
}

fn new_key(kind: &str) -> KeyPair {
    match kind {
        "p256" => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(),
        "p384" => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap(),
        bits => KeyPair::from_pem_and_sign_algo(&rsa_key(bits), &PKCS_RSA_SHA256).unwrap(),
    }
}

/// An RSA key, which rcgen cannot make itself.
fn rsa_key(bits: &str) -> String {
    let made = Command::new("openssl").args(["genrsa", bits]).output();
    String::from_utf8(made.expect("openssl is installed").stdout).unwrap()
}

fn named(name: &str) -> DistinguishedName {
    let mut full = DistinguishedName::new();
    full.push(DnType::CommonName, name);
    full
}

pub struct Leaf {
    names: Vec<String>,
    key: &'static str,
}

impl Leaf {
    pub fn named(name: &str) -> Self {
        Self {
            names: vec![name.into()],
            key: "p256",
        }
    }

    pub fn with_key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }
}

pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// The same certificates, shown by somebody who has another key of that kind.
    pub fn stolen(&self, kind: &str) -> Self {
        let key = PrivateKeyDer::try_from(new_key(kind).serialize_der()).unwrap();
        Self {
            key,
            chain: self.chain.clone(),
        }
    }

    /// The same, but for the last bit of the signature that vouches for it.
    pub fn forged(mut self) -> Self {
        let mut der = self.chain[0].to_vec();
        *der.last_mut().unwrap() ^= 1;
        self.chain[0] = der.into();
        self
    }

    /// Shows these certificates without a look at the key.
    fn resolver(self) -> SingleCertAndKey {
        let key = rustls::crypto::ring::sign::any_supported_type(&self.key).unwrap();
        CertifiedKey::new(self.chain, key).into()
    }
}

/// Answers every request with `hello`.
pub struct Server {
    pub address: SocketAddr,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
        }
    }
}

/// What a server does after its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It says goodbye, and hangs up.
    Ends,
    /// It waits for more, as a broker does.
    Stays,
}

impl Server {
    pub fn start(identity: Identity, versions: Versions) -> Self {
        Self::start_and(identity, versions, Then::Ends)
    }

    /// The client ends each connection.
    pub fn start_and_stay(identity: Identity, versions: Versions) -> Self {
        Self::start_and(identity, versions, Then::Stays)
    }

    fn start_and(identity: Identity, versions: Versions, then: Then) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = match versions {
            Versions::Tls12 => [&rustls::version::TLS12],
            Versions::Tls13 => [&rustls::version::TLS13],
        };
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(identity.resolver()));
        config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, socket);
                let mut request = [0; 1024];
                if stream.read(&mut request).is_ok() {
                    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                    let _ = stream.write_all(answer.as_bytes());
                    if then == Then::Stays {
                        let _ = stream.flush();
                        let _ = stream.read(&mut request);
                    }
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            }
        });
        Self { address }
    }
}

/// Stands before a server, and changes a bit of each record of this type that comes from it behind
/// a change of ciphers.
pub fn flipping(server: &Server, kind: u8) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let behind = server.address;
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(behind).unwrap();
            let mut from = client.try_clone().unwrap();
            let mut to = server.try_clone().unwrap();
            thread::spawn(move || io::copy(&mut from, &mut to));
            thread::spawn(move || pass_on(server, client, kind));
        }
    });
    Server { address }
}

fn pass_on(mut server: TcpStream, mut client: TcpStream, kind: u8) -> io::Result<()> {
    const CHANGE_OF_CIPHERS: u8 = 20;
    let mut is_encrypted = false;
    loop {
        let mut record = vec![0; 5];
        server.read_exact(&mut record)?;
        let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
        record.resize(5 + length, 0);
        server.read_exact(&mut record[5..])?;
        if is_encrypted && record[0] == kind {
            *record.last_mut().unwrap() ^= 1;
        }
        is_encrypted |= record[0] == CHANGE_OF_CIPHERS;
        client.write_all(&record)?;
    }
}
