//! `dunlin image`: a list as a firmware of one's own takes it.

mod program;

use std::fs;
use std::path::{Path, PathBuf};

use dunlin::image::Image;
use dunlin::model::Objective;
use program::{dunlin, refuses, text};

fn boards() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The image that the examples are compiled with is the one that the guide says how to make.
#[test]
fn the_image_of_the_examples_is_made_by_hand() {
    let list = boards().join("examples/pages.csv");
    let kept = boards().join("examples/pages.img");
    let made = scratch("pages.img");
    let made = made.to_str().expect("a path");
    let output = dunlin(
        &[
            "image",
            list.to_str().expect("a path"),
            "--out",
            made,
            "--format",
            "json",
        ],
        b"",
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(written["pages"], 2);
    assert_eq!(written["hosts"], 1);
    let bytes = fs::read(made).expect("written");
    assert_eq!(written["bytes"], bytes.len());
    let image = Image::parse(&bytes).expect("as a probe reads it");
    let url = image.page(1).map(|page| page.url);
    assert_eq!(url, Ok("http://10.0.2.2:8000/news"));
    if std::env::var_os("DUNLIN_BLESS").is_some() {
        fs::write(&kept, &bytes).expect("written");
    }
    assert_eq!(
        fs::read(&kept).ok(),
        Some(bytes),
        "boards/examples/pages.img is another one: DUNLIN_BLESS=1 writes it"
    );
}

#[test]
fn the_objective_reaches_the_image() {
    let out = scratch("objective.img");
    let path = out.to_str().expect("a path");
    for (said, expected) in [
        (&[][..], Objective::Freshness),
        (&["--objective", "freshness"], Objective::Freshness),
        (&["--objective", "age"], Objective::Age),
    ] {
        let arguments = [&["image", "-", "--out", path], said].concat();
        let output = dunlin(&arguments, b"url\nhttp://a.test/\n");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let bytes = fs::read(&out).expect("written");
        let image = Image::parse(&bytes).expect("as a probe reads it");
        assert_eq!(image.objective(), expected, "{said:?}");
    }
}

#[test]
fn what_no_firmware_could_use_is_refused() {
    let out = scratch("refused.img");
    let out = out.to_str().expect("a path");
    let _ = fs::remove_file(out);
    let make = |list: &'static str, more: &[&str], expected: &str| {
        let arguments = [&["image", "-", "--out", out], more].concat();
        refuses(&arguments, list.as_bytes(), expected);
        assert!(!Path::new(out).exists(), "{list}");
    };
    make("url\n", &[], "found no pages, expected one URL a line");
    make(
        "url\nhttps://a.test/\n",
        &[],
        "expected http://, --https for a firmware that speaks https itself, or a --gateway",
    );
    make(
        "url\nhttp://a.test/\n",
        &["--agent", "a b"],
        "agent must be a name",
    );
    make(
        "url,min\nhttp://a.test/,48\n",
        &["--crawls-per-day", "24"],
        "`min` of the pages needs 48 crawls a day at least, but --crawls-per-day is 24",
    );
    make(
        "url,min\nhttp://a.test/,9\n",
        &["--politeness", "6h"],
        "http://a.test/: found a minimum of 9 crawls, expected at most the 4.0 its host allows",
    );
    let https = ["image", "-", "--out", out, "--https"];
    let output = dunlin(&https, b"url\nhttps://a.test/\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_guide_shows_the_firmware_that_is_built() {
    let guide = fs::read_to_string(boards().join("EMBEDDING.md")).expect("a guide");
    let firmware = boards().join("examples/embassy-net/src/main.rs");
    let firmware = fs::read_to_string(firmware).expect("a firmware");
    if std::env::var_os("DUNLIN_BLESS").is_some() {
        let (before, rest) = guide.split_once("```rust\n").expect("a block");
        let (_, after) = rest.split_once("```\n").expect("its end");
        let guide = format!("{before}```rust\n{firmware}```\n{after}");
        fs::write(boards().join("EMBEDDING.md"), guide).expect("written");
    }
    let guide = fs::read_to_string(boards().join("EMBEDDING.md")).expect("a guide");
    assert!(
        guide.contains(&format!("```rust\n{firmware}```\n")),
        "boards/EMBEDDING.md shows another firmware: DUNLIN_BLESS=1 writes it"
    );
    assert!(firmware.lines().count() <= 60, "it is to be a short one");
}
