//! Page images: what goes in comes out, and no damage goes unnoticed or makes the reader panic.

use dunlin::fetch::Ignore;
use dunlin::image::{
    Address, Config, Gateway, Host, Image, ImageError, LogLevel, Name, Page, TimeServer, VERSION,
    build,
};
use proptest::prelude::*;

const CONFIG: Config<'_> = Config {
    agent: "dunlin/0.1",
    contact: Some("https://example.org/"),
    per_day: Some(1_000.0),
    back_off_ms: 60_000,
    deadline_ms: 30_000,
    body_bytes: 1 << 20,
    seed: 7,
    key: [3; 16],
    gateway: Some(Gateway {
        host: "10.0.2.2",
        port: 3_128,
    }),
    address: Address::Dhcp,
    utc_offset_minutes: -90,
    log: LogLevel::Info,
    sntp: Some(TimeServer {
        host: "time.test",
        port: 1_123,
    }),
};

const IGNORE: [Ignore<'_>; 2] = [
    Ignore {
        from: b"nonce=\"",
        to: b"\"",
    },
    Ignore {
        from: b"<!--",
        to: b"-->",
    },
];

fn sample(pages: u16) -> Vec<u8> {
    let names = [
        Name {
            host: "a.test",
            address: [10, 0, 2, 2],
        },
        Name {
            host: "*",
            address: [10, 0, 2, 3],
        },
    ];
    let host = Host {
        name: "a.test",
        gap_ms: 15_000,
        hours: Some((22, 6)),
        gate: 0,
        first_page: 0,
        pages,
    };
    let urls: Vec<String> = (0..pages)
        .map(|page| format!("http://a.test/{page}"))
        .collect();
    let page = |url| Page {
        host: 0,
        url,
        weight: 2.0,
        rate: Some(0.5),
        confidence: 4.0,
    };
    let pages: Vec<Page<'_>> = urls.iter().map(|url| page(url)).collect();
    build(&CONFIG, &names, &[host], &pages, &IGNORE)
}

#[test]
fn what_goes_in_comes_out() {
    let mut bytes = sample(300);
    bytes.resize(131_072, 0xff); // the rest of the flash region
    let image = Image::parse(&bytes).expect("a good image");
    assert_eq!(image.config(), Ok(CONFIG));
    assert_eq!((image.hosts(), image.pages()), (1, 300));
    assert_eq!(
        image.page(299).map(|page| page.url),
        Ok("http://a.test/299")
    );
    assert_eq!(
        image.host(0).map(|host| (host.gap_ms, host.hours)),
        Ok((15_000, Some((22, 6))))
    );
    assert_eq!(image.named("A.TEST"), Some([10, 0, 2, 2]));
    assert_eq!(image.named("b.test"), Some([10, 0, 2, 3]));
    assert_eq!(image.ignores(), IGNORE);
    assert!(image.page(300).is_err());
}

#[test]
fn refusals_say_why() {
    let good = sample(3);
    assert_eq!(Image::parse(&[0; 64]).err(), Some(ImageError::Missing));
    assert_eq!(Image::parse(&good[..10]).err(), Some(ImageError::Missing));
    let mut newer = good.clone();
    newer[4] = VERSION as u8 + 1;
    assert_eq!(
        Image::parse(&newer).err(),
        Some(ImageError::Newer { found: VERSION + 1 })
    );
    let cut = good.len() - 1;
    let length = ImageError::Length {
        found: good.len() as u32,
        room: cut as u32,
    };
    assert_eq!(Image::parse(&good[..cut]).err(), Some(length));
    let page = Page {
        host: 1,
        url: "http://a.test/",
        weight: 1.0,
        rate: None,
        confidence: 0.0,
    };
    assert!(matches!(
        Image::parse(&build(&CONFIG, &[], &[], &[page], &[])),
        Err(ImageError::Record { index: 1 })
    ));
}

fn golden(version: u16) -> std::path::PathBuf {
    std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("data/image-v{version}.bin"))
}

/// Written by today's program; `DUNLIN_GOLDEN=1` keeps it as the image of a new version.
#[test]
fn today_is_written_as_it_is_kept() {
    let file = golden(VERSION);
    if std::env::var_os("DUNLIN_GOLDEN").is_some() && !file.exists() {
        std::fs::write(&file, sample(3)).expect("a place for the image");
    }
    let kept = std::fs::read(&file).expect("an image of every version");
    assert!(
        kept == sample(3),
        "the format has changed: raise VERSION and keep the old images"
    );
}

#[test]
fn every_version_is_read() {
    for version in 1..=VERSION {
        let bytes = std::fs::read(golden(version)).expect("an image of every version");
        assert_eq!(bytes[4..6], version.to_le_bytes());
        let image = Image::parse(&bytes).unwrap_or_else(|why| panic!("version {version}: {why}"));
        let sntp = CONFIG.sntp.filter(|_| version >= 2);
        assert_eq!(
            image.config(),
            Ok(Config { sntp, ..CONFIG }),
            "version {version}"
        );
        assert_eq!((image.hosts(), image.pages()), (1, 3), "version {version}");
        assert_eq!(
            image.page(2).map(|page| page.url),
            Ok("http://a.test/2"),
            "version {version}"
        );
        assert_eq!(
            image.named("b.test"),
            Some([10, 0, 2, 3]),
            "version {version}"
        );
    }
}

proptest! {
    /// Every flipped bit is noticed.
    #[test]
    fn damage_is_noticed(pages in 0..40_u16, place in any::<prop::sample::Index>(), bit in 0..8) {
        let mut image = sample(pages);
        let place = place.index(image.len());
        image[place] ^= 1_u8 << bit;
        prop_assert!(Image::parse(&image).is_err());
    }

    /// Bytes with a good checksum but no sense do not make the reader panic.
    #[test]
    fn nonsense_is_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Image::parse(&bytes);
        for version in 1..=VERSION {
            let mut image = b"dnln".to_vec();
            image.extend(version.to_le_bytes());
            image.extend(&bytes);
            let _ = Image::parse(&image);
        }
    }
}
