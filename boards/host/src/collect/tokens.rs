//! Who may deliver: a token for each probe.

use std::path::Path;

use crate::error::{Error, InputError, quoted};
use crate::monitor::web::request::is_same;

/// The shortest token that is accepted; shorter ones are guessed.
const SHORTEST: usize = 16;

/// Is it long enough, and of letters, digits and signs?
pub fn is_token(text: &str) -> bool {
    text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Probes and their tokens.
#[derive(Clone, Default)]
pub struct Tokens(Vec<(String, String)>);

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Tokens are nobody's business.
        f.debug_list()
            .entries(self.0.iter().map(|(probe, _)| probe))
            .finish()
    }
}

impl Tokens {
    /// Reads a file: on each line a probe's name, a space and its token; `#` begins a comment.
    ///
    /// # Errors
    /// It cannot be read, or says something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|why| Error::reading(path, why))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// The same for the text of a file of this name.
    ///
    /// # Errors
    /// It says something else.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let mut tokens = Self::default();
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |found: &str, expected: &str| InputError {
                file: file.to_owned(),
                line: place as u64 + 1,
                column: None,
                found: found.into(),
                expected: expected.into(),
            };
            let Some((probe, token)) = line.split_once(char::is_whitespace) else {
                let expected = "a probe's name, a space and its token";
                return Err(wrong("one word", expected).into());
            };
            let token = token.trim();
            if !is_token(token) {
                let found = format!("a token of {} bytes", token.len());
                let expected = "16 or more letters, digits and signs without a space";
                return Err(wrong(&found, expected).into());
            }
            if tokens
                .0
                .iter()
                .any(|(known, other)| known == probe || other == token)
            {
                let found = format!("{} a second time, or its token", quoted(probe));
                return Err(wrong(&found, "a name and a token of its own for each probe").into());
            }
            tokens.0.push((probe.to_owned(), token.to_owned()));
        }
        Ok(tokens)
    }

    /// The token of this name.
    pub fn token(&self, name: &str) -> Option<&str> {
        let mut known = self.0.iter();
        let (_, token) = known.find(|(known, _)| known == name)?;
        Some(token)
    }

    /// The probe that knows this token. It takes as long for a wrong one as for a right one.
    pub fn probe(&self, token: &[u8]) -> Option<&str> {
        let mut found = None;
        for (probe, known) in &self.0 {
            if is_same(token, known.as_bytes()) {
                found = Some(probe.as_str());
            }
        }
        found
    }
}
