//! A server of TLS 1.3 that was written by hand, so that it can do what no library would: it has
//! the keys, and breaks one rule, or does what is allowed and rare.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

use anyhow::Result;
use ring::{aead, agreement, digest, hmac, rand};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::SigningKey;

use super::pki::{Fate, Identity};
use super::raw::{self, Hello, VERSION_13, message, read_record, record};

/// What the server does that others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing: it is a server like any other.
    Honest,
    NoCertificate,
    /// Text that is encrypted, before anybody knows who speaks.
    EarlyText,
    /// A certificate, but no word that it is its own.
    NoProof,
    WrongProof,
    WrongFinished,
    CertificateTwice,
    EmptyChain,
    /// The chain is said to be longer than the message.
    LyingChain,
    /// A record without even a type inside.
    EmptyText,
    /// A record of zeros, which are all padding.
    ZeroText,
    /// New keys, which the client has to answer each time, without end.
    KeyUpdates,
    /// Records without a byte of text, without end.
    EmptyRecords,
    /// New keys, only once, as any server may send them.
    KeyUpdate,
    /// A ticket of 15 kB.
    LongTicket,
    /// Ticket after ticket, each as long as may be kept.
    Tickets,
    /// A request for a certificate by one of as many authorities as fit.
    Names,
    /// As many extensions as fit, none of which was asked for.
    Extensions,
}

/// Every way by name, and what has to become of the server.
pub const WAYS: &[(&str, Way, Option<Fate>)] = {
    use Fate::{Fetched, Refused};
    const PROTOCOL: Option<Fate> = Some(Refused("Protocol"));
    &[
        ("rogue-honest.test", Way::Honest, Some(Fetched)),
        ("rogue-key-update.test", Way::KeyUpdate, Some(Fetched)),
        ("rogue-ticket.test", Way::LongTicket, Some(Fetched)),
        ("rogue-tickets.test", Way::Tickets, Some(Fetched)),
        ("rogue-names.test", Way::Names, Some(Fetched)),
        ("rogue-extensions.test", Way::Extensions, PROTOCOL),
        ("rogue-nobody.test", Way::NoCertificate, PROTOCOL),
        ("rogue-early.test", Way::EarlyText, PROTOCOL),
        ("rogue-no-proof.test", Way::NoProof, PROTOCOL),
        (
            "rogue-proof.test",
            Way::WrongProof,
            Some(Refused("Certificate")),
        ),
        ("rogue-finished.test", Way::WrongFinished, PROTOCOL),
        ("rogue-twice.test", Way::CertificateTwice, PROTOCOL),
        ("rogue-empty-chain.test", Way::EmptyChain, PROTOCOL),
        ("rogue-lying-chain.test", Way::LyingChain, PROTOCOL),
        // Behind the handshake: the answer is not understood, or does not come in time.
        ("rogue-empty.test", Way::EmptyText, None),
        ("rogue-zeros.test", Way::ZeroText, None),
        ("rogue-updates.test", Way::KeyUpdates, None),
        ("rogue-records.test", Way::EmptyRecords, None),
    ]
};

/// Starts a server that goes this way, and returns its port.
pub fn start(identity: &Identity, way: Way) -> Result<u16> {
    let key = any_supported_type(&identity.key)?;
    let certificates: Vec<Vec<u8>> = identity.chain.iter().map(|der| der.to_vec()).collect();
    let certificates = Arc::new(certificates);
    raw::start(move |client, hello| serve(client, hello, &certificates, &*key, way))
}

