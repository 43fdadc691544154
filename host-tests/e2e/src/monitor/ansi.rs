//! A terminal's screen, as tmux hands it out, as a picture's markup.

use std::fmt::Write as _;

/// Colours of the sixteen that a terminal has, on a dark ground.
const COLOURS: [&str; 8] = [
    "#3a444f", "#ff7b86", "#6fdca8", "#ffcf6b", "#7cb0ff", "#d7a1f7", "#5fd7e0", "#e8ecf1",
];

#[derive(Clone, Copy, Default)]
struct Style {
    colour: Option<usize>,
    bold: bool,
    dim: bool,
    underlined: bool,
    reversed: bool,
}

impl Style {
    fn apply(&mut self, codes: &[u32]) {
        // `38;5;N` is colour N of 256, of which we draw the first sixteen.
        if let [38, 5, colour, rest @ ..] = codes {
            self.colour = Some(*colour as usize % 8);
            return self.apply(rest);
        }
        let [code, rest @ ..] = codes else { return };
        match *code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            4 => self.underlined = true,
            7 => self.reversed = true,
            22 => (self.bold, self.dim) = (false, false),
            24 => self.underlined = false,
            27 => self.reversed = false,
            30..=37 => self.colour = Some(*code as usize - 30),
            39 => self.colour = None,
            90..=97 => self.colour = Some(*code as usize - 90),
            _ => {}
        }
        self.apply(rest);
    }

    fn css(self) -> String {
        let mut front = self.colour.map_or(COLOURS[7], |colour| COLOURS[colour]);
        let mut back = "#12161b";
        if self.reversed {
            std::mem::swap(&mut front, &mut back);
        }
        let mut css = format!("color:{front};background:{back}");
        for (wanted, text) in [
            (self.bold, ";font-weight:bold"),
            (self.dim, ";opacity:.7"),
            (self.underlined, ";text-decoration:underline"),
        ] {
            css += if wanted { text } else { "" };
        }
        css
    }
}

/// A page that shows the screen.
pub fn to_html(screen: &str) -> String {
    let mut html = String::from(
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>dunlin monitor</title><body style='margin:0;background:#12161b'>\
        <pre style='margin:14px;font:15px/1.25 DejaVu Sans Mono,monospace'>",
    );
    let mut style = Style::default();
    for (index, piece) in screen.split("\x1b[").enumerate() {
        let text = match piece.split_once('m') {
            Some((codes, text))
                if index > 0
                    && codes
                        .bytes()
                        .all(|byte| byte.is_ascii_digit() || byte == b';') =>
            {
                let codes: Vec<u32> = codes
                    .split(';')
                    .map(|code| code.parse().unwrap_or(0))
                    .collect();
                style.apply(&codes);
                text
            }
            _ => piece,
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(html, "<span style='{}'>{text}</span>", style.css());
    }
    html + "</pre>"
}

/// As it may stand in a `data:` URL.
pub fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut url, byte| {
        if byte.is_ascii_alphanumeric() {
            url.push(byte.into());
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
        url
    })
}
