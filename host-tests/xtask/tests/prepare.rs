//! `host-tests/prepare.sh` on computers that lack something.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dunlin_tools::shell::{find, root};

/// A computer on which the script finds these programs alone, each with what it does.
struct Computer(PathBuf);

impl Computer {
    fn new(name: &str, programs: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for tool in ["cat", "chmod", "mktemp", "rm"] {
            symlink(find(tool).expect("a tool"), folder.join(tool)).expect("a link");
        }
        for (program, script) in programs {
            let file = folder.join(program);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("set");
        }
        Self(folder)
    }

    /// What the script ends with, and what it says.
    fn prepare(&self) -> (Option<i32>, String) {
        let output = Command::new("/bin/sh")
            .arg(root().join("host-tests/prepare.sh"))
            .env("PATH", &self.0)
            .output()
            .expect("a shell");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

impl Drop for Computer {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const LINKS: &str = "cat >/dev/null";
const RUST: [(&str, &str); 2] = [("cargo", ""), ("rustup", "")];
/// Brings a compiler that links, and keeps what it was told.
const APT: &str = r#"echo "$@" >>"$PATH/told"
case "$1" in install) printf '#!/bin/sh\ncat >/dev/null\n' >"$PATH/cc"; chmod +x "$PATH/cc";; esac"#;

#[test]
fn nothing_is_done_where_nothing_is_missing() {
    let [cargo, rustup] = RUST;
    let computer = Computer::new(
        "prepared",
        &[
            ("cc", LINKS),
            cargo,
            rustup,
            ("apt-get", APT),
            ("id", "echo 0"),
        ],
    );
    assert_eq!(computer.prepare().0, Some(0));
    assert!(!computer.0.join("told").exists(), "nothing was installed");
}

#[test]
fn root_gets_a_compiler() {
    let [cargo, rustup] = RUST;
    // Without one, and with one that lacks its C library.
    for (name, broken) in [
        ("no-cc", None),
        ("no-libc", Some(("cc", "cat >/dev/null; exit 1"))),
    ] {
        let programs = [cargo, rustup, ("apt-get", APT), ("id", "echo 0")];
        let programs: Vec<_> = programs.into_iter().chain(broken).collect();
        let computer = Computer::new(name, &programs);
        let (code, said) = computer.prepare();
        assert_eq!(code, Some(0), "{said}");
        let told = fs::read_to_string(computer.0.join("told")).expect("apt-get was called");
        assert!(told.contains("gcc libc6-dev"), "{told}");
    }
}

#[test]
fn others_are_told_in_one_line_what_to_install() {
    let [cargo, rustup] = RUST;
    let user = ("id", "echo 1000");
    let cases = [
        (
            "user",
            vec![cargo, rustup, ("apt-get", APT), user],
            "apt-get install gcc libc6-dev",
        ),
        (
            "other-system",
            vec![cargo, rustup, ("id", "echo 0")],
            "expected cc",
        ),
        ("no-cargo", vec![("cc", LINKS), user], "https://rustup.rs"),
    ];
    for (name, programs, expected) in cases {
        let computer = Computer::new(name, &programs);
        let (code, said) = computer.prepare();
        assert_eq!(code, Some(1), "{name}: {said}");
        assert_eq!(said.lines().count(), 1, "{name}: {said}");
        assert!(said.contains(expected), "{name}: {said}");
        assert!(!computer.0.join("told").exists(), "{name}");
    }
}

#[test]
fn cargo_without_rustup_is_enough_for_this_computer() {
    let computer = Computer::new("no-rustup", &[("cc", LINKS), ("cargo", "")]);
    let (code, said) = computer.prepare();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("firmware needs rustup"), "{said}");
}
