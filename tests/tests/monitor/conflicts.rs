//! A pair of which both servers can be written to.

use e2e::{Backend, Proxy, Setup, run};
use testkit::server::{PASSWORD, USER};

use super::{admin, value, wait_for_value};

const BEGUN: &str = "SELECT count(*) FROM stats_pointsman_server_events WHERE event = 'SEVERAL_WRITERS'";
const OVER: &str = "SELECT count(*) FROM stats_pointsman_server_events WHERE event = 'SEVERAL_WRITERS_OVER'";
const LINE: &str = "several servers of a replication pair can be written to";

fn watched(primary: &Backend, replica: &Backend) -> Proxy {
    Setup::new(&primary.sandbox)
        .monitor(USER, PASSWORD)
        .user(USER, PASSWORD, "")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .server(&primary.server, "")
        .server(&replica.server, "hostgroup_id = 1")
        .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        .variable("monitor_read_only_interval", 100)
        .start()
}

fn is_told_once(primary: &Backend, replica: &Backend) {
    replica.sql("SET GLOBAL read_only = ON");
    let proxy = watched(primary, replica);
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, "SELECT COUNT(*) > 1 FROM monitor.mysql_server_read_only_log", "1").await;
        assert_eq!(value(&mut admin, BEGUN).await, "0");
        replica.sql("SET GLOBAL read_only = OFF");
        wait_for_value(&mut admin, BEGUN, "1").await;
        replica.sql("SET GLOBAL read_only = ON");
        wait_for_value(&mut admin, OVER, "1").await;
        assert_eq!(value(&mut admin, BEGUN).await, "1");
    });
    let lines: Vec<String> = proxy.log().into_iter().filter(|line| line.contains(LINE)).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let names = [primary, replica].map(|backend| format!("127.0.0.1:{}", backend.server.port()));
    assert!(names.iter().all(|name| lines[0].contains(name)), "{lines:?}");
}

#[test]
fn two_writable_mariadb_servers_are_told_once() {
    is_told_once(&Backend::start(&[]), &Backend::start(&[]));
}

#[test]
fn two_writable_mysql_servers_are_told_once() {
    let (Some(primary), Some(replica)) = (Backend::start_mysql(&[]), Backend::start_mysql(&[])) else {
        return eprintln!("skipped: two_writable_mysql_servers_are_told_once needs MySQL 9.7");
    };
    is_told_once(&primary, &replica);
}
