//! MySQL Group Replication.

use e2e::admin::{connect as admin, value, wait_for_value};
use e2e::run;
use testkit::guard::Sandbox;
use testkit::mysql::{Group, find_or_skip};
use testkit::server::PASSWORD;

use super::{ROWS, WATCHER, ports, ports_in, proxy, read, rows, write};

const TABLE: &str = "mysql_group_replication_hostgroups";

#[test]
fn c13_writes_go_on_at_the_primary_that_the_group_elects() {
    let Some(mysql) = find_or_skip().unwrap() else { return };
    let sandbox = Sandbox::new().unwrap();
    let mut group = Group::start(&mysql, &sandbox, 3, &[]).unwrap();
    let primary = &group.members[0];
    primary
        .sql(&format!(
            "CREATE TABLE test.t (id INT PRIMARY KEY); CREATE USER {WATCHER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT SELECT ON performance_schema.replication_group_members TO {WATCHER}@'127.0.0.1'; \
             GRANT SELECT ON performance_schema.replication_group_member_stats TO {WATCHER}@'127.0.0.1'"
        ))
        .unwrap();
    // It is told of one member only, the one that will die.
    let interval = [("monitor_groupreplication_healthcheck_interval", 200)];
    let proxy = proxy(&sandbox, &[primary], TABLE, "", &interval);
    run(async {
        let mut admin = admin(&proxy).await;
        wait_for_value(&mut admin, &ports_in(0), &ports(&group.members[..1])).await;
        wait_for_value(&mut admin, &ports_in(2), &ports(&group.members[1..])).await;
        let shown =
            format!("SELECT count(*) FROM runtime_{TABLE} WHERE writer_hostgroup = 0 AND max_writers = 1");
        assert_eq!(value(&mut admin, &shown).await, "1");
        read(&proxy, &mut admin).await;

        let (mut written, errors) = write(&proxy, 1, ROWS).await;
        assert_eq!(errors, 0);
        group.members[0].kill().unwrap();
        let (more, _) = write(&proxy, 1_000, ROWS).await;
        written.extend(more);

        let writer = value(&mut admin, &ports_in(0)).await;
        let elected = group.members.iter().find(|member| member.port().to_string() == writer).unwrap();
        assert_eq!(elected.sql("SELECT @@global.read_only").unwrap().trim(), "0");
        let there = rows(elected);
        assert!(written.iter().all(|id| there.contains(id)), "{written:?} of {there:?}");
        wait_for_value(&mut admin, &ports_in(3), &ports(&group.members[..1])).await;
        let log = "SELECT count(*) > 0 FROM monitor.mysql_server_group_replication_log \
                   WHERE viable_candidate = 'YES' AND read_only = 'NO' AND error IS NULL AND port = ";
        assert_eq!(value(&mut admin, &format!("{log}{writer}")).await, "1");

        // It comes back, joins, and reads.
        group.members[0].restart().unwrap();
        group.members[0].sql("START GROUP_REPLICATION").unwrap();
        let readers: Vec<_> =
            group.members.iter().filter(|member| member.port().to_string() != writer).collect();
        wait_for_value(&mut admin, &ports_in(2), &ports(readers)).await;
        assert_eq!(value(&mut admin, &ports_in(0)).await, writer);
    });
}
