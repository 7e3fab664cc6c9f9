//! Descriptors of the process: how many are in use, and for what a new one may be opened.
//!
//! The kernel gives a new descriptor the lowest free number, so the number of the newest one tells
//! how many are in use, and nothing has to be counted.

use std::io;
use std::os::fd::{AsRawFd as _, RawFd};

use rustix::process::{Resource, getrlimit};
use session::error::TooFew;
use socket2::{Domain, Socket, Type};

use crate::limits::{DESCRIPTORS_FOR_SERVERS_SHARE, DESCRIPTORS_RESERVED};

/// `EMFILE`: the process has as many descriptors as it may have.
const TOO_MANY: i32 = 24;

/// What a descriptor is for, which decides how many others stay free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A client. Each is of use with connections to servers only.
    Client,
    /// A connection of a session to a server.
    Server,
    /// A connection of the monitor.
    Monitor,
}

impl Purpose {
    /// Descriptors that stay free, of `limit`, when one for this purpose is refused.
    const fn leaves(self, limit: u64) -> u64 {
        match self {
            Self::Client => DESCRIPTORS_RESERVED + limit / DESCRIPTORS_FOR_SERVERS_SHARE,
            Self::Server => DESCRIPTORS_RESERVED,
            Self::Monitor => DESCRIPTORS_RESERVED / 2,
        }
    }

    /// Whether the descriptor with this number may be kept.
    const fn may_have(self, number: RawFd, limit: u64) -> bool {
        number.unsigned_abs() as u64 + self.leaves(limit) < limit
    }

    /// Whether a fresh descriptor with this number may be kept for this purpose.
    pub fn check(self, fresh: RawFd) -> Result<(), TooFew> {
        let limit = limit();
        if self.may_have(fresh, limit) { Ok(()) } else { Err(TooFew { limit }) }
    }

    /// Fails with `EMFILE` if no more descriptors are to be opened for this purpose. To be asked
    /// before a connection to a server: one that is closed at once counts as an error there.
    pub(crate) fn check_before(self) -> io::Result<()> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        self.check(socket.as_raw_fd()).map_err(|_| io::Error::from_raw_os_error(TOO_MANY))
    }
}

/// The reason, if this is what the system says when a process has no descriptor left.
pub fn lacking(error: &io::Error) -> Option<TooFew> {
    (error.raw_os_error() == Some(TOO_MANY)).then(|| TooFew { limit: limit() })
}

/// Descriptors that the process may have now. An operator may change it while the process runs.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_stop_before_servers_and_these_before_the_monitor() {
        let most = |purpose: Purpose, limit| {
            (0..RawFd::MAX).find(|number| !purpose.may_have(*number, limit)).unwrap()
        };
        assert_eq!(most(Purpose::Client, 1024), 1024 - 128 - 16);
        assert_eq!(most(Purpose::Server, 1024), 1024 - 16);
        assert_eq!(most(Purpose::Monitor, 1024), 1024 - 8);
        // A limit below what is reserved.
        assert_eq!(most(Purpose::Client, 10), 0);
        assert!(Purpose::Client.may_have(RawFd::MAX, u64::MAX));
    }
}
