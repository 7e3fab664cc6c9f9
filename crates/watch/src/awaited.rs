//! Hostgroups that the monitor may give a server at any moment: who wants one there waits.

use std::collections::HashSet;

use config::{Config, Server, ServerStatus};

/// The hostgroups of the writers and readers of pairs and clusters, but of those all of whose
/// servers the operator has taken out of use: no check brings one of these back.
pub(crate) fn awaited(config: &Config, discovered: &[Server]) -> HashSet<u32> {
    let servers = || config.servers.iter().chain(discovered);
    let in_use: HashSet<u32> = servers()
        .filter(|server| server.status == ServerStatus::Online)
        .map(|server| server.hostgroup_id)
        .collect();
    let clusters: Vec<Vec<u32>> = config.clusters().collect();
    let may_move = |(writer, reader): &(u32, u32)| {
        let all = clusters.iter().find(|hostgroups| hostgroups.contains(writer));
        all.map_or(&[*writer, *reader][..], Vec::as_slice).iter().any(|id| in_use.contains(id))
    };
    config.pairs().filter(may_move).flat_map(|(writer, reader)| [writer, reader]).collect()
}

#[cfg(test)]
mod tests {
    use config::{ClusterHostgroups, ReplicationHostgroups};

    use super::*;

    fn server(hostgroup_id: u32, status: ServerStatus) -> Server {
        Server { hostgroup_id, status, ..Server::default() }
    }

    #[test]
    fn a_pair_is_awaited_as_long_as_one_of_its_servers_is_in_use() {
        use ServerStatus::{OfflineHard, OfflineSoft, Online};
        let pair = |writer_hostgroup, reader_hostgroup| ReplicationHostgroups {
            writer_hostgroup,
            reader_hostgroup,
            ..ReplicationHostgroups::default()
        };
        let config = Config {
            replication_hostgroups: vec![pair(0, 1), pair(2, 3), pair(4, 5)],
            servers: vec![
                server(0, OfflineSoft),
                server(1, OfflineHard),
                server(2, OfflineSoft),
                server(3, Online),
                server(9, Online),
            ]
            .into(),
            ..Config::default()
        };
        assert_eq!(awaited(&config, &[]), HashSet::from([2, 3]));
        assert_eq!(awaited(&config, &[server(5, Online)]), HashSet::from([2, 3, 4, 5]));
    }

    #[test]
    fn a_cluster_is_awaited_for_servers_in_any_of_its_hostgroups() {
        let cluster = ClusterHostgroups {
            writer_hostgroup: 0,
            backup_writer_hostgroup: 1,
            reader_hostgroup: 2,
            offline_hostgroup: 3,
            active: true,
            ..ClusterHostgroups::default()
        };
        let servers = vec![server(3, ServerStatus::Online)];
        let mut config =
            Config { galera_hostgroups: vec![cluster], servers: servers.into(), ..Config::default() };
        assert_eq!(awaited(&config, &[]), HashSet::from([0, 2]));
        config.servers[0].status = ServerStatus::Shunned;
        assert_eq!(awaited(&config, &[]), HashSet::new());
    }
}
