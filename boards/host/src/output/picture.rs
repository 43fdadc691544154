//! A schedule as a picture: hosts down, time across, one stroke a crawl, one colour a crawler.

use std::fmt::Write as _;

use dunlin::time::Duration;

/// How many hosts are drawn at most: of more, the busiest.
const ROWS: usize = 60;
const ROW: usize = 16;
const LEFT: usize = 190;
const WIDTH: usize = 960;
const TOP: usize = 34;

/// An SVG document of crawls, each a moment, a crawler and the index of its host.
pub fn hosts_over_time(
    hosts: &[&str],
    interval: Duration,
    crawls: &[(Duration, u32, usize)],
) -> String {
    let mut counts = vec![0_usize; hosts.len()];
    crawls.iter().for_each(|(_, _, host)| counts[*host] += 1);
    let mut shown: Vec<usize> = (0..hosts.len()).collect();
    shown.sort_by_key(|host| std::cmp::Reverse(counts[*host]));
    shown.truncate(ROWS);
    let last = crawls
        .iter()
        .map(|(at, ..)| *at)
        .max()
        .unwrap_or(interval)
        .max(interval);
    let x = |at: Duration| LEFT as f64 + WIDTH as f64 * at.as_secs_f64() / last.as_secs_f64();
    let bottom = TOP + ROW * shown.len();
    let width = LEFT + WIDTH + 70;
    let height = bottom + 30;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"13\">{} crawls on {} hosts{}</text>\n",
        crawls.len(),
        hosts.len(),
        if shown.len() < hosts.len() {
            format!(", the {} busiest drawn", shown.len())
        } else {
            String::new()
        }
    );
    for tick in 0..=6 {
        let at = interval * tick / 6;
        let x = x(at);
        let label = crate::duration::format(at);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16,
            if tick == 0 { "0" } else { &label }
        );
    }
    for (row, host) in shown.iter().enumerate() {
        let top = TOP + ROW * row;
        let count = counts[*host];
        let name: String = hosts[*host].chars().take(28).collect();
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"{}\" y=\"{}\" fill=\"#777\">{count}</text>",
            LEFT - 8,
            top + 12,
            escape(&name),
            LEFT + WIDTH + 8,
            top + 12
        );
        for (at, crawler, _) in crawls.iter().filter(|(_, _, of)| of == host) {
            let hue = crawler * 137 % 360;
            let x = x(*at);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {}v12\" stroke=\"hsl({hue} 65% 42%)\"/>",
                top + 2
            );
        }
    }
    svg + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
