//! Servers, and the certificates they show.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
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
        let mut params = CertificateParams::default();
        params.distinguished_name = named(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    pub fn leaf(&self, leaf: &Leaf) -> Identity {
        let mut params = CertificateParams::new(leaf.names.clone()).unwrap();
        params.distinguished_name = named("leaf");
        let key = match leaf.key {
            "p256" => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(),
            "p384" => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap(),
            bits => KeyPair::from_pem_and_sign_algo(&rsa_key(bits), &PKCS_RSA_SHA256).unwrap(),
        };
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
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

impl Server {
    pub fn start(identity: Identity, versions: Versions) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = match versions {
            Versions::Tls12 => [&rustls::version::TLS12],
            Versions::Tls13 => [&rustls::version::TLS13],
        };
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(identity.chain, identity.key)
            .unwrap();
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
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            }
        });
        Self { address }
    }
}
