//! Frames that no firmware would send: they cost a line, not the monitor.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use dunlin::math::split_mix;
use dunlin_host::monitor::decode::{Decoder, Level, hush_panics};
use dunlin_host::monitor::firmware::Firmware;
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use serde_json::Value;

/// Log strings, whose numbers count from 1.
const STRINGS: &[(&str, &str)] = &[
    ("defmt_prim", "{=u8}"),
    ("defmt_prim", "None|Some({=?})"),
    ("defmt_prim", "{=[?]}"),
    ("defmt_derived", "Unit"),
    ("defmt_derived", "Pair {{ a: {=u16}, b: {=?} }}"),
    ("defmt_info", "bytes {=[u8]}"),
    ("defmt_info", "items {=[?]}"),
    ("defmt_info", "four {=[?;4]}"),
    ("defmt_info", "any {}"),
    ("defmt_info", "bits {0=0..3} {0=9..14} of {1=u8}"),
    ("defmt_info", "text {=str} and {=istr}"),
    ("defmt_info", "shown {=__internal_Debug}"),
    ("defmt_info", "parts {=__internal_FormatSequence}"),
    ("defmt_info", "since {=u64:iso8601s}"),
    ("defmt_info", "letter {=char} {=bool}"),
];
const U8: u8 = 1;
const OPTION: u8 = 2;
const SLICE: u8 = 3;
const UNIT: u8 = 4;
const PAIR: u8 = 5;
const BYTES: u8 = 6;
const ITEMS: u8 = 7;
const FOUR: u8 = 8;
const ANY: u8 = 9;
const BITS: u8 = 10;
const TEXT: u8 = 11;
const SHOWN: u8 = 12;
const PARTS: u8 = 13;
const SINCE: u8 = 14;
const LETTER: u8 = 15;

