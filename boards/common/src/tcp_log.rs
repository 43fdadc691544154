//! The log for whoever connects: `dunlin monitor --log tcp:ADDRESS:19021`. One reader at a time,
//! and what comes from it is not read. Everybody in the network can be that reader.

use embassy_futures::select::{Either, select};
use embassy_net::Stack;
use embassy_net::tcp::TcpSocket;
use embassy_time::{Duration, Timer};

use crate::log_sinks::TCP;

/// The port that debuggers serve logs at, too.
pub const PORT: u16 = 19021;
/// A reader that acknowledges nothing for so long is gone …
const SILENCE: Duration = Duration::from_secs(20);
/// … and is asked whether it is there so often.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// The time between two attempts to listen, if one fails.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves the log, for ever. A task of its own: whoever waits for a connection wakes the network's
/// task at every look, and inside of that task would wake itself for ever.
#[embassy_executor::task]
pub async fn serve(stack: Stack<'static>) {
    let mut receive = [0; 64];
    let mut send = [0; 1024];
    loop {
        let mut socket = TcpSocket::new(stack, &mut receive, &mut send);
        socket.set_timeout(Some(SILENCE));
        socket.set_keep_alive(Some(KEEP_ALIVE));
        if socket.accept(PORT).await.is_err() {
            Timer::after(PAUSE).await;
            continue;
        }
        feed(&mut socket).await;
        socket.abort();
        // Says so to the reader, if it is still there.
        let _ = socket.flush().await;
    }
}

/// Sends until the reader goes.
///
/// *Cancellation*: dropping the future loses what was taken from the ring and not yet sent.
async fn feed(socket: &mut TcpSocket<'_>) {
    let mut bytes = [0; 256];
    let mut ignored = [0; 16];
    loop {
        let (mut reader, mut writer) = socket.split();
        match select(TCP.read(&mut bytes), reader.read(&mut ignored)).await {
            Either::First(count) => {
                let mut rest = &bytes[..count];
                while !rest.is_empty() {
                    match writer.write(rest).await {
                        Ok(sent @ 1..) => rest = rest.get(sent..).unwrap_or_default(),
                        _ => return,
                    }
                }
            }
            Either::Second(Ok(1..)) => {}
            Either::Second(_) => return,
        }
    }
}
