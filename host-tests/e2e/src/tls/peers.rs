//! End to end: https with servers that others have written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dunlin_tools::qemu::temporary;

use super::pki::{Authority, Fate, ROOT, leaf};
use super::{GAP, Page, crawl, https_list, now};

/// How OpenSSL is started, as different as it can be configured.
const WAYS: &[&[&str]] = &[
    &["-tls1_3"],
    &["-tls1_2"],
    // A hello that has to be repeated with another key share.
    &["-tls1_3", "-groups", "P-256"],
    &["-tls1_2", "-groups", "P-256"],
    &["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"],
    &["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
    // A certificate is asked for, and not missed.
    &["-tls1_3", "-verify", "1"],
    &["-tls1_2", "-verify", "1"],
    &["-tls1_3", "-record_padding", "512"],
    &["-tls1_3", "-max_send_frag", "512"],
    &["-tls1_3", "-no_ticket"],
];

/// OpenSSL in all ways, then nginx. Ended when dropped.
pub struct Peers {
    folder: PathBuf,
    ports: Vec<u16>,
    processes: Vec<Peer>,
}

impl Peers {
    pub fn start(root: &Authority) -> Result<Self> {
        let folder = temporary("peers");
        fs::create_dir_all(&folder)?;
        let identity = root.sign(&leaf(&["*.peer.test"])?, &[])?;
        let file = |name: &str| folder.join(name);
        fs::write(file("chain.pem"), pem("CERTIFICATE", &identity.chain[0]))?;
        fs::write(
            file("key.pem"),
            pem("PRIVATE KEY", identity.key.secret_der()),
        )?;
        fs::write(file("page"), "hello")?;
        fs::write(file("robots.txt"), "")?;
        let mut peers = Self {
            ports: Vec::new(),
            processes: Vec::new(),
            folder: folder.clone(),
        };
        for way in WAYS {
            let port = free_port()?;
            let mut openssl = Command::new("openssl");
            openssl
                .current_dir(&folder)
                .args(["s_server", "-quiet", "-WWW", "-accept", &port.to_string()])
                .args(["-cert", "chain.pem", "-key", "key.pem"])
                .args(*way);
            peers.add(&mut openssl, port)?;
        }
        let port = free_port()?;
        let conf = format!(
            "daemon off; pid {0}/nginx.pid; error_log {0}/error.log; events {{}}
            http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;
            fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
            server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {0}/chain.pem;
            ssl_certificate_key {0}/key.pem; root {0}; }} }}",
            folder.display()
        );
        fs::write(file("nginx.conf"), conf)?;
        let mut nginx = Command::new("nginx");
        nginx.arg("-c").arg(file("nginx.conf"));
        nginx.arg("-e").arg(file("error.log"));
        peers.add(&mut nginx, port)?;
        Ok(peers)
    }

    fn add(&mut self, program: &mut Command, port: u16) -> Result<()> {
        self.processes.push(Peer::start(program, port)?);
        self.ports.push(port);
        Ok(())
    }

    /// Names, and ports of each.
    pub fn hosts(&self) -> impl Iterator<Item = (String, u16)> {
        let named = |(number, port): (usize, &u16)| (format!("p{number}.peer.test"), *port);
        self.ports.iter().enumerate().map(named)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.processes.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// OpenSSL and nginx are visited by the firmware.
pub fn real_peers(elf: &Path) -> Result<()> {
    let root = Authority::root(ROOT)?;
    let peers = Peers::start(&root)?;
    let hosts: Vec<(String, u16)> = peers.hosts().collect();
    let pages: Vec<Page<'_>> = hosts
        .iter()
        .map(|(host, port)| Page {
            host,
            port: *port,
            path: "/page",
        })
        .collect();
    let list = https_list(&pages, GAP);
    let outcome = crawl(elf, &[&root], &list, 20, Some(now()))?;
    for (page, way) in (0..).zip(WAYS.iter().copied().chain([&["nginx"][..]])) {
        outcome.expect(page, &way.join(" "), Fate::Fetched)?;
    }
    ensure!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    // All but the one that keeps none.
    ensure!(
        outcome.full <= 3 * hosts.len() as u32 && outcome.resumed >= 2 * outcome.full,
        "{} full and {} resumed handshakes",
        outcome.full,
        outcome.resumed
    );
    Ok(())
}

/// A program that serves, ended when dropped.
struct Peer(Child);

impl Peer {
    fn start(command: &mut Command, port: u16) -> Result<Self> {
        let program = command.get_program().to_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let peer = Self(child);
        let end = Instant::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(
                Instant::now() < end,
                "{} does not listen",
                program.display()
            );
            thread::sleep(Duration::from_millis(50));
        }
        Ok(peer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

pub fn pem(kind: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {kind}-----\n");
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            let bits = (0..3).fold(0_u32, |bits, at| {
                bits << 8 | u32::from(*group.get(at).unwrap_or(&0))
            });
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
                text.push(if place <= group.len() {
                    digit.into()
                } else {
                    '='
                });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {kind}-----\n")
}
