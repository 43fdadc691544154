//! A headless Chromium, driven through chromedriver: as much of WebDriver as the monitor's page
//! needs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// For one command; a loaded machine takes its time to start a browser.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser. Ends when dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts one without a profile of its own, which asks nobody for anything by itself.
    pub fn start() -> Result<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start chromedriver")?;
        let output = driver
            .stdout
            .take()
            .context("chromedriver's output is not piped")?;
        let mut browser = Self {
            driver,
            port: 0,
            session: String::new(),
        };
        browser.port = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| {
                line.rsplit_once(" on port ")?
                    .1
                    .trim_end_matches('.')
                    .parse()
                    .ok()
            })
            // First it says which one it was asked for.
            .find(|port| *port != 0)
            .context("chromedriver did not say where it listens")?;
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--hide-scrollbars",
            "--window-size=1200,1400",
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let made = browser.call("POST", "/session", &wanted)?;
        browser.session = made["sessionId"]
            .as_str()
            .context("chromedriver made no session")?
            .to_owned();
        Ok(browser)
    }

    /// Opens a page and waits until it has loaded.
    pub fn open(&self, url: &str) -> Result<()> {
        self.command("/url", &json!({ "url": url })).map(drop)
    }

    /// The value of a function's body in the page.
    pub fn run(&self, script: &str) -> Result<Value> {
        self.command("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script and returns its result as text.
    pub fn text(&self, script: &str) -> Result<String> {
        let value = self.run(script)?;
        value
            .as_str()
            .map(str::to_owned)
            .with_context(|| format!("{script} gave {value}, not text"))
    }

    /// Types into whatever has the focus.
    pub fn press(&self, keys: &str) -> Result<()> {
        let stroke = |key: char| {
            [
                json!({"type": "keyDown", "value": key}),
                json!({"type": "keyUp", "value": key}),
            ]
        };
        let strokes: Vec<Value> = keys.chars().flat_map(stroke).collect();
        let actions = json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]});
        self.command("/actions", &actions).map(drop)
    }

    /// A command of Chromium's own protocol.
    pub fn devtools(&self, command: &str, parameters: Value) -> Result<Value> {
        self.command(
            "/goog/cdp/execute",
            &json!({"cmd": command, "params": parameters}),
        )
    }

    /// The page as PNG, encoded in base 64.
    pub fn screenshot(&self) -> Result<Vec<u8>> {
        let encoded = self.call(
            "GET",
            &format!("/session/{}/screenshot", self.session),
            &Value::Null,
        )?;
        base64(encoded.as_str().context("no screenshot")?)
    }

    /// Messages of the console (`browser`) or events of the network (`performance`) since the last
    /// call.
    pub fn log(&self, kind: &str) -> Result<Vec<Value>> {
        let log = self.command("/se/log", &json!({ "type": kind }))?;
        log.as_array()
            .cloned()
            .with_context(|| format!("no {kind} log"))
    }

    fn command(&self, path: &str, body: &Value) -> Result<Value> {
        self.call("POST", &format!("/session/{}{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).context("chromedriver does not answer")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        for line in reader.by_ref().lines() {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        let mut answer: Value = serde_json::from_slice(&answer)?;
        let value = answer["value"].take();
        if let Some(error) = value.get("error").and_then(Value::as_str) {
            let message = value["message"].as_str().unwrap_or_default();
            bail!(
                "the browser says {error}: {}",
                message.lines().next().unwrap_or_default()
            );
        }
        Ok(value)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The session ends the browser; without it, chromedriver would leave it behind.
        let _ = self.call(
            "DELETE",
            &format!("/session/{}", self.session),
            &Value::Null,
        );
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Decodes base 64 (RFC 4648).
fn base64(text: &str) -> Result<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Ok(byte - b'A'),
        b'a'..=b'z' => Ok(byte - b'a' + 26),
        b'0'..=b'9' => Ok(byte - b'0' + 52),
        b'+' => Ok(62),
        b'/' => Ok(63),
        _ => bail!("found byte {byte} in base 64"),
    };
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | u32::from(digit(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}
