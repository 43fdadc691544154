//! Log lines as patterns: one string literal says how a line is written and how it is read back.
//!
//! The literal is a defmt format string, such as `end page={=u16} status={=u16}`. [`events!`] makes
//! an enum of a table of such lines, and all that has to agree with it.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// A value of a log line, as it is written.
pub(super) trait Value: Copy {
    /// What defmt is handed for it.
    #[cfg(feature = "defmt")]
    type Logged;

    /// What defmt is handed for it.
    #[cfg(feature = "defmt")]
    fn logged(self) -> Self::Logged;

    /// Writes the text that defmt's decoder would show; `hint` is what stands in the braces.
    fn write(&self, f: &mut Formatter<'_>, hint: &str) -> fmt::Result;
}

/// Values that defmt is handed as they are, and the trait that writes the same text as its decoder.
macro_rules! values {
    ($($by:ident: $($type:ty),+;)+) => {$($(
        impl Value for $type {
            #[cfg(feature = "defmt")]
            type Logged = Self;
            #[cfg(feature = "defmt")]
            fn logged(self) -> Self {
                self
            }
            fn write(&self, f: &mut Formatter<'_>, _: &str) -> fmt::Result {
                fmt::$by::fmt(self, f)
            }
        }
    )+)+};
}
pub(super) use values;

values! {
    Display: u8, u16, u32, bool, f32, &str;
}

impl Value for u64 {
    #[cfg(feature = "defmt")]
    type Logged = Self;
    #[cfg(feature = "defmt")]
    fn logged(self) -> Self {
        self
    }
    fn write(&self, f: &mut Formatter<'_>, hint: &str) -> fmt::Result {
        if hint.ends_with(":016x") {
            write!(f, "{self:016x}")
        } else {
            self.fmt(f)
        }
    }
}

/// A share that is not known yet is written as NaN.
impl Value for Option<f32> {
    #[cfg(feature = "defmt")]
    type Logged = f32;
    #[cfg(feature = "defmt")]
    fn logged(self) -> f32 {
        self.unwrap_or(f32::NAN)
    }
    fn write(&self, f: &mut Formatter<'_>, hint: &str) -> fmt::Result {
        self.unwrap_or(f32::NAN).write(f, hint)
    }
}

/// An IPv4 address, as defmt shows it.
#[cfg(feature = "defmt")]
#[derive(Clone, Copy, Debug)]
pub(super) struct DottedAddress([u8; 4]);

impl Value for [u8; 4] {
    #[cfg(feature = "defmt")]
    type Logged = DottedAddress;
    #[cfg(feature = "defmt")]
    fn logged(self) -> DottedAddress {
        DottedAddress(self)
    }
    fn write(&self, f: &mut Formatter<'_>, _: &str) -> fmt::Result {
        core::net::Ipv4Addr::from(*self).fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for DottedAddress {
    fn format(&self, f: defmt::Formatter<'_>) {
        let [a, b, c, d] = self.0;
        defmt::write!(f, "{=u8}.{=u8}.{=u8}.{=u8}", a, b, c, d);
    }
}

/// A value of a log line, as it is read back.
pub(super) trait Read<'l>: Sized {
    /// Reads it; `text` is `None` where the line has no such word.
    fn read(text: Option<&'l str>) -> Option<Self>;
}

impl<'l> Read<'l> for &'l str {
    fn read(text: Option<&'l str>) -> Option<Self> {
        text
    }
}

/// A word that lines of older firmware do not have.
impl<'l> Read<'l> for Option<&'l str> {
    fn read(text: Option<&'l str>) -> Option<Self> {
        Some(text)
    }
}

macro_rules! parsed {
    ($($type:ty),+) => {$(
        impl Read<'_> for $type {
            fn read(text: Option<&str>) -> Option<Self> {
                Self::from_str(text?).ok()
            }
        }
    )+};
}

parsed!(u8, u16, u32, u64, bool, f64);

