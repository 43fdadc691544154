//! A broker for people who have none: a safe configuration of mosquitto, its passwords, and the
//! program itself.

use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dunlin::fleet::is_name;
use serde::Serialize;

use crate::board::state_file::random_key;
use crate::error::Error;

/// The program, and what makes its passwords.
const PROGRAM: &str = "mosquitto";
const PASSWORDS: &str = "mosquitto_passwd";
/// Whom Debian's package runs it as.
const USER: &str = "mosquitto";
/// What the broker's certificate and its key are called in its folder.
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
/// A broker that has started answers within this.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of the fleet, which is part of every topic.
    pub fleet: String,
    /// How many probes get credentials: `p1`, `p2`, …
    pub probes: u16,
    /// Where the broker listens.
    pub listen: SocketAddr,
    /// Its certificate and the key of that, in PEM: who has them is spoken to through TLS.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// The files that were written for a broker and its users.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// The file that mosquitto is started with.
    pub configuration: PathBuf,
    /// The file for `dunlin fleet --broker @FILE`.
    pub planner: PathBuf,
    /// The file for who only looks.
    pub monitor: PathBuf,
    /// The same for Home Assistant: a broker has one connection of a user at a time.
    pub home: PathBuf,
    /// One for each probe.
    pub probes: Vec<PathBuf>,
}

/// Writes a broker's configuration, and a file with a URL for everybody who connects to it.
///
/// # Errors
/// The folder is in use, cannot be written, or mosquitto is not installed.
pub fn init(folder: &Path, setup: &Setup) -> Result<Written, Error> {
    if !is_name(&setup.fleet) {
        return Err(Error::Usage(format!(
            "found the fleet {:?}, expected up to {} letters, digits, - _ and .",
            setup.fleet,
            dunlin::fleet::LONGEST_NAME
        )));
    }
    if setup.listen.ip().is_unspecified() {
        return Err(Error::Usage(format!(
            "found --broker {}, expected the address by which probes reach it, such as 192.0.2.1:1883",
            setup.listen
        )));
    }
    let broker = folder.join("broker");
    if broker.exists() {
        return Err(Error::Usage(format!(
            "found {}, expected a folder without one: its passwords are in use",
            broker.display()
        )));
    }
    if find(PASSWORDS).is_none() {
        return Err(missing(PASSWORDS));
    }
    let identity = match &setup.identity {
        Some((certificate, key)) => Some([read_pem(certificate)?, read_pem(key)?]),
        None => None,
    };
    let make = |path: &Path| {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(path)
            .map_err(|why| Error::writing(path, why))
    };
    make(folder)?;
    // Under another name until all of it is there.
    let new = folder.join("broker.new");
    let _ = fs::remove_dir_all(&new);
    make(&new)?;
    make(&new.join("data"))?;
    let absolute = folder
        .canonicalize()
        .map_err(|why| Error::opening(folder, why))?
        .join("broker");
    let probes: Vec<String> = (1..=setup.probes)
        .map(|number| format!("p{number}"))
        .collect();
    let scheme = match &identity {
        Some([certificate, key]) => {
            write(&new.join(CERTIFICATE), certificate)?;
            write(&new.join(KEY), key)?;
            "mqtts"
        }
        None => "mqtt",
    };
    let mut passwords = String::new();
    let mut written = Written {
        configuration: broker.join("mosquitto.conf"),
        planner: folder.join("planner.url"),
        monitor: folder.join("monitor.url"),
        home: folder.join("home.url"),
        probes: Vec::new(),
    };
    for user in ["planner", "monitor", "home"]
        .into_iter()
        .chain(probes.iter().map(String::as_str))
    {
        let password = password()?;
        passwords += &format!("{user}:{password}\n");
        let path = folder.join(format!("{user}.url"));
        let url = format!(
            "{scheme}://{user}:{password}@{}/{}\n",
            setup.listen, setup.fleet
        );
        write(&path, &url)?;
        if probes.iter().any(|probe| probe == user) {
            written.probes.push(path);
        }
    }
    let file = new.join("passwords");
    write(&file, &passwords)?;
    let hashed = Command::new(PASSWORDS).arg("-U").arg(&file).output();
    let hashed = hashed.map_err(|why| Error::Usage(format!("cannot start {PASSWORDS}: {why}")))?;
    if !hashed.status.success() {
        let said = String::from_utf8_lossy(&hashed.stderr).trim().to_owned();
        return Err(Error::Usage(format!("{PASSWORDS} failed: {said}")));
    }
    write(&new.join("acl"), &acl(&setup.fleet))?;
    write(
        &new.join("mosquitto.conf"),
        &configuration(&absolute, setup),
    )?;
    hand_over(folder, &new)?;
    fs::rename(&new, &broker).map_err(|why| Error::writing(&broker, why))?;
    Ok(written)
}

/// Letters and digits, 128 bits.
fn password() -> Result<String, Error> {
    let key = random_key()?;
    Ok(key.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|why| Error::writing(path, why))
}

