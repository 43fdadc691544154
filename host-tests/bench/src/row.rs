//! One line of the table, and how figures grow.

use std::fmt::{self, Display};

/// One figure, beside what else there is and what it has to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it was measured, and the room: `device · plan`, `host · pace`, `memory`, `end to end`.
    pub room: String,
    /// What was measured, with its size.
    pub what: String,
    pub ours: f64,
    pub unit: String,
    /// What else one could use, or the bare work alone, and its figure from the same run.
    pub other: Option<(String, f64)>,
    /// What the figure is heading for, or has to keep.
    pub limit: Limit,
    /// Where it stands in a series over sizes.
    pub place: Option<Place>,
}

/// A point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub series: String,
    pub size: f64,
    /// What the documentation says.
    pub complexity: Complexity,
}

/// What a figure is held against.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Nothing was promised of the figure.
    None,
    /// Something that is said in words only.
    Text(String),
    /// The figure must be at most this.
    Most(f64),
    /// The figure must be at least this.
    Least(f64),
    /// From so much to so much.
    Between(f64, f64),
}

/// How work grows, as documented. Exponents are fitted, so logarithms and caches count in them:
/// `log n` from 64 to 4,096 doubles, which is an exponent of 0.17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complexity {
    Logarithmic,
    /// The same on a computer from a thousand pages to a million, where data outgrows one cache
    /// after the other: each makes a read some three times as long.
    LogarithmicCached,
    Linear,
    /// It grows as `n log n`.
    Sorting,
}

impl Complexity {
    /// The largest exponent that still counts as this.
    fn most(self) -> f64 {
        match self {
            Self::Logarithmic => 0.25,
            Self::LogarithmicCached => 0.4,
            Self::Linear => 1.15,
            Self::Sorting => 1.25,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Logarithmic,
            Self::LogarithmicCached,
            Self::Linear,
            Self::Sorting,
        ]
        .into_iter()
        .find(|complexity| complexity.to_string() == text)
    }
}

impl Display for Complexity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Logarithmic => "O(log n)",
            Self::LogarithmicCached => "O(log n), with caches",
            Self::Linear => "O(n)",
            Self::Sorting => "O(n log n)",
        })
    }
}

impl Limit {
    /// Reads `<= 3`, `>= 3`, `1 to 3`, words, or nothing.
    pub fn parse(text: &str) -> Self {
        let number = |text: &str| text.parse().ok();
        let most = text.strip_prefix("<= ").and_then(number).map(Self::Most);
        let least = || text.strip_prefix(">= ").and_then(number).map(Self::Least);
        let between = || {
            let (from, to) = text.split_once(" to ")?;
            Some(Self::Between(number(from)?, number(to)?))
        };
        let words = || {
            if text.is_empty() {
                Self::None
            } else {
                Self::Text(text.to_owned())
            }
        };
        most.or_else(least).or_else(between).unwrap_or_else(words)
    }

    /// Is it kept? `None` where nothing was promised.
    pub fn is_met(&self, ours: f64) -> Option<bool> {
        match self {
            Self::None | Self::Text(_) => None,
            Self::Most(most) => Some(ours <= *most),
            Self::Least(least) => Some(ours >= *least),
            Self::Between(least, most) => Some((*least..=*most).contains(&ours)),
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("–"),
            Self::Text(text) => f.write_str(text),
            Self::Most(most) => write!(f, "≤ {}", figure(*most)),
            Self::Least(least) => write!(f, "≥ {}", figure(*least)),
            Self::Between(least, most) => write!(f, "{} to {}", figure(*least), figure(*most)),
        }
    }
}

pub const HEAD: &str = "| room | what | ours | unit | beside it, same run | ratio | limit | kept |\n|---|---|---|---|---|---|---|---|";

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            room,
            what,
            ours,
            unit,
            limit,
            ..
        } = self;
        let (other, ratio) = match &self.other {
            Some((name, other)) => (format!("{name}: {}", figure(*other)), figure(other / ours)),
            None => ("–".into(), "–".into()),
        };
        let kept = match limit.is_met(*ours) {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "",
        };
        write!(
            f,
            "| {room} | {what} | {} | {unit} | {other} | {ratio} | {limit} | {kept} |",
            figure(*ours)
        )
    }
}

