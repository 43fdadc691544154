//! What is worth telling a person or a program: changes, bad news, and good news after bad. One
//! table for `dunlin run` and for the monitor.

use dunlin::probe::LoggedEvent;
use serde::{Deserialize, Serialize};

/// What kind of news it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A page has another version, or was seen for the first time.
    Changed,
    /// A page is no longer there: 404 or 410.
    Gone,
    /// A page is not for us: any other 4xx, or robots.txt forbids it.
    Refused,
    /// A page was not answered, or led nowhere.
    Failed,
    /// A page was answered again.
    Recovered,
    /// A host is left alone for a while.
    HostBackedOff,
}

impl Kind {
    /// All kinds of news that there are.
    pub const ALL: [Self; 6] = [
        Self::Changed,
        Self::Gone,
        Self::Refused,
        Self::Failed,
        Self::Recovered,
        Self::HostBackedOff,
    ];

    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Recovered => "recovered",
            Self::HostBackedOff => "host-backed-off",
        }
    }

    /// Is it something that went wrong?
    pub const fn is_bad(self) -> bool {
        !matches!(self, Self::Changed | Self::Recovered)
    }
}

/// Whom news is about, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// It is about a page.
    Page(u16),
    /// It is about a host.
    Host(u16),
}

/// One piece of news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// What kind of news it is.
    pub kind: Kind,
    /// Whom it is about.
    pub about: Subject,
    /// Why, of bad news.
    pub reason: Option<String>,
}

impl News {
    /// The news in an event, if there is any.
    pub fn of(event: &LoggedEvent<'_>) -> Option<Self> {
        let page = |kind, page, reason: Option<String>| Self {
            kind,
            about: Subject::Page(page),
            reason,
        };
        Some(match *event {
            LoggedEvent::End {
                page: number,
                status,
                changed,
                ..
            } => match status {
                404 | 410 => page(Kind::Gone, number, Some(answered(status))),
                400..500 => page(Kind::Refused, number, Some(answered(status))),
                _ if changed => page(Kind::Changed, number, None),
                _ => return None,
            },
            LoggedEvent::Denied { page: number } => {
                let why = "robots.txt forbids it";
                page(Kind::Refused, number, Some(why.into()))
            }
            LoggedEvent::Failed {
                page: number, why, ..
            } => page(Kind::Failed, number, Some(spelt(why).into())),
            LoggedEvent::Astray {
                page: number, why, ..
            } => {
                let why = format!("redirect not followed: {}", spelt(redirect(why)));
                page(Kind::Failed, number, Some(why))
            }
            LoggedEvent::Recovered { page: number } => page(Kind::Recovered, number, None),
            LoggedEvent::BackOff { host, seconds, why } => Self {
                kind: Kind::HostBackedOff,
                about: Subject::Host(host),
                reason: Some(match why {
                    Some(why) => format!("left alone for {seconds} s: {}", spelt(why)),
                    None => format!("left alone for {seconds} s"),
                }),
            },
            _ => return None,
        })
    }
}

/// The reason of a redirect that is not followed, as it is logged: an `Option`, without one for
/// what is no URL or too long to be kept.
pub fn redirect(why: &str) -> &str {
    why.strip_prefix("Some(")
        .and_then(|why| why.strip_suffix(')'))
        .unwrap_or("Target")
}

/// The status of an answer, and what it says.
pub fn answered(status: u16) -> String {
    let says = match status {
        401 => " (it wants a user name and password)",
        403 => " (forbidden)",
        404 => " (not found)",
        410 => " (gone for good)",
        451 => " (unavailable for legal reasons)",
        _ => "",
    };
    format!("status {status}{says}")
}

/// A reason of the log in words; one of newer firmware stays as it is.
fn spelt(why: &str) -> &str {
    match why {
        "Url" => "its URL cannot be read, or needs a gateway for https",
        "Name" => "its host's name has no address",
        "Connection" => "no connection could be opened",
        "Tls(Expired)" => "its certificate has expired",
        "Tls(NotYetValid)" => "its certificate is not valid yet",
        "Tls(Name)" => "its certificate is for another host",
        "Tls(Issuer)" => "its certificate's issuer is not trusted",
        "Tls(Certificate)" => "its certificate is not valid",
        "Tls(Pin)" => "its key is not the pinned one",
        "Tls(Protocol)" => "it breaks TLS's rules, or speaks another version",
        "Tls(Time)" => "the date is not known yet, so no certificate can be checked",
        "Tls(Memory)" => "no memory was left for what it sent",
        "Tls(Random)" => "the device has no random numbers, so it has no https",
        "Response" => "the connection broke, or the answer made no sense",
        "Server" => "the server answered with 5xx",
        "Busy" => "the server wants to be left alone (429 or 503)",
        "Deadline" => "it was not answered in time",
        "PrivateAddress" => "a redirect led to an address that is not public",
        "NoIpv6" => "it is at an IPv6 address, and this network has none",
        "Target" => "its target is no URL that can be kept",
        "NeedsTls" => "to https, which needs a gateway",
        "Loop" => "in a circle",
        "TooMany" => "too many in a row",
        "NoRoom" => "no room to remember where it leads",
        why => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin::fetch::TlsError;

    fn news(line: &str) -> Option<(&'static str, Option<String>)> {
        let event = LoggedEvent::read(line).expect("a line of the table");
        News::of(&event).map(|news| (news.kind.name(), news.reason))
    }

    #[test]
    fn each_event_says_what_it_is_and_why() {
        let end = |status: u16, changed: bool| {
            news(&format!(
                "end page=1 status={status} bytes=0 ms=1 changed={changed}"
            ))
        };
        assert_eq!(end(200, false), None);
        assert_eq!(end(304, false), None);
        assert_eq!(end(200, true), Some(("changed", None)));
        let said = |kind, reason: &str| Some((kind, Some(reason.to_owned())));
        assert_eq!(end(404, false), said("gone", "status 404 (not found)"));
        assert_eq!(
            end(401, false),
            said("refused", "status 401 (it wants a user name and password)")
        );
        assert_eq!(
            news("denied page=1"),
            said("refused", "robots.txt forbids it")
        );
        assert_eq!(
            news("failed page=1 ms=3 why=Deadline"),
            said("failed", "it was not answered in time")
        );
        assert_eq!(
            news("failed page=1 ms=3 why=Strange"),
            said("failed", "Strange")
        );
        assert_eq!(
            news("astray page=1 status=302 why=Some(Loop)"),
            said("failed", "redirect not followed: in a circle")
        );
        assert_eq!(news("recovered page=1"), Some(("recovered", None)));
        assert_eq!(
            news("backoff host=1 s=60 why=Server"),
            said(
                "host-backed-off",
                "left alone for 60 s: the server answered with 5xx"
            )
        );
    }

    #[test]
    fn every_reason_of_tls_is_said_in_words() {
        for why in TlsError::ALL {
            let line = format!("failed page=1 ms=3 why=Tls({why:?})");
            let (_, reason) = news(&line).expect("bad news");
            let reason = reason.expect("a reason");
            assert!(!reason.contains("Tls("), "{why:?} stays {reason:?}");
        }
    }

    #[test]
    fn names_are_those_of_json() {
        for kind in Kind::ALL {
            let json = serde_json::to_string(&kind).expect("json");
            assert_eq!(json, format!("{:?}", kind.name()));
        }
    }
}
