//! Plots as SVG text: no fonts to fetch, no scripts, readable in any browser and without a network.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;
/// Told apart by people who see few colours, too; repeated dashed.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"];

/// A plot: an SVG element of a known height.
#[derive(Clone, Debug)]
pub struct Plot {
    body: String,
    height: f64,
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// A bar of a plot.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Beside it.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// Half the width of its confidence interval.
    pub plus_minus: Option<f64>,
}

/// Lines over a common axis.
pub fn lines(title: &str, x_label: &str, y_label: &str, lines: &[Line]) -> Plot {
    let points =
        || lines.iter().flat_map(|line| &line.points).filter(|(x, y)| x.is_finite() && y.is_finite());
    let (left, right) = range(points().map(|point| point.0), 0.0);
    let (low, high) = range(points().map(|point| point.1), 0.05);
    let x = |value: f64| LEFT + (value - left) / (right - left) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut body = heading(title);
    for value in ticks(low, high) {
        let (y, right) = (y(value), WIDTH - RIGHT);
        let _ = writeln!(body, r##"<path d="M{LEFT} {y:.1}H{right}" stroke="#ddd"/>"##);
        let _ = writeln!(
            body,
            r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 6.0,
            y + 4.0,
            short(value)
        );
    }
    for value in ticks(left, right) {
        let (x, y) = (x(value), HEIGHT - BOTTOM + 16.0);
        let _ = writeln!(body, r#"<text x="{x:.1}" y="{y}" text-anchor="middle">{}</text>"#, short(value));
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let _ = writeln!(
        body,
        r#"<text x="{middle}" y="{}" text-anchor="middle">{}</text>"#,
        HEIGHT - 8.0,
        escape(x_label)
    );
    let _ = writeln!(body, r#"<text x="{LEFT}" y="{}">{}</text>"#, TOP - 6.0, escape(y_label));
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let dash = if index < COLOURS.len() { "" } else { r#" stroke-dasharray="5 3""# };
        let mut path = String::new();
        for (point, (px, py)) in
            line.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).enumerate()
        {
            let _ = write!(path, "{}{:.1} {:.1}", if point == 0 { 'M' } else { 'L' }, x(*px), y(*py));
        }
        let _ =
            writeln!(body, r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>"#);
        let (from, at) = (WIDTH - RIGHT + 8.0, TOP + 16.0 * index as f64);
        let _ = writeln!(body, r#"<path d="M{from} {at}h16" stroke="{colour}" stroke-width="2.5"{dash}/>"#);
        let _ = writeln!(body, r#"<text x="{}" y="{}">{}</text>"#, from + 22.0, at + 4.0, escape(&line.name));
    }
    Plot { body, height: HEIGHT.max(TOP + 16.0 * lines.len() as f64 + 16.0) }
}

/// Horizontal bars, with a dashed mark such as a bound. The axis starts at 0.
pub fn bars(title: &str, bars: &[Bar], mark: Option<(&str, f64)>) -> Plot {
    const NAMES: f64 = 170.0;
    const STEP: f64 = 22.0;
    let longest = bars.iter().map(|bar| bar.value).chain(mark.map(|(_, value)| value));
    let longest = longest.filter(|value| value.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
    let x = |value: f64| NAMES + value / longest * (WIDTH - NAMES - 90.0);
    let height = TOP + STEP * bars.len() as f64 + 26.0;
    let mut body = heading(title);
    for (index, bar) in bars.iter().enumerate() {
        let top = TOP + STEP * index as f64;
        let (middle, end) = (top + 13.0, x(bar.value.max(0.0)));
        let colour = COLOURS[0];
        let _ = writeln!(
            body,
            r#"<text x="{}" y="{middle}" text-anchor="end">{}</text>"#,
            NAMES - 6.0,
            escape(&bar.name)
        );
        let _ = writeln!(body, r#"<path d="M{NAMES} {top}H{end:.1}v17H{NAMES}z" fill="{colour}"/>"#);
        let error = bar.plus_minus.map_or(String::new(), |error| format!(" ± {}", short(error)));
        let _ =
            writeln!(body, r#"<text x="{:.1}" y="{middle}">{}{error}</text>"#, end + 5.0, digits(bar.value));
    }
    if let Some((name, value)) = mark {
        let (at, bottom) = (x(value), height - 22.0);
        let _ =
            writeln!(body, r##"<path d="M{at:.1} {TOP}V{bottom}" stroke="#333" stroke-dasharray="4 3"/>"##);
        let label = format!("{} {}", escape(name), digits(value));
        let _ = writeln!(body, r#"<text x="{at:.1}" y="{}" text-anchor="end">{label}</text>"#, height - 8.0);
    }
    Plot { body, height }
}

/// Plots below each other as one SVG document.
pub fn svg(plots: &[Plot]) -> String {
    let height: f64 = plots.iter().map(|plot| plot.height).sum();
    let mut text = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12" fill="#222">
<path d="M0 0h{WIDTH}v{height}h-{WIDTH}z" fill="#fff"/>
"##
    );
    let mut top = 0.0;
    for plot in plots {
        let _ = writeln!(text, r#"<g transform="translate(0 {top})">{}</g>"#, plot.body);
        top += plot.height;
    }
    text + "</svg>\n"
}

/// A page around `body`, which is markup; readable without a network.
pub fn document(title: &str, heading: &str, body: &str) -> String {
    let (title, heading) = (escape(title), escape(heading));
    format!(
        "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>
<style>body{{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}}pre{{overflow-x:auto;font-size:13px}}svg{{max-width:100%;height:auto}}</style>
</head><body>
<h1>{heading}</h1>
{body}</body></html>
"
    )
}

/// A name that fits beside a bar.
pub fn shortened(name: &str) -> String {
    if name.chars().count() <= 26 { name.to_owned() } else { name.chars().take(25).chain(['…']).collect() }
}

/// Text as it may stand between tags.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn heading(title: &str) -> String {
    format!("<text x=\"8\" y=\"16\" font-weight=\"bold\">{}</text>\n", escape(title))
}

/// The least and the greatest value, and a margin; never empty.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let width = if high > low { high - low } else { high.abs().max(1e-3) };
    if low.is_finite() { (low - margin * width, low + (1.0 + margin) * width) } else { (0.0, 1.0) }
}

/// Four to nine round numbers between.
fn ticks(low: f64, high: f64) -> Vec<f64> {
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
    let text =
        if value.abs() >= 100.0 || value == 0.0 { format!("{value:.0}") } else { format!("{value:.4}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn digits(value: f64) -> String {
    if value.fract() == 0.0 || value >= 1_000.0 { format!("{value:.0}") } else { format!("{value:.4}") }
}
