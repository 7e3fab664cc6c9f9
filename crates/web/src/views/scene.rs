//! What the views show: counters, rates and the configuration of one moment.

use crate::facts::Known;
use crate::rates::Rates;
use crate::reading::{Reading, ServerKey};

/// What was read at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// The counters.
    pub(crate) reading: &'a Reading,
    /// What happened since the reading before.
    pub(crate) rates: &'a Rates,
    /// The configuration.
    pub(crate) known: &'a Known,
    /// Servers that the monitor cannot log in to or reach although they are in use, and why.
    pub(crate) unwatched: &'a [(String, String)],
}

impl Scene<'_> {
    /// What the operator calls a server: the comment of its row, in this hostgroup or another.
    pub(crate) fn name(&self, (hostgroup, host, port): &ServerKey) -> String {
        let rows =
            || self.known.config.servers.iter().filter(|row| row.hostname == *host && row.port == *port);
        let own = rows().find(|row| row.hostgroup_id == *hostgroup).or_else(|| rows().next());
        own.map(|row| row.comment.clone()).unwrap_or_default()
    }

    /// What a hostgroup is for, and the other one of its pair.
    pub(crate) fn role(&self, hostgroup: u32) -> (Option<&'static str>, Option<u32>) {
        let config = &self.known.config;
        for (writer, reader) in config.pairs() {
            if hostgroup == writer {
                return (Some("writer"), Some(reader));
            }
            if hostgroup == reader {
                return (Some("reader"), Some(writer));
            }
        }
        let clusters = config.group_replication_hostgroups.iter().chain(&config.galera_hostgroups);
        for cluster in clusters.filter(|row| row.active) {
            if hostgroup == cluster.backup_writer_hostgroup {
                return (Some("backup_writer"), Some(cluster.writer_hostgroup));
            }
            if hostgroup == cluster.offline_hostgroup {
                return (Some("offline"), Some(cluster.writer_hostgroup));
            }
        }
        (None, None)
    }

    /// What the operator says of a hostgroup.
    pub(crate) fn comment(&self, hostgroup: u32) -> &str {
        let config = &self.known.config;
        let own = config.hostgroup_attributes.iter().find(|row| row.hostgroup_id == hostgroup);
        let own = own.map(|row| row.comment.as_str()).filter(|comment| !comment.is_empty());
        let pair = config
            .replication_hostgroups
            .iter()
            .find(|row| row.writer_hostgroup == hostgroup || row.reader_hostgroup == hostgroup);
        own.or(pair.map(|row| row.comment.as_str())).unwrap_or_default()
    }
}
