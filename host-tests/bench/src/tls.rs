//! What https costs: instructions of handshakes and records, memory, bytes on the wire, and how
//! many sessions are resumed.
//!
//! Instructions are counted without a network. This computer goes through a few connections that
//! are the same each time, with servers of its own; what they said is handed to the device, which
//! goes through the same ones. Only signatures differ from run to run, by a few instructions in a
//! million.

use std::cell::Cell;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use dunlin::fetch::Connection;
use dunlin_tls::computer::{Machine, Socket, finish};
use dunlin_tls::rehearsal::{DATE, HOST, SCENES, SEED, Scene, play};
use dunlin_tls::{PUBLIC_ROOTS, Tls};
use dunlin_tools::firmware::budgets::{self, HTTPS};
use dunlin_tools::firmware::{self, boards, sizes};
use dunlin_tools::qemu;
use dunlin_tools::qemu::page_image::ImageFile;
use embedded_io_async::{ErrorType, Read, Write};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::device;
use super::row::{Limit, Row};

/// Ethernet, IPv4 and TCP without options: what a frame has before its payload.
const HEADERS: f64 = 54.0;

/// Rows of instructions, memory and bytes. With `network`, of sessions in QEMU, too.
pub fn rows(install: bool, network: bool) -> Result<Vec<Row>> {
    let recording = record()?;
    let elf = firmware::build_tls_bench(install)?;
    let image = ImageFile::write(&recording.bytes(), &elf)?;
    let attached = qemu::Attached {
        image: Some((&image.path, image.address)),
        ..qemu::Attached::default()
    };
    let counts = device::run(&elf, attached)?;
    let counted = |name: &str| {
        let found = counts.iter().find(|count| count.name == name);
        found
            .map(|count| count.each)
            .with_context(|| format!("the device did not count {name:?}"))
    };
    let row = |what: &str, ours, unit: &str, limit| Row {
        room: "M4F · https".into(),
        what: what.into(),
        ours,
        unit: unit.into(),
        other: None,
        limit,
        place: None,
    };
    let million = |millions: f64| Limit::Most(millions * 1e6);
    let mut rows = Vec::new();
    let handshakes = SCENES.iter().zip([30.0, 14.0, 52.0, 4.5]);
    for (scene, limit) in handshakes {
        rows.push(row(
            &format!("handshake, {}", scene.handshake),
            counted(scene.handshake)?,
            "instructions",
            million(limit),
        ));
    }
    rows.push(row(
        "a page of 100 kB",
        counted("page")?,
        "instructions",
        million(6.5),
    ));
    rows.push(row(
        "longest time without a turn for others",
        counted("longest")?,
        "instructions",
        million(50.0),
    ));
    rows.push(row(
        "an unchanged page, connection kept: encrypting, decrypting",
        counted("unchanged")?,
        "instructions more than over http",
        Limit::None,
    ));
    rows.extend(wire(&recording));
    rows.extend(memory(install)?);
    if network {
        rows.extend(sessions(install)?);
    }
    Ok(rows)
}

/// Bytes of an unchanged page, in frames, beside http.
fn wire(recording: &Recording) -> Vec<Row> {
    let [first, .., resumed, _] = &recording.scenes[..] else {
        return Vec::new();
    };
    let plain = (SCENES[0].request.len() + SCENES[0].answer) as f64 + 2.0 * HEADERS;
    let row = |what: &str, ours, other: f64| Row {
        room: "M4F · https".into(),
        what: what.into(),
        ours,
        unit: "bytes".into(),
        other: Some(("over http".into(), other)),
        limit: Limit::None,
        place: None,
    };
    vec![
        row(
            "an unchanged page, connection kept, a frame each way",
            first.after as f64 + 2.0 * HEADERS,
            plain,
        ),
        // Its hello, the server's part, its end with the request, the answer; opening and closing
        // TCP takes the same with and without.
        row(
            "an unchanged page, session resumed, two frames each way",
            (resumed.open + resumed.after) as f64 + 4.0 * HEADERS,
            plain,
        ),
    ]
}

