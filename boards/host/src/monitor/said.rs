//! What a line of the log means: the vocabulary of [`dunlin::probe::Event`], read back from its
//! text.

/// Something the probe said. Lines of other firmware, or of a newer vocabulary, are
/// [`Said::Other`]: shown, not counted.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // `dunlin::probe::Event` says what each field is.
pub enum Said<'l> {
    Boot {
        name: &'l str,
        version: &'l str,
        build: &'l str,
    },
    Loaded {
        pages: u16,
        hosts: u16,
    },
    Refused {
        why: &'l str,
    },
    Up {
        address: &'l str,
    },
    Down,
    End {
        page: u16,
        status: u16,
        bytes: u32,
        millis: u32,
        changed: bool,
    },
    Failed {
        page: u16,
        millis: u32,
        why: &'l str,
    },
    Robots {
        host: u16,
        status: u16,
        denied: u16,
    },
    Gap {
        host: u16,
        millis: u32,
    },
    Denied {
        page: u16,
    },
    Moved {
        page: u16,
        status: u16,
    },
    Astray {
        page: u16,
        status: u16,
        why: &'l str,
    },
    Flagged {
        encoded: bool,
        cut: bool,
    },
    BackOff {
        host: u16,
        seconds: u32,
    },
    Plan {
        price: f64,
        freshness: Option<f64>,
        optimum: Option<f64>,
    },
    Totals(Totals),
    Other,
}

/// The probe's own count since its boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[allow(missing_docs)] // As in `dunlin::probe::Totals`.
pub struct Totals {
    pub fetches: u64,
    pub not_modified: u64,
    pub changed: u64,
    pub errors: u64,
    pub robots_denied: u64,
    pub bytes: u64,
    pub late_seconds: u64,
}

impl<'l> Said<'l> {
    /// Reads a line's message.
    pub fn read(message: &'l str) -> Self {
        Self::known(message).unwrap_or(Self::Other)
    }

    fn known(message: &'l str) -> Option<Self> {
        let (word, rest) = message.split_once(' ').unwrap_or((message, ""));
        let mut words = Words(rest);
        Some(match word {
            "end" => Self::End {
                page: words.number("page")?,
                status: words.number("status")?,
                bytes: words.number("bytes")?,
                millis: words.number("ms")?,
                changed: words.value("changed")? == "true",
            },
            "failed" => Self::Failed {
                page: words.number("page")?,
                millis: words.number("ms")?,
                why: words.value("why")?,
            },
            "robots" => {
                let (host, status) = (words.number("host")?, words.number("status")?);
                Self::Robots {
                    host,
                    status,
                    denied: words.number("denied")?,
                }
            }
            "gap" => Self::Gap {
                host: words.number("host")?,
                millis: words.number("ms")?,
            },
            "denied" => Self::Denied {
                page: words.number("page")?,
            },
            "moved" => Self::Moved {
                page: words.number("page")?,
                status: words.number("status")?,
            },
            "astray" => Self::Astray {
                page: words.number("page")?,
                status: words.number("status")?,
                why: words.value("why")?,
            },
            "flagged" => Self::Flagged {
                encoded: words.value("encoded")? == "true",
                cut: words.value("cut")? == "true",
            },
            "backoff" => Self::BackOff {
                host: words.number("host")?,
                seconds: words.number("s")?,
            },
            "plan" => Self::Plan {
                price: words.number("price")?,
                freshness: words.share("freshness")?,
                optimum: words.share("optimum")?,
            },
            "totals" => Self::Totals(words.totals()?),
            "loaded" => Self::Loaded {
                pages: words.number("pages")?,
                hosts: words.number("hosts")?,
            },
            "network" if rest == "down" => Self::Down,
            "network" => Self::Up {
                address: rest.strip_prefix("up address=")?,
            },
            "image" => Self::Refused {
                why: rest.strip_prefix("refused: ")?,
            },
            "dunlin" => {
                let (who, build) = message.rsplit_once(", build ")?;
                let (name, version) = who.rsplit_once(' ')?;
                Self::Boot {
                    name,
                    version,
                    build,
                }
            }
            _ => return None,
        })
    }
}

