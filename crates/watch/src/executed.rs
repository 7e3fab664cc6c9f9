//! What servers have executed, as the readers of their binary logs say (`gtid_port`), for sessions
//! that must not read anything older.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Mutex;

use config::Endpoint;
use gtid::mysql::Gtid;
use monitor::{Feed, FeedError, Line};
use net::lock;
use observe::counts::report::address;
use observe::rows::GtidStats;

/// What is known of all servers that have a reader.
#[derive(Debug, Default)]
pub struct Executed {
    readers: Mutex<HashMap<Endpoint, Reader>>,
}

/// What one reader has said.
#[derive(Debug, Clone, Default)]
struct Reader {
    feed: Feed,
    /// The machine that it runs on; `None` where it is no TCP connection. A server's name may be
    /// that of several.
    machine: Option<IpAddr>,
}

impl Executed {
    /// Only these servers have readers from now on.
    pub(crate) fn keep(&self, servers: &HashSet<Endpoint>) {
        lock(&self.readers).retain(|server, _| servers.contains(server));
    }

    /// A server's reader begins anew, on this machine: what the one before has said may not hold
    /// any more, as the server may be another one.
    pub(crate) fn begin(&self, server: &Endpoint, machine: Option<IpAddr>) {
        lock(&self.readers).insert(server.clone(), Reader { feed: Feed::default(), machine });
    }

    /// Hears lines of a server's reader.
    ///
    /// # Errors
    ///
    /// One of them makes no sense; those before it count.
    pub(crate) fn hear(&self, server: &Endpoint, lines: Vec<Line>) -> Result<(), FeedError> {
        match lock(&self.readers).get_mut(server) {
            Some(reader) => lines.into_iter().try_for_each(|line| reader.feed.hear(line)),
            None => Ok(()),
        }
    }

    /// Whether a server is known to have executed a transaction, if its name is that of the machine
    /// where its reader runs.
    pub fn has(&self, server: &Endpoint, gtid: &Gtid) -> bool {
        lock(&self.readers).get(server).is_some_and(|reader| reader.has(gtid))
    }

    /// Whether the server at the other end of a connection to `machine` is known to have executed a
    /// transaction.
    pub fn has_at(&self, server: &Endpoint, machine: Option<IpAddr>, gtid: &Gtid) -> bool {
        lock(&self.readers).get(server).is_some_and(|reader| reader.machine == machine && reader.has(gtid))
    }

    /// The rows of `stats_mysql_gtid_executed`.
    pub fn rows(&self) -> Vec<GtidStats> {
        // Texts are made of a copy: workers ask while they are.
        let readers = lock(&self.readers).clone();
        let mut rows: Vec<_> = readers
            .iter()
            .map(|(server, Reader { feed, .. })| {
                let (host, port) = address(server);
                let executed = feed.executed().map(ToString::to_string);
                GtidStats { host, port, executed, events: feed.events() }
            })
            .collect();
        rows.sort_unstable_by(|a, b| (&a.host, a.port).cmp(&(&b.host, b.port)));
        rows
    }
}

impl Reader {
    fn has(&self, gtid: &Gtid) -> bool {
        self.feed.executed().is_some_and(|executed| executed.contains(gtid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    #[test]
    fn a_reader_speaks_for_the_machine_that_it_runs_on() {
        let server = Endpoint::Tcp { host: "replicas".to_owned(), port: 3306 };
        let gtid = format!("{UUID}:5").parse().unwrap();
        let (here, there): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let executed = Executed::default();
        assert!(!executed.has_at(&server, None, &gtid), "it has no reader");
        executed.begin(&server, Some(here));
        assert!(!executed.has_at(&server, Some(here), &gtid));
        executed.hear(&server, vec![format!("ST={UUID}:1-5").parse().unwrap()]).unwrap();
        assert!(executed.has(&server, &gtid) && executed.has_at(&server, Some(here), &gtid));
        assert!(!executed.has_at(&server, Some(there), &gtid), "another server of the same name");
        executed.begin(&server, Some(there));
        assert!(!executed.has(&server, &gtid), "it was somebody else who said it");
    }
}
