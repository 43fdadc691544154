//! One mutant as cargo-mutants lists it, and how it gets into a source file: alone, or behind a
//! switch beside others.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

/// A fault that can be put into a file.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mutant {
    /// File, place and what is replaced, on one line.
    pub name: String,
    /// The file, from the repository's top folder.
    pub file: String,
    /// Where it is; a constant is in none.
    function: Option<Function>,
    /// The piece of the file that is replaced.
    span: Span,
    /// The text that stands there instead.
    replacement: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Function {
    return_type: String,
    span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Both count from one; columns are characters.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Span {
    fn bytes(self, text: &str) -> Option<Range<usize>> {
        Some(self.start.byte(text)?..self.end.byte(text)?)
    }
}

impl Place {
    fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.split('\n').next_back().unwrap_or_default();
        Self {
            line: before.split('\n').count(),
            column: line.chars().count() + 1,
        }
    }

    fn byte(self, text: &str) -> Option<usize> {
        let lines = text.split_inclusive('\n').take(self.line.checked_sub(1)?);
        let before: usize = lines.map(str::len).sum();
        let column = self.column.checked_sub(1)?;
        let within: usize = text
            .get(before..)?
            .chars()
            .take(column)
            .map(char::len_utf8)
            .sum();
        Some(before + within)
    }
}

impl Mutant {
    /// What stands at `place` is replaced. `None` if that is in no function.
    pub fn by_hand(
        name: &str,
        file: &str,
        text: &str,
        place: Range<usize>,
        by: &str,
    ) -> Option<Self> {
        let function = function_around(text, place.start)?;
        let body = function.start + body_start(text.get(function.clone())?)?;
        let (_, return_type) = text.get(function.start..body)?.rsplit_once(')')?;
        let span = |range: Range<usize>| Span {
            start: Place::of(text, range.start),
            end: Place::of(text, range.end),
        };
        Some(Self {
            name: format!("{file}: {name}"),
            file: file.to_owned(),
            function: Some(Function {
                return_type: return_type.to_owned(),
                span: span(function),
            }),
            span: span(place),
            replacement: by.to_owned(),
        })
    }

    /// The file's text with this mutant and no other.
    pub fn alone(&self, text: &str) -> Option<String> {
        let place = self.span.bytes(text)?;
        let before = text.get(..place.start)?;
        let after = text.get(place.end..)?;
        Some([before, &self.replacement, after].concat())
    }

    /// The inside of the function's body, if a switch can be put there.
    fn body(&self, text: &str) -> Option<Range<usize>> {
        let function = self.function.as_ref()?;
        // Two bodies would be two types.
        if function.return_type.contains("impl ") {
            return None;
        }
        let span = function.span.bytes(text)?;
        let start = span.start + body_start(text.get(span.clone())?)?;
        Some(start..span.end.checked_sub(1)?)
    }
}

/// The function that this byte is in, in a text as rustfmt leaves it: from the line that names it to
/// the first brace below that is as far to the left.
fn function_around(text: &str, at: usize) -> Option<Range<usize>> {
    let mut found = None;
    let mut end_of_line = 0;
    for line in text.split_inclusive('\n') {
        let start = end_of_line;
        end_of_line += line.len();
        let code = line.trim_start();
        let before_name = code.split_once("fn ").map(|(before, _)| before);
        let is_function = before_name.is_some_and(|before| {
            let mut words = before.split_whitespace();
            // `pub(in crate::probe)` is two words.
            let is_visibility = |word: &str| word.starts_with("pub") || word.ends_with(')');
            words.all(|word| is_visibility(word) || matches!(word, "const" | "async"))
        });
        if is_function && start <= at {
            found = Some((start, line.len() - code.len()));
        }
        if let Some((start, indent)) = found
            && line.trim_end().len() == indent + 1
            && code.starts_with('}')
        {
            if end_of_line > at {
                return Some(start..end_of_line - (line.len() - line.trim_end().len()));
            }
            found = None;
        }
    }
    None
}

/// Where a function's body begins, behind its brace. None for a `const fn`: what the compiler
/// computes cannot look at a switch.
fn body_start(function: &str) -> Option<usize> {
    let mut at = 0;
    let mut depth = 0_usize;
    for line in function.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or_default();
        if code.contains("const fn ") || code.contains("const unsafe fn ") {
            return None;
        }
        for (place, c) in code.char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '{' if depth == 0 => return Some(at + place + 1),
                _ => {}
            }
        }
        at += line.len();
    }
    None
}

/// A file with many mutants, each behind a switch.
#[derive(Debug, Default)]
pub(super) struct Switched {
    pub text: String,
    /// On which lines a mutant's own text is.
    pub lines: Vec<(usize, Range<usize>)>,
    /// No switch was possible for these.
    pub left: Vec<usize>,
}