/// The page a line is about, if it is about one.
pub fn page_of(message: &str) -> Option<u16> {
    let (_, rest) = message.split_once(' ')?;
    rest.strip_prefix("page=")?.split(' ').next()?.parse().ok()
}

/// Words of the form `key=value`, in the order they were written.
struct Words<'l>(&'l str);

impl<'l> Words<'l> {
    /// The next value, whose key has to be this one. The last of a line may contain spaces.
    fn value(&mut self, key: &str) -> Option<&'l str> {
        let mut rest = self.0;
        // Keys that were added since are skipped.
        while let Some((word, after)) = rest.split_once(' ') {
            if let Some(value) = word
                .strip_prefix(key)
                .and_then(|word| word.strip_prefix('='))
            {
                self.0 = after;
                return Some(value);
            }
            rest = after;
        }
        let value = rest.strip_prefix(key)?.strip_prefix('=')?;
        self.0 = "";
        Some(value)
    }

    fn number<N: std::str::FromStr>(&mut self, key: &str) -> Option<N> {
        self.value(key)?.parse().ok()
    }

    /// A share, or NaN where the probe does not know.
    fn share(&mut self, key: &str) -> Option<Option<f64>> {
        let number: f64 = self.number(key)?;
        Some(Some(number).filter(|share| share.is_finite()))
    }

    fn totals(&mut self) -> Option<Totals> {
        Some(Totals {
            fetches: self.number("fetches")?,
            not_modified: self.number("same")?,
            changed: self.number("changed")?,
            errors: self.number("errors")?,
            robots_denied: self.number("denied")?,
            bytes: self.number("bytes")?,
            late_seconds: self.number("late_s")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_reads_back() {
        assert_eq!(
            Said::read("end page=7 status=304 bytes=0 ms=12 changed=false"),
            Said::End {
                page: 7,
                status: 304,
                bytes: 0,
                millis: 12,
                changed: false
            }
        );
        assert_eq!(
            Said::read("astray page=1 status=302 why=Some(PrivateAddress)"),
            Said::Astray {
                page: 1,
                status: 302,
                why: "Some(PrivateAddress)"
            }
        );
        assert_eq!(
            Said::read("flagged page=1 encoded=false cut=true"),
            Said::Flagged {
                encoded: false,
                cut: true
            }
        );
        assert_eq!(
            Said::read("plan price=1.5e-6 freshness=NaN optimum=0.75"),
            Said::Plan {
                price: 1.5e-6,
                freshness: None,
                optimum: Some(0.75)
            }
        );
        assert_eq!(
            Said::read("dunlin on qemu-mps2 0.1.0, build 00ff"),
            Said::Boot {
                name: "dunlin on qemu-mps2",
                version: "0.1.0",
                build: "00ff"
            }
        );
        assert_eq!(
            Said::read("network up address=10.0.2.15"),
            Said::Up {
                address: "10.0.2.15"
            }
        );
        assert_eq!(
            Said::read("image refused: no page image"),
            Said::Refused {
                why: "no page image"
            }
        );
    }

    #[test]
    fn what_is_not_of_the_vocabulary_is_other() {
        for line in [
            "",
            "end",
            "end page=",
            "end page=70000 status=1 bytes=1 ms=1 changed=true",
            "memory: 5 B",
        ] {
            assert_eq!(Said::read(line), Said::Other, "{line}");
        }
    }

    #[test]
    fn words_that_were_added_are_skipped() {
        assert_eq!(
            Said::read("backoff host=3 failures=2 s=120 why=Busy"),
            Said::BackOff {
                host: 3,
                seconds: 120
            }
        );
    }
}
