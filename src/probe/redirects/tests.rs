//! The table of redirects: what makes room, and what the store is told.

use super::*;
use crate::fetch::robots::Verdict;
use crate::fetch::{Hops, Url};
use crate::time::Duration;

fn redirect(page: u16, under_way: bool) -> Redirect {
    let url = heapless::String::try_from("http://a.test/a/path/of/some/length").unwrap_or_default();
    let hops = Url::parse("http://b.test/")
        .map(|url| Hops::from(&url))
        .expect("a URL");
    let mut redirect = Redirect::new(Subject::Page(page), hops, under_way, url, Instant::ZERO);
    let until = Instant::ZERO + Duration::from_secs(60);
    redirect.judge(Verdict::Allowed, Duration::from_millis(59_001), until);
    redirect
}

#[test]
fn a_record_says_what_was_put_into_it() {
    let mut bytes = [0; 1_024];
    let mut all = Redirects::new(&mut bytes);
    for (page, verdict) in [Verdict::Unknown, Verdict::Allowed, Verdict::Denied]
        .into_iter()
        .enumerate()
    {
        for status in [301, 302] {
            let mut kept = redirect(page as u16, status == 301);
            let next = Url::parse("http://c.test/").expect("a URL");
            kept.hops.follow(status, &next, false).expect("a hop");
            kept.verdict = verdict;
            kept.visits = 200;
            assert!(all.put(&kept));
            let found = all.get(kept.subject).expect("it was put there");
            assert_eq!((found.verdict, found.visits), (verdict, 200));
            assert_eq!((found.until, found.checked), (60, 0));
            assert_eq!(found.gap(), Duration::from_secs(60), "rounded up");
            assert_eq!(found.hops.parts(), kept.hops.parts());
            assert_eq!((found.under_way, &found.url), (kept.under_way, &kept.url));
        }
    }
}

#[test]
fn keeps_what_is_under_way_and_forgets_the_oldest_else() {
    let mut bytes = [0; 180];
    let mut all = Redirects::new(&mut bytes);
    assert!(
        all.put(&redirect(0, true)) && all.put(&redirect(1, false)) && all.put(&redirect(2, false))
    );
    assert!(
        all.put(&redirect(3, false)),
        "a page that has arrived makes room"
    );
    assert!(all.get(Subject::Page(0)).is_some() && all.get(Subject::Page(1)).is_none());
    assert!(
        all.get(Subject::Page(3))
            .is_some_and(|found| found.url.ends_with("length"))
    );
    assert!(
        all.put(&redirect(2, true)) && all.put(&redirect(3, true)),
        "what is known is replaced"
    );
    assert!(
        !all.put(&redirect(4, true)),
        "pages under way keep their places"
    );
    all.remove(Subject::Page(0));
    assert!(all.put(&redirect(4, true)) && all.get(Subject::RobotsOfHost(4)).is_none());
}

#[test]
fn the_store_is_told_of_moves_and_of_returns() {
    let mut bytes = [0; 160];
    let mut all = Redirects::new(&mut bytes);
    assert!(all.put(&redirect(1, true)));
    assert_eq!(all.unsaved(), None, "it has not arrived");
    all.settle(&redirect(1, false));
    assert_eq!(all.unsaved(), Some(1));
    assert!(all.read(1).is_some_and(|url| url.ends_with("length")) && all.unsaved().is_none());
    all.saved(1, 5);
    assert!(all.in_sector(5).eq([1]) && all.in_sector(NOWHERE).eq([]));
    // What a turn that began earlier puts back does not make the store forget.
    assert!(all.put(&redirect(1, true)));
    assert!(all.in_sector(5).eq([1]));
    assert_eq!(all.read(1), None, "on its way, it is where the list says");
    all.forget(1);
    assert_eq!((all.unsaved(), all.read(1)), (Some(1), None));
    all.saved(1, 6);
    assert!(
        all.unsaved().is_none() && all.in_sector(6).eq([]) && all.records.all().next().is_none(),
        "nothing is left of it"
    );
}

#[test]
fn the_store_is_told_again_when_writing_failed_or_took_too_long() {
    let mut bytes = [0; 160];
    let mut all = Redirects::new(&mut bytes);
    all.settle(&redirect(1, false));
    all.read(1);
    all.saved(1, NOWHERE);
    assert_eq!(all.unsaved(), Some(1), "writing failed");
    all.read(1);
    all.forget(1);
    all.saved(1, 4);
    assert_eq!(
        all.unsaved(),
        Some(1),
        "what was forgotten while it was written is written"
    );
    all.settle(&redirect(1, false));
    assert!(all.read(1).is_some());
    all.saved(1, 4);
    assert!(
        all.unsaved().is_none() && all.in_sector(4).eq([1]),
        "one record says both"
    );
    all.restore(&redirect(2, false), 7);
    assert!(all.in_sector(7).eq([2]) && all.unsaved().is_none());
    all.forget(3);
    assert_eq!(all.unsaved(), None, "there was nothing to forget");
}

