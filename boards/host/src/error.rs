//! What can go wrong, in one wording: what was found, what was expected, where.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a command did not do its work. Every kind ends the program with exit code 2 and one line.
#[derive(Debug)]
pub enum Error {
    /// A file could not be opened, read or written.
    File {
        /// The file that the system refused.
        path: PathBuf,
        /// What was tried, as in "cannot open".
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file holds something it must not.
    Input(InputError),
    /// The options contradict each other, or the demand cannot be met.
    Usage(String),
    /// What was wrong was said while the command ran, and is not said again.
    Said(String),
}

/// A place in a table file and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u64,
    /// Counted from 1, with its name; `None` where the line as a whole is meant.
    pub column: Option<(usize, String)>,
    /// As in `"heavy"` or `7 fields`.
    pub found: String,
    /// As in `a number above 0`.
    pub expected: String,
}

impl Error {
    /// "cannot open FILE: …"
    pub fn opening(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            doing: "open",
            source,
        }
    }

    /// "cannot read FILE: …"
    pub fn reading(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            doing: "read",
            source,
        }
    }

    /// "cannot listen on ADDRESS: …"
    pub fn listening(address: impl fmt::Display, why: std::io::Error) -> Self {
        let todo = match why.kind() {
            std::io::ErrorKind::AddrInUse => "; another program listens there: name a free port",
            _ => "",
        };
        Self::Usage(format!("cannot listen on {address}: {why}{todo}"))
    }

    /// "cannot write FILE: …"
    pub fn writing(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            doing: "write",
            source,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                path,
                doing,
                source,
            } => write!(f, "cannot {doing} {}: {source}", path.display()),
            Self::Input(error) => error.fmt(f),
            Self::Usage(message) | Self::Said(message) => f.write_str(message),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: line {}", self.file, self.line)?;
        if let Some((number, name)) = &self.column {
            write!(f, ", column {number} ({name})")?;
        }
        write!(f, ": found {}, expected {}", self.found, self.expected)
    }
}

/// Its words hold those of its cause: a source besides would be said twice.
impl std::error::Error for Error {}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

/// Quotes what a file holds for an error line: escaped, and cut where it would fill the screen.
pub fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_twice() {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let errors = [
            Error::opening(Path::new("PAGES.csv"), missing()),
            Error::listening("127.0.0.1:8080", missing()),
        ];
        for error in errors {
            let whole = with_sources(&error);
            assert_eq!(whole.matches("entity not found").count(), 1, "{whole}");
        }
    }

    /// An error and its sources, as programs print them.
    fn with_sources(error: &dyn std::error::Error) -> String {
        let mut whole = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            whole += &format!(": {error}");
            source = error.source();
        }
        whole
    }
}
