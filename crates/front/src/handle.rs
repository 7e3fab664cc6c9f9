//! A client's task, as its worker reaches it.

use std::time::Duration;

use tokio::time::Instant;

use crate::about::About;

/// What a worker wants of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Go on.
    None,
    /// End as soon as no statement runs and no transaction is open.
    Drain,
    /// The session was killed: end as soon as no statement runs. What runs is being killed at its
    /// server.
    Kill,
    /// End now: the proxy's time to drain is over.
    Stop,
    /// End now: idle, or in a transaction, for longer than a variable allows.
    Timeout,
}

/// The handle by which a worker reaches the task of a client.
pub trait ClientHandle {
    /// The connection id that the client is told.
    fn id(&self) -> u32;

    /// What is known of the client.
    fn about(&self) -> &About;

    /// For how long the client has been there.
    fn age(&self, now: Instant) -> Duration;

    /// What the worker wants.
    fn signal(&self) -> Signal;

    /// Whether the client has said goodbye.
    fn has_quit(&self) -> bool;

    /// Bytes are copied without a look at them. With `quiet`, it is the client's turn since then,
    /// and it has as long as an idle one.
    fn set_tunnel(&self, quiet: Option<Instant>);

    /// Runs `work` until it is done, a signal of at least `least` arrives, or the client is killed.
    fn until<T>(
        &self,
        least: Signal,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Signal>>;
}
