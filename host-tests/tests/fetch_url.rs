//! URLs: RFC 3986 §5.4's joins, what is refused, what compares equal, which addresses are public.

use dunlin::fetch::{Url, UrlError, UrlHost, is_public};
use proptest::prelude::*;

const BASE: &str = "http://a/b/c/d;p?q";

/// RFC 3986 §5.4.1 (normal) and §5.4.2 (abnormal), all 42. Fragments are dropped: they are not
/// sent.
const JOINS: [(&str, Result<&str, UrlError>); 42] = [
    // Another scheme is not ours to fetch.
    ("g:h", Err(UrlError::Scheme)),
    ("g", Ok("http://a/b/c/g")),
    ("./g", Ok("http://a/b/c/g")),
    ("g/", Ok("http://a/b/c/g/")),
    ("/g", Ok("http://a/g")),
    ("//g", Ok("http://g/")),
    ("?y", Ok("http://a/b/c/d;p?y")),
    ("g?y", Ok("http://a/b/c/g?y")),
    ("#s", Ok("http://a/b/c/d;p?q")),
    ("g#s", Ok("http://a/b/c/g")),
    ("g?y#s", Ok("http://a/b/c/g?y")),
    (";x", Ok("http://a/b/c/;x")),
    ("g;x", Ok("http://a/b/c/g;x")),
    ("g;x?y#s", Ok("http://a/b/c/g;x?y")),
    ("", Ok("http://a/b/c/d;p?q")),
    (".", Ok("http://a/b/c/")),
    ("./", Ok("http://a/b/c/")),
    ("..", Ok("http://a/b/")),
    ("../", Ok("http://a/b/")),
    ("../g", Ok("http://a/b/g")),
    ("../..", Ok("http://a/")),
    ("../../", Ok("http://a/")),
    ("../../g", Ok("http://a/g")),
    ("../../../g", Ok("http://a/g")),
    ("../../../../g", Ok("http://a/g")),
    ("/./g", Ok("http://a/g")),
    ("/../g", Ok("http://a/g")),
    ("g.", Ok("http://a/b/c/g.")),
    (".g", Ok("http://a/b/c/.g")),
    ("g..", Ok("http://a/b/c/g..")),
    ("..g", Ok("http://a/b/c/..g")),
    ("./../g", Ok("http://a/b/g")),
    ("./g/.", Ok("http://a/b/c/g/")),
    ("g/./h", Ok("http://a/b/c/g/h")),
    ("g/../h", Ok("http://a/b/c/h")),
    ("g;x=1/./y", Ok("http://a/b/c/g;x=1/y")),
    ("g;x=1/../y", Ok("http://a/b/c/y")),
    ("g?y/./x", Ok("http://a/b/c/g?y/./x")),
    ("g?y/../x", Ok("http://a/b/c/g?y/../x")),
    ("g#s/./x", Ok("http://a/b/c/g")),
    ("g#s/../x", Ok("http://a/b/c/g")),
    // The backward-compatible reading, which browsers share.
    ("http:g", Ok("http://a/b/c/g")),
];

fn join(base: &str, reference: &str) -> Result<String, UrlError> {
    let mut buffer = [0; Url::MAX_LENGTH];
    Url::parse(base)?
        .join(reference.as_bytes(), &mut buffer)
        .map(|url| url.to_string())
}

#[test]
fn all_42_joins_of_rfc_3986() {
    for (reference, expected) in JOINS {
        assert_eq!(
            join(BASE, reference),
            expected.map(str::to_owned),
            "{reference:?}"
        );
    }
}

#[test]
fn joins_as_servers_write_them() {
    for (base, reference, expected) in [
        ("http://a", "b", "http://a/b"),
        ("http://a?x", "?y", "http://a/?y"),
        ("http://a?x", "b", "http://a/b"),
        ("http://a:8080/x", "/y", "http://a:8080/y"),
        ("http://a:8080/x", "//b/y", "http://b/y"),
        ("http://a:8080/x", "https://B:443/y", "https://B/y"),
        ("http://[::1]:8080/x", "y", "http://[::1]:8080/y"),
        ("http://a/x", " /with space ", "http://a/with%20space"),
        ("http://a/x", "/käse", "http://a/k%C3%A4se"),
        ("http://a/x", "/%7Euser/%2e%2e/b", "http://a/b"),
        ("http://a/x", "/%7Euser", "http://a/%7Euser"),
        ("http://a/x", "https:y", ""),
        ("http://a/x", "//user@b/", ""),
        ("http://a/x", "javascript:alert(1)", ""),
    ] {
        assert_eq!(
            join(base, reference).unwrap_or_default(),
            expected,
            "{base} + {reference:?}"
        );
    }
}

#[test]
fn a_buffer_that_is_too_small_is_an_error() {
    let base = Url::parse(BASE).unwrap();
    for size in 0.."http://a/b/c/g".len() {
        assert_eq!(
            base.join(b"g", &mut vec![0; size]),
            Err(UrlError::TooLong),
            "{size}"
        );
    }
}

