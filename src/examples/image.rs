//! A page image made by hand, and read as a probe reads it.
//!
//! `cargo run --example image --features std,probe`

use dunlin::catalog::{Config, Host, Page};
use dunlin::image::{Builder, Image, ImageError};

fn main() -> Result<(), ImageError> {
    let host = Host {
        pages: 2,
        ..Host::new("example.org", 0)
    };
    let mut config = Config::new("dunlin/0.1");
    config.per_day = Some(48.0);
    let bytes = Builder::new(&config)
        .hosts(&[host])
        .pages(&[
            Page::new(0, "http://example.org/"),
            Page {
                weight: 2.0,
                ..Page::new(0, "http://example.org/news")
            },
        ])
        .build()?;
    println!("{} bytes, to be put where memory.x says", bytes.len());

    let image = Image::parse(&bytes)?;
    for index in 0..image.pages() {
        let page = image.page(index)?;
        println!("{} on host {}, weight {}", page.url, page.host, page.weight);
    }
    assert_eq!(image.config()?.per_day, Some(48.0));

    let mut damaged = bytes.clone();
    damaged[60] ^= 1;
    let why = Image::parse(&damaged).expect_err("a flipped bit is found");
    println!("with one bit flipped: {why}");
    Ok(())
}
