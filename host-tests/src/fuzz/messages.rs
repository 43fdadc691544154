//! Messages of others to a probe and to a planner.

use dunlin::fleet::{
    Command, Done, Drift, Grant, LONGEST, ListNotice, Member, Outlook, Presence, Report, Visits,
    decode, encode, read_topic, topic,
};
use dunlin::push::{self, Datagram, Inbox, KEY};
use dunlin::time::{Duration, Instant};

/// When datagrams of the corpus are sent, in seconds since 1970.
const NOW_S: u64 = 1_794_000_000;

/// A datagram that says that a page has changed: what was not signed with a known key never counts,
/// and what was counts once.
pub fn push(data: &[u8]) {
    let key = [0x5a; KEY];
    let mut inbox = Inbox::new("5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
    let now = Instant::ZERO + Duration::HOUR;
    let heard = inbox.hear(data, Some(NOW_S), now).is_ok();
    assert!(
        !heard || Datagram::is_signed(&key, data),
        "a forgery counts"
    );
    let Some(read) = Datagram::parse(data) else {
        assert!(!heard);
        return;
    };
    let mut signed = [0; push::LONGEST];
    let length = read.sign(&key, &mut signed).expect("what was read fits");
    let signed = &signed[..length];
    assert_eq!(Datagram::parse(signed), Some(read));
    assert_eq!(length, data.len());
    let content = length - 16;
    assert_eq!(signed[..content], data[..content], "nothing is left out");
    // Whatever it says, once is enough.
    let mut inbox = Inbox::new("5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
    let first = inbox.hear(signed, Some(NOW_S), now);
    assert_eq!(first.is_ok(), is_in_time(&read), "{first:?}");
    assert!(inbox.hear(signed, Some(NOW_S), now).is_err(), "a replay");
    let mut nobodys = Inbox::EMPTY;
    assert!(nobodys.hear(signed, Some(NOW_S), now).is_err());
}

fn is_in_time(read: &Datagram<'_>) -> bool {
    read.sender == 0 && NOW_S.abs_diff(read.sent_ms / 1_000) <= push::WINDOW_S
}

/// What is read as a message of this kind is written as one that reads the same.
macro_rules! again {
    ($data:expr, $kind:ty) => {
        let mut once = [0; LONGEST];
        let mut twice = [0; LONGEST];
        // A list's URL may be longer than messages are.
        if let Ok(read) = decode::<$kind>($data)
            && let Some(written) = encode(&read, &mut once)
        {
            assert!(written.len() <= $data.len(), "no spelling is shorter");
            let read: $kind = decode(written).expect("our own spelling");
            assert_eq!(encode(&read, &mut twice), Some(written));
        }
    };
}

/// A message of a fleet, taken for one of every kind, and the name of its topic: what is read is
/// written and read again, and moves a member by no more than its rules.
pub fn fleet(data: &[u8]) {
    again!(data, Presence);
    again!(data, Report);
    again!(data, ListNotice<'_>);
    again!(data, Visits);
    again!(data, Command);
    again!(data, Done);
    again!(data, Grant);
    if let Ok(name) = std::str::from_utf8(data)
        && let Some((probe, which)) = read_topic("roof", name)
    {
        assert_eq!(topic("roof", probe, which).as_deref(), Some(name));
    }
    let Ok(grant) = decode::<Grant>(data) else {
        return;
    };
    let start = Instant::ZERO + Duration::HOUR;
    let mut member = Member::new(7, 0, start, Drift::DEFAULT);
    member.report(&Outlook::default(), start);
    if member.granted(&grant) {
        assert_eq!((grant.boot, grant.seq), (7, 1), "a grant of somebody else");
        let longest = start + Duration::from_millis(grant.lease_ms.into());
        let end = member.leased_until();
        assert!(end.is_none_or(|end| end <= longest), "{end:?} by {grant:?}");
        assert!(member.budget() >= 0.0);
    }
    member.report(&Outlook::default(), start + Duration::DAY);
}
