//! Headers that a host wants to see, as HOSTS.csv writes them: `Authorization: Bearer $TOKEN`.
//!
//! Secrets stand in the environment, and their names in the list: lists are copied, shown and
//! published.

use data_encoding::BASE64;

/// Fields that requests have already, or that would make others of them.
const OURS: [&str; 17] = [
    "host",
    "user-agent",
    "accept-encoding",
    "connection",
    "content-length",
    "content-encoding",
    "expect",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "range",
    "te",
    "transfer-encoding",
    "upgrade",
];
/// Fields whose value is a secret as a rule, by a part of their name.
const SECRET: [&str; 8] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "key",
    "password",
    "auth",
    "session",
];
/// Bytes of a name and its value at most: servers take 8 kB of head, and a probe writes them
/// through a window.
const LONGEST: usize = 4096;

/// A header, with the names of environment variables where their values go.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

impl std::fmt::Debug for Header {
    /// Leaves the value out, which may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Header")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Header {
    /// What is expected of one.
    pub const EXPECTED: &'static str = "Name: value, several separated by |, none of them one that requests have anyway; \
        secrets by the name of an environment variable, as in Authorization: Bearer $TOKEN";

    /// Reads several, separated by `|`.
    pub fn parse_several(text: &str) -> Option<Vec<Self>> {
        text.split('|').map(Self::parse).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let (name, value) = text.split_once(':')?;
        let name = name.trim();
        let value = value.trim();
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`~".contains(&byte);
        let is_ours = OURS.iter().any(|known| name.eq_ignore_ascii_case(known));
        let fits = !name.is_empty()
            && name.bytes().all(is_token)
            && !is_ours
            && is_value(value)
            && expand(value, |_| Some(String::new())).is_ok();
        fits.then(|| Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Says how the header is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Does it say a secret as it is, instead of where it is?
    pub fn is_literal_secret(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        !self.value.contains('$') && SECRET.iter().any(|part| name.contains(part))
    }

    /// The line of a request, with the values of variables.
    ///
    /// # Errors
    /// What was found, and what was expected.
    pub fn line(&self, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        let value = expand(&self.value, variable).map_err(|name| {
            format!(
                "found no environment variable {name}, expected the value of header {} in it",
                self.name
            )
        })?;
        let basic = value
            .strip_prefix("Basic ")
            .filter(|_| self.name.to_ascii_lowercase().ends_with("authorization"));
        let value = match basic {
            // No base 64 has a colon.
            Some(pair) if pair.contains(':') => {
                format!("Basic {}", BASE64.encode(pair.trim().as_bytes()))
            }
            _ => value,
        };
        match is_value(&value) {
            true => Ok(format!("{}: {value}\r\n", self.name)),
            false => Err(format!(
                "found a control character, nothing or more than {LONGEST} bytes in the value of header {}, expected one line",
                self.name
            )),
        }
    }
}

/// Can it stand in a line of a request?
fn is_value(value: &str) -> bool {
    !value.is_empty()
        && value.len() <= LONGEST
        && !value
            .chars()
            .any(|letter| letter.is_control() && letter != '\t')
}

/// A text with `$NAME` and `${NAME}` replaced by values, and `$$` by `$`.
///
/// # Errors
/// The first name that has no value; empty for a `$` that is none.
pub fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        out.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let (name, after) = match rest.strip_prefix('{') {
            Some(inner) => inner.split_once('}').ok_or_else(String::new)?,
            None => {
                let other = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
                rest.split_at(rest.find(other).unwrap_or(rest.len()))
            }
        };
        let is_name = |name: &str| {
            let mut letters = name.bytes();
            letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && !name.is_empty()
        };
        if !is_name(name) {
            return Err(String::new());
        }
        out.push_str(&variable(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        match name {
            "USER" => Some("Aladdin".into()),
            "PASSWORD" => Some("open sesame".into()),
            "EVIL" => Some("x\r\nHost: evil".into()),
            _ => None,
        }
    }

    fn line(text: &str) -> Result<String, String> {
        let headers = Header::parse_several(text).expect("headers");
        headers.iter().map(|header| header.line(variable)).collect()
    }

    #[test]
    fn variables_stand_for_secrets() {
        let found = line("X-User: ${USER}s|X-Price: 5$$ |Accept-Language: de, en;q=0.5");
        let expected = "X-User: Aladdins\r\nX-Price: 5$\r\nAccept-Language: de, en;q=0.5\r\n";
        assert_eq!(found.as_deref(), Ok(expected));
        // RFC 7617, section 2.
        let basic = line("Authorization: Basic $USER:$PASSWORD");
        let expected = "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n";
        assert_eq!(basic.as_deref(), Ok(expected));
        assert!(line("X: $MISSING").is_err_and(|why| why.contains("variable MISSING")));
        assert!(line("X: $EVIL").is_err(), "no second header by a variable");
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for text in [
            "",
            "X",
            "X:",
            ": y",
            "X y: z",
            "Host: a",
            "content-length: 3",
            "X: a|",
            "X: $",
            "X: ${A",
            "X: $1",
            "X: a\u{1}b",
        ] {
            assert_eq!(Header::parse_several(text), None, "{text}");
        }
    }

    #[test]
    fn secrets_are_known_by_the_name_of_their_header() {
        let secret = |text| Header::parse(text).expect("a header").is_literal_secret();
        assert!(secret("Authorization: Bearer abc"));
        assert!(secret("X-Api-Key: abc"));
        assert!(!secret("Authorization: Bearer $TOKEN"));
        assert!(!secret("Accept-Language: de"));
        let shown = format!("{:?}", Header::parse("Cookie: abc"));
        assert!(!shown.contains("abc"), "{shown}");
    }
}