#[test]
fn the_store_is_not_told_of_the_end_of_what_it_never_knew() {
    let mut bytes = [0; 160];
    let mut all = Redirects::new(&mut bytes);
    let none_is_left =
        |all: &Redirects<'_>| all.unsaved().is_none() && all.records.all().count() == 0;
    assert!(all.put(&redirect(1, true)));
    all.forget(1);
    assert!(none_is_left(&all), "it was on its way");
    all.settle(&redirect(1, false));
    all.forget(1);
    assert!(none_is_left(&all), "it was not written yet");
    all.settle(&redirect(1, false));
    assert!(all.read(1).is_some());
    all.forget(1);
    assert_eq!(all.unsaved(), Some(1), "it is being written");
}

#[test]
fn verdicts_expire() {
    let mut redirect = redirect(0, false);
    redirect.judge(
        Verdict::Denied,
        Duration::ZERO,
        Instant::ZERO + Duration::HOUR,
    );
    assert_eq!(
        redirect.verdict(Instant::ZERO + Duration::from_secs(3_599)),
        Verdict::Denied
    );
    assert_eq!(
        redirect.verdict(Instant::ZERO + Duration::HOUR),
        Verdict::Unknown
    );
}

#[test]
fn the_pages_of_one_host_take_a_quarter_of_the_table() {
    let mut bytes = [0; 1_024];
    let mut all = Redirects::new(&mut bytes);
    let mut taken = 0;
    let has_room = |all: &Redirects<'_>, page: u16| {
        let host = page / 100;
        all.has_room_for(page, |page| page / 100 == host, |other| other == host, 40)
    };
    for page in 0..20 {
        if has_room(&all, page) {
            assert!(all.put(&redirect(page, true)));
            taken += 1;
        }
    }
    assert!((2..=5).contains(&taken), "{taken} pages on their way");
    assert!(!has_room(&all, 50));
    assert!(has_room(&all, 100), "another host has its own share");
    // What has arrived makes room when it is needed, and counts for nobody.
    (0..20).for_each(|page| _ = all.remove(Subject::Page(page)));
    (0..4).for_each(|page| assert!(all.put(&redirect(page, false))));
    assert!(has_room(&all, 50));
}

#[test]
fn a_way_that_leads_nowhere_is_forgotten() {
    let mut bytes = [0; 1_024];
    let mut all = Redirects::new(&mut bytes);
    assert!(all.put(&redirect(1, true)) && all.put(&redirect(2, false)));
    let after = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    all.forget_lost(after(59));
    assert!(all.get(Subject::Page(1)).is_some(), "its verdict holds");
    all.forget_lost(after(60));
    assert!(all.get(Subject::Page(1)).is_none(), "nobody came further");
    assert!(
        all.get(Subject::Page(2)).is_some(),
        "it has arrived long ago"
    );
}

#[test]
#[cfg(feature = "hints")]
fn a_sitemap_of_an_index_is_allowed_again_only_if_it_was_before() {
    const TELLER: u16 = 3;
    let mut bytes = [0; 1_024];
    let mut all = Redirects::new(&mut bytes);
    let part = |verdict| Redirect {
        subject: Subject::Part(TELLER),
        verdict,
        ..redirect(0, true)
    };
    // What is said of a part of this identity when it comes next.
    let judged = |all: &mut Redirects<'_>, id| {
        let mut next = part(Verdict::Unknown);
        all.judge_part(&mut next, id, Instant::ZERO);
        next.verdict
    };
    for (id, verdict) in [(7, Verdict::Denied), (8, Verdict::Unknown)] {
        assert!(all.put(&part(verdict)));
        all.leave_part(TELLER, id);
        assert_eq!(judged(&mut all, id), Verdict::Unknown);
    }
    // One that is read again and again takes one of the four places.
    for id in [1, 2, 3, 4, 4, 4, 4] {
        assert!(all.put(&part(Verdict::Allowed)));
        all.leave_part(TELLER, id);
    }
    for id in 1..=4 {
        assert_eq!(judged(&mut all, id), Verdict::Allowed, "part {id}");
    }
    assert!(all.put(&part(Verdict::Allowed)));
    all.leave_part(TELLER, 5);
    assert_eq!(
        judged(&mut all, 1),
        Verdict::Unknown,
        "the oldest makes room"
    );
}
