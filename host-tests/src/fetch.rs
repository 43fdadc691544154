//! Readers of whole responses and robots.txt files for tests, in pieces of any size.

use dunlin::fetch::robots::{Judge, RobotsReader, Rules};
use dunlin::fetch::{Head, Limits, Method, Response, ResponseError, Step, Url};

/// A response read to its end.
#[derive(Clone, Debug)]
pub struct Read {
    /// What its head said.
    pub head: Head,
    /// `Location`, if it redirects.
    pub location: Option<Vec<u8>>,
    /// Its body, as far as the limit goes.
    pub body: Vec<u8>,
    /// It is longer than the limit.
    pub truncated: bool,
    /// The connection may be used again.
    pub reusable: bool,
    /// Bytes that came after it.
    pub left: usize,
}

/// Reads a response whose bytes come in these pieces, after which the connection is closed.
///
/// # Errors
/// What the reader found wrong.
pub fn read<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    method: Method,
    limits: Limits,
) -> Result<Read, ResponseError> {
    let mut response = Response::new(method, limits);
    let mut body = Vec::new();
    let mut left = 0;
    for mut piece in pieces {
        while !piece.is_empty() {
            match response.step(&mut piece)? {
                Step::More => break,
                Step::Head => {}
                Step::Body(bytes) => body.extend_from_slice(bytes),
                Step::Done => {
                    left += piece.len();
                    break;
                }
            }
        }
    }
    // A response that is complete does not care that the connection ended after it.
    let reusable = matches!(response.step(&mut &[][..])?, Step::Done) && response.reusable();
    response.end()?;
    let location = response.location().map(<[u8]>::to_vec);
    let truncated = response.truncated();
    Ok(Read {
        head: *response.head(),
        location,
        body,
        truncated,
        reusable,
        left,
    })
}

/// One URL against a robots.txt fed in pieces of `size`: allowed, by [`Judge`] and by [`Rules`]
/// with `budget` bytes.
pub fn judge(file: &[u8], size: usize, agent: &str, url: Url<'_>, budget: usize) -> (bool, bool) {
    let mut exact = RobotsReader::new(agent, Judge::new(url));
    let mut kept = RobotsReader::new(agent, Rules::new(vec![0; budget]));
    for piece in file.chunks(size.max(1)) {
        exact.update(piece);
        kept.update(piece);
    }
    (
        exact.finish().0.ruling().allowed,
        kept.finish().0.decide(&url).allowed,
    )
}
