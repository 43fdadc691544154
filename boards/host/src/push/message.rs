//! What pushes look like: IndexNow's and WebSub's form.

use dunlin::feed::FeedReader;
use ring::hmac;
use serde::Deserialize;

use crate::monitor::web::request::Query;

/// What somebody asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Push {
    /// These pages have changed, by who knows this key.
    Changed {
        /// The key of the sender.
        key: String,
        /// The pages that have changed.
        urls: Vec<String>,
    },
    /// A hub wants to know whether this sender is expected to tell of a topic, and to hear the
    /// challenge if it is.
    Verify {
        /// The name of the sender.
        sender: String,
        /// The topic: a page, or a feed.
        topic: String,
        /// What is to be answered.
        challenge: String,
    },
    /// A hub sends what is new of a topic.
    Content {
        /// The name of the sender.
        sender: String,
    },
}

/// The body of an IndexNow request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Submission {
    key: String,
    url_list: Vec<String>,
}

impl Push {
    /// Reads a request by its method, target and body; `None` if it is none.
    pub fn read(method: &str, target: &str, body: &[u8]) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = Query::parse(query);
        match (
            method,
            path.split('/').skip(1).collect::<Vec<_>>().as_slice(),
        ) {
            ("GET", ["indexnow"]) => Some(Self::Changed {
                key: query.get("key")?.to_owned(),
                urls: vec![query.get("url")?.to_owned()],
            }),
            ("POST", ["indexnow"]) => {
                let submission: Submission = serde_json::from_slice(body).ok()?;
                Some(Self::Changed {
                    key: submission.key,
                    urls: submission.url_list,
                })
            }
            ("GET", ["websub", sender]) => Some(Self::Verify {
                sender: (*sender).to_owned(),
                topic: query.get("hub.topic")?.to_owned(),
                challenge: query.get("hub.challenge")?.to_owned(),
            }),
            ("POST", ["websub", sender]) => Some(Self::Content {
                sender: (*sender).to_owned(),
            }),
            _ => None,
        }
    }
}

/// Was this body signed with the secret? `signature` is `method=hex`, as in `X-Hub-Signature`.
pub fn is_signed(secret: &[u8], signature: &str, body: &[u8]) -> bool {
    let Some((method, digits)) = signature.split_once('=') else {
        return false;
    };
    let algorithm = match method {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        _ => return false,
    };
    let digits = digits.to_ascii_lowercase();
    let Ok(tag) = data_encoding::HEXLOWER.decode(digits.as_bytes()) else {
        return false;
    };
    hmac::verify(&hmac::Key::new(algorithm, secret), body, &tag).is_ok()
}

/// The pages that a feed names, whatever their dates.
pub fn named(mut body: &[u8]) -> Vec<String> {
    let mut reader = FeedReader::new();
    let mut urls = Vec::new();
    while let Some(Ok(entry)) = reader.next(&mut body) {
        urls.push(String::from_utf8_lossy(entry.url).into_owned());
    }
    let last = reader.finish();
    urls.extend(last.map(|entry| String::from_utf8_lossy(entry.url).into_owned()));
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_in_both_forms_are_read() {
        let changed = |urls: &[&str]| {
            Some(Push::Changed {
                key: "0123456789abcdef".into(),
                urls: urls.iter().map(|url| (*url).into()).collect(),
            })
        };
        let one = "/indexnow?url=http%3A%2F%2Fa.test%2Fx&key=0123456789abcdef";
        assert_eq!(Push::read("GET", one, b""), changed(&["http://a.test/x"]));
        let many = br#"{"host":"a.test","key":"0123456789abcdef","urlList":["http://a.test/x","http://a.test/y"]}"#;
        assert_eq!(
            Push::read("POST", "/indexnow", many),
            changed(&["http://a.test/x", "http://a.test/y"])
        );
        let verify =
            "/websub/hub?hub.mode=subscribe&hub.topic=http%3A%2F%2Fa.test%2Ffeed&hub.challenge=abc";
        let expected = Push::Verify {
            sender: "hub".into(),
            topic: "http://a.test/feed".into(),
            challenge: "abc".into(),
        };
        assert_eq!(Push::read("GET", verify, b""), Some(expected));
        for (method, target) in [("GET", "/"), ("PUT", "/indexnow"), ("GET", "/indexnow")] {
            assert_eq!(Push::read(method, target, b"{}"), None, "{method} {target}");
        }
    }

    #[test]
    fn a_signature_is_of_this_body_and_this_secret() {
        // RFC 4231, test case 2.
        let secret = &b"Jefe"[..];
        let body = &b"what do ya want for nothing?"[..];
        let signature = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert!(is_signed(secret, signature, body));
        assert!(!is_signed(b"jefe", signature, body));
        assert!(!is_signed(secret, signature, b"what do ya want?"));
        for wrong in ["", "sha256=", "md5=00", "sha256=5b", "sha256=zz"] {
            assert!(!is_signed(secret, wrong, body), "{wrong}");
        }
    }
}
