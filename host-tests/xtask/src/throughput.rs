//! Requests a second without politeness, beside a bare embassy-net loop in the same run.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::crawl::value;
use crate::e2e::{self, listing};
use crate::page_image::{self, ImageFile, Options};
use crate::qemu::{self, Beside, Machine, Time};
use crate::web::{Answer, Web};
use crate::{firmware, setup};

const SECONDS: u32 = 8;
const DEADLINE: Duration = Duration::from_secs(60);
/// What the probe must reach of the bare loop.
pub const LEAST: f64 = 0.6;

/// Fails unless the probe reaches its share of the bare loop's speed.
pub fn throughput(install: bool) -> Result<()> {
    let (bare, probe) = measure(install)?;
    println!(
        "{bare:.0} requests a second by a bare loop, {probe:.0} by the probe: {:.0} %",
        100.0 * probe / bare
    );
    ensure!(probe >= LEAST * bare, "the probe is slower than {LEAST} of a bare loop");
    Ok(())
}

/// Requests a second: of the bare loop, and of the probe.
pub fn measure(install: bool) -> Result<(f64, f64)> {
    setup::qemu(install)?;
    let elf = firmware::build(install, firmware::THROUGHPUT)?;
    let web = Web::start(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::status(404, "X: none"),
        _ => Answer::page("a small page"),
    })?;
    let pages: Vec<(String, String)> =
        (0..48).map(|page| (format!("site{}.test", page % 12), format!("/{page}"))).collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(host, path)| (host.as_str(), path.as_str())).collect();
    let options = Options { resolve: vec![("*".into(), crate::demo::LOOPBACK)], ..e2e::options() };
    let (image, _) = page_image::build(&listing(web.port(), &pages, Duration::ZERO), &options)?;
    let image = ImageFile::write(&image, &elf)?;
    let arguments = [format!("seconds={SECONDS}")];
    let beside = Beside { image: Some((&image.path, image.address)), network: true, ..Beside::default() };
    let machine = Machine { elf: &elf, options: &arguments, time: Time::Real, deadline: DEADLINE, beside };
    let mut result = None;
    qemu::run(machine, |line| {
        if line.message.starts_with("throughput ") {
            let count = |key| value(line, key).and_then(|count| count.parse::<f64>().ok());
            result = count("bare").zip(count("probe"));
        }
    })?
    .success("the throughput firmware", DEADLINE)?;
    let (bare, probe) = result.context("the firmware said nothing about throughput")?;
    let each = f64::from(SECONDS);
    Ok((bare / each, probe / each))
}