/// NaN stands for a share that is not known.
impl Read<'_> for Option<f64> {
    fn read(text: Option<&str>) -> Option<Self> {
        let number: f64 = text?.parse().ok()?;
        Some(Some(number).filter(|number| number.is_finite()))
    }
}

/// The text before a value: what has to stand there, and the key if the value has one. A key counts
/// its space and its `=`, such as ` status=`.
fn split_key(piece: &str) -> (&str, &str) {
    let key = piece.rfind(' ').filter(|_| piece.ends_with('='));
    piece.split_at(key.unwrap_or(piece.len()))
}

/// A value that has a key ends with its word: words that a newer firmware has added may follow.
fn one_word(value: &str) -> &str {
    value.split(' ').next().unwrap_or_default()
}

/// The texts of a line's values; `None` if the line is not of this pattern.
///
/// Words that the pattern does not know, between its own and behind them, are passed over; a word
/// that the line does not have is `None`. Work: linear in the line for each value.
pub(super) fn read<'l, const VALUES: usize>(
    pattern: &str,
    line: &'l str,
) -> Option<[Option<&'l str>; VALUES]> {
    let mut values = [None; VALUES];
    let Some((first, _)) = pattern.split_once('{') else {
        return (pattern == line).then_some(values);
    };
    let (begin, first_key) = split_key(first);
    let (mut pattern, end) = pattern.rsplit_once('}')?;
    let mut rest = line.strip_prefix(begin)?.strip_suffix(end)?;
    if !first_key.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    // From the right: the first value of a boot banner is a name with spaces in it.
    for value in values.iter_mut().rev() {
        let (before, _) = pattern.rsplit_once('{')?;
        let (earlier, piece) = before.rsplit_once('}').unwrap_or(("", first_key));
        pattern = earlier;
        let is_key = piece.ends_with('=');
        if piece.is_empty() {
            *value = Some(rest);
        } else if let Some((head, text)) = rest.rsplit_once(piece) {
            rest = head;
            *value = Some(if is_key { one_word(text) } else { text });
        } else if !is_key {
            return None;
        }
    }
    Some(values)
}