/// What the firmware takes more than without.
fn memory(install: bool) -> Result<Vec<Row>> {
    let plain = sizes::measure(&firmware::build(install, firmware::BOARD)?)?;
    let image = budgets::image(&format!("{}+{HTTPS}", firmware::BOARD))?;
    let elf = firmware::build_image(install, &image)?;
    let secure = sizes::measure(&elf)?;
    let roots = PUBLIC_ROOTS.len();
    let bytes = fs::read(&elf)?;
    let file = object::File::parse(&*bytes)?;
    let pool = boards::symbol_size(&file, "pool::PLACE")?;
    let more = |all: u64, plain: u64| all as f64 - plain as f64;
    let row = |what: &str, ours: f64, limit| Row {
        room: "memory".into(),
        what: what.into(),
        ours,
        unit: "bytes".into(),
        other: None,
        limit,
        place: None,
    };
    Ok(vec![
        row(
            "https, flash beside roots",
            more(secure.flash, plain.flash) - roots as f64,
            Limit::Most(330e3),
        ),
        row(
            "https, all public roots in flash",
            roots as f64,
            Limit::Most(58e3),
        ),
        row(
            "https, static RAM beside pool and sessions",
            more(secure.static_ram, plain.static_ram) - pool as f64,
            Limit::Most(24e3),
        ),
        row("https, pool and sessions", pool as f64, Limit::None),
    ])
}

/// How many sessions are resumed, by hosts, and what one takes.
fn sessions(install: bool) -> Result<Vec<Row>> {
    firmware::build_https_firmware(install)?;
    let elf = firmware::build(install, firmware::BOARD)?;
    let mut rows = Vec::new();
    for hosts in [4, 16, 64] {
        let kept = dunlin_e2e::kept(&elf, hosts)?;
        let row = |what: String, ours, unit: &str, limit| Row {
            room: "end to end".into(),
            what,
            ours,
            unit: unit.into(),
            other: None,
            limit,
            place: None,
        };
        rows.push(row(
            format!("https, {hosts} hosts: handshakes that resumed, after each host's first"),
            100.0 * kept.resumed,
            "%",
            Limit::None,
        ));
        rows.push(row(
            format!("https, {hosts} hosts: a session"),
            kept.bytes,
            "bytes",
            Limit::None,
        ));
        if hosts == 64 {
            let most = Limit::Most(28_000.0);
            let what = "https, stack high-water mark of the probe, 64 hosts".to_owned();
            rows.push(row(what, kept.stack as f64, "bytes", most));
            let most = Limit::Most(32_768.0);
            let what = "https, pool beside sessions, most ever in use, 64 hosts".to_owned();
            rows.push(row(what, kept.pool, "bytes", most));
        }
    }
    Ok(rows)
}

/// What servers on loopback said, scene by scene.
struct Recording {
    authorities: Vec<Vec<u8>>,
    scenes: Vec<Heard>,
}

/// What passed over one connection.
struct Heard {
    said: Vec<u8>,
    /// Bytes both ways up to the end of the handshake …
    open: usize,
    /// … and behind it.
    after: usize,
}

impl Recording {
    /// As the device reads it: each part behind its length.
    fn bytes(&self) -> Vec<u8> {
        let said = self.scenes.iter().map(|heard| &heard.said);
        self.authorities
            .iter()
            .chain(said)
            .flat_map(|part| {
                let length = (part.len() as u32).to_le_bytes();
                [&length[..], part].concat()
            })
            .collect()
    }
}