/// A certificate or a key.
fn read_pem(path: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(path).map_err(|why| Error::reading(path, why))?;
    if !text.contains("-----BEGIN ") {
        return Err(Error::Usage(format!(
            "{}: found no PEM, expected a line with -----BEGIN",
            path.display()
        )));
    }
    Ok(text)
}

/// Who may write and read what. A probe is known by its user name, and speaks and listens on its
/// own topics only.
fn acl(fleet: &str) -> String {
    let looks = |user: &str| {
        format!(
            "user {user}\n\
             topic read dunlin/1/{fleet}/#\n\
             topic read homeassistant/#\n\n"
        )
    };
    let lookers = looks("monitor") + &looks("home");
    format!(
        "# Written by dunlin fleet init.\n\
         user planner\n\
         topic readwrite dunlin/1/{fleet}/#\n\
         topic write homeassistant/#\n\n\
         {lookers}\
         pattern write dunlin/1/{fleet}/probe/%u/up/#\n\
         pattern read dunlin/1/{fleet}/probe/%u/down/#\n"
    )
}

fn configuration(folder: &Path, setup: &Setup) -> String {
    let folder = folder.display();
    let secured = match &setup.identity {
        Some(_) => {
            format!("certfile {folder}/{CERTIFICATE}\nkeyfile {folder}/{KEY}\n")
        }
        None => "# Beyond loopback, passwords need TLS: dunlin fleet init --certificate\n".into(),
    };
    format!(
        "# Written by dunlin fleet init.\n\
         per_listener_settings false\n\
         listener {} {}\n\
         {secured}\
         allow_anonymous false\n\
         password_file {folder}/passwords\n\
         acl_file {folder}/acl\n\
         # Otherwise any probe could end another one's connection by its name.\n\
         use_username_as_clientid true\n\
         user {USER}\n\
         persistence true\n\
         persistence_location {folder}/data/\n\
         autosave_interval 60\n\
         max_packet_size 65536\n\
         # All probes' states, for a planner that has just connected.\n\
         max_queued_messages 65536\n\
         log_dest stderr\n\
         log_type error\n\
         log_type warning\n",
        setup.listen.port(),
        setup.listen.ip(),
    )
}

/// Whoever is root runs the broker as somebody who is not, and who has to read its files.
fn hand_over(folder: &Path, broker: &Path) -> Result<(), Error> {
    let wrong = |why: io::Error| Error::writing(broker, why);
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let Some((user, group)) = user_of(USER) else {
        return Ok(());
    };
    let written = fs::read_dir(broker).map_err(wrong)?;
    let written = written.map(|entry| Ok(entry?.path()));
    let written: io::Result<Vec<PathBuf>> = written.collect();
    for path in written.map_err(wrong)?.iter().chain([&broker.to_owned()]) {
        chown(path, Some(user), Some(group)).map_err(wrong)?;
    }
    // It passes through the folder, and reads nothing else in it.
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).map_err(wrong)
}

/// The numbers of a user and its group.
fn user_of(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_same = fields.next() == Some(name);
        let user = fields.nth(1)?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        is_same.then_some((user, group))
    })
}

/// Where a program is.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Debian has it where only root looks.
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn missing(program: &str) -> Error {
    Error::Usage(format!(
        "found no {program}, expected it to be installed: `apt-get install mosquitto`, or use a broker that you have"
    ))
}

/// A broker that was started, and ends with whoever started it.
#[derive(Debug)]
pub struct Broker(Option<Child>);

impl Broker {
    /// Starts the broker of a folder that [`init`] has written, unless it is running already: a
    /// planner that was killed leaves its broker behind.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(folder: &Path) -> Result<Self, Error> {
        let configuration = folder.join("broker/mosquitto.conf");
        let text = fs::read_to_string(&configuration);
        let text = text.map_err(|why| Error::opening(&configuration, why))?;
        let listener = text.lines().find_map(|line| {
            let (port, address) = line.strip_prefix("listener ")?.split_once(' ')?;
            let (port, address) = (port.parse().ok()?, address.trim().parse().ok()?);
            Some(SocketAddr::new(address, port))
        });
        let Some(address) = listener else {
            return Err(Error::Usage(format!(
                "{}: found no listener with a port and an address, expected one",
                configuration.display()
            )));
        };
        if is_there(address) {
            return Ok(Self(None));
        }
        let program = find(PROGRAM).ok_or_else(|| missing(PROGRAM))?;
        let mut child = Command::new(program)
            .arg("-c")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|why| Error::Usage(format!("cannot start {PROGRAM}: {why}")))?;
        let end = Instant::now() + PATIENCE;
        while !is_there(address) {
            let ended = child.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > end {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::Usage(format!(
                    "found {PROGRAM} not listening on {address}, expected it to: see its words above"
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self(Some(child)))
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Gently, so that it keeps what it has to keep.
            let process = i32::try_from(child.id()).ok();
            let process = process.and_then(rustix::process::Pid::from_raw);
            if let Some(process) = process {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
            }
            let _ = child.wait();
        }
    }
}

fn is_there(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
}
