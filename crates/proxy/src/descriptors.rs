//! Descriptors of the process: how many a configuration may need, and how many are in use.
//!
//! The kernel gives a new descriptor the lowest free number, so the number of the newest one tells
//! how many are in use, and nothing has to be counted.

use std::fmt::Display;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::{Mutex, PoisonError};

use config::Config;
use rustix::process::{Resource, getrlimit};
use socket2::{Domain, Socket, Type};
use tokio::time::Instant;

use crate::error::TooFew;
use crate::limits::{
    DESCRIPTORS_FOR_SERVERS_SHARE, DESCRIPTORS_OF_THREAD, DESCRIPTORS_RESERVED, KILLS_MAX,
    MONITOR_CONNECTIONS_MAX,
};
use crate::log_limit::LogLimit;

/// `EMFILE`: the process has as many descriptors as it may have.
const TOO_MANY: i32 = 24;

/// What a descriptor is for, which decides how many others stay free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
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
    pub(crate) fn check(self, fresh: RawFd) -> Result<(), TooFew> {
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
pub(crate) fn lacking(error: &io::Error) -> Option<TooFew> {
    (error.raw_os_error() == Some(TOO_MANY)).then(|| TooFew { limit: limit() })
}

/// Descriptors that the process may have now. An operator may change it while the process runs.
fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// What all listeners log of clients that they could not take: one line in a while.
#[derive(Debug, Default)]
pub(crate) struct NotAccepted(Mutex<LogLimit>);

impl NotAccepted {
    /// Logs that a client was not taken, and why.
    pub(crate) fn note(&self, address: &dyn Display, why: &dyn Display) {
        let log_limit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(hidden) = log_limit.admit(Instant::now()) else { return };
        drop(log_limit);
        let (clients, limit) = (hidden.saturating_add(1), limit());
        tracing::warn!(
            %address, %why, clients, limit,
            "clients could not be accepted; if open files are lacking, raise the limit (ulimit -n, LimitNOFILE of systemd), \
             or lower mysql-max_connections"
        );
    }
}

/// Why the process may have too few descriptors for `config`; `None` if there are enough.
pub fn too_few_descriptors(config: &Config) -> Option<String> {
    warning(config, limit())
}

fn warning(config: &Config, limit: u64) -> Option<String> {
    let clients = u64::from(config.variables.max_connections);
    let servers: u64 = config.servers.iter().map(|server| u64::from(server.max_connections)).sum();
    let checks = config.servers.len().saturating_mul(MONITOR_CONNECTIONS_MAX + 1);
    let monitor = if config.monitor.enabled { checks as u64 } else { 0 };
    let threads = u64::from(config.variables.threads) * (DESCRIPTORS_OF_THREAD + KILLS_MAX as u64);
    let rest = threads + config.listeners.len() as u64;
    let needed = clients + servers + monitor + DESCRIPTORS_RESERVED + rest;
    (needed > limit).then(|| {
        format!(
            "the process may have {limit} open files, and this configuration may need {needed}: {clients} for clients \
             (mysql-max_connections), {servers} for servers (max_connections of mysql_servers), {monitor} for the monitor, \
             {DESCRIPTORS_RESERVED} reserved for the admin port, {rest} for the rest; raise the limit (ulimit -n, LimitNOFILE of systemd), or lower these: without, clients get \
             error 1040"
        )
    })
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

    #[test]
    fn a_configuration_that_needs_more_is_told_with_the_numbers() {
        let text = "[[listeners]]\naddress = \"127.0.0.1:0\"\n[mysql_variables]\nmax_connections = 100\nthreads = 2\n\
                    [[mysql_servers]]\nhostname = \"a\"\nmax_connections = 20\n[[mysql_servers]]\nhostname = \"b\"\n\
                    max_connections = 30\n";
        let config = config::parse(text, "p.toml".as_ref()).unwrap().config;
        // 2 workers of 8 + 16, a listener, 16 reserved.
        let needed = 100 + 50 + 8 + 2 * 24 + 1 + 16;
        assert_eq!(warning(&config, needed), None);
        let warning = warning(&config, needed - 1).unwrap();
        for part in [
            "may have 222 open files",
            "may need 223",
            "100 for clients",
            "50 for servers",
            "8 for the monitor",
        ] {
            assert!(warning.contains(part), "{part}: {warning}");
        }
    }
}
