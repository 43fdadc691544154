//! Importance by the URL alone (Cho §2.2, IL): front pages, short paths.

use crate::fetch::Url;

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
    let target = url.path_and_query();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_level = |segment: &&str| !segment.is_empty() && !is_front(segment);
    let levels = path.split('/').filter(is_level).count().min(MOST);
    let levels = (0..levels).fold(1.0, |so_far, _| so_far * LEVEL);
    if query.is_empty() {
        levels
    } else {
        levels * QUERY
    }
}

fn is_front(segment: &str) -> bool {
    let name = segment.split('.').next().unwrap_or_default();
    ["home", "index", "default"]
        .iter()
        .any(|front| name.eq_ignore_ascii_case(front))
}
