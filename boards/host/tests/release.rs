//! `dunlin release-list`: what Debian's signify verifies, and what a probe reads.

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dunlin::image::Image;
use dunlin::update::{Manifest, PayloadKind, SecretKey, digest_of};
use program::{dunlin, refuses, text};

/// A folder of our own, with keys and a list; removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("dunlin-release-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let key = SecretKey::new(&[5; 32], *b"a number");
        let folder = Self(folder);
        folder.write("list.sec", &key.file(&[5; 32], "secret"));
        folder.write("list.pub", &key.public().file("public"));
        folder.write("pages.csv", "url\nhttp://example.org/\n");
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("written");
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        let [pages, key, out] = ["pages.csv", "list.sec", "out"].map(|name| self.path(name));
        let words = ["release-list", &pages, "--key", &key, "--out", &out];
        words
            .iter()
            .chain(more)
            .map(|word| (*word).to_owned())
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn release(folder: &Folder, more: &[&str]) -> serde_json::Value {
    let words = folder.words(more);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = dunlin(&words, b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).expect("JSON")
}

fn verified(folder: &Folder, manifest: &Path) -> Vec<u8> {
    let output = Command::new("signify-openbsd")
        .current_dir(&folder.0)
        .args(["-V", "-e", "-p", "list.pub", "-m", "verified", "-x"])
        .arg(manifest)
        .output()
        .expect("signify-openbsd: `cargo xtask test` installs it");
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::read(folder.0.join("verified")).expect("a manifest")
}

#[test]
fn signify_verifies_it_and_numbers_rise() {
    let folder = Folder::new("verified");
    let first = release(&folder, &["--format", "json", "--counter", "3"]);
    assert_eq!(
        (&first["sequence"], &first["counter"]),
        (&1.into(), &3.into())
    );
    let manifest = folder.0.join("out/qemu-mps2-list.sig");
    let message = verified(&folder, &manifest);
    let read = Manifest::parse(&message).expect("a manifest");
    let payload = fs::read(folder.0.join("out").join(read.url)).expect("a payload");
    assert_eq!((read.kind, read.board), (PayloadKind::List, "qemu-mps2"));
    assert_eq!(read.digest, digest_of(&payload));
    assert_eq!(Image::parse(&payload).expect("an image").pages(), 1);

    let url = "http://updates.example/roof";
    let second = release(&folder, &["--format", "json", "--update-url", url]);
    assert_eq!(
        (&second["sequence"], &second["counter"]),
        (&2.into(), &3.into())
    );
    let message = verified(&folder, &manifest);
    let read = Manifest::parse(&message).expect("a manifest");
    let payload = fs::read(folder.0.join("out").join(read.url)).expect("a payload");
    let image = Image::parse(&payload).expect("an image");
    assert_eq!(image.update_url(), Some("http://updates.example/roof/"));
}

#[test]
fn what_cannot_be_released_writes_nothing() {
    let folder = Folder::new("refused");
    let refused = |more: &[&str], expected: &str| {
        let words = folder.words(more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        refuses(&words, b"", expected);
    };
    refused(&["--update-url", "roof"], "expected the URL of a folder");
    folder.write("list.sec", "no key");
    refused(&[], "found no secret key in signify's format");
    assert!(!folder.0.join("out").exists());
    let folder = Folder::new("older");
    release(&folder, &["--format", "json", "--sequence", "7"]);
    let words = folder.words(&["--sequence", "7"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    refuses(&words, b"", "found --sequence 7, expected one above 7");
}
