//! Plots as SVG text: no fonts to fetch, no scripts, readable in any browser and without a network.

use std::fmt::Write as _;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 44.0;
/// The width of a letter, or a little less.
const LETTER: f64 = 6.6;
/// The space between two plots.
const SPACE: f64 = 20.0;
/// A line of at most so many points shows each of them.
const FEW: usize = 12;
/// Told apart by people who see few colours, too; repeated dashed.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333",
];

/// A plot: an SVG element of a known height.
#[derive(Clone, Debug)]
pub struct Plot {
    body: String,
    height: f64,
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub struct Line {
    /// The text in the legend.
    pub name: String,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A bar of a plot.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The text beside the bar.
    pub name: String,
    /// The length of the bar.
    pub value: f64,
    /// Half the width of the value's confidence interval.
    pub plus_minus: Option<f64>,
}

/// How values become places on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Even,
    /// Each power of ten as long as the next; values that are not above 0 have no place.
    Logarithmic,
}

/// Draws lines over a common axis.
pub fn lines(title: &str, x_label: &str, y_label: &str, lines: &[Line]) -> Plot {
    scaled_lines(Scale::Even, title, x_label, y_label, lines)
}

/// Draws the same with both axes logarithmic.
pub fn logarithmic_lines(title: &str, x_label: &str, y_label: &str, lines: &[Line]) -> Plot {
    scaled_lines(Scale::Logarithmic, title, x_label, y_label, lines)
}

fn scaled_lines(scale: Scale, title: &str, x_label: &str, y_label: &str, lines: &[Line]) -> Plot {
    let place = |value: f64| {
        if scale == Scale::Even {
            value
        } else {
            value.log10()
        }
    };
    let placed = |line: &Line| -> Vec<(f64, f64)> {
        let points = line.points.iter().map(|(x, y)| (place(*x), place(*y)));
        points
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect()
    };
    let points: Vec<_> = lines.iter().flat_map(placed).collect();
    let (left, right) = range(points.iter().map(|point| point.0), 0.0);
    let (low, high) = range(points.iter().map(|point| point.1), 0.05);
    let longest = lines
        .iter()
        .map(|line| line.name.chars().count())
        .max()
        .unwrap_or(0);
    let legend = WIDTH - 40.0 - LETTER * longest as f64;
    let end = legend - 12.0;
    let x = |value: f64| LEFT + (value - left) / (right - left) * (end - LEFT);
    let y = |value: f64| HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut body = heading(title);
    for value in ticks(scale, low, high) {
        let at = y(place(value));
        let _ = writeln!(
            body,
            r##"<path d="M{LEFT} {at:.1}H{end:.1}" stroke="#ddd"/>"##
        );
        let from = LEFT - 6.0;
        let base = at + 4.0;
        let _ = writeln!(
            body,
            r#"<text x="{from}" y="{base:.1}" text-anchor="end">{}</text>"#,
            short(value)
        );
    }
    for value in ticks(scale, left, right) {
        let at = x(place(value));
        let y = HEIGHT - BOTTOM + 16.0;
        let _ = writeln!(
            body,
            r#"<text x="{at:.1}" y="{y}" text-anchor="middle">{}</text>"#,
            short(value)
        );
    }
    let middle = (LEFT + end) / 2.0;
    let bottom = HEIGHT - 8.0;
    let _ = writeln!(
        body,
        r#"<text x="{middle:.1}" y="{bottom}" text-anchor="middle">{}</text>"#,
        escape(x_label)
    );
    let _ = writeln!(
        body,
        r#"<text x="{LEFT}" y="{}">{}</text>"#,
        TOP - 6.0,
        escape(y_label)
    );
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let dash = if index < COLOURS.len() {
            ""
        } else {
            r#" stroke-dasharray="5 3""#
        };
        let points: Vec<_> = placed(line)
            .into_iter()
            .map(|(px, py)| (x(px), y(py)))
            .collect();
        let _ = writeln!(body, "{}", stroke(&points, colour, dash));
        let at = TOP + 16.0 * index as f64;
        let _ = writeln!(
            body,
            r#"<path d="M{legend:.1} {at}h16" stroke="{colour}" stroke-width="2.5"{dash}/>"#
        );
        let from = legend + 22.0;
        let base = at + 4.0;
        let _ = writeln!(
            body,
            r#"<text x="{from:.1}" y="{base}">{}</text>"#,
            escape(&line.name)
        );
    }
    Plot {
        body,
        height: HEIGHT.max(TOP + 16.0 * lines.len() as f64 + 16.0),
    }
}

/// A line through points, with the points where they are few.
fn stroke(points: &[(f64, f64)], colour: &str, dash: &str) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
    }
    let mut text =
        format!(r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>"#);
    for (x, y) in points.iter().filter(|_| points.len() <= FEW) {
        let _ = write!(
            text,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.6" fill="{colour}"/>"#
        );
    }
    text
}

