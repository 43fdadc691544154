//! Page images: what goes in comes out, and no damage goes unnoticed or makes the reader panic.

use dunlin::catalog::{
    Address, Catalog, ChangeLaw, ClockUpdate, Config, CrawlLimits, Gateway, Host, Ignore, LogLevel,
    Name, Page, TimeServer, Updates,
};
use dunlin::image::{
    Builder, Image, ImageError, Learnt, Tag, Teller, TellerSource, VERSION, build,
};
use dunlin::time::Duration;
use proptest::prelude::*;

const CONFIG: Config<'_> = {
    let mut config = Config::new("dunlin/0.1");
    config.contact = Some("https://example.org/");
    config.per_day = Some(1_000.0);
    config.seed = 7;
    config.key = [3; 16];
    config.gateway = Some(Gateway {
        host: "10.0.2.2",
        port: 3_128,
    });
    config.utc_offset_minutes = -90;
    config.sntp = Some(TimeServer {
        host: "time.test",
        port: 1_123,
    });
    config
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
    let page = Page::new(1, "http://a.test/");
    assert_eq!(
        Image::parse(&build(&CONFIG, &[], &[], &[page], &[])).err(),
        Some(ImageError::Record {
            section: Tag::PAGES,
            index: 0
        })
    );
}

/// The sections of an image with one page on one host, and then those that `more` adds.
fn small(more: impl FnOnce(Builder) -> Builder) -> Result<Vec<u8>, ImageError> {
    let host = Host {
        pages: 1,
        ..Host::new("a.test", 0)
    };
    let image = Builder::new(&CONFIG)
        .hosts(&[host])
        .pages(&[Page::new(0, "http://a.test/")]);
    more(image).build()
}

#[test]
fn an_unknown_section_is_skipped_or_refused_as_its_name_says() {
    let note = Tag::new(*b"note");
    let bytes = small(|image| image.section(note, b"skip me")).expect("an optional section");
    let image = Image::parse(&bytes).expect("an optional section");
    assert_eq!(image.pages(), 1);
    assert_eq!(image.section(note), Some(&b"skip me"[..]));
    assert_eq!(image.section(Tag::new(*b"else")), None);
    for name in [*b"NOTE", *b"Note", [0; 4], [0xff; 4]] {
        let section = Tag::new(name);
        assert_eq!(
            small(|image| image.section(section, b"")).err(),
            Some(ImageError::Unknown { section })
        );
    }
}

#[test]
fn the_order_of_sections_does_not_matter_but_each_comes_once() {
    let bytes = small(|image| {
        let note = image.section(Tag::new(*b"note"), &[7; 31]);
        note.ignore(&IGNORE)
    });
    let bytes = bytes.expect("sections behind one that is skipped");
    assert_eq!(
        Image::parse(&bytes).map(|image| image.ignores().len()),
        Ok(2)
    );
    let twice = small(|image| image.pages(&[Page::new(0, "http://a.test/b")]));
    let section = Tag::PAGES;
    assert_eq!(twice.err(), Some(ImageError::Repeated { section }));
}

#[test]
fn an_image_without_a_configuration_is_refused() {
    let mut empty = small(|image| image).expect("a good image");
    empty.truncate(20);
    seal(&mut empty);
    assert_eq!(Image::parse(&empty).err(), Some(ImageError::CONFIG));
}

#[test]
fn more_records_than_indexes_are_refused() {
    let pages = vec![Page::new(0, "http://a.test/"); 70_000];
    assert_eq!(
        Builder::new(&CONFIG).pages(&pages).build().err(),
        Some(ImageError::Record {
            section: Tag::PAGES,
            index: 70_000
        })
    );
}