#[test]
fn refuses_what_it_cannot_fetch() {
    for (text, expected) in [
        ("", UrlError::Scheme),
        ("example.org", UrlError::Scheme),
        ("ftp://a/", UrlError::Scheme),
        ("http:/a", UrlError::Scheme),
        ("http://", UrlError::Host),
        ("http:///x", UrlError::Host),
        ("http://user:secret@a/", UrlError::Userinfo),
        ("http://a@b", UrlError::Userinfo),
        ("http://a:0/", UrlError::Port),
        ("http://a:65536/", UrlError::Port),
        ("http://a:+80/", UrlError::Port),
        ("http://a:8o/", UrlError::Port),
        ("http://a b/", UrlError::Character(8)),
        ("http://a/\t", UrlError::Character(9)),
        ("http://[::1/", UrlError::Host),
        ("http://[::1]x/", UrlError::Host),
        ("http://[fe80::1%25eth0]/", UrlError::Host),
        ("http://a%41/", UrlError::Host),
        ("http://a\\b/", UrlError::Host),
        ("http://127.1/", UrlError::Host),
        ("http://0x7f000001/", UrlError::Host),
        ("http://2130706433/", UrlError::Host),
        ("http://1.2.3.256/", UrlError::Host),
        (".http://a/", UrlError::Scheme),
    ] {
        assert_eq!(Url::parse(text), Err(expected), "{text:?}");
    }
    let long = |length: usize| format!("http://a/{}", "x".repeat(length - 9));
    assert!(Url::parse(&long(Url::MAX_LENGTH)).is_ok());
    assert_eq!(
        Url::parse(&long(Url::MAX_LENGTH + 1)),
        Err(UrlError::TooLong)
    );
    let long_host = format!("http://{}/", "x".repeat(254));
    assert_eq!(Url::parse(&long_host), Err(UrlError::Host));
}

#[test]
fn reads_hosts_and_ports() {
    let host = |text| Url::parse(text).map(|url| (url.host(), url.port()));
    assert_eq!(
        host("http://a.example"),
        Ok((UrlHost::Name("a.example"), 80))
    );
    assert_eq!(
        host("https://xn--ksa-8cda.example./"),
        Ok((UrlHost::Name("xn--ksa-8cda.example."), 443))
    );
    assert_eq!(host("http://a:/"), Ok((UrlHost::Name("a"), 80)));
    assert_eq!(
        host("http://10.0.2.2:8080?x"),
        Ok((UrlHost::Address("10.0.2.2".parse().unwrap()), 8080))
    );
    assert_eq!(
        host("http://[2001:db8::7]:81/"),
        Ok((UrlHost::Address("2001:db8::7".parse().unwrap()), 81))
    );
}

#[test]
fn compares_by_meaning() {
    let same = |a, b| Url::parse(a).unwrap() == Url::parse(b).unwrap();
    assert!(same("http://a", "HTTP://A:80/#x"));
    assert!(same("http://a/%41%7e", "http://a/A~"));
    assert!(same("http://a/%c3%a4", "http://a/ä"));
    assert!(same("http://a/|", "http://a/%7C"));
    assert!(!same("http://a/%2F", "http://a//"));
    assert!(!same("http://a/A", "http://a/a"));
    assert!(!same("http://a/?", "http://a/"));
    assert!(!same("http://a/", "https://a/"));
    assert!(!same("http://a/", "http://a:81/"));
    assert!(!same("http://a/%", "http://a/%25"));
}

#[test]
fn only_the_open_internet_is_public() {
    for private in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(private.parse().unwrap()), "{private}");
    }
    for public in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.1",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "223.255.255.255",
        "2001:4860:4860::8888",
        "2600::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ] {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
}

proptest! {
    /// What was printed is read back as the same URL, and says the same thing again.
    #[test]
    fn printing_and_reading_agree(
        host in "([a-z0-9][a-z0-9-]{0,8}\\.){0,3}[a-z-]{1,9}",
        port in proptest::option::of(1_u16..),
        target in "(/[!-~äß]{0,30})?(\\?[!-~€]{0,20})?",
    ) {
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let text = format!("http://{host}{port}{target}");
        let url = Url::parse(&text).unwrap();
        let printed = url.to_string();
        let again = Url::parse(&printed).unwrap();
        prop_assert_eq!(url, again);
        prop_assert_eq!(url.digest(), again.digest());
        prop_assert_eq!(again.to_string(), printed);
    }

    /// Joining an absolute path gives a URL without dot segments, on the same host; joining twice
    /// changes nothing.
    #[test]
    fn joined_paths_hold_no_dots(reference in "(/|\\.|\\.\\.|[a-z%2eE]{0,4}){0,12}") {
        let joined = join(BASE, &reference);
        if let Ok(joined) = joined {
            let path = Url::parse(&joined).unwrap().path_and_query().to_owned();
            prop_assert!(!path.split('/').any(|segment| segment == "." || segment == ".."), "{path}");
            prop_assert_eq!(join(BASE, &joined).unwrap(), joined);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50_000))]

    /// Address literals are read as core reads them: sound ones, and ones with a group or digit too
    /// many or too few.
    #[test]
    fn reads_addresses_like_core(
        v4 in "[0-9]{1,3}(\\.[0-9]{0,4}){2,4}",
        v6 in "(:|[0-9a-fA-F]{1,4}:){0,7}(:|[0-9a-f]{0,5}|::)?([0-9a-f]{1,4}|(25[0-6]|[0-9]{1,2})(\\.[0-9]{1,3}){3})?",
    ) {
        let address = |text: &str| match Url::parse(text).map(|url| url.host()) {
            Ok(UrlHost::Address(address)) => Some(address),
            _ => None,
        };
        prop_assert_eq!(address(&format!("http://{v4}/")), v4.parse().ok(), "{}", v4);
        prop_assert_eq!(address(&format!("http://[{v6}]/")), v6.parse::<std::net::Ipv6Addr>().ok().map(Into::into), "{}", v6);
    }
}
