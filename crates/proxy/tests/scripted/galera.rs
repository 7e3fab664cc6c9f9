//! Nodes that say that they are a Galera cluster, one of which loses the others.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use config::{ClusterHostgroups, Config};
use proxy::memory::End;
use proxy::stage::Stage;
use tokio::time::sleep;
use wire::command::Kind;

use super::support::{config as usual, database, lets_in, log_in, ms, play, watched};

/// Longer than the tests: whatever the monitor does, it was asked to.
const LONG: Duration = Duration::from_hours(1);

/// A cluster of `a` and `b`, of which `b` writes.
#[derive(Default)]
struct World {
    /// A node that is not in the primary component, and refuses everything.
    lost: RefCell<&'static str>,
    /// What clients have said, and to whom.
    said: RefCell<Vec<(String, String)>>,
}

impl World {
    fn new() -> (Rc<Self>, Stage) {
        let mut config = Config { servers: vec![database("a"), database("b")].into(), ..usual() };
        config.galera_hostgroups = vec![ClusterHostgroups {
            writer_hostgroup: 0,
            backup_writer_hostgroup: 1,
            reader_hostgroup: 2,
            offline_hostgroup: 3,
            ..ClusterHostgroups::default()
        }];
        config.monitor.enabled = true;
        config.monitor.galera_interval = LONG;
        let world = Rc::new(Self::default());
        let stage = watched(config, &world, |_, _| None, converse);
        (world, stage)
    }
}

async fn converse(world: Rc<World>, name: String, end: End) {
    let mut server = lets_in(end).await;
    while let Some(command) = server.next_command().await {
        let text = String::from_utf8_lossy(command.get(1..).unwrap_or_default()).into_owned();
        let is_lost = *world.lost.borrow() == name;
        let columns = ["Variable_name", "Value"];
        if command.first() != Some(&(Kind::Query as u8)) {
            server.ok().await;
        } else if text.starts_with("SHOW GLOBAL STATUS") {
            let component = if is_lost { "non-Primary" } else { "Primary" };
            let rows: [&[Option<&str>]; 3] = [
                &[Some("wsrep_cluster_status"), Some(component)],
                &[Some("wsrep_local_state"), Some("4")],
                &[Some("wsrep_local_recv_queue"), Some("0")],
            ];
            server.rows(&columns, &rows).await;
        } else if text.starts_with("SHOW GLOBAL VARIABLES") {
            server.rows(&columns, &[&[Some("read_only"), Some("OFF")]]).await;
        } else if is_lost {
            server.err(1047, "08S01", "WSREP has not yet prepared node for application use").await;
        } else {
            world.said.borrow_mut().push((name.clone(), text));
            server.ok().await;
        }
    }
}

#[test]
fn c13_what_a_node_without_its_cluster_refuses_is_said_to_the_next() {
    play(async || {
        let (world, stage) = World::new();
        sleep(ms(1_000)).await;
        let mut client = log_in(&stage).await;
        for (sql, lost) in [("INSERT 1", ""), ("INSERT 2", "b:3306")] {
            world.lost.replace(lost);
            client.send_query(sql).await;
            client.expect_ok().await;
        }
        let said = world.said.borrow().clone();
        let to = |sql: &str| {
            said.iter().filter(|(_, text)| text == sql).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!((to("INSERT 1"), to("INSERT 2")), (vec!["b:3306"], vec!["a:3306"]));
    });
}