#[test]
fn limits_and_laws_of_single_pages_come_out() {
    let updates: Vec<u8> = [(6, 0.9), (18, 1.0)]
        .into_iter()
        .map(|(hour, probability)| ClockUpdate {
            offset: Duration::HOUR * hour,
            probability,
        })
        .flat_map(ClockUpdate::to_bytes)
        .collect();
    let laws = [
        (7, ChangeLaw::Weibull { shape: 0.6 }),
        (
            2,
            ChangeLaw::Quasi {
                interval: Duration::DAY,
                updates: Updates::from_bytes(&updates),
            },
        ),
        (250, ChangeLaw::Pareto { shape: 1.5 }),
    ];
    let limits = CrawlLimits {
        min: 1,
        max: Some(24),
        interval: Duration::DAY,
    };
    let host = Host {
        pages: 300,
        ..Host::new("a.test", 0)
    };
    let bytes = Builder::new(&CONFIG)
        .hosts(&[host])
        .pages(&[Page::new(0, "http://a.test/"); 300])
        .laws(&laws)
        .limits(&[(299, limits)])
        .build()
        .expect("a good image");
    let image = Image::parse(&bytes).expect("a good image");
    for page in 0..300 {
        let law = laws.iter().find(|(about, _)| *about == page);
        let law = law.map_or(ChangeLaw::Poisson, |(_, law)| *law);
        assert_eq!(image.law(page.into()), Ok(law), "page {page}");
        let expected = if page == 299 {
            limits
        } else {
            CrawlLimits::NONE
        };
        assert_eq!(image.limits(page.into()), Ok(expected), "page {page}");
    }
    assert!(image.law(300).is_err() && image.limits(300).is_err());
}

#[test]
fn limits_and_laws_that_make_no_sense_are_refused() {
    let never = CrawlLimits {
        interval: Duration::ZERO,
        ..CrawlLimits::NONE
    };
    let crossed = CrawlLimits {
        min: 3,
        max: Some(2),
        ..CrawlLimits::NONE
    };
    for limits in [never, crossed] {
        let refused = small(|image| image.limits(&[(0, limits)]));
        let section = Tag::LIMITS;
        assert_eq!(
            refused.err(),
            Some(ImageError::Record { section, index: 0 })
        );
    }
    let at = |hour, probability| ClockUpdate {
        offset: Duration::HOUR * hour,
        probability,
    };
    let unsorted = [at(6, 0.5), at(5, 0.5)].map(ClockUpdate::to_bytes).concat();
    let late = at(24, 0.5).to_bytes();
    let certain = at(6, 1.5).to_bytes();
    let quasi = |updates| ChangeLaw::Quasi {
        interval: Duration::DAY,
        updates: Updates::from_bytes(updates),
    };
    for law in [
        ChangeLaw::Weibull { shape: 0.0 },
        ChangeLaw::Weibull { shape: f32::NAN },
        ChangeLaw::Pareto { shape: 1.0 },
        quasi(&unsorted),
        quasi(&late),
        quasi(&certain),
        quasi(&certain[1..]),
    ] {
        let refused = small(|image| image.laws(&[(0, law)]));
        let section = Tag::LAWS;
        assert_eq!(
            refused.err(),
            Some(ImageError::Record { section, index: 0 })
        );
    }
}

#[test]
fn references_to_what_is_not_there_are_refused() {
    let host = Host {
        name: "a.test",
        gap_ms: 15_000,
        hours: None,
        gate: 0,
        first_page: 0,
        pages: 1,
    };
    let page = Page {
        host: 0,
        url: "http://a.test/",
        weight: 1.0,
        rate: None,
        confidence: 0.0,
    };
    let check = |host: Host<'_>, page: Page<'_>| {
        let image = Builder::new(&CONFIG).hosts(&[host]).pages(&[page]);
        let image = image.build_unchecked();
        Image::parse(&image).map(|image| image.pages())
    };
    assert_eq!(check(host, page), Ok(1));
    let wrong = |section| Err(ImageError::Record { section, index: 0 });
    for (first_page, pages) in [(0, 2), (1, 1), (2, 0), (u16::MAX, 1), (1, u16::MAX)] {
        let host = Host {
            first_page,
            pages,
            ..host
        };
        assert_eq!(
            check(host, page),
            wrong(Tag::HOSTS),
            "{pages} pages from {first_page}"
        );
    }
    assert_eq!(check(Host { gate: 1, ..host }, page), wrong(Tag::HOSTS));
    assert_eq!(check(host, Page { host: 1, ..page }), wrong(Tag::PAGES));
    assert_eq!(
        check(
            host,
            Page {
                weight: 0.0,
                ..page
            }
        ),
        wrong(Tag::PAGES)
    );
    let rate = Some(-1.0);
    assert_eq!(check(host, Page { rate, ..page }), wrong(Tag::PAGES));
    // An end of the table is no page of it, and may stand there.
    let none = Host {
        first_page: 1,
        pages: 0,
        ..host
    };
    assert_eq!(check(none, page), Ok(1));
}

