//! The keys that updates are signed with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use dunlin::update::SecretKey;
use dunlin_host::board::state_file::random_key;
use dunlin_host::error::Error;

use super::stamp::NAMES;
use crate::shell::{root, write_private};

/// Where keys are looked for unless the user says otherwise; git ignores it.
pub fn folder() -> PathBuf {
    root().join("boards/keys")
}

/// Draws two keys for firmware and two for lists, and returns the files that they are in.
///
/// # Errors
/// There are keys in the folder already, or it cannot be written.
pub fn draw(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = |name: &str| ["sec", "pub"].map(|ending| folder.join(format!("{name}.{ending}")));
    for file in NAMES.iter().flat_map(|name| files(name)) {
        if file.exists() {
            return Err(Error::Usage(format!(
                "found {}, expected a folder without keys: what is signed with lost keys is trusted no more",
                file.display()
            ))
            .into());
        }
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut written = Vec::new();
    for name in NAMES {
        let [secret_file, public_file] = files(name);
        let mut seed = [0; 32];
        let (low, high) = seed.split_at_mut(16);
        low.copy_from_slice(&random_key()?);
        high.copy_from_slice(&random_key()?);
        let mut number = [0; 8];
        number.copy_from_slice(&random_key()?[..8]);
        let key = SecretKey::new(&seed, number);
        let secret = key.file(&seed, &format!("dunlin {name} secret key"));
        write_private(&secret_file, secret.as_bytes())?;
        let public = key.public().file(&format!("dunlin {name} public key"));
        fs::write(&public_file, public)
            .with_context(|| format!("cannot write {}", public_file.display()))?;
        written.extend([secret_file, public_file]);
    }
    Ok(written)
}