/// Horizontal bars, with a dashed mark such as a bound. The axis starts at 0.
pub fn bars(title: &str, bars: &[Bar], mark: Option<(&str, f64)>) -> Plot {
    const NAMES: f64 = 190.0;
    const VALUES: f64 = 130.0;
    const STEP: f64 = 22.0;
    let reach = |bar: &Bar| bar.value + bar.plus_minus.unwrap_or(0.0);
    let longest = bars.iter().map(reach).chain(mark.map(|(_, value)| value));
    let longest = longest
        .filter(|value| value.is_finite())
        .fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| NAMES + value.max(0.0) / longest * (WIDTH - NAMES - VALUES);
    let height = TOP + STEP * bars.len() as f64 + 26.0;
    let mut body = heading(title);
    for (index, bar) in bars.iter().enumerate() {
        let top = TOP + STEP * index as f64;
        let base = top + 13.0;
        let end = x(bar.value);
        let colour = COLOURS[0];
        let _ = writeln!(
            body,
            r#"<text x="{}" y="{base}" text-anchor="end">{}</text>"#,
            NAMES - 6.0,
            escape(&bar.name)
        );
        let _ = writeln!(
            body,
            r#"<path d="M{NAMES} {top}H{end:.1}v17H{NAMES}z" fill="{colour}"/>"#
        );
        let mut label = digits(bar.value);
        if let Some(error) = bar.plus_minus {
            let from = x(bar.value - error);
            let to = x(bar.value + error);
            let middle = top + 8.5;
            let _ = writeln!(
                body,
                r##"<path d="M{from:.1} {middle}H{to:.1}m0 -4v8M{from:.1} {}v8" stroke="#333"/>"##,
                middle - 4.0
            );
            let _ = write!(label, " ± {error:.4}");
        }
        // In a column of their own: beside the bars they would stand across the mark.
        let _ = writeln!(
            body,
            r#"<text x="{}" y="{base}">{label}</text>"#,
            WIDTH - VALUES + 10.0
        );
    }
    if let Some((name, value)) = mark {
        let at = x(value);
        let bottom = height - 22.0;
        let _ = writeln!(
            body,
            r##"<path d="M{at:.1} {TOP}V{bottom}" stroke="#333" stroke-dasharray="4 3"/>"##
        );
        let label = format!("{} {}", escape(name), digits(value));
        let _ = writeln!(
            body,
            r#"<text x="{at:.1}" y="{}" text-anchor="end">{label}</text>"#,
            height - 8.0
        );
    }
    Plot { body, height }
}

/// Plots below each other as one SVG document.
pub fn svg(plots: &[Plot]) -> String {
    let height = plots.iter().map(|plot| plot.height + SPACE).sum::<f64>() - SPACE;
    let mut text = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12" fill="#222">
<path d="M0 0h{WIDTH}v{height}h-{WIDTH}z" fill="#fff"/>
"##
    );
    let mut top = 0.0;
    for plot in plots {
        let _ = writeln!(
            text,
            r#"<g transform="translate(0 {top})">{}</g>"#,
            plot.body
        );
        top += plot.height + SPACE;
    }
    text + "</svg>\n"
}

/// A page around `body`, which is markup; readable without a network.
pub fn document(title: &str, heading: &str, body: &str) -> String {
    let title = escape(title);
    let heading = escape(heading);
    format!(
        "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>
<style>body{{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}}pre{{overflow-x:auto;font-size:13px}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:13px;white-space:nowrap}}th,td{{padding:.15em .6em;text-align:left;border-bottom:1px solid #ddd}}
.number,th+th{{text-align:right}}.number{{font-variant-numeric:tabular-nums}}svg{{max-width:100%;height:auto}}</style>
</head><body>
<h1>{heading}</h1>
{body}</body></html>
"
    )
}

/// A name that fits beside a bar.
pub fn shortened(name: &str) -> String {
    if name.chars().count() <= 26 {
        name.to_owned()
    } else {
        name.chars().take(25).chain(['…']).collect()
    }
}

/// Text as it may stand between tags.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn heading(title: &str) -> String {
    format!(
        "<text x=\"8\" y=\"16\" font-weight=\"bold\">{}</text>\n",
        escape(title)
    )
}

/// The least and the greatest value, and a margin; never empty.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let width = if high > low {
        high - low
    } else {
        high.abs().max(1e-3)
    };
    if low.is_finite() {
        (low - margin * width, low + (1.0 + margin) * width)
    } else {
        (0.0, 1.0)
    }
}

/// Some round numbers between two places on a scale.
fn ticks(scale: Scale, low: f64, high: f64) -> Vec<f64> {
    if scale == Scale::Logarithmic {
        let powers = low.floor() as i32..=high.ceil() as i32;
        let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
        return all
            .filter(|value| (low - 1e-9..=high + 1e-9).contains(&value.log10()))
            .collect();
    }
    let step = 10_f64.powf(((high - low) / 4.0).log10().floor());
    let step = [5.0, 2.0, 1.0]
        .map(|factor| factor * step)
        .into_iter()
        .find(|step| (high - low) / step >= 4.0)
        .unwrap_or(step);
    let first = (low / step).ceil() as i64;
    (first..first + 10)
        .map(|count| count as f64 * step)
        .take_while(|value| *value <= high + 1e-9 * step)
        .collect()
}

fn short(value: f64) -> String {
    let text = if value.abs() >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.4}")
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Four digits, or all before the point.
fn digits(value: f64) -> String {
    let before = if value.abs() < 1.0 {
        0
    } else {
        value.abs().log10() as usize + 1
    };
    let after = 4_usize.saturating_sub(before);
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.after$}")
    }
}
