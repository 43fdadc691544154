use std::format;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::string::{String, ToString as _};
use std::vec::Vec;
use std::{env, fs};

use super::*;

const KEY: [u8; 32] = [7; 32];
const NUMBER: [u8; 8] = *b"dunlin-1";

fn key() -> SecretKey {
    SecretKey::new(&KEY, NUMBER)
}

/// What host-tests/data keeps of version 1.
fn first() -> Manifest<'static> {
    Manifest {
        kind: PayloadKind::Firmware,
        board: "qemu-mps2",
        build: 0x0011_2233_4455_66ff,
        sequence: 7,
        counter: 1,
        length: 3,
        digest: digest_of(b"abc"),
        store: 1,
        image: 2,
        url: "qemu-mps2-7.bin",
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("host-tests/data")
        .join(name)
}

#[test]
fn manifests_of_every_version_are_read_and_the_newest_is_written() {
    let file = fs::read(data("manifest-v1.sig")).expect("the stored manifest");
    let message = PublicKey::open(&[key().public()], &file).expect("a good signature");
    assert_eq!(Manifest::parse(message), Ok(first()));
    let written = key().sign(&first().text(), "verify with firmware.pub");
    assert_eq!(written.as_bytes(), file);
}

#[test]
fn a_line_that_is_missing_or_wrong_is_named() {
    let text = first().text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 11);
    for (index, line) in lines.iter().enumerate() {
        let number = index as u8 + 1;
        let wrong = Err(Refusal::Manifest { line: number });
        let without = text.replacen(&format!("{line}\n"), "", 1);
        assert_eq!(Manifest::parse(without.as_bytes()), wrong, "{line}");
        let changed = text.replacen(line, &line.replacen(' ', "  ", 1), 1);
        assert_eq!(Manifest::parse(changed.as_bytes()), wrong, "{line}");
        let cut = &text[..text.find(line).expect("it is there") + line.len()];
        assert_eq!(Manifest::parse(cut.as_bytes()), wrong, "{line}");
    }
    for (right, wrong, line) in [
        ("sequence 7", "sequence 4294967296", 5),
        ("sequence 7", "sequence 07", 5),
        ("store 1", "store 256", 9),
        ("length 3", "length -3", 7),
        ("build 00112233445566ff", "build 00112233445566fF", 4),
        ("kind firmware", "kind loader", 2),
    ] {
        let text = text.replace(right, wrong);
        let named = Err(Refusal::Manifest { line });
        assert_eq!(Manifest::parse(text.as_bytes()), named, "{wrong}");
    }
    let more = text + "more\n";
    let named = Err(Refusal::Manifest { line: 12 });
    assert_eq!(Manifest::parse(more.as_bytes()), named);
}

#[test]
fn nothing_that_is_sent_makes_the_reader_fall() {
    let keys = [key().public()];
    let good = key().sign(&first().text(), "").into_bytes();
    for end in 0..good.len() {
        assert!(PublicKey::open(&keys, &good[..end]).is_err(), "{end}");
        let _ = Manifest::parse(&good[end..]);
    }
    for byte in [0, b'\n', b' ', b'=', 0xff] {
        let _ = PublicKey::open(&keys, &[byte; 300]);
        let mut some = good.clone();
        some.iter_mut().step_by(3).for_each(|place| *place = byte);
        assert!(PublicKey::open(&keys, &some).is_err());
    }
}

#[test]
fn key_files_are_read_back() {
    let secret = key().file(&KEY, "a test's secret key");
    let read = SecretKey::parse(secret.as_bytes()).expect("a key");
    assert_eq!(read.public(), key().public());
    let public = key().public().file("a test's public key");
    assert_eq!(PublicKey::parse(public.as_bytes()), Some(key().public()));
    assert_eq!(
        PublicKey::from_bytes(&read.public().to_bytes()),
        Some(read.public())
    );
    let why = |file: &str| SecretKey::parse(file.as_bytes()).err();
    assert_eq!(why(&public), Some(SecretKeyError::Format));
    // The first letters are the algorithms; the eighth and those behind it are the rounds.
    let body = secret.find("\nRWRCSwAA").expect("base64") + 1;
    let mut locked = secret.clone();
    locked.replace_range(body + 8..body + 10, "AC");
    assert_eq!(why(&locked), Some(SecretKeyError::Locked));
    let mut damaged = secret.clone();
    damaged.replace_range(body + 60..body + 61, "x");
    assert_eq!(why(&damaged), Some(SecretKeyError::Damaged));
}

/// A folder of our own, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn signify(folder: &Folder, arguments: &str) -> (bool, String) {
    let mut command = Command::new("signify-openbsd");
    command.current_dir(&folder.0).args(arguments.split(' '));
    let output = command
        .output()
        .expect("signify-openbsd: `cargo xtask test` installs it");
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    (output.status.success(), said)
}

/// Debian's signify verifies what we sign, and we verify what it signs, with keys of either.
#[test]
fn signify_and_we_understand_each_other() {
    let folder = env::temp_dir().join(format!("dunlin-signify-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let folder = Folder(folder);
    let write = |name: &str, text: &str| fs::write(folder.0.join(name), text).expect("written");
    let read = |name: &str| fs::read(folder.0.join(name)).expect("read");
    let text = first().text();

    write("ours.pub", &key().public().file("ours public key"));
    write("ours.sec", &key().file(&KEY, "ours secret key"));
    let signed = key().sign(&text, "verify with ours.pub");
    write("ours.sig", &signed);
    let verify = "-V -e -p ours.pub -x ours.sig -m out";
    assert_eq!(signify(&folder, verify), (true, String::new()));
    assert_eq!(read("out"), text.as_bytes());

    write("ours.sig", &signed.replace("sequence 7", "sequence 8"));
    let (passed, said) = signify(&folder, verify);
    assert!(
        !passed && said.contains("signature verification failed"),
        "{said}"
    );

    // The same bytes, by its hand: our key file is one of its own.
    write("manifest", &text);
    let (passed, said) = signify(&folder, "-S -e -s ours.sec -m manifest -x theirs.sig");
    assert!(passed, "{said}");
    assert_eq!(read("theirs.sig"), signed.as_bytes());

    let (passed, said) = signify(&folder, "-G -n -p new.pub -s new.sec");
    assert!(passed, "{said}");
    let public = PublicKey::parse(&read("new.pub")).expect("its public key");
    let secret = SecretKey::parse(&read("new.sec")).expect("its secret key");
    assert_eq!(secret.public(), public);
    let (passed, said) = signify(&folder, "-S -e -s new.sec -m manifest -x new.sig");
    assert!(passed, "{said}");
    let theirs = read("new.sig");
    assert_eq!(PublicKey::open(&[public], &theirs), Ok(text.as_bytes()));
    let stranger = PublicKey::open(&[key().public()], &theirs);
    assert_eq!(stranger, Err(Refusal::UnknownKey));
}

#[test]
fn a_half_says_what_it_holds() {
    let header = halves::Header {
        release: Released {
            sequence: 1,
            counter: 2,
        },
        length: 3,
    };
    let bytes = header.encode();
    // Version 1, as it is stored: what was written once has to be read for ever.
    assert!(bytes.starts_with(b"dlst\x01\x01\0\0\0\x02\0\0\0\x03\0\0\0\xff"));
    assert_eq!(halves::Header::decode(&bytes), Some(header));
    for bit in 0..8 * halves::HEADER {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(halves::Header::decode(&flipped), None, "{bit}");
    }
}
