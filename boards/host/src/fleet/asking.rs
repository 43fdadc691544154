//! How a running planner is asked for something, from another shell: by HTTP, with the token in its
//! folder.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The file in the planner's folder that says where it listens.
pub const FILE: &str = "control.json";
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a planner listens, and what it has to be told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Control {
    /// The address on this computer at which it listens.
    pub address: SocketAddr,
    /// What it has to be told.
    pub token: String,
}

impl Control {
    /// Of the planner that uses this folder.
    ///
    /// # Errors
    /// There is none.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = fs::read(&path).map_err(|why| Error::opening(&path, why))?;
        serde_json::from_slice(&text).map_err(|why| {
            Error::Usage(format!(
                "{}: found {why}, expected where a planner listens",
                path.display()
            ))
        })
    }

    /// Asks; the answer's body.
    ///
    /// # Errors
    /// The planner is not there, or says no.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> Result<String, Error> {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        let gone = |why: std::io::Error| {
            Error::Usage(format!(
                "cannot reach the planner at {address}: {why}; is it running?"
            ))
        };
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(gone)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(gone)?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(gone)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(gone)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head.split(' ').nth(1) {
            Some("200") => Ok(body.to_owned()),
            _ => Err(Error::Usage(body.trim().to_owned())),
        }
    }
}
