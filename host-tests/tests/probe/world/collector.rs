//! The collector of a world, which may be in any mood.

use dunlin::fetch::{Connect, Connection, Endpoint};
use dunlin::time::Duration;
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};

use super::World;

/// What a collector is like at a time.
pub type Moods = fn(Duration) -> Mood;

/// What a collector does with what it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It takes it, and says so.
    Takes,
    /// It takes so many bytes of a delivery, and then nothing more for as long as it is like this.
    StallsAfter(usize),
    /// It takes a byte, and then nothing for a while that is just short enough.
    Crawls,
    /// It takes so many bytes of a delivery, and closes the connection.
    BreaksAfter(usize),
    /// It takes nothing, and does not close the connection either.
    Dumb,
    /// It answers with another status.
    Answers(u16),
    /// It answers with another status, and closes the connection, as soon as a delivery holds this
    /// text; others it takes.
    Refuses(&'static str, u16),
    /// It is not there.
    Gone,
}

/// The way to the world's collector.
#[derive(Clone, Copy)]
pub struct WayToCollector<'w>(pub &'w World);

impl<'w> Connect for WayToCollector<'w> {
    type Error = ErrorKind;
    type Connection<'c>
        = Delivery<'w>
    where
        Self: 'c;

    async fn connect(&mut self, to: Endpoint<'_>) -> Result<Delivery<'w>, ErrorKind> {
        assert_eq!((to.host, to.port), ("keeper.test", 8090));
        match (self.0.moods)(self.0.elapsed()) {
            Mood::Gone => Err(ErrorKind::ConnectionRefused),
            _ => Ok(Delivery {
                world: self.0,
                posted: Vec::new(),
                answered: 0,
            }),
        }
    }
}

/// What comes to the collector over one connection.
pub struct Delivery<'w> {
    world: &'w World,
    posted: Vec<u8>,
    /// Bytes of the answer that were read.
    answered: usize,
}

impl Delivery<'_> {
    fn is_whole(&self) -> bool {
        self.posted.ends_with(b"\r\n0\r\n\r\n")
    }

    fn holds(&self, text: &str) -> bool {
        let mut windows = self.posted.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    }
}

impl ErrorType for Delivery<'_> {
    type Error = ErrorKind;
}

impl Write for Delivery<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        /// Less than what a delivery may stall for.
        const SLOWLY: Duration = Duration::from_millis(1_500);
        let mut most = bytes.len();
        loop {
            match (self.world.moods)(self.world.elapsed()) {
                Mood::StallsAfter(count) if self.posted.len() >= count => {
                    let soon = self.world.now.get() + Duration::from_millis(100);
                    self.world.sleep(soon).await;
                }
                Mood::BreaksAfter(count) if self.posted.len() >= count => {
                    return Err(ErrorKind::ConnectionReset);
                }
                Mood::Dumb => return Err(ErrorKind::ConnectionReset),
                Mood::Refuses(what, _) if self.holds(what) => {
                    return Err(ErrorKind::ConnectionReset);
                }
                Mood::Crawls => {
                    most = 1;
                    self.world.sleep(self.world.now.get() + SLOWLY).await;
                    break;
                }
                _ => break,
            }
        }
        let taken = &bytes[..most];
        self.posted.extend_from_slice(taken);
        if self.is_whole() {
            let mut posted = self.world.posted.borrow_mut();
            posted.push(self.posted.clone());
        }
        Ok(taken.len())
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Read for Delivery<'_> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        if (self.world.moods)(self.world.elapsed()) == Mood::Dumb {
            return std::future::pending().await;
        }
        let is_whole = self.is_whole();
        let status = match (self.world.moods)(self.world.elapsed()) {
            Mood::Refuses(what, status) if self.holds(what) => status,
            Mood::Takes | Mood::Refuses(..) if is_whole => 200,
            Mood::Answers(status) if is_whole => status,
            _ => return Ok(0),
        };
        if self.answered == 0 && status == 200 {
            let mut collected = self.world.collected.borrow_mut();
            collected.push(self.posted.clone());
        }
        // In small pieces, as answers may come.
        let answer = format!("HTTP/1.1 {status} Said\r\n\r\n");
        let piece = answer.as_bytes().get(self.answered..self.answered + 5);
        let piece = piece.unwrap_or_default();
        buffer[..piece.len()].copy_from_slice(piece);
        self.answered += piece.len();
        Ok(piece.len())
    }
}

impl Connection for Delivery<'_> {}
