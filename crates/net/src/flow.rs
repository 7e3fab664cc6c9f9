//! Bytes that sockets have moved.

use std::cell::Cell;

/// Bytes in both directions, from the proxy's point of view.
#[derive(Debug, Default)]
pub struct Flow {
    /// Bytes read.
    pub received: Cell<u64>,
    /// Bytes written.
    pub sent: Cell<u64>,
}

impl Flow {
    /// Adds bytes that were read.
    pub fn add_received(&self, bytes: usize) {
        self.received.set(self.received.get() + bytes as u64);
    }

    /// Adds bytes that were written.
    pub fn add_sent(&self, bytes: usize) {
        self.sent.set(self.sent.get() + bytes as u64);
    }

    /// Adds what another socket has moved.
    pub fn add(&self, other: &Self) {
        self.received.set(self.received.get() + other.received.get());
        self.sent.set(self.sent.get() + other.sent.get());
    }
}
