//! How long a session may be idle because its client has said so: `SET wait_timeout`, which servers
//! go by, and which counts as well while the session has no connection to one.

use std::time::Duration;

use super::Control;

/// A limit of the session's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnLimit {
    seconds: u32,
    /// The client hears error 4031 when it is over, as from MySQL. MariaDB says nothing.
    is_told: bool,
}

impl Control {
    /// The client may be idle for so many seconds; nothing ends its own limit.
    pub fn set_own_limit(&self, seconds: Option<u32>, is_told: bool) {
        self.own_limit.set(seconds.map(|seconds| OwnLimit { seconds, is_told }));
    }

    /// Whether the client has said how long it may be idle.
    pub const fn has_own_limit(&self) -> bool {
        self.own_limit.get().is_some()
    }

    /// How long the client may be idle, if it has said so.
    pub fn own_limit(&self) -> Option<Duration> {
        self.own_limit.get().map(|own| Duration::from_secs(own.seconds.into()))
    }

    /// Whether the client is told why its session ends when it was idle for too long.
    pub fn tells_timeout(&self) -> bool {
        self.own_limit.get().is_some_and(|own| own.is_told)
    }
}
