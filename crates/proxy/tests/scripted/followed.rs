//! Sessions of a proxy in front that follows a server's binary log through this one, and what
//! follows from that for its other sessions.

use config::{Config, Listener, Role, Server, ServerStatus};
use testkit::client::Options;
use wire::command::Kind;

use super::support::{
    CAPACITY, Client, Database, config, database, expect_alive, first_query, log_in_as, options,
    pair_of_servers, play, run, stage,
};

/// A proxy in front.
fn proxy() -> Options {
    options().attributes(&[("_pointsman_cache", "2")])
}

/// The session calls itself a replica.
async fn register(client: &mut Client, server: &mut Database, is_taken: bool) {
    client.send_command(Kind::RegisterReplica, b"\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0").await;
    server.expect_command(Kind::RegisterReplica, b"\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0").await;
    if is_taken {
        server.ok().await;
        client.expect_ok().await;
    } else {
        server.err(1045, "28000", "no").await;
        client.expect_err(1045).await;
    }
}

/// A server in each of two hostgroups, and whether they are taken away for others.
fn two_hostgroups(are_moved: bool) -> Config {
    let mut config = config();
    let status = if are_moved { ServerStatus::OfflineSoft } else { ServerStatus::Online };
    let server = |host: &str, hostgroup_id: u32| Server { hostgroup_id, ..database(host) };
    config.servers = vec![Server { status, ..server("db", 0) }, Server { status, ..server("one", 1) }].into();
    if are_moved {
        config.servers.push(server("other", 0));
        config.servers.push(server("another", 1));
    }
    config
}

#[test]
fn sessions_leave_a_server_of_a_followed_hostgroup_alone() {
    for (is_taken, hostgroup, stays) in [(true, 0, false), (true, 1, true), (false, 0, true)] {
        play(async || {
            let (stage, mut servers) = stage(two_hostgroups(false));
            let mut bound = log_in_as(&stage, &proxy()).await;
            let lock = format!("/* hostgroup={hostgroup} */ SELECT GET_LOCK('a', 1)");
            bound.send_query(&lock).await;
            let mut its_server = servers.accept().await;
            its_server.expect_query(&lock).await;
            its_server.ok().await;
            bound.expect_ok().await;
            let mut follower = log_in_as(&stage, &proxy()).await;
            let mut server = first_query(&mut follower, &mut servers).await;
            register(&mut follower, &mut server, is_taken).await;
            run(&mut follower, &mut server, "DO 1").await;
            stage.apply(two_hostgroups(true)).unwrap();
            let sql = format!("/* hostgroup={hostgroup} */ DO 2");
            if stays {
                run(&mut bound, &mut its_server, &sql).await;
            } else {
                bound.send_query(&sql).await;
                bound.expect_err(1053).await;
            }
        });
    }
}

#[test]
fn a_split_that_the_listener_rules_out_ends_no_session() {
    let of_role = |role, hostgroup| Listener { role, hostgroup, ..Listener::default() };
    for (listener, is_split) in [
        (Listener::default(), true),
        (of_role(Role::ReadWrite, None), false),
        (of_role(Role::ReadOnly, Some(1)), false),
    ] {
        play(async || {
            let (stage, mut servers) = stage(pair_of_servers());
            let end = stage.client_of(&listener, CAPACITY).expect("room for a client");
            let mut client = Client::connect(end, &proxy()).await;
            let mut server = first_query(&mut client, &mut servers).await;
            register(&mut client, &mut server, true).await;
            if is_split {
                client.send_query("DO 1").await;
                client.expect_err(1053).await;
            } else {
                expect_alive(&mut client, &mut server).await;
            }
        });
    }
}
