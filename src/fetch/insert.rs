//! Where lines of the owner's go into requests that are on their way: headers that a host wants to
//! see, and the whole URL that a proxy does.
//!
//! They are put in as late as this, below everybody who looks at requests, because some are
//! secrets: neither an archive nor a collector has any business with them.

/// Finds the places in the requests of one connection, as they are written.
///
/// ```
/// use dunlin::fetch::{Insert, Inserter};
///
/// let mut inserter = Inserter::default();
/// assert_eq!(inserter.next(b"GET / HTTP/1.1\r\nHost: a\r\n"), (4, Some(Insert::Origin)));
/// assert_eq!(inserter.next(b"/ HTTP/1.1\r\nHost: a\r\n"), (12, Some(Insert::Fields)));
/// assert_eq!(inserter.next(b"Host: a\r\n"), (9, None));
/// inserter.answered();
/// assert_eq!(inserter.next(b"GET /next"), (4, Some(Insert::Origin)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inserter {
    place: Place,
}

/// What can be put into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// Scheme and host, before the path.
    Origin,
    /// Fields, before all others.
    Fields,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Method,
    Target,
    Rest,
}

impl Inserter {
    /// How many of the next bytes of a request go out as they are, and what follows them. Work:
    /// those bytes.
    pub fn next(&mut self, bytes: &[u8]) -> (usize, Option<Insert>) {
        let (end, after, insert) = match self.place {
            Place::Method => (b' ', Place::Target, Insert::Origin),
            Place::Target => (b'\n', Place::Rest, Insert::Fields),
            Place::Rest => return (bytes.len(), None),
        };
        match bytes.iter().position(|byte| *byte == end) {
            Some(at) => {
                self.place = after;
                (at + 1, Some(insert))
            }
            None => (bytes.len(), None),
        }
    }

    /// Bytes of an answer have come: what is written next is another request.
    pub fn answered(&mut self) {
        self.place = Place::Method;
    }
}