#[test]
fn an_image_is_a_catalog() {
    fn urls<C: Catalog>(catalog: &C, host: usize) -> Vec<String> {
        let pages = catalog.pages_of(host).map(|page| catalog.page(page));
        pages.flatten().map(|page| page.url.to_owned()).collect()
    }
    let bytes = sample(2);
    let image = Image::parse(&bytes).expect("a good image");
    assert_eq!(urls(&image, 0), ["http://a.test/0", "http://a.test/1"]);
    assert!(urls(&image, 1).is_empty());
}

#[test]
fn errors_say_what_was_found_what_was_expected_and_what_to_do() {
    let section = Tag::new(*b"TLSC");
    for (error, sentence) in [
        (
            ImageError::Section {
                found: 900,
                room: 12,
            },
            "page image with a section of 900 bytes, expected at most 12: make it again",
        ),
        (
            ImageError::Unknown { section },
            "page image with a section TLSC that this firmware does not know: update the firmware",
        ),
        (
            ImageError::Repeated { section },
            "page image with two sections TLSC, expected one: make it again",
        ),
        (
            ImageError::Record { section, index: 3 },
            "page image whose record 3 of section TLSC is missing or makes no sense: make it again",
        ),
    ] {
        assert_eq!(error.to_string(), sentence);
    }
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

/// Written by today's program, and read bit by bit; a page that nobody has visited has nothing.
#[test]
fn what_others_have_learnt_is_written_as_it_is_kept() {
    let learnt = Learnt {
        shape: 1.1,
        time: 30.25,
        watch: [7, 65_535],
    };
    let host = Host {
        pages: 3,
        ..Host::new("a.test", 0)
    };
    let pages = ["http://a.test/0", "http://a.test/1", "http://a.test/2"];
    let bytes = Builder::new(&CONFIG)
        .hosts(&[host])
        .pages(&pages.map(|url| Page::new(0, url)))
        .learnt(&[
            (2, learnt),
            (
                0,
                Learnt {
                    shape: 0.7,
                    ..learnt
                },
            ),
        ])
        .build()
        .expect("a good image");
    let file = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/image-learnt.bin");
    if std::env::var_os("DUNLIN_GOLDEN").is_some() && !file.exists() {
        std::fs::write(&file, &bytes).expect("a place for the image");
    }
    let kept = std::fs::read(&file).expect("an image of what was learnt");
    assert!(
        kept == bytes,
        "the section has changed: give it another tag"
    );
    let image = Image::parse(&kept).expect("a good image");
    assert_eq!(image.learnt(2), Some(learnt));
    assert_eq!(image.learnt(0).map(|learnt| learnt.shape), Some(0.7));
    assert_eq!((image.learnt(1), image.learnt(3)), (None, None));
    // A section that is cut off, or in no order, is no reason to fail.
    for damaged in [&b"\0"[..], &[0; 13], &[0xff; 29]] {
        let bytes = small(|image| image.section(Tag::LEARNT, damaged)).expect("optional");
        let image = Image::parse(&bytes).expect("optional");
        let _ = (image.learnt(0), image.learnt(u16::MAX));
    }
}

#[test]
fn every_version_is_read() {
    for version in 1..=VERSION {
        let bytes = std::fs::read(golden(version)).expect("an image of every version");
        assert_eq!(bytes[4..6], version.to_le_bytes());
        let image = Image::parse(&bytes).unwrap_or_else(|why| panic!("version {version}: {why}"));
        let mut config = CONFIG;
        config.sntp = CONFIG.sntp.filter(|_| version >= 2);
        assert_eq!(image.config(), Ok(config), "version {version}");
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

/// Writes the length and the checksum that an image with these bytes has, as somebody would who
/// wants to deceive the reader.
fn seal(image: &mut [u8]) {
    let length = image.len() as u32;
    image[12..16].copy_from_slice(&length.to_le_bytes());
    let mut crc = !0_u32;
    for byte in image[4..12].iter().chain(&image[20..]) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 0 { 0 } else { 0xedb8_8320 };
        }
    }
    image[16..20].copy_from_slice(&(!crc).to_le_bytes());
}

/// Everything that a parsed image promises: what is there can be read and refers to what is there,
/// and what is not there is an error.
fn holds_its_promises(bytes: &[u8]) {
    let Ok(image) = Image::parse(bytes) else {
        return;
    };
    assert!(image.config().is_ok());
    assert_eq!(image.as_bytes(), bytes);
    for index in 0..image.hosts() {
        let host = image.host(index).expect("a host that was checked");
        assert!(usize::from(host.gate) < image.hosts());
        assert!(image.pages_of(index).end <= image.pages());
    }
    for index in 0..image.pages() {
        let page = image.page(index).expect("a page that was checked");
        assert!(usize::from(page.host) < image.hosts());
        assert!(page.weight > 0.0);
        // They may be refused, but not more.
        let _ = image.limits(index);
        let _ = image.law(index);
    }
    assert!(image.host(image.hosts()).is_err());
    assert!(image.page(image.pages()).is_err());
    assert!(image.page(usize::MAX / 8).is_err());
    assert!(image.ignores().len() <= Ignore::MOST);
    let _ = image.named("b.test");
    let _ = image.section(Tag::new(*b"note"));
}

/// One small image of every version, the last with all sections there are.
fn small_images() -> Vec<Vec<u8>> {
    let mut images: Vec<Vec<u8>> = (1..=VERSION)
        .map(|version| std::fs::read(golden(version)).expect("an image of every version"))
        .collect();
    let noon = ClockUpdate {
        offset: Duration::HOUR * 12,
        probability: 0.5,
    };
    let noon = noon.to_bytes();
    let quasi = ChangeLaw::Quasi {
        interval: Duration::DAY,
        updates: Updates::from_bytes(&noon),
    };
    let all = small(|image| {
        let image = image.section(Tag::new(*b"note"), b"skip me");
        let image = image.limits(&[(0, CrawlLimits::NONE)]).laws(&[(0, quasi)]);
        image.ignore(&IGNORE)
    });
    images.push(all.expect("a good image"));
    images
}

#[test]
fn an_image_cut_anywhere_and_sealed_again_is_refused_or_whole() {
    for image in small_images() {
        for length in 0..=image.len() {
            holds_its_promises(&image[..length]);
            let mut cut = image[..length].to_vec();
            if length >= 20 {
                seal(&mut cut);
            }
            holds_its_promises(&cut);
        }
    }
}

#[test]
fn any_byte_changed_and_sealed_again_is_refused_or_whole() {
    for mut image in small_images() {
        for place in 0..image.len() {
            let was = image[place];
            for byte in (0..=u8::MAX)
                .step_by(5)
                .chain([was ^ 0x20, was.wrapping_add(1)])
            {
                image[place] = byte;
                seal(&mut image);
                holds_its_promises(&image);
            }
            image[place] = was;
        }
    }
}

#[test]
fn any_number_that_lies_and_is_sealed_again_is_refused_or_whole() {
    for image in small_images() {
        let length = image.len() as u32;
        let edges = [length, u32::MAX, i32::MAX as u32, 1 << 16, 20, 8, 4, 0];
        let lies = edges
            .into_iter()
            .flat_map(|edge| [-1, 0, 1].map(|by| edge.wrapping_add_signed(by)));
        for lie in lies {
            for place in 4..image.len() - 3 {
                let mut image = image.clone();
                image[place..place + 4].copy_from_slice(&lie.to_le_bytes());
                seal(&mut image);
                holds_its_promises(&image);
            }
        }
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

    /// Whatever a configuration says comes out again.
    #[test]
    fn every_configuration_comes_out(
        texts in prop::collection::vec("\\PC{0,200}", 4),
        numbers in any::<[u32; 4]>(),
        per_day in prop::option::of(0.0..1e9_f32),
        key in any::<[u8; 16]>(),
        ports in any::<[u16; 2]>(),
        there in any::<[bool; 3]>(),
        own in any::<([u8; 4], u8, Option<[u8; 4]>, Option<[u8; 4]>)>(),
        utc_offset_minutes in any::<i16>(),
        log in 0..4_usize,
    ) {
        let (address, prefix, router, names) = own;
        let mut config = Config::new(&texts[0]);
        config.contact = there[0].then_some(&texts[1]);
        config.per_day = per_day;
        config.back_off_ms = numbers[0];
        config.deadline_ms = numbers[1];
        config.body_bytes = numbers[2];
        config.seed = numbers[3];
        config.key = key;
        config.gateway = there[1].then_some(Gateway { host: &texts[2], port: ports[0] });
        if !there[2] {
            config.address = Address::Static { address, prefix, router, names };
        }
        config.utc_offset_minutes = utc_offset_minutes;
        config.log = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug][log];
        config.sntp = there[1].then_some(TimeServer { host: &texts[3], port: ports[1] });
        let bytes = Builder::new(&config).build();
        let image = bytes.as_deref().map(Image::parse);
        prop_assert_eq!(image.unwrap().unwrap().config(), Ok(config));
    }

    /// Whatever is said of a host and a page comes out again.
    #[test]
    fn every_host_and_page_comes_out(
        texts in prop::collection::vec("\\PC{0,300}", 2),
        gap_ms in any::<u32>(),
        hours in any::<Option<(u8, u8)>>(),
        weight in 1e-9..1e9_f32,
        rate in prop::option::of(0.0..1e9_f32),
        confidence in any::<f32>(),
        limits in (0..9_u32, prop::option::of(9..=u32::MAX), 1..=u32::MAX),
    ) {
        let host = Host { gap_ms, hours, pages: 1, ..Host::new(&texts[0], 0) };
        let page = Page { weight, rate, confidence, ..Page::new(0, &texts[1]) };
        let (min, max, interval) = limits;
        let limits = CrawlLimits { min, max, interval: Duration::from_millis(interval.into()) };
        let image = Builder::new(&CONFIG).hosts(&[host]).pages(&[page]).limits(&[(0, limits)]);
        let bytes = image.build().unwrap();
        let image = Image::parse(&bytes).unwrap();
        prop_assert_eq!(image.host(0), Ok(host));
        prop_assert_eq!(image.page(0), Ok(page));
        prop_assert_eq!(image.limits(0), Ok(limits));
    }

    /// Bytes with a good checksum but no sense do not make the reader panic.
    #[test]
    fn nonsense_is_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        holds_its_promises(&bytes);
        for version in 1..=VERSION {
            let mut image = b"dnln".to_vec();
            image.extend(version.to_le_bytes());
            image.extend(&bytes);
            image.resize(image.len().max(20), 0);
            seal(&mut image);
            holds_its_promises(&image);
        }
    }

    /// Sections of good form with payloads of no sense do neither.
    #[test]
    fn sections_of_nonsense_are_refused_without_panic(
        payloads in prop::collection::vec((0..9_usize, prop::collection::vec(any::<u8>(), 0..60)), 0..8),
    ) {
        let tags = [
            Tag::CONFIG, Tag::NAMES, Tag::HOSTS, Tag::PAGES, Tag::IGNORE, Tag::LIMITS, Tag::LAWS,
            Tag::new(*b"note"), Tag::new(*b"NOTE"),
        ];
        let image = payloads.iter().fold(Builder::new(&CONFIG), |image, (tag, payload)| {
            image.section(tags[*tag], payload)
        });
        holds_its_promises(&image.build_unchecked());
    }
}