/// An ELF file with these strings and nothing else.
fn elf() -> Vec<u8> {
    let mut elf = Object::new(BinaryFormat::Elf, Architecture::Arm, Endianness::Little);
    let section = elf.add_section(Vec::new(), b".defmt".to_vec(), SectionKind::Other);
    elf.append_section_data(section, &[0; STRINGS.len() + 1], 1);
    let text = elf.section_id(StandardSection::Text);
    let mut add = |name: String, value, section| {
        elf.add_symbol(Symbol {
            name: name.into_bytes(),
            value,
            size: 1,
            kind: SymbolKind::Data,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    };
    add("_defmt_version_ = 4".into(), 0, text);
    add("_defmt_encoding_ = rzcobs".into(), 0, text);
    for (index, (tag, data)) in (1..).zip(STRINGS) {
        let name = serde_json::json!({ "package": "p", "disambiguator": "0", "tag": tag, "data": data, "crate_name": "c" });
        add(name.to_string(), index, section);
    }
    elf.write().expect("an ELF file")
}

fn decoder() -> Decoder {
    Decoder::new(Arc::new(
        Firmware::parse(Path::new("made up"), &elf()).expect("log strings"),
    ))
}

/// A frame on the wire.
fn wire(frame: &[u8]) -> Vec<u8> {
    let mut bytes = rzcobs::encode(frame);
    bytes.push(0);
    bytes
}

/// What becomes of a frame: its text, or nothing.
fn shown(frame: &[u8]) -> Option<String> {
    let mut lines = Vec::new();
    decoder().feed(&wire(frame), &mut |line| lines.push(line));
    let [line] = &lines[..] else {
        panic!("{} lines of one frame", lines.len())
    };
    (line.level != Level::Lost).then(|| line.message.clone())
}

fn frame(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// `count` elements of the string with this number.
fn slice(count: u32, element: u8) -> Vec<u8> {
    frame(&[&[ITEMS, 0], &count.to_le_bytes(), &[element, 0]])
}

/// Some(Some(… None …)), so deep.
fn nested(depth: usize) -> Vec<u8> {
    frame(&[&[ANY, 0], &[OPTION, 0, 1].repeat(depth), &[OPTION, 0, 0]])
}

#[test]
fn whatever_firmware_sends_is_shown() {
    for (sent, expected) in [
        (frame(&[&[BYTES, 0], &[2, 0, 0, 0, 7, 8]]), "bytes [7, 8]"),
        (frame(&[&slice(3, U8), &[1, 2, 3]]), "items [1, 2, 3]"),
        (slice(3, UNIT), "items [Unit, Unit, Unit]"),
        (
            frame(&[&slice(2, OPTION), &[0], &[1, U8, 0, 5]]),
            "items [None, Some(5)]",
        ),
        (
            frame(&[&[FOUR, 0], &[U8, 0], &[9, 8, 7, 6]]),
            "four [9, 8, 7, 6]",
        ),
        (
            frame(&[&[ANY, 0], &[PAIR, 0], &[1, 1], &[OPTION, 0, 1, UNIT, 0]]),
            "any Pair { a: 257, b: Some(Unit) }",
        ),
        (
            frame(&[&[ANY, 0], &[SLICE, 0], &[1, 0, 0, 0, U8, 0, 4]]),
            "any [4]",
        ),
        (
            frame(&[&[BITS, 0], &[0b101, 0b10110], &[3]]),
            "bits 5 11 of 3",
        ),
        (
            frame(&[&[TEXT, 0], &[2, 0, 0, 0], b"hi", &[UNIT, 0]]),
            "text hi and Unit",
        ),
        (frame(&[&[SHOWN, 0], b"so", &[0xff]]), "shown so"),
        (
            frame(&[&[PARTS, 0], &[U8, 0, 3], &[UNIT, 0], &[0, 0]]),
            "parts 3Unit",
        ),
        (
            frame(&[&[SINCE, 0], &[60, 0, 0, 0, 0, 0, 0, 0]]),
            "since 1970-01-01T00:01:00Z",
        ),
        (frame(&[&[LETTER, 0], &[b'x', 0, 0, 0, 1]]), "letter x true"),
        (nested(3), "any Some(Some(Some(None)))"),
    ] {
        assert_eq!(shown(&sent).as_deref(), Some(expected), "{sent:?}");
    }
}

#[test]
fn what_a_probe_was_told_gives_no_orders_to_a_terminal() {
    let sent = frame(&[&[TEXT, 0], &[8, 0, 0, 0], b"\x1b[2J\r\nhi", &[UNIT, 0]]);
    assert_eq!(
        shown(&sent).as_deref(),
        Some(r"text \u{1b}[2J\r\nhi and Unit")
    );
}

/// What would take memory, stack, time, or the year 584 thousand million.
fn hostile() -> Vec<Vec<u8>> {
    let elements = [u32::MAX, 1 << 31, 1 << 24, 1 << 20];
    let mut frames = Vec::new();
    for count in elements {
        frames.extend([U8, OPTION, UNIT, SLICE, PAIR].map(|element| slice(count, element)));
        frames.push(frame(&[&[BYTES, 0], &count.to_le_bytes(), b"few"]));
        frames.push(frame(&[&[TEXT, 0], &count.to_le_bytes(), b"few"]));
        frames.push(frame(&[
            &[ANY, 0],
            &[SLICE, 0],
            &count.to_le_bytes(),
            &[UNIT, 0],
        ]));
        // Slices of slices of slices, a few bytes each.
        let inner = frame(&[&1000_u32.to_le_bytes(), &[SLICE, 0]]);
        frames.push(frame(&[
            &[ITEMS, 0],
            &inner.repeat(40),
            &count.to_le_bytes(),
            &[UNIT, 0],
        ]));
    }
    frames.extend([40, 1_000, 20_000].map(nested));
    frames.push(frame(&[&[SINCE, 0], &[0xff; 8]]));
    frames
}

#[test]
fn frames_that_ask_for_the_impossible_are_lost() {
    hush_panics();
    for frame in hostile() {
        assert_eq!(shown(&frame), None, "{:?}", &frame[..frame.len().min(20)]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hostile_stream_is_decoded_in_little_memory() {
    let folder = std::env::temp_dir().join(format!("dunlin-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("probe.elf");
    std::fs::write(&file, elf()).expect("written");
    let good = frame(&[&[LETTER, 0], &[b'x', 0, 0, 0, 1]]);
    let mut stream = Vec::new();
    let mut lost = 0;
    for bad in hostile() {
        stream.extend(wire(&good));
        stream.extend(wire(&bad));
        lost += 1;
    }
    let log = folder.join("probe.defmt");
    std::fs::write(&log, stream).expect("written");
    // Half a gigabyte of addresses, of which threads reserve the greater part and use none: more is
    // refused by the system.
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -v 524288 && exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_dunlin"),
            "monitor",
            "--elf",
        ])
        .arg(&file)
        .arg("--log")
        .arg(&log)
        .args(["--summary", "--format", "json"])
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let page = folder.join("page.html");
    let report = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .arg("report")
        .arg(&log)
        .arg("--elf")
        .arg(&file)
        .arg("--html")
        .arg(&page)
        .output()
        .expect("the program starts");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(report.status.success());
    let said = String::from_utf8_lossy(&report.stderr).into_owned();
    assert_eq!(said.trim_end(), format!("report: {}", page.display()));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "",
        "a lost frame is counted, not complained about"
    );
    let view: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (view["lost_frames"].as_u64(), view["frames"].as_u64()),
        (Some(lost), Some(lost))
    );
}

#[test]
fn no_frame_ends_the_decoder() {
    hush_panics();
    let mut decoder = decoder();
    let mut seed = 1;
    let mut below = move |limit: u64| split_mix(&mut seed) % limit;
    let rounds = if std::env::var_os("DUNLIN_LONG").is_some() {
        2_000_000
    } else {
        50_000
    };
    let mut shown = 0;
    for _ in 0..rounds {
        // Small numbers mostly: they are strings, lengths and variants.
        let longest = 1 << below(9);
        let length = 1 + below(longest);
        let mut byte = || {
            if below(8) == 0 {
                below(256) as u8
            } else {
                below(18) as u8
            }
        };
        let frame: Vec<u8> = [1 + byte() % 15, 0]
            .into_iter()
            .chain((0..length).map(|_| byte()))
            .collect();
        decoder.feed(&wire(&frame), &mut |line| {
            shown += usize::from(line.level != Level::Lost)
        });
    }
    assert_eq!(
        decoder.frames + decoder.lost.frames,
        rounds,
        "every frame is a line or lost"
    );
    assert!(
        shown > rounds as usize / 100,
        "{shown} of {rounds} frames were decoded: these tell nothing"
    );
}