/// Writes one value; gets what stands in the pattern's braces.
type WriteValue<'v> = &'v dyn Fn(&mut Formatter<'_>, &str) -> fmt::Result;

/// Writes a line: the pattern with its values in place.
pub(super) fn write(
    f: &mut Formatter<'_>,
    pattern: &str,
    values: &[WriteValue<'_>],
) -> fmt::Result {
    let mut rest = pattern;
    for value in values {
        let Some((text, after)) = rest.split_once('{') else {
            break;
        };
        let (hint, after) = after.split_once('}').unwrap_or((after, ""));
        f.write_str(text)?;
        value(f, hint)?;
        rest = after;
    }
    f.write_str(rest)
}

/// A table of log lines, and all that follows from it.
///
/// A row is the meaning, the level, the variant with its fields, and the line as a defmt format
/// string that takes the fields in their order:
///
/// ```text
/// /// A page was not answered.
/// warn Failed { page: u16, millis: u32, why: Failure as &'l str }
///     => "failed page={=u16} ms={=u32} why={}";
/// ```
///
/// `as` says what a field is read back as, where that is not its own type. What stands behind a `;`
/// is part of the event but not of its line. A `#[cfg(feature = "…")]` before the level leaves the
/// event out of firmware without that feature; its line is read all the same. A variant may instead
/// hold a struct whose fields are the line's: `Totals(Totals { fetches: u32 })`. Lines are tried in
/// the table's order when one is read.
///
/// Made of it: the enum, its documentation with the table, `level()`, the line that is handed to
/// defmt or `log`, [`Display`] with the same text, the enum that a line is read back as with its
/// `read()`, and `TABLE` for tests.
macro_rules! events {
    (
        $(#[$about:meta])*
        pub enum $Event:ident $(<$life:lifetime>)?;
        $(#[$about_logged:meta])*
        pub enum $Logged:ident<$l:lifetime>;

        $(
            $(#[doc = $meaning:literal])+
            $(#[cfg(feature = $feature:literal)])?
            $level:ident $name:ident
            $({
                $($field:ident: $type:ty $(as $read:ty)?),+
                $(; $beside:ident: $beside_type:ty)?
            })?
            $(($whole:ident { $($part:ident: $part_type:ty),+ }))?
            => $line:tt;
        )+
    ) => {
        $(#[$about])*
        ///
        /// | event | level | line | meaning |
        /// |---|---|---|---|
        $(#[cfg_attr(all($(feature = $feature)?), doc = concat!(
            "| [`", stringify!($name), "`](", stringify!($Event), "::", stringify!($name), ") | ",
            stringify!($level), " | `", $line, "` |", $($meaning),+, " |"
        ))])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs)] // The keys of the line say what each field is.
        pub enum $Event $(<$life>)? {
            $(
                $(#[doc = $meaning])+
                #[cfg(all($(feature = $feature)?))]
                $name
                $({ $($field: $type,)+ $($beside: $beside_type)? })?
                $(($whole))?,
            )+
        }

        impl $(<$life>)? $Event $(<$life>)? {
            /// Name, level and pattern of every line, as the table has them.
            pub const TABLE: &'static [(&'static str, LogLevel, &'static str)] =
                &[$(
                    #[cfg(all($(feature = $feature)?))]
                    (stringify!($name), events!(@level $level), $line)
                ),+];

            /// Says how much the event matters.
            pub const fn level(&self) -> LogLevel {
                match self {
                    $(
                        #[cfg(all($(feature = $feature)?))]
                        Self::$name { .. } => events!(@level $level),
                    )+
                }
            }

            #[cfg(feature = "defmt")]
            #[inline(always)]
            fn emit_line(&self) {
                use $crate::probe::log_line::Value as _;
                match *self {
                    $(
                        #[cfg(all($(feature = $feature)?))]
                        Self::$name $({ $($field,)+ .. })? $(($whole { $($part),+ }))? => {
                            defmt::$level!($line $($(, $field.logged())+)? $($(, $part.logged())+)?)
                        }
                    )+
                }
            }

            #[cfg(feature = "log")]
            fn emit_line(&self) {
                log::log!(target: "dunlin", self.level().into(), "{self}");
            }
        }

        /// Writes the event's line.
        impl $(<$life>)? core::fmt::Display for $Event $(<$life>)? {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                use $crate::probe::log_line::{Value as _, write};
                match *self {
                    $(
                        #[cfg(all($(feature = $feature)?))]
                        Self::$name $({ $($field,)+ .. })? $(($whole { $($part),+ }))? => {
                            write(f, $line, &[
                                $($(&|f, hint| $field.write(f, hint),)+)?
                                $($(&|f, hint| $part.write(f, hint),)+)?
                            ])
                        }
                    )+
                }
            }
        }

        $(#[$about_logged])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs)] // As of the event.
        pub enum $Logged<$l> {
            $(
                $(#[doc = $meaning])+
                $name
                $({ $($field: events!(@read $type $(as $read)?)),+ })?
                $(($whole))?,
            )+
        }

        impl<$l> $Logged<$l> {
            /// Reads a line; `None` if it is not of the table.
            ///
            /// Words that were added to a line since are passed over. Work: linear in the line.
            pub fn read(line: &$l str) -> Option<Self> {
                use $crate::probe::log_line::{Read, read};
                $(
                    let event = || {
                        let [$($($field),+)? $($($part),+)?] = read($line, line)?;
                        Some(Self::$name
                            $({ $($field: Read::read($field)?),+ })?
                            $(($whole { $($part: Read::read($part)?),+ }))?
                        )
                    };
                    if let Some(event) = event() {
                        return Some(event);
                    }
                )+
                None
            }
        }
    };
    (@level error) => { LogLevel::Error };
    (@level warn) => { LogLevel::Warn };
    (@level info) => { LogLevel::Info };
    (@level debug) => { LogLevel::Debug };
    (@read $type:ty as $read:ty) => { $read };
    (@read $type:ty) => { $type };
}
pub(super) use events;
