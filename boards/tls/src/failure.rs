//! Why a connection is over, and what rustls says of it.

use core::fmt;

use dunlin::fetch::TlsError;
use embedded_io_async::ErrorKind;
use rustls::{CertificateError, Error};

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError<E> {
    /// The connection below it failed.
    Below(E),
    /// TLS failed, and why.
    Tls(TlsError),
    /// The server ended it without saying that this is all.
    Cut,
    /// A record was not complete in time.
    Slow,
}

impl<E: fmt::Debug> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(error) => write!(f, "{error:?}"),
            Self::Tls(error) => error.fmt(f),
            Self::Cut => f.write_str("ended without TLS's goodbye"),
            Self::Slow => f.write_str("a record took too long"),
        }
    }
}

impl<E: fmt::Debug> core::error::Error for StreamError<E> {}

impl<E: embedded_io_async::Error> embedded_io_async::Error for StreamError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Below(error) => error.kind(),
            // The probe asks for this one: nobody is to blame for it.
            Self::Tls(TlsError::Memory) => ErrorKind::OutOfMemory,
            Self::Tls(_) => ErrorKind::InvalidData,
            Self::Cut => ErrorKind::ConnectionAborted,
            Self::Slow => ErrorKind::TimedOut,
        }
    }
}

/// What rustls says, in the fetcher's words.
pub fn reason(error: &Error) -> TlsError {
    match error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsError::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsError::NotYetValid
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsError::Name
            }
            CertificateError::UnknownIssuer => TlsError::Issuer,
            CertificateError::ApplicationVerificationFailure => TlsError::Pin,
            _ => TlsError::Certificate,
        },
        Error::FailedToGetCurrentTime => TlsError::Time,
        _ => TlsError::Protocol,
    }
}