fn serve(
    client: &mut TcpStream,
    hello: &Hello,
    certificates: &[Vec<u8>],
    key: &dyn SigningKey,
    way: Way,
) -> io::Result<()> {
    let wrong = |what: &str| io::Error::other(what.to_owned());
    let (public, shared) = exchange(hello).ok_or_else(|| wrong("no share"))?;
    let share = [&[0, 51, 0, 36, 0, 29, 0, 32][..], &public].concat();
    let answer = hello.answer(&[7; 32], 0x1303, &[VERSION_13, &share]);
    client.write_all(&record(22, &answer))?;
    let mut said = [hello.message.as_slice(), &answer].concat();

    let none = [0; 32];
    let nothing = hash(&[]);
    let early = extract(&none, &none);
    let handshake = extract(&expand(&early, "derived", &nothing), &shared);
    let secret = expand(&handshake, "s hs traffic", &hash(&said));
    let mut keys = Keys::of(secret);
    let mut say = |keys: &mut Keys, client: &mut TcpStream, message: Vec<u8>| {
        said.extend(&message);
        client
            .write_all(&keys.seal(22, &message))
            .map(|()| hash(&said))
    };
    let mut hashed = say(&mut keys, client, extensions(way))?;
    if way == Way::Names {
        hashed = say(&mut keys, client, names())?;
    }
    if way == Way::EarlyText {
        client.write_all(&keys.seal(23, b"HTTP/1.1 200 OK\r\n"))?;
    }
    if way != Way::NoCertificate {
        for _ in 0..1 + u8::from(way == Way::CertificateTwice) {
            hashed = say(&mut keys, client, chain(certificates, way))?;
        }
        if way != Way::NoProof {
            let proof = prove(key, &hashed, way).ok_or_else(|| wrong("no signature"))?;
            hashed = say(&mut keys, client, proof)?;
        }
    }
    let mut finished = sign(&expand(&keys.secret, "finished", &[]), &hashed);
    finished[0] ^= u8::from(way == Way::WrongFinished);
    let hashed = say(&mut keys, client, message(20, &finished))?;

    let master = extract(&expand(&handshake, "derived", &nothing), &none);
    let mut keys = Keys::of(expand(&master, "s ap traffic", &hashed));
    // The client's own end of the handshake, then what it asks for: nobody has to read it.
    let mut encrypted = 0;
    while encrypted < 2 {
        let mut header = [0; 1];
        client.peek(&mut header)?;
        encrypted += u8::from(header[0] == 23);
        read_record(client)?;
    }
    match way {
        Way::EmptyText => client.write_all(&keys.seal_raw(&[]))?,
        Way::ZeroText => client.write_all(&keys.seal_raw(&[0; 16]))?,
        Way::KeyUpdates => (0..100_000).try_for_each(|_| update(client, &mut keys))?,
        Way::EmptyRecords => {
            (0..1_000_000).try_for_each(|_| client.write_all(&keys.seal(23, &[])))?;
        }
        Way::KeyUpdate => update(client, &mut keys)?,
        Way::LongTicket => client.write_all(&keys.seal(22, &ticket(15_000)))?,
        Way::Tickets => {
            // Two a record, in one piece: they come together.
            let pair = ticket(610).repeat(2);
            let records: Vec<Vec<u8>> = (0..6).map(|_| keys.seal(22, &pair)).collect();
            client.write_all(&records.concat())?;
        }
        _ => {}
    }
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
    client.write_all(&keys.seal(23, answer.as_bytes()))
}

/// A ticket of so many bytes.
fn ticket(bytes: usize) -> Vec<u8> {
    let ticket = vec![0xa5; bytes];
    let length = (ticket.len() as u16).to_be_bytes();
    // Lifetime, what is added to its age, a nonce of one byte; no extensions.
    let head = [0, 0, 0x0e, 0x10, 1, 2, 3, 4, 1, 0];
    message(4, &[&head[..], &length, &ticket, &[0, 0]].concat())
}

/// Behind a length of two bytes.
fn counted(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}

/// What a server answers to extensions of a hello.
fn extensions(way: Way) -> Vec<u8> {
    let count = if way == Way::Extensions { 127 } else { 0 };
    let empty = (0..count).flat_map(|kind: u16| [0xee, kind as u8, 0, 0]);
    message(8, &counted(&empty.collect::<Vec<u8>>()))
}

/// A request for a certificate, with names of a byte each.
fn names() -> Vec<u8> {
    let schemes = [&[0, 13][..], &counted(&counted(&[4, 3]))].concat();
    let names = counted(&counted(b"x").repeat(58));
    let authorities = [&[0, 47][..], &counted(&names)].concat();
    let all = counted(&[schemes, authorities].concat());
    message(13, &[&[0], all.as_slice()].concat())
}

/// New keys, and the client is asked for new ones of its own.
fn update(client: &mut TcpStream, keys: &mut Keys) -> io::Result<()> {
    client.write_all(&keys.seal(22, &message(24, &[1])))?;
    *keys = Keys::of(expand(&keys.secret, "traffic upd", &[]));
    Ok(())
}