/// Goes through all scenes with servers on loopback.
fn record() -> Result<Recording> {
    let mut authorities = Vec::new();
    let mut ports = Vec::new();
    let p256 = || KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256);
    let root = authority("P-256", p256()?)?;
    ports.push(serve(&root, p256()?, &[])?);
    authorities.push(root.der().to_vec());
    let root = authority("RSA-2048", rsa(2048)?)?;
    ports.push(serve(&root, rsa(2048)?, &[])?);
    authorities.push(root.der().to_vec());
    let root = authority("RSA-4096", rsa(4096)?)?;
    let middle = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384)?;
    let middle = CertifiedIssuer::signed_by(authority_params("P-384"), middle, &root)?;
    ports.push(serve(&middle, p256()?, &[middle.der().clone()])?);
    authorities.push(root.der().to_vec());
    let machine = Machine {
        date: DATE,
        authorities: authorities.clone(),
        sessions: 48 * 1024,
        seed: SEED,
    };
    let tls = machine.client();
    let mut scenes = Vec::new();
    for scene in &SCENES {
        let port = ports[usize::from(scene.port) - 1];
        scenes.push(listen(tls, port, scene)?);
    }
    Ok(Recording {
        authorities,
        scenes,
    })
}

fn listen(tls: &Tls, port: u16, scene: &Scene) -> Result<Heard> {
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut said = Vec::new();
    let passed = Cell::new(0);
    let open = Cell::new(0);
    let ear = Ear {
        socket: Socket(socket),
        said: &mut said,
        passed: &passed,
    };
    let played = finish(play(tls, ear, scene, || open.set(passed.get())));
    played.map_err(|why| anyhow::anyhow!("{}: {why}", scene.handshake))?;
    let open = open.get();
    ensure!(open > 0, "no handshake");
    Ok(Heard {
        open,
        after: passed.get() - open,
        said,
    })
}

/// A socket that writes down what comes.
struct Ear<'e> {
    socket: Socket,
    said: &'e mut Vec<u8>,
    /// Counts the bytes of both directions.
    passed: &'e Cell<usize>,
}

impl ErrorType for Ear<'_> {
    type Error = io::Error;
}

impl Read for Ear<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.read(buffer).await?;
        self.said.extend(&buffer[..count]);
        self.passed.set(self.passed.get() + count);
        Ok(count)
    }
}

impl Write for Ear<'_> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.socket.write(bytes).await?;
        self.passed.set(self.passed.get() + count);
        Ok(count)
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Connection for Ear<'_> {}

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn authority(name: &str, key: KeyPair) -> Result<Issuer> {
    Ok(CertifiedIssuer::self_signed(authority_params(name), key)?)
}

/// An RSA key, which rcgen cannot make itself.
fn rsa(bits: u32) -> Result<KeyPair> {
    let made = Command::new("openssl")
        .args(["genrsa", &bits.to_string()])
        .output()
        .context("cannot start openssl")?;
    let text = String::from_utf8(made.stdout)?;
    Ok(KeyPair::from_pem_and_sign_algo(&text, &PKCS_RSA_SHA256)?)
}

/// Starts a server with a certificate by this issuer, and returns its port. It answers with as many
/// bytes as the scene asks for.
fn serve(issuer: &Issuer, key: KeyPair, above: &[CertificateDer<'static>]) -> Result<u16> {
    let certificate = CertificateParams::new([HOST.to_owned()])?.signed_by(&key, issuer)?;
    let chain = [&[certificate.der().clone()], above].concat();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    // One is kept, and each is 200 bytes.
    config.send_tls13_tickets = 1;
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || -> Option<()> {
                let connection = ServerConnection::new(config).ok()?;
                let mut stream = StreamOwned::new(connection, socket);
                let mut request = [0; 512];
                let count = stream.read(&mut request).ok()?;
                let asked = |scene: &&Scene| request.starts_with(scene.request.as_bytes());
                let scene = SCENES.iter().find(asked).filter(|_| count > 0)?;
                stream.write_all(&vec![b'x'; scene.answer]).ok()?;
                // The client decides when it has heard enough.
                stream.read(&mut request).ok().map(drop)
            });
        }
    });
    Ok(port)
}
