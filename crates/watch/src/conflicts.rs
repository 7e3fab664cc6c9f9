//! Pairs of which several servers can be written to: when the monitor looks for them, and what is
//! logged.

use std::fmt::Write as _;

use config::Endpoint;
use monitor::{Check, Conflict, Monitor};

use crate::records::Records;

/// What the monitor knows of such pairs.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    known: monitor::Conflicts<Endpoint>,
    /// Whether the writers may be others than those that are known.
    is_stale: bool,
}

impl Conflicts {
    /// The writers may be others now.
    pub(crate) const fn doubt(&mut self) {
        self.is_stale = true;
    }

    /// Looks for conflicts after a check of a server.
    pub(crate) fn follow(
        &mut self,
        monitor: &Monitor<Endpoint>,
        records: &Records,
        server: &Endpoint,
        check: Check,
    ) {
        let mut conflicts = Vec::new();
        if self.is_stale {
            self.is_stale = false;
            conflicts.append(&mut self.known.note(&monitor.writers(), Some(server)));
        }
        if check == Check::ReadOnly && monitor.read_only(server) == Some(false) {
            conflicts.append(&mut self.known.hear(server));
        }
        for conflict in conflicts {
            tell(records, server, conflict);
        }
    }
}

fn tell(records: &Records, asked: &Endpoint, Conflict { hostgroup, writers, begins }: Conflict<Endpoint>) {
    let mut servers = String::new();
    for (at, server) in writers.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(servers, "{}{server}", if at == 0 { "" } else { ", " });
    }
    let cause = format!("servers with read_only=0: {}", if servers.is_empty() { "none" } else { &servers });
    let event = if begins {
        tracing::warn!(
            hostgroup,
            servers,
            "several servers of a replication pair can be written to, and get writes: set read_only at all but one"
        );
        "SEVERAL_WRITERS"
    } else {
        tracing::info!(hostgroup, servers, "no more than one server of a replication pair can be written to");
        "SEVERAL_WRITERS_OVER"
    };
    records.note_event(hostgroup, asked, event, cause);
}
