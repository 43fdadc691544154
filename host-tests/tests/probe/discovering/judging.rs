//! What robots.txt files say of pages beyond the list: to whom it applies, and how often they are
//! asked for.

use dunlin::discover::Scope;

use super::{run, setting};
use crate::texts::TextFlash;
use crate::world::{Answer, Setting};

/// A front page that links to these pages of the first two hosts.
fn front(paths: &[&str]) -> Answer {
    let links = paths.iter().flat_map(|path| {
        ["h0", "h1"].map(|host| format!("<a href=http://{host}.test{path}>x</a>"))
    });
    Answer::page(&links.collect::<String>())
}

#[test]
fn one_robots_txt_is_enough_for_all_that_was_found_on_its_host() {
    const PATHS: [&str; 8] = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"];
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 200,
        ..setting(2, 30, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, |hit| match hit.target.as_str() {
        "/robots.txt" => Answer::page("User-agent: *\nDisallow: /d\nDisallow: /h\n"),
        "/" => front(&PATHS),
        "/sitemap.xml" => Answer::none(),
        path => Answer::page(&format!("{}{path}", hit.host)),
    });
    assert_eq!(held.len(), 2 * 7, "{held:?}");
    for host in ["h0.test", "h1.test"] {
        // Before the front page, before the first of those that it links to, and before the
        // sitemap, which is no candidate.
        let asked = world.asked(host, "/robots.txt").len();
        assert!((2..=3).contains(&asked), "{host} was asked {asked} times");
    }
}

#[test]
fn what_was_found_is_held_against_the_robots_txt_of_its_own_host() {
    const PATHS: [&str; 6] = ["/0/a", "/0/b", "/0/c", "/1/a", "/1/b", "/1/c"];
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 200,
        ..setting(2, 30, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, |hit| {
        match (hit.host.as_str(), hit.target.as_str()) {
            ("h0.test", "/robots.txt") => Answer::page("User-agent: *\nDisallow: /1\n"),
            ("h1.test", "/robots.txt") => Answer::page("User-agent: *\nDisallow: /0\n"),
            (_, "/") => front(&PATHS),
            (_, "/sitemap.xml") => Answer::none(),
            (host, path) => Answer::page(&format!("{host}{path}")),
        }
    });
    for path in PATHS {
        let [own, other] = match path.starts_with("/0") {
            true => ["h0.test", "h1.test"],
            false => ["h1.test", "h0.test"],
        };
        assert!(held.contains_key(&format!("http://{own}{path}")), "{path}");
        assert_eq!(world.asked(other, path), [], "{other} forbids it");
    }
}

#[test]
fn rules_for_everybody_do_not_hold_for_what_was_found_where_others_are_for_us() {
    let texts = TextFlash::blank();
    let setting = Setting {
        seconds: 100,
        ..setting(1, 30, Scope::Hosts, &texts)
    };
    let (world, held, _) = run(&setting, |hit| match hit.target.as_str() {
        "/robots.txt" => Answer::page(
            "User-agent: *\nDisallow: /open\n\nUser-agent: dunlin\nDisallow: /private\n",
        ),
        "/" => front(&["/open", "/open/too", "/private"]),
        "/sitemap.xml" => Answer::none(),
        path => Answer::page(path),
    });
    let urls: Vec<&str> = held.keys().map(String::as_str).collect();
    let expected = ["", "open", "open/too"].map(|path| format!("http://h0.test/{path}"));
    assert_eq!(urls, expected);
    assert_eq!(world.asked("h0.test", "/private"), []);
}
