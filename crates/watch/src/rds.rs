//! The statement that asks a server of RDS for the others of its Multi-AZ cluster, and what the
//! answer means.

use config::Endpoint;
use monitor::{Follower, ReplicaWord, Word};

use crate::question::Rows;

/// Asks for all servers of the cluster; `id` is the `server_id` of each.
pub(crate) const QUESTION: &str = "SELECT id, endpoint, port FROM mysql.rds_topology";

/// `ER_NO_SUCH_TABLE`: what servers say that have nothing to do with RDS.
pub(crate) const NO_SUCH_TABLE: u16 = 1146;

/// What the names of the servers of a cluster contain, each something else. There are so many of
/// them.
const MARKS: [&str; 3] = ["-instance-1", "-instance-2", "-instance-3"];

/// What the answers of a server together say, `None` in place of the second if it has no such
/// table; `None` if they make no sense. A table that does not describe a whole cluster counts as
/// none: it is used for other things as well, such as deployments that replace one cluster by
/// another.
pub(crate) fn read(who: &Rows, topology: Option<&Rows>) -> Option<Word<Endpoint>> {
    let id = who.text(0, "id")?.parse().ok()?;
    let followers = topology.and_then(cluster).unwrap_or_default();
    Some(Word::Replicas(ReplicaWord { id, follows: None, followers }))
}

/// The servers of a cluster; `None` if these are not all servers of one.
fn cluster(rows: &Rows) -> Option<Vec<Follower<Endpoint>>> {
    let has = |mark: &str| {
        (0..rows.len()).any(|at| rows.text(at, "endpoint").is_some_and(|host| host.contains(mark)))
    };
    if rows.len() != MARKS.len() || !MARKS.into_iter().all(has) {
        return None;
    }
    (0..rows.len()).map(|at| member(rows, at)).collect()
}

fn member(rows: &Rows, at: usize) -> Option<Follower<Endpoint>> {
    let id = rows.text(at, "id")?.parse().ok()?;
    let host = rows.text(at, "endpoint")?;
    let port = rows.text(at, "port")?.parse().ok().filter(|port| *port > 0)?;
    Some(Follower { id, servers: vec![Endpoint::Tcp { host, port }] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    type Row<'a> = [Option<&'a str>; 3];

    fn said(rows: &[Row<'_>]) -> Vec<(u32, String)> {
        let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| &row[..]).collect();
        let topology = answer(&["id", "endpoint", "port"], &rows).unwrap();
        let who = answer(&["id"], &[&[Some("7")]]).unwrap();
        let Some(Word::Replicas(ReplicaWord { id: 7, follows: None, followers })) =
            read(&who, Some(&topology))
        else {
            panic!("{rows:?}")
        };
        followers.iter().map(|follower| (follower.id, follower.servers[0].to_string())).collect()
    }

    const fn row<'a>(id: &'a str, host: &'a str) -> Row<'a> {
        [Some(id), Some(host), Some("3306")]
    }

    #[test]
    fn a_server_names_all_of_its_cluster() {
        let rows = [row("7", "a-instance-1.x"), row("8", "a-instance-3.x"), row("9", "a-instance-2.x")];
        let named = [(7, "a-instance-1.x:3306"), (8, "a-instance-3.x:3306"), (9, "a-instance-2.x:3306")];
        assert_eq!(said(&rows), named.map(|(id, server)| (id, server.to_owned())));
    }

    #[test]
    fn an_incomplete_cluster_names_no_servers() {
        let [a, b, c] = [row("7", "a-instance-1"), row("8", "a-instance-2"), row("9", "a-instance-3")];
        for rows in [
            &[] as &[Row<'_>],
            &[a, b],
            &[a, b, a],
            &[a, b, row("9", "a-green-3")],
            &[a, b, c, row("10", "a-instance-4")],
            &[a, b, row("x", "a-instance-3")],
            &[a, b, [Some("9"), Some("a-instance-3"), Some("0")]],
            &[a, b, [Some("9"), Some("a-instance-3"), Some("99999")]],
            &[a, b, [Some("9"), None, Some("3306")]],
        ] {
            assert_eq!(said(rows), [], "{rows:?}");
        }
    }

    #[test]
    fn a_server_without_the_table_says_who_it_is() {
        let who = answer(&["id"], &[&[Some("7")]]).unwrap();
        let word = ReplicaWord { id: 7, follows: None, followers: Vec::new() };
        assert_eq!(read(&who, None), Some(Word::Replicas(word)));
        assert_eq!(read(&answer(&["id"], &[]).unwrap(), None), None);
    }
}
