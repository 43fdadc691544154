//! Headers of the owner's: what a device was told by a cable goes into requests to the hosts that
//! it was told for, and nowhere else. Neither log nor collector sees it.

use core::cell::Cell;
use core::net::IpAddr;

use dunlin::fetch::{Connect, Connection, Endpoint, Insert, Inserter, TlsError, Url};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embedded_io_async::{ErrorType, Read, Write};

/// Lines of an origin, a space and its headers: `https://example.org X-Key: abc|X-Other: d`.
static LINES: Mutex<CriticalSectionRawMutex, Cell<&str>> = Mutex::new(Cell::new(""));

/// Tells the device its headers, before anything is fetched.
pub(crate) fn set(lines: &'static str) {
    LINES.lock(|known| known.set(lines));
}

/// The headers for requests that go there, separated by `|`. Work: all lines.
fn fields(to: &Endpoint<'_>) -> Option<&'static str> {
    LINES.lock(Cell::get).lines().find_map(|line| {
        let (origin, fields) = line.split_once(' ')?;
        let origin = Url::parse(origin).ok()?;
        let same = origin.scheme() == to.scheme
            && origin.port() == to.port
            && origin.host_text().eq_ignore_ascii_case(to.host);
        same.then_some(fields)
    })
}

/// Opens connections whose requests carry them.
#[derive(Debug)]
pub struct Headed<C>(pub(crate) C);

impl<C: Connect> Connect for Headed<C> {
    type Error = C::Error;
    type Connection<'c>
        = HeadedConnection<C::Connection<'c>>
    where
        C: 'c;

    fn speaks_https(&self) -> bool {
        self.0.speaks_https()
    }

    fn reaches(&self, address: IpAddr) -> bool {
        self.0.reaches(address)
    }

    fn tls_error(error: &C::Error) -> Option<TlsError> {
        C::tls_error(error)
    }

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Self::Connection<'_>, C::Error> {
        let fields = fields(&to).unwrap_or_default();
        let connection = self.0.connect(to).await?;
        Ok(HeadedConnection {
            connection,
            inserter: Inserter::default(),
            fields,
        })
    }
}

/// A connection whose requests carry headers of the owner's.
#[derive(Debug)]
pub struct HeadedConnection<T> {
    connection: T,
    inserter: Inserter,
    /// Separated by `|`; empty for none.
    fields: &'static str,
}

impl<T: ErrorType> ErrorType for HeadedConnection<T> {
    type Error = T::Error;
}

impl<T: Read> Read for HeadedConnection<T> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, T::Error> {
        let count = self.connection.read(buffer).await?;
        if count > 0 {
            self.inserter.answered();
        }
        Ok(count)
    }
}

impl<T: Read + Write> Write for HeadedConnection<T> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, T::Error> {
        if self.fields.is_empty() {
            return self.connection.write(bytes).await;
        }
        let (count, insert) = self.inserter.next(bytes);
        let piece = bytes.get(..count).unwrap_or(bytes);
        self.connection.write_all(piece).await?;
        if insert == Some(Insert::Fields) {
            for field in self.fields.split('|') {
                self.connection.write_all(field.trim().as_bytes()).await?;
                self.connection.write_all(b"\r\n").await?;
            }
        }
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), T::Error> {
        self.connection.flush().await
    }
}

impl<T: Connection> Connection for HeadedConnection<T> {
    async fn finish(&mut self) {
        self.connection.finish().await;
    }
}