#[test]
fn tellers_are_written_as_every_firmware_reads_them() {
    let tellers = [(1, TellerSource::Given), (0x0203, TellerSource::Auto)];
    let tellers = tellers.map(|(page, source)| Teller { page, source });
    let build = |tellers: &[Teller]| {
        Builder::new(&Config::new("dunlin/0.1"))
            .tellers(tellers)
            .build_unchecked()
    };
    let bytes = build(&tellers);
    let image = Image::parse(&bytes).expect("an image");
    // A version, then page and source of each: never to be changed.
    let stored = image.section(Tag::TELLERS);
    assert_eq!(stored, Some(&[1, 1, 0, 0, 3, 2, 1][..]));
    assert!(image.tellers().eq(tellers));
    // What is newer, or cut off, names nobody.
    let section = |payload: &[u8]| {
        let builder = Builder::new(&Config::new("dunlin/0.1"));
        let bytes = builder.section(Tag::TELLERS, payload).build_unchecked();
        let image = Image::parse(&bytes).expect("an image");
        image.tellers().count()
    };
    assert_eq!(
        [section(&[2, 1, 0, 0]), section(&[1, 1, 0]), section(&[])],
        [0; 3]
    );
    assert!(!Tag::TELLERS.is_required(), "older firmware skips it");
}
