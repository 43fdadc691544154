//! Messages on their way to somebody who may be slow, broken or gone: a queue with a bound, and a
//! thread that empties it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::message::Message;
use crate::output;

/// Messages that wait; of more, the oldest are lost.
pub const ROOM: usize = 256;
/// How often a message is tried.
const TRIES: u32 = 6;
/// The pause after the first failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A message as it is handed over.
#[derive(Clone, Debug, Serialize)]
pub struct Delivery {
    /// The news, whose fields stand beside the others.
    #[serde(flatten)]
    pub message: Message,
    /// The news in one sentence.
    pub text: String,
    /// Messages before this one that were lost since the last delivery.
    pub lost: u64,
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Trying again may help.
    Yet(String),
    /// Trying again would not help.
    Ever(String),
}

/// Somebody who is told.
pub trait Recipient: Send + 'static {
    /// Who it is, for complaints; without what should stay secret.
    fn name(&self) -> String;

    /// Hands a message over. It takes a bounded time.
    ///
    /// # Errors
    /// Why it was not taken.
    fn take(&mut self, delivery: &Delivery) -> Result<(), NotTaken>;
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Message>,
    /// One is being delivered.
    busy: bool,
    /// Lost since the last delivery.
    lost: u64,
    /// How many were lost since the program began.
    lost_ever: u64,
    /// Nothing more is tried twice.
    closing: bool,
    /// The thread that empties it has ended.
    over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    /// A queue cannot be left half-way, so a thread that panicked has not harmed it.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The messages for one recipient.
#[derive(Debug)]
pub struct Outbox {
    shared: Arc<Shared>,
    name: String,
}

impl Outbox {
    /// Starts a thread that delivers to `recipient`.
    pub fn to(recipient: impl Recipient) -> Self {
        let shared = Arc::new(Shared::default());
        let name = recipient.name();
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            deliver(&theirs, recipient);
            theirs.lock().over = true;
            theirs.changed.notify_all();
        });
        Self { shared, name }
    }

    /// Takes a message. It never waits: of too many, the oldest are lost, which the next delivery
    /// tells.
    pub fn put(&self, message: Message) {
        let mut queue = self.shared.lock();
        if queue.waiting.len() >= ROOM {
            queue.waiting.pop_front();
            queue.lost += 1;
            queue.lost_ever += 1;
            if queue.lost == 1 {
                let name = &self.name;
                output::say(format_args!(
                    "{name} does not keep up: the oldest of {ROOM} messages are lost"
                ));
            }
        }
        queue.waiting.push_back(message);
        self.shared.changed.notify_all();
    }

    /// Gives what waits until `deadline` to be delivered, each tried once more, and says what was
    /// lost.
    pub fn finish(self, deadline: Instant) {
        let mut queue = self.shared.lock();
        queue.closing = true;
        self.shared.changed.notify_all();
        while !queue.over {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let lost = queue.lost_ever + (queue.waiting.len() + usize::from(queue.busy)) as u64;
        if lost > 0 {
            let name = &self.name;
            output::say(format_args!("{name}: {lost} messages were not delivered"));
        }
    }
}

/// Delivers message after message, until the queue is closed and empty.
fn deliver(shared: &Shared, mut recipient: impl Recipient) {
    loop {
        let mut queue = shared.lock();
        let message = loop {
            match queue.waiting.pop_front() {
                Some(message) => break message,
                None if queue.closing => return,
                None => {
                    let waited = shared.changed.wait(queue);
                    queue = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        queue.busy = true;
        let delivery = Delivery {
            text: message.text(),
            message,
            lost: std::mem::take(&mut queue.lost),
        };
        drop(queue);
        let taken = insist(shared, &mut recipient, &delivery);
        let mut queue = shared.lock();
        queue.busy = false;
        if let Err(why) = taken {
            queue.lost += delivery.lost + 1;
            queue.lost_ever += 1;
            let name = recipient.name();
            output::say(format_args!("{name}: {why}; not told: {}", delivery.text));
        }
    }
}

/// Tries several times, with pauses that grow; once if there is no time left.
fn insist(
    shared: &Shared,
    recipient: &mut impl Recipient,
    delivery: &Delivery,
) -> Result<(), String> {
    let mut pause = FIRST_PAUSE;
    for tried in 1.. {
        match recipient.take(delivery) {
            Ok(()) => return Ok(()),
            Err(NotTaken::Ever(why)) => return Err(why),
            Err(NotTaken::Yet(why)) => {
                let queue = shared.lock();
                let waited = shared
                    .changed
                    .wait_timeout_while(queue, pause, |queue| !queue.closing);
                let closing = waited.unwrap_or_else(PoisonError::into_inner).0.closing;
                if tried >= TRIES || closing {
                    return Err(why);
                }
                pause *= 2;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::news::Kind;
    use crate::told::message::message;

    /// Refuses so many times, then says what it is told; waits to be let go on before each.
    struct Slow {
        refusals: u32,
        gate: mpsc::Receiver<()>,
        told: mpsc::Sender<(String, u64)>,
    }

    impl Recipient for Slow {
        fn name(&self) -> String {
            "the test".into()
        }

        fn take(&mut self, delivery: &Delivery) -> Result<(), NotTaken> {
            let _ = self.gate.recv();
            if self.refusals > 0 {
                self.refusals -= 1;
                return Err(NotTaken::Yet("not now".into()));
            }
            let about = delivery.message.about().to_owned();
            let _ = self.told.send((about, delivery.lost));
            Ok(())
        }
    }

    fn slow(refusals: u32) -> (Outbox, mpsc::Sender<()>, mpsc::Receiver<(String, u64)>) {
        let (go, gate) = mpsc::channel();
        let (told, heard) = mpsc::channel();
        let recipient = Slow {
            refusals,
            gate,
            told,
        };
        (Outbox::to(recipient), go, heard)
    }

    #[test]
    fn a_recipient_that_is_stuck_holds_nobody_up_and_is_told_what_it_missed() {
        let (outbox, go, heard) = slow(0);
        outbox.put(message(Kind::Changed, "0"));
        go.send(()).expect("it waits");
        assert_eq!(heard.recv().expect("told"), ("0".into(), 0));
        // The first of these is in its hands, and 256 more wait.
        for number in 1..=1_000 {
            outbox.put(message(Kind::Changed, &number.to_string()));
        }
        drop(go);
        let rest: Vec<_> = heard.iter().take(256).collect();
        let lost: u64 = rest.iter().map(|(_, lost)| lost).sum();
        assert!((743..=744).contains(&lost), "{lost} were lost");
        let last = rest.iter().any(|(about, _)| about == "1000");
        assert!(last || lost == 743, "the newest are kept");
        outbox.finish(Instant::now() + Duration::from_secs(5));
    }

    #[test]
    fn what_is_not_taken_is_tried_again() {
        let (outbox, go, heard) = slow(1);
        drop(go);
        outbox.put(message(Kind::Gone, "a"));
        assert_eq!(heard.recv().expect("told"), ("a".into(), 0));
        outbox.finish(Instant::now() + Duration::from_secs(5));
    }

    #[test]
    fn the_end_does_not_wait_for_whoever_is_stuck() {
        let (outbox, _go, _heard) = slow(0);
        outbox.put(message(Kind::Gone, "a"));
        let asked = Instant::now();
        outbox.finish(asked + Duration::from_millis(50));
        assert!(asked.elapsed() >= Duration::from_millis(50));
    }
}
