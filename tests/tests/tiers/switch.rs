//! The inner proxy goes to another server: the outer one must not go on with what the first server
//! says of its log.

use e2e::{Backend, Proxy, Setup, admin, run};
use testkit::server::PASSWORD;

use super::{Mode, OPTIONS, USER, connect, inner, mysql, outer, prepared, sum, value, warm};

const SQL: &str = "SELECT a FROM kept WHERE id = 1";

/// Another server like this one.
fn another(server: &Backend) -> Backend {
    if server.is_mysql() { mysql().unwrap() } else { prepared(Backend::start(&OPTIONS)) }
}

/// Has the inner proxy load other servers.
async fn load_servers(inner: &Proxy, change: &str) {
    let mut operator = admin::connect(inner).await;
    for statement in [change, "LOAD MYSQL SERVERS TO RUNTIME"] {
        operator.query(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

pub(super) fn c20_the_log_of_another_server_is_not_gone_on_with(server: &Backend) {
    let (first, second) = (another(server), another(server));
    first.sql("UPDATE test.kept SET a = 10");
    second.sql("UPDATE test.kept SET a = 20");
    let inner = inner(&first, Mode::None);
    let outer = outer(&first, inner.tcp().port(), Mode::Strict);
    run(async {
        let (mut far, mut operator) = (connect(&outer).await, admin::connect(&outer).await);
        warm(&mut operator, &mut far, SQL).await;
        let (first, second) = (first.server.port(), second.server.port());
        let moves = [
            format!("UPDATE mysql_servers SET port = {second}"),
            format!(
                "UPDATE mysql_servers SET status = 'OFFLINE_SOFT'; INSERT INTO mysql_servers (hostname, port) VALUES ('127.0.0.1', {first})"
            ),
        ];
        for (change, expected) in moves.iter().zip(["20", "10"]) {
            for change in change.split("; ") {
                load_servers(&inner, change).await;
            }
            assert_eq!(value(&mut far, SQL).await, expected, "{change}");
            warm(&mut operator, &mut far, SQL).await;
        }
        let flushes = admin::value(&mut operator, "SELECT flushes FROM stats_pointsman_sources").await;
        assert_eq!(flushes, "3", "following begins anew at each server");
    });
    first.sql("UPDATE test.kept SET a = 11");
    run(async {
        let mut far = connect(&outer).await;
        assert_eq!(value(&mut far, SQL).await, "11");
    });
}

pub(super) fn an_inner_proxy_with_several_servers_is_not_followed(server: &Backend) {
    let more = another(server);
    let inner = inner(server, Mode::None);
    let outer = outer(server, inner.tcp().port(), Mode::Strict);
    run(async {
        let (mut far, mut operator) = (connect(&outer).await, admin::connect(&outer).await);
        warm(&mut operator, &mut far, SQL).await;
        let port = more.server.port();
        let add = format!("INSERT INTO mysql_servers (hostname, port) VALUES ('127.0.0.1', {port})");
        load_servers(&inner, &add).await;
        let hits = sum(&mut operator, "hits").await;
        value(&mut far, SQL).await;
        outer.wait_for_log("is not the only one that gets the reads");
        for _ in 0..20 {
            value(&mut far, SQL).await;
        }
        assert_eq!(sum(&mut operator, "hits").await, hits, "either server may have answered");
    });
}

/// An inner proxy that sends some statements to a reader is not followed, and tells why.
fn is_not_followed(server: &Backend, split: impl FnOnce(Setup) -> Setup, why: &str) {
    let reader = another(server);
    let inner = Setup::new(&server.sandbox)
        .server(&server.server, "hostgroup_id = 0")
        .server(&reader.server, "hostgroup_id = 1")
        .user(USER, PASSWORD, "")
        .user("watch", PASSWORD, "");
    let inner = split(inner).start();
    let outer = outer(server, inner.tcp().port(), Mode::Strict);
    run(async {
        let (mut far, mut operator) = (connect(&outer).await, admin::connect(&outer).await);
        // It is to be followed from the first such query on.
        value(&mut far, SQL).await;
        outer.wait_for_log(why);
        assert_eq!(admin::value(&mut operator, "SELECT followed FROM stats_pointsman_sources").await, "0");
    });
}

pub(super) fn an_inner_proxy_that_splits_is_not_followed(server: &Backend) {
    is_not_followed(
        server,
        |inner| {
            inner
                .variable("read_write_split", true)
                .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
        },
        "is not the only one that gets the reads",
    );
}

pub(super) fn an_inner_proxy_with_a_rule_for_probes_is_not_followed(server: &Backend) {
    let rule =
        "rule_id = 1\nactive = true\nmatch_digest = \"^SELECT\"\ndestination_hostgroup = 1\napply = true";
    is_not_followed(
        server,
        |inner| inner.row("mysql_query_rules", rule),
        "connection is locked to hostgroup 0",
    );
}
