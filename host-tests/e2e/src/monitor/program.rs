//! The program `dunlin monitor`, started and ended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin_tools::shell::{cargo, check, quiet, root};

/// Builds the program; returns where it is.
pub fn build() -> Result<PathBuf> {
    // As part of the workspace, with the features that `cargo test --workspace` has compiled its
    // dependencies with.
    let program = ["--workspace", "--bin", "dunlin"];
    check(cargo().arg("build").args(quiet()).args(program))?;
    let folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(folder.join("debug/dunlin"))
}

/// A monitor that serves a web page. Ends when dropped.
pub struct Monitor {
    child: Child,
    /// Where its page is.
    pub url: String,
}

impl Monitor {
    /// Starts one, at a port that is free.
    pub fn serve(program: &Path, arguments: &[String]) -> Result<Self> {
        Self::start(program, "monitor", arguments)
    }

    /// The same of another command that has such a page.
    pub fn start(program: &Path, command: &str, arguments: &[String]) -> Result<Self> {
        let mut child = Command::new(program)
            .arg(command)
            .args(arguments)
            .args(["--web", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start dunlin monitor")?;
        let errors = child.stderr.take().context("its stderr is not piped")?;
        let mut monitor = Self {
            child,
            url: String::new(),
        };
        let mut lines = BufReader::new(errors).lines().map_while(Result::ok);
        monitor.url = lines
            .find_map(|line| {
                Some(
                    line.strip_prefix("monitor: ")?
                        .split(' ')
                        .next()?
                        .to_owned(),
                )
            })
            .context("dunlin monitor did not say where its page is")?;
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(|line| eprintln!("dunlin monitor: {line}")));
        Ok(monitor)
    }

    /// The most memory that it has taken so far; `None` where the system does not tell.
    pub fn peak_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let mut lines = status.lines();
        let peak = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
        peak.trim().strip_suffix(" kB")?.trim().parse().ok()
    }

    /// The body at a path of it.
    pub fn get(&self, path: &str) -> Result<String> {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        ensure!(
            head.starts_with("HTTP/1.1 200"),
            "{path} is answered {head}"
        );
        Ok(body.to_owned())
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