fn chain(certificates: &[Vec<u8>], way: Way) -> Vec<u8> {
    let length = |bytes: usize| (bytes as u32).to_be_bytes()[1..].to_vec();
    let mut entries = Vec::new();
    if way != Way::EmptyChain {
        for certificate in certificates {
            entries.extend([&length(certificate.len()), certificate.as_slice(), &[0, 0]].concat());
        }
    }
    let lie = if way == Way::LyingChain { 1_000 } else { 0 };
    let list = [&length(entries.len() + lie), entries.as_slice()].concat();
    message(11, &[&[0], list.as_slice()].concat())
}

/// That the certificate is the server's own.
fn prove(key: &dyn SigningKey, hashed: &[u8], way: Way) -> Option<Vec<u8>> {
    let text = b"TLS 1.3, server CertificateVerify\0";
    let mut signed = [&[b' '; 64][..], text, hashed].concat();
    if way == Way::WrongProof {
        signed.push(0);
    }
    let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
    let signature = key.choose_scheme(&[scheme])?.sign(&signed).ok()?;
    let length = (signature.len() as u16).to_be_bytes();
    let scheme = u16::from(scheme).to_be_bytes();
    Some(message(15, &[&scheme[..], &length, &signature].concat()))
}

/// Our half of a key exchange, and what comes of it.
fn exchange(hello: &Hello) -> Option<(Vec<u8>, Vec<u8>)> {
    let random = rand::SystemRandom::new();
    let own = agreement::EphemeralPrivateKey::generate(&agreement::X25519, &random).ok()?;
    let public = own.compute_public_key().ok()?.as_ref().to_vec();
    let other = agreement::UnparsedPublicKey::new(&agreement::X25519, hello.share()?);
    let shared = agreement::agree_ephemeral(own, &other, <[u8]>::to_vec).ok()?;
    Some((public, shared))
}

/// The keys of one direction (RFC 8446, section 7.3).
struct Keys {
    secret: Vec<u8>,
    key: aead::LessSafeKey,
    start: Vec<u8>,
    sequence: u64,
}

impl Keys {
    fn of(secret: Vec<u8>) -> Self {
        let key = expand(&secret, "key", &[]);
        let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, &key).expect("32 bytes");
        Self {
            start: expand_to(&secret, "iv", &[], 12),
            key: aead::LessSafeKey::new(key),
            secret,
            sequence: 0,
        }
    }

    /// A record with text of this kind.
    fn seal(&mut self, kind: u8, text: &[u8]) -> Vec<u8> {
        self.seal_raw(&[text, &[kind]].concat())
    }

    /// A record with whatever inside.
    fn seal_raw(&mut self, inside: &[u8]) -> Vec<u8> {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.sequence.to_be_bytes());
        nonce
            .iter_mut()
            .zip(&self.start)
            .for_each(|(byte, start)| *byte ^= start);
        self.sequence += 1;
        let length = (inside.len() as u16 + 16).to_be_bytes();
        let header = [23, 3, 3, length[0], length[1]];
        let mut bytes = inside.to_vec();
        let nonce = aead::Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(nonce, aead::Aad::from(header), &mut bytes)
            .expect("short enough");
        [&header[..], &bytes].concat()
    }
}

fn hash(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, bytes).as_ref().to_vec()
}

fn sign(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, bytes).as_ref().to_vec()
}

/// The function HKDF-Extract of RFC 5869.
fn extract(salt: &[u8], secret: &[u8]) -> Vec<u8> {
    sign(salt, secret)
}

/// HKDF-Expand-Label of 32 bytes (RFC 8446, section 7.1).
fn expand(secret: &[u8], label: &str, context: &[u8]) -> Vec<u8> {
    expand_to(secret, label, context, 32)
}

fn expand_to(secret: &[u8], label: &str, context: &[u8], length: u8) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let head = [0, length, label.len() as u8];
    let context = [&[context.len() as u8], context].concat();
    let info = [&head[..], label.as_bytes(), &context, &[1]].concat();
    let mut bytes = sign(secret, &info);
    bytes.truncate(length.into());
    bytes
}
