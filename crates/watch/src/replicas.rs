//! The statements that ask a server who it is and which replicas follow it, and what the answers
//! mean.

use std::collections::BTreeSet;
use std::net::IpAddr;

use config::Endpoint;
use monitor::{Follower, ReplicaWord, Word};

use crate::question::Rows;

/// Asks a server who it is.
pub(crate) const WHO: &str = "SELECT @@global.server_id id";

/// How servers are asked for the replicas that have registered: MariaDB and MySQL before 8.4; MySQL
/// since 8.0.22.
pub(crate) const REPLICAS: [&str; 2] = ["SHOW SLAVE HOSTS", "SHOW REPLICAS"];

/// Asks a server from where replicas have connected: what they do not say themselves where
/// `report_host` is not set.
pub(crate) const THREADS: &str =
    "SELECT HOST host FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";

/// The port of a replica that does not say which.
const PORT: u16 = 3306;

/// The most hosts where a replica is looked for that does not say where it is.
const HOSTS_MAX: usize = 64;

/// Whether at least one of these replicas does not report its host.
pub(crate) fn is_any_host_missing(replicas: &Rows) -> bool {
    (0..replicas.len()).any(|at| host(replicas, at).is_none())
}

/// Whether neither a replica nor a thread gives a host. A registered replica is connected, so the
/// monitor's account may not see the threads of others.
pub(crate) fn are_all_hosts_missing(replicas: &Rows, threads: &Rows) -> bool {
    (0..replicas.len()).all(|at| host(replicas, at).is_none()) && origins(threads).is_empty()
}

fn host(replicas: &Rows, at: usize) -> Option<String> {
    replicas.text(at, "Host").filter(|host| !host.is_empty())
}

/// What the answers of a server together say, with `threads` if it was asked for those; `None` if
/// they make no sense.
pub(crate) fn read(
    server: &Endpoint,
    who: &Rows,
    follows: Option<bool>,
    replicas: &Rows,
    threads: Option<&Rows>,
) -> Option<Word<Endpoint>> {
    let id = who.text(0, "id")?.parse().ok()?;
    let own = match server {
        Endpoint::Tcp { host, .. } => Some(&**host),
        Endpoint::Unix(_) => None,
    };
    let connected = threads.map(origins).unwrap_or_default();
    let follower = |at: usize| {
        let id = replicas.text(at, "Server_id")?.parse().ok()?;
        let port = replicas.text(at, "Port").and_then(|port| port.parse().ok()).filter(|port| *port > 0);
        let hosts = match host(replicas, at) {
            Some(host) => vec![host],
            // It is one of those who have connected; which one, they say themselves.
            None => connected.iter().take(HOSTS_MAX).cloned().collect(),
        };
        let endpoint =
            |host: String| Endpoint::Tcp { host: seen_from_here(host, own), port: port.unwrap_or(PORT) };
        Some(Follower { id, servers: hosts.into_iter().map(endpoint).collect() })
    };
    let followers = (0..replicas.len()).map(follower).collect::<Option<_>>()?;
    Some(Word::Replicas(ReplicaWord { id, follows, followers }))
}

/// The hosts that threads are connected from.
fn origins(threads: &Rows) -> BTreeSet<String> {
    (0..threads.len()).filter_map(|at| origin(threads, at)).collect()
}

/// The host that a thread is connected from: the server says `host:port`.
fn origin(threads: &Rows, at: usize) -> Option<String> {
    let host = threads.text(at, "host")?;
    let host = host.rsplit_once(':').map_or(&*host, |(host, _)| host);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some(host.to_owned()).filter(|host| !host.is_empty())
}

/// A host as the server at `own` calls it: on the same machine, it calls it by names that mean
/// another machine here.
fn seen_from_here(host: String, own: Option<&str>) -> String {
    let is_loopback = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    match own {
        Some(own) if is_loopback => own.to_owned(),
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    fn tcp(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp { host: host.to_owned(), port }
    }

    fn said(
        own: &Endpoint,
        replicas: &[&[Option<&str>]],
        threads: &[&[Option<&str>]],
    ) -> Option<Vec<Follower<Endpoint>>> {
        let who = answer(&["id"], &[&[Some("1")]])?;
        let replicas = answer(&["Server_id", "Host", "Port", "Master_id"], replicas)?;
        let threads = answer(&["host"], threads)?;
        let threads = is_any_host_missing(&replicas).then_some(&threads);
        match read(own, &who, Some(true), &replicas, threads)? {
            Word::Replicas(ReplicaWord { id: 1, follows: Some(true), followers }) => Some(followers),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn replicas_say_where_they_are() {
        let rows: [&[Option<&str>]; 2] = [
            &[Some("2"), Some("db2"), Some("3307"), Some("1")],
            &[Some("3"), Some("db3"), Some("0"), Some("1")],
        ];
        let followers = said(&tcp("db1", 3306), &rows, &[&[Some("10.0.0.9:4000")]]).unwrap();
        assert_eq!(followers[0], Follower { id: 2, servers: vec![tcp("db2", 3307)] });
        assert_eq!(followers[1], Follower { id: 3, servers: vec![tcp("db3", 3306)] });
        assert_eq!(said(&tcp("db1", 3306), &[], &[]), Some(vec![]));
        let broken: [&[Option<&str>]; 1] = [&[Some("x"), Some("db2"), Some("3307"), Some("1")]];
        assert_eq!(said(&tcp("db1", 3306), &broken, &[]), None);
    }

    #[test]
    fn a_replica_without_a_host_may_be_at_any_origin_of_a_thread() {
        let rows: [&[Option<&str>]; 1] = [&[Some("2"), Some(""), Some("3307"), Some("1")]];
        let threads: [&[Option<&str>]; 4] = [
            &[Some("10.0.0.8:4000")],
            &[Some("db9:4001")],
            &[Some("10.0.0.8:4002")],
            &[Some("fd00::1:5000")],
        ];
        let servers = vec![tcp("10.0.0.8", 3307), tcp("db9", 3307), tcp("fd00::1", 3307)];
        let expected = vec![Follower { id: 2, servers }];
        assert_eq!(said(&tcp("db1", 3306), &rows, &threads), Some(expected));
    }

    #[test]
    fn an_account_that_may_not_see_threads_is_reported() {
        let rows =
            |host| answer(&["Server_id", "Host", "Port"], &[&[Some("2"), host, Some("3307")]]).unwrap();
        let threads = |rows: &[&[Option<&str>]]| answer(&["host"], rows).unwrap();
        assert!(are_all_hosts_missing(&rows(Some("")), &threads(&[])));
        assert!(!are_all_hosts_missing(&rows(Some("")), &threads(&[&[Some("10.0.0.8:4000")]])));
        assert!(!are_all_hosts_missing(&rows(Some("db2")), &threads(&[])));
    }

    #[test]
    fn the_machine_of_the_primary_is_called_as_from_here() {
        for origin in ["127.0.0.1:4000", "localhost", "[::1]:4000"] {
            let rows: [&[Option<&str>]; 1] = [&[Some("2"), Some(""), Some("3307"), Some("1")]];
            let followers = said(&tcp("db1", 3306), &rows, &[&[Some(origin)]]).unwrap();
            assert_eq!(followers[0].servers, [tcp("db1", 3307)], "{origin}");
        }
    }
}