/// Four digits, and commas between thousands.
fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let rest = rest.trim_end_matches('0');
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && digit.is_ascii_digit() {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() {
        grouped
    } else {
        format!("{grouped}.{rest}")
    }
}

/// How one series grows.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    pub series: String,
    pub from: f64,
    pub to: f64,
    /// `figure ∝ size^exponent`, by least squares over the logarithms.
    pub exponent: f64,
    pub complexity: Complexity,
}

pub const GROWTH_HEAD: &str =
    "| series | sizes | fitted exponent | documented | allowed | kept |\n|---|---|---|---|---|---|";

impl Growth {
    pub fn is_met(&self) -> bool {
        self.exponent <= self.complexity.most()
    }
}

impl Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            series,
            from,
            to,
            exponent,
            complexity,
        } = self;
        let from = figure(*from);
        let to = figure(*to);
        let most = complexity.most();
        let kept = if self.is_met() { "yes" } else { "**no**" };
        write!(
            f,
            "| {series} | {from} to {to} | {exponent:.3} | {complexity} | {most} | {kept} |"
        )
    }
}

/// The growth of every series that has three sizes or more.
pub fn growth(rows: &[Row]) -> Vec<Growth> {
    let mut names: Vec<(&str, Complexity)> = Vec::new();
    for place in rows.iter().filter_map(|row| row.place.as_ref()) {
        if !names.iter().any(|(name, _)| *name == place.series) {
            names.push((&place.series, place.complexity));
        }
    }
    names
        .into_iter()
        .filter_map(|(name, complexity)| fit(rows, name, complexity))
        .collect()
}

fn fit(rows: &[Row], series: &str, complexity: Complexity) -> Option<Growth> {
    let points: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|row| {
            row.place
                .as_ref()
                .filter(|place| place.series == series)
                .map(|place| (place.size, row.ours))
        })
        .collect();
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let logarithms = || points.iter().map(|(size, figure)| (size.ln(), figure.ln()));
    let mean = logarithms().fold((0.0, 0.0), |sum, (x, y)| {
        (sum.0 + x / count, sum.1 + y / count)
    });
    let mut across = 0.0;
    let mut along = 0.0;
    for (x, y) in logarithms() {
        across += (x - mean.0) * (y - mean.1);
        along += (x - mean.0) * (x - mean.0);
    }
    let sizes = || points.iter().map(|(size, _)| *size);
    Some(Growth {
        series: series.to_owned(),
        from: sizes().fold(f64::INFINITY, f64::min),
        to: sizes().fold(0.0, f64::max),
        exponent: across / along,
        complexity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(size: f64, ours: f64) -> Row {
        let place = Place {
            series: "s".into(),
            size,
            complexity: Complexity::Linear,
        };
        Row {
            room: "r".into(),
            what: "w".into(),
            ours,
            unit: "u".into(),
            other: None,
            limit: Limit::None,
            place: Some(place),
        }
    }

    #[test]
    fn exponents_are_fitted() {
        let square: Vec<Row> = [1.0, 10.0, 100.0]
            .map(|size| row(size, 3.0 * size * size))
            .into();
        let found = growth(&square);
        assert!(
            (found[0].exponent - 2.0).abs() < 1e-12 && !found[0].is_met(),
            "{found:?}"
        );
        let line: Vec<Row> = [1.0, 10.0, 100.0].map(|size| row(size, 3.0 * size)).into();
        assert!(growth(&line)[0].is_met());
    }

    #[test]
    fn limits_are_kept_or_not() {
        let kept = |text: &str, ours| Limit::parse(text).is_met(ours);
        assert_eq!(
            [kept("<= 3", 3.0), kept("<= 3", 3.1)],
            [Some(true), Some(false)]
        );
        assert_eq!(
            [kept(">= 3", 3.0), kept(">= 3", 2.9)],
            [Some(true), Some(false)]
        );
        assert_eq!(
            [1.4, 1.5, 4.1].map(|ours| kept("1.5 to 4", ours)),
            [false, true, false].map(Some)
        );
        assert_eq!([kept("", 1.0), kept("in a frame", 1.0)], [None, None]);
    }

    #[test]
    fn figures_are_short() {
        let found = [0.0123456, 1.5, 12345.6, 1234567.0].map(figure);
        assert_eq!(found, ["0.01235", "1.5", "12,346", "1,234,567"]);
    }
}