/// By number: the body of a function with one mutant in it.
type Copies = Vec<(usize, String)>;

/// Puts all `mutants` of one file into its text. Each gets a copy of its function's body, with the
/// fault in it, that runs when the switch of its number is on.
pub(super) fn switched(text: &str, mutants: &[(usize, &Mutant)]) -> Switched {
    let mut file = Switched::default();
    let mut bodies: BTreeMap<usize, (Range<usize>, Copies)> = BTreeMap::new();
    for (number, mutant) in mutants {
        let copy = mutant.body(text).and_then(|body| {
            let grown = mutant.alone(text)?;
            let end = (body.end + grown.len()).checked_sub(text.len())?;
            Some((grown.get(body.start..end)?.to_owned(), body))
        });
        match copy {
            Some((copy, body)) => bodies
                .entry(body.start)
                .or_insert((body, Vec::new()))
                .1
                .push((*number, copy)),
            None => file.left.push(*number),
        }
    }
    let mut done = 0;
    for (start, (body, copies)) in bodies {
        // A function within one that has mutants of its own.
        if start < done {
            file.left.extend(copies.iter().map(|(number, _)| number));
            continue;
        }
        file.text += text.get(done..start).unwrap_or_default();
        for (number, copy) in copies {
            let first = file.text.lines().count();
            file.text +=
                &format!("\nif crate::mutant_switch::on({number}) {{ return {{{copy}\n}}; }}\n");
            file.lines
                .push((number, first + 1..file.text.lines().count() + 1));
        }
        file.text += text.get(start..body.end).unwrap_or_default();
        done = body.end;
    }
    file.text += text.get(done..).unwrap_or_default();
    file
}

/// Appended to the crate: which mutant is awake.
pub(super) const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(missing_docs)]
pub mod mutant_switch {
    extern crate std;
    static AWAKE: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    pub fn on(number: usize) -> bool {
        let awake = || std::env::var("DUNLIN_MUTANT").ok()?.parse().ok();
        *AWAKE.get_or_init(awake) == Some(number)
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "/// Not { yet.\nfn sum(a: [u8; 2]) -> u8 {\n    a[0] + a[1]\n}\nconst fn two() -> u8 {\n    1 + 1\n}\n";

    fn mutant(function: (usize, usize), place: (usize, usize)) -> Mutant {
        let at = |line, column| Place { line, column };
        Mutant {
            name: String::new(),
            file: String::new(),
            function: Some(Function {
                return_type: "-> u8".to_owned(),
                span: Span {
                    start: at(function.0, 1),
                    end: at(function.1, 2),
                },
            }),
            span: Span {
                start: at(place.0, place.1),
                end: at(place.0, place.1 + 1),
            },
            replacement: "-".to_owned(),
        }
    }

    #[test]
    fn by_hand_it_is_in_the_function_around_it() {
        let place = TEXT.find("a[1]").expect("a place");
        let hand = Mutant::by_hand("none", "a.rs", TEXT, place..place + 4, "a[0]");
        let hand = hand.expect("a function");
        let file = switched(TEXT, &[(7, &hand)]);
        assert!(file.left.is_empty());
        let expected = "{\nif crate::mutant_switch::on(7) { return {\n    a[0] + a[0]\n\n}; }\n";
        assert!(file.text.contains(expected), "{}", file.text);
        let nowhere = Mutant::by_hand("none", "a.rs", TEXT, 5..6, "x");
        assert!(nowhere.is_none(), "{nowhere:?}");
        let within = "pub(in crate::a) fn two() -> u8 {\n    1 + 1\n}\n";
        let place = within.find('+').expect("a place");
        let hand = Mutant::by_hand("none", "a.rs", within, place..place + 1, "-");
        assert!(hand.is_some_and(|hand| hand.function.is_some()));
    }

    #[test]
    fn alone_it_replaces_what_it_names() {
        let text = mutant((1, 4), (3, 10)).alone(TEXT).expect("it fits");
        assert_eq!(text, TEXT.replacen('+', "-", 1));
    }

    #[test]
    fn behind_a_switch_both_bodies_are_there() {
        let file = switched(TEXT, &[(7, &mutant((1, 4), (3, 10)))]);
        let expected = "{\nif crate::mutant_switch::on(7) { return {\n    a[0] - a[1]\n\n}; }\n\n    a[0] + a[1]\n}";
        assert!(file.text.contains(expected), "{}", file.text);
        assert_eq!(file.lines, [(7, 3..7)]);
        assert!(file.left.is_empty());
    }

    #[test]
    fn what_the_compiler_computes_has_no_switch() {
        let file = switched(TEXT, &[(1, &mutant((5, 7), (6, 7)))]);
        assert_eq!(file.left, [1]);
        assert_eq!(file.text, TEXT);
    }
}
