//! A list on its way from the planner: fetched whole, and good by its length and its digest before
//! anybody uses it.

use core::pin::pin;

use dunlin::fetch::{Agent, Ask, Body, Client, Connect, Head, Request, Resolve, Url, within};
use dunlin::fleet::{ListError, ListNotice, list_digest};
use dunlin::probe::{Board, FleetEvent};
use dunlin::time::Duration;

use crate::LONGEST_URL;

/// A fetch of a list that takes longer is given up.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a device does for its link: it keeps a list beside the one that is in use, and a log.
pub trait Device {
    /// Bytes of the longest list that there is room for.
    fn room(&self) -> u32;
    /// Makes room for a list of so many bytes, in the place of one that was never used; false if
    /// that cannot be done.
    fn begin(&mut self, length: u32) -> bool;
    /// The next bytes of it; false if they cannot be written.
    fn write(&mut self, bytes: &[u8]) -> bool;
    /// All that was written since [`Self::begin`].
    fn written(&self) -> &[u8];
    /// Can this device run on what was written? If so it is kept: the list in use from the next
    /// start on.
    fn keep(&mut self, version: u32) -> bool;
    /// Something to be logged.
    fn tell(&mut self, event: FleetEvent);
}

/// A list that the planner has announced.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) version: u32,
    digest: u32,
    /// The list has so many bytes.
    pub(crate) length: u32,
    url: heapless::String<LONGEST_URL>,
}

impl Wanted {
    /// `None` if its address is too long.
    pub(crate) fn new(notice: &ListNotice<'_>) -> Option<Self> {
        Some(Self {
            version: notice.version,
            digest: notice.digest,
            length: notice.length,
            url: notice.url.try_into().ok()?,
        })
    }

    /// Fetches it, checks it and keeps it.
    ///
    /// *Cancellation*: the device has a list that was never used.
    pub(crate) async fn fetch<B: Board, C: Connect, R: Resolve, D: Device>(
        &self,
        board: &B,
        agent: Agent<'_>,
        network: (&mut C, &mut R),
        window: &mut [u8],
        device: &mut D,
    ) -> Result<(), ListError> {
        if self.length > device.room() {
            return Err(ListError::TooLong);
        }
        if !device.begin(self.length) {
            return Err(ListError::Storage);
        }
        let url = Url::parse(&self.url).map_err(|_| ListError::Url)?;
        // As if the owner had written it, so that it may be in a private network, where planners are
        // as a rule. Whoever may announce lists on the owner's broker says by them what the probe
        // fetches anyway, and hears of what is at another address no more than its status.
        let mut ask = Ask::new(Request::get(url, agent));
        // One byte more than announced shows that it is too long.
        ask.limits.body_bytes = self.length.saturating_add(1);
        let mut body = Writing {
            device,
            left: self.length,
            wrong: None,
        };
        let (connect, resolve) = network;
        let mut client = Client::new(connect);
        let status = {
            let request = pin!(client.request(&mut ask, resolve, window, &mut body));
            let deadline = pin!(board.sleep_until(board.now() + DEADLINE));
            match within(deadline, request).await {
                Some(Ok(fetched)) => Ok((fetched.head.status, fetched.head.encoded)),
                _ => Err(ListError::Unanswered),
            }
        };
        client.finish().await;
        match (status?, body.wrong, body.left) {
            ((200, false), None, 0) => {}
            ((200, false), Some(why), _) => return Err(why),
            ((200, false), None, _) => return Err(ListError::Length),
            ((status, _), ..) => return Err(ListError::Status(status)),
        }
        if list_digest(device.written()) != self.digest {
            return Err(ListError::Digest);
        }
        if device.keep(self.version) {
            Ok(())
        } else {
            Err(ListError::Image)
        }
    }
}

/// Leads an answer's body to the device.
struct Writing<'d, D> {
    device: &'d mut D,
    left: u32,
    wrong: Option<ListError>,
}

impl<D: Device> Body for Writing<'_, D> {
    fn take(&mut self, head: &Head, bytes: &mut &[u8]) -> bool {
        let taken = core::mem::take(bytes);
        if head.status != 200 || self.wrong.is_some() {
            return true;
        }
        match self.left.checked_sub(taken.len() as u32) {
            Some(left) => self.left = left,
            None => self.wrong = Some(ListError::Length),
        }
        if self.wrong.is_none() && !taken.is_empty() && !self.device.write(taken) {
            self.wrong = Some(ListError::Storage);
        }
        true
    }
}
