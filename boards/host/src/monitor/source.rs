//! Where a log comes from: a file, stdin, a TCP port or a serial line.

use std::fs::File;
use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;

/// How long a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a read waits before its reader can look at anything else.
pub const READ_TIMEOUT: Duration = Duration::from_millis(200);

/// Where a log comes from, as `--log` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard input, named `-`.
    Stdin,
    /// `tcp:HOST:PORT`: QEMU's `-serial tcp:…`, probe-rs' RTT, `cargo xtask qemu --log-port`.
    Tcp(String),
    /// A record, or a serial line such as /dev/ttyACM0.
    File(PathBuf),
}

impl Source {
    /// Reads `-`, `tcp:HOST:PORT` or a path.
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix("tcp:") {
            Some(address) => Self::Tcp(address.to_owned()),
            None if text == "-" => Self::Stdin,
            None => Self::File(PathBuf::from(text)),
        }
    }

    /// Whether it has an end, behind which nothing will come.
    pub fn is_record(&self) -> bool {
        match self {
            Self::Stdin => true,
            Self::Tcp(_) => false,
            Self::File(path) => !is_device(path),
        }
    }

    /// Opens the source.
    ///
    /// # Errors
    /// What the system says, with the name of what was to be opened.
    pub fn open(&self, baud: u32) -> Result<Box<dyn Read + Send>, Error> {
        match self {
            Self::Stdin => Ok(Box::new(io::stdin())),
            Self::Tcp(address) => connect(address)
                .map(|stream| Box::new(stream) as _)
                .map_err(|source| Error::opening(Path::new(&format!("tcp:{address}")), source)),
            Self::File(path) => {
                let wrong = |source| Error::opening(path, source);
                let file = if is_device(path) {
                    serial(path, baud)
                } else {
                    File::open(path)
                };
                let file = file.map_err(wrong)?;
                if file.metadata().map_err(wrong)?.is_dir() {
                    return Err(Error::reading(path, io::ErrorKind::IsADirectory.into()));
                }
                Ok(Box::new(file))
            }
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "expected tcp:HOST:PORT");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(READ_TIMEOUT))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_char_device())
}

#[cfg(not(unix))]
fn is_device(_: &Path) -> bool {
    false
}

/// A serial line without line discipline: every byte as it comes, at once or after [`READ_TIMEOUT`]
/// none.
#[cfg(unix)]
fn serial(path: &Path, baud: u32) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    use rustix::termios::{OptionalActions, SpecialCodeIndex, isatty, tcgetattr, tcsetattr};
    // Read-only, not our controlling terminal, and no waiting for a modem's carrier.
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if isatty(&file) {
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        settings.special_codes[SpecialCodeIndex::VMIN] = 0;
        settings.special_codes[SpecialCodeIndex::VTIME] = 2;
        settings.set_speed(baud)?;
        tcsetattr(&file, OptionalActions::Flush, &settings)?;
    }
    rustix::fs::fcntl_setfl(&file, OFlags::RDONLY)?;
    Ok(file)
}

#[cfg(not(unix))]
fn serial(path: &Path, _: u32) -> io::Result<File> {
    File::open(path)
}
