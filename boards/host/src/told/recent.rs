//! The latest news, for whoever asks: the web page and feed readers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::message::Message;

/// Messages that are remembered.
pub const ROOM: usize = 200;

/// The latest messages that were news, shared between who writes and who reads.
#[derive(Clone, Debug, Default)]
pub struct Recent(Arc<Mutex<VecDeque<Message>>>);

impl Recent {
    /// Remembers a message, and forgets the oldest of too many.
    pub fn put(&self, message: &Message) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= ROOM {
            kept.pop_front();
        }
        kept.push_back(message.clone());
    }

    /// What is remembered, latest first.
    pub fn latest(&self) -> Vec<Message> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().cloned().collect()
    }
}
