//! Others say that a page has changed, in signed datagrams: see `dunlin::push`. Everybody in the
//! network can send one; who has no key of the device's settings is not heard.

use core::cell::RefCell;

use dunlin::learn::hints::Hint;
use dunlin::probe::{Board, BoardEvent, Probe};
use dunlin::push::{DatagramError, Inbox, LONGEST, PORT};
use dunlin::settings::SettingKey;
use embassy_net::Stack;
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Instant};

/// Datagrams that wait; further ones are lost.
const WAITING: usize = 4;
/// After it was said why one was refused, others are refused without a word for so long: whoever
/// floods the device does not flood its log.
const SILENCE: Duration = Duration::from_secs(5);

static INBOX: Mutex<CriticalSectionRawMutex, RefCell<Inbox>> =
    Mutex::new(RefCell::new(Inbox::EMPTY));

fn inbox<T>(work: impl FnOnce(&mut Inbox) -> T) -> T {
    INBOX.lock(|inbox| work(&mut inbox.borrow_mut()))
}

/// A page was visited, and has changed or not.
pub(crate) fn visited(page: u16, changed: bool) {
    inbox(|inbox| inbox.visited(page, changed));
}

/// Hears who says that pages have changed, for ever; nobody, if the device was told no keys.
///
/// *Cancellation*: what has not been read is lost.
pub async fn listen<B: Board>(probe: &Probe<'_, B>, stack: Stack<'static>) {
    let keys = crate::settings::read().get(SettingKey::PushKeys);
    inbox(|inbox| *inbox = Inbox::new(keys.unwrap_or_default()));
    if inbox(|inbox| inbox.is_empty()) {
        BoardEvent::NoPushKeys.emit();
        return;
    }
    let mut heard = [PacketMetadata::EMPTY; WAITING];
    let mut receive = [0; 2 * LONGEST];
    let mut said = [PacketMetadata::EMPTY; 0];
    let mut socket = UdpSocket::new(stack, &mut heard, &mut receive, &mut said, &mut []);
    if socket.bind(PORT).is_err() {
        BoardEvent::NoPushPort { port: PORT }.emit();
        return;
    }
    let mut silent_until = Instant::MIN;
    let mut bytes = [0; LONGEST];
    loop {
        // A datagram that does not fit is none of ours.
        let Ok((length, _)) = socket.recv_from(&mut bytes).await else {
            continue;
        };
        if let Err(why) = take(probe, bytes.get(..length).unwrap_or_default())
            && Instant::now() >= silent_until
        {
            BoardEvent::PushRefused { why }.emit();
            silent_until = Instant::now() + SILENCE;
        }
    }
}

/// Takes one datagram in.
fn take<B: Board>(probe: &Probe<'_, B>, bytes: &[u8]) -> Result<(), DatagramError> {
    let now = probe.board().now();
    let unix = probe.time().unix();
    let datagram = inbox(|inbox| inbox.hear(bytes, unix, now))?;
    let Some(page) = probe.page_at(datagram.url) else {
        BoardEvent::PushUnlisted { url: datagram.url }.emit();
        return Ok(());
    };
    let sender = datagram.sender;
    inbox(|inbox| inbox.wait(page, sender));
    BoardEvent::Pushed { page, sender }.emit();
    // The page is there.
    let _ = probe.hint(page, Hint::push(now));
    Ok(())
}
