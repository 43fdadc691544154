//! Importance by the URL alone (Cho §2.2, IL): front pages, short paths.

use crate::fetch::Url;
use crate::fetch::ascii::{same, word_at};

/// What a level of the path divides importance by.
const LEVEL: f32 = 0.7;
/// What a query divides it by.
const QUERY: f32 = 0.7;
/// Levels that make a difference.
const MOST: usize = 8;

/// How important the URL makes a page look: 1 for a front page, less for each level of its path
/// below that, and for a query. A last segment that says `home` or `index` is no level. Work: one
/// pass.
///
/// ```
/// use dunlin::fetch::Url;
/// use dunlin::rank::location;
///
/// let of = |text| Url::parse(text).map(|url| location(&url));
/// assert_eq!(of("http://a.test/")?, 1.0);
/// assert_eq!(of("http://a.test/index.html")?, 1.0);
/// assert!(of("http://a.test/b/c")? < of("http://a.test/b/")?);
/// assert!(of("http://a.test/?b")? < 1.0);
/// # Ok::<(), dunlin::fetch::UrlError>(())
/// ```
pub fn location(url: &Url<'_>) -> f32 {
    let (path, query) = url.split_target();
    let is_level = |segment: &&[u8]| !segment.is_empty() && !is_front(segment);
    let segments = path.split(|byte| *byte == b'/');
    let levels = segments.filter(is_level).count().min(MOST);
    let levels = (0..levels).fold(1.0, |so_far, _| so_far * LEVEL);
    if query.is_empty() {
        levels
    } else {
        levels * QUERY
    }
}

fn is_front(segment: &[u8]) -> bool {
    // As a rule, the first letter says that it is not.
    if !matches!(
        segment.first().map(u8::to_ascii_lowercase),
        Some(b'h' | b'i' | b'd')
    ) {
        return false;
    }
    let end = segment.iter().position(|byte| *byte == b'.');
    let name = segment.get(..end.unwrap_or(segment.len()));
    name.is_some_and(|name| word_at("home index default", name, same).is_some())
}
