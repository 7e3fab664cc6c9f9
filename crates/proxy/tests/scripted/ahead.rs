//! How connections are begun: ahead of need, no faster than may be, no more than may be; and when
//! they end although nothing is wrong.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use config::{CheckLogins, Config, HostgroupAttributes, ProxyProtocol, Server, ServerOptions};
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::io::AsyncReadExt as _;
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::{config as shared, let_in, logs_in_again};
use super::support::{
    CLASSIC, Servers, begin, first_query, log_in, log_in_as, ms, options, play, run, secs, settle, stage,
};

/// Sessions share up to so many connections to the one server.
fn config(max_connections: u32) -> Config {
    let mut config = shared();
    config.servers[0].max_connections = max_connections;
    config.variables.connect_timeout_server_max = secs(10);
    // Each has its share.
    config.variables.threads = 1;
    config
}

/// The same with a row about the hostgroup.
fn config_with(max_connections: u32, row: impl FnOnce(&mut HostgroupAttributes)) -> Config {
    let mut config = config(max_connections);
    let mut attributes = HostgroupAttributes::default();
    row(&mut attributes);
    config.hostgroup_attributes.push(attributes);
    config
}

/// Servers that accept every login and answer everything with OK, also that a transaction has
/// begun.
fn obliging(servers: Servers) {
    servers.converse(|_, end| async move {
        let (mut server, _) = ScriptedServer::accept(end).await;
        while let Some(command) = server.next_command().await {
            server.status.set(StatusFlags::IN_TRANSACTION, command.ends_with(b"BEGIN"));
            server.ok().await;
        }
    });
}

/// Connections that are open, and those of them that no session uses.
fn open(stage: &Stage) -> (u32, u32) {
    (stage.usage(0).open, stage.usage(0).resting)
}

/// Lets some time pass, and what is to be done then be done.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
    settle().await;
}

#[test]
fn warming_opens_connections_until_the_percentage_is_there() {
    let config = config_with(40, |row| row.connection_warming = true);
    play(async || {
        let (stage, servers) = stage(config.clone());
        obliging(servers);
        pass(secs(3)).await;
        assert_eq!(open(&stage), (0, 0), "as whom should they be opened?");
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        client.expect_ok().await;
        pass(secs(3)).await;
        assert_eq!(open(&stage), (4, 4));
        // They stay, and no more are opened.
        pass(secs(60)).await;
        assert_eq!(open(&stage), (4, 4));
        assert_eq!(stage.global("Server_Connections_created"), 4);
    });
}

#[test]
fn a_connection_opened_ahead_is_the_next_clients() {
    let config = config_with(10, |row| row.hostgroup_settings.min_idle_connections = Some(1));
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut one = log_in(&stage).await;
        let mut first = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut first).await;
        let mut second = servers.accept().await;
        settle().await;
        assert_eq!(open(&stage), (2, 1), "one is used, and one is there");
        let mut two = log_in(&stage).await;
        two.send_query("SELECT 2").await;
        // It is let in over the connection that is there.
        let_in(&mut second).await;
        second.expect_query("SELECT 2").await;
        second.ok().await;
        two.expect_ok().await;
        run(&mut one, &mut first, "COMMIT").await;
    });
}

#[test]
fn min_idle_connections_stay_open_unused() {
    let config = config_with(10, |row| {
        row.free_connections_pct = 0;
        row.hostgroup_settings.min_idle_connections = Some(3);
    });
    play(async || {
        let (stage, servers) = stage(config.clone());
        obliging(servers);
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        client.expect_ok().await;
        pass(secs(60)).await;
        assert_eq!(open(&stage), (3, 3));
    });
}

#[test]
fn a_client_that_has_logged_in_is_enough() {
    let mut config = config_with(10, |row| row.hostgroup_settings.min_idle_connections = Some(2));
    config.pointsman.check_logins = CheckLogins::First;
    play(async || {
        let (stage, servers) = stage(config.clone());
        obliging(servers);
        let _client = log_in(&stage).await;
        pass(secs(3)).await;
        assert_eq!(open(&stage), (3, 2), "its own, and those that it does not use");
    });
}

#[test]
fn new_connections_are_opened_one_after_the_other() {
    let mut config = config(100);
    config.variables.throttle_connections_per_sec = 2;
    play(async || {
        let (stage, servers) = stage(config.clone());
        obliging(servers);
        let mut clients = Vec::new();
        for _ in 0..4 {
            let mut client = log_in(&stage).await;
            client.send_query("BEGIN").await;
            clients.push(client);
        }
        for opened in 1..=4 {
            settle().await;
            assert_eq!(stage.usage(0).open, opened);
            pass(ms(500)).await;
        }
        for client in &mut clients {
            client.expect_ok().await;
        }
        assert_eq!(stage.global("Server_Connections_delayed"), 3);
    });
}

#[test]
fn who_waits_for_a_new_connection_takes_one_that_comes_back() {
    let mut config = config(100);
    config.variables.throttle_connections_per_sec = 1;
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        one.send_query("SELECT 1").await;
        let mut server = servers.accept().await;
        server.expect_query("SELECT 1").await;
        two.send_query("SELECT 2").await;
        settle().await;
        server.ok().await;
        one.expect_ok().await;
        logs_in_again(&mut server).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn a_hostgroup_has_no_more_connections_than_it_may() {
    let mut config = config_with(10, |row| row.hostgroup_settings.max_backend_connections = Some(1));
    config.variables.connect_timeout_server_max = ms(100);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        let error = two.expect_err(9001).await;
        assert!(error.message.contains("1 of 1 connections of 1 servers are in use"), "{}", error.message);
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn connections_of_one_age_end_one_after_the_other() {
    let mut config = config_with(200, |row| row.free_connections_pct = 100);
    config.variables.connection_max_age = secs(1_000);
    play(async || {
        let (stage, servers) = stage(config.clone());
        obliging(servers);
        let mut clients = Vec::new();
        for _ in 0..64 {
            clients.push(log_in(&stage).await);
        }
        for sql in ["BEGIN", "COMMIT"] {
            for client in &mut clients {
                client.send_query(sql).await;
            }
            for client in &mut clients {
                client.expect_ok().await;
            }
        }
        pass(secs(795)).await;
        assert_eq!(open(&stage), (64, 64));
        pass(secs(105)).await;
        let half = stage.usage(0).open;
        assert!((16..48).contains(&half), "{half} are left in the middle of the time in which they end");
        pass(secs(105)).await;
        assert_eq!(open(&stage), (0, 0));
    });
}

/// A user who may have one connection to servers.
fn config_of_one() -> Config {
    let mut config = config(10);
    config.variables.connect_timeout_server_max = ms(100);
    config.users[0].attributes.max_backend_connections = Some(1);
    config
}

#[test]
fn a_user_has_no_more_connections_than_he_may() {
    let config = config_of_one();
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        let error = two.expect_err(9001).await;
        let expected =
            "user 'app' has 1 of 1 connections to servers (max_backend_connections), 0 more sessions wait";
        assert!(error.message.ends_with(expected), "{}", error.message);
        assert_eq!(stage.usage(0).open, 1);
        drop(one);
        settle().await;
        first_query(&mut two, &mut servers).await;
    });
}

#[test]
fn who_waits_for_one_of_his_user_gets_what_comes_back() {
    let config = config_of_one();
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        one.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        two.send_query("SELECT 2").await;
        settle().await;
        server.ok().await;
        one.expect_ok().await;
        logs_in_again(&mut server).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn an_idle_connection_makes_room_for_another_of_the_user() {
    let config = config_of_one();
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut one = log_in(&stage).await;
        let mut server = first_query(&mut one, &mut servers).await;
        // It could not use that of the first.
        let mut two = log_in_as(&stage, &options().capabilities(CLASSIC)).await;
        first_query(&mut two, &mut servers).await;
        server.expect_command(Kind::Quit, b"").await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn who_gets_no_connection_hears_who_has_them() {
    let mut config = config(2);
    config.variables.connect_timeout_server_max = secs(3);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two, mut three) =
            (log_in(&stage).await, log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        two.send_query("SELECT SLEEP(9)").await;
        let mut second = servers.accept().await;
        second.expect_query("SELECT SLEEP(9)").await;
        pass(secs(2)).await;
        three.send_query("SELECT 3").await;
        let error = three.expect_err(9001).await;
        let (first, _) = error.message.split_once("(longest").unwrap();
        assert!(
            first.ends_with(
                "2 of 2 connections of 1 servers are in use, 0 more sessions wait; held by statement: 1 "
            ),
            "{first}"
        );
        assert!(error.message.contains("transaction: 1 (longest"), "{}", error.message);
        assert!(
            error.message.contains("s, session 107374182") && error.message.contains(" of 'app')"),
            "{}",
            error.message
        );
    });
}

#[test]
fn a_server_that_refuses_connections_does_not_keep_the_others_cold() {
    let mut config = config_with(10, |row| row.hostgroup_settings.min_idle_connections = Some(3));
    let other = Server { hostname: "ill".to_owned(), ..config.servers[0].clone() };
    config.servers.push(other);
    play(async || {
        let (stage, servers) = stage(config.clone());
        servers.converse(|name, end| async move {
            if name.contains("ill") {
                return drop(end);
            }
            let (mut server, _) = ScriptedServer::accept(end).await;
            while server.next_command().await.is_some() {
                server.ok().await;
            }
        });
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        client.expect_ok().await;
        pass(secs(5)).await;
        assert_eq!(open(&stage), (3, 3));
    });
}

/// Servers lock an account after too many refused logins.
#[test]
fn nothing_is_opened_ahead_for_a_user_whom_servers_do_not_let_in() {
    let config = config_with(10, |row| row.hostgroup_settings.min_idle_connections = Some(3));
    play(async || {
        let (stage, servers) = stage(config.clone());
        let (tried, refuses) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(true)));
        let (count, refusing) = (Rc::clone(&tried), Rc::clone(&refuses));
        servers.converse(move |_, end| {
            count.set(count.get() + 1);
            let refuses = refusing.get();
            async move {
                if refuses {
                    let mut server = ScriptedServer::new(end);
                    server.packets().expect_seq(0);
                    server.send(b"\xff\x15\x04Access denied").await;
                    return;
                }
                let (mut server, _) = ScriptedServer::accept(end).await;
                while server.next_command().await.is_some() {
                    server.ok().await;
                }
            }
        });
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        client.expect_err(1045).await;
        pass(secs(10)).await;
        assert_eq!(tried.get(), 1);
        refuses.set(false);
        client.send_query("DO 0").await;
        client.expect_ok().await;
        // He is locked out before there are enough.
        refuses.set(true);
        pass(secs(10)).await;
        assert_eq!((tried.get(), open(&stage)), (3, (1, 1)));
        refuses.set(false);
        pass(secs(60)).await;
        assert_eq!(open(&stage), (3, 3));
    });
}

/// Each look was counted as a connection of its second, and sessions had to wait for that.
#[test]
fn servers_that_are_told_whom_connections_are_for_get_none_ahead() {
    let mut config = config_with(10, |row| {
        row.throttle_connections_per_sec = 1;
        row.hostgroup_settings.min_idle_connections = Some(3);
    });
    config.server_options.push(ServerOptions {
        hostname: "db".to_owned(),
        proxy_protocol: ProxyProtocol::V1,
        ..ServerOptions::default()
    });
    play(async || {
        let (stage, servers) = stage(config.clone());
        servers.converse(|_, mut end| async move {
            let mut header = vec![0; b"PROXY UNKNOWN\r\n".len()];
            end.read_exact(&mut header).await.unwrap();
            let (mut server, _) = ScriptedServer::accept(end).await;
            while let Some(command) = server.next_command().await {
                server.status.set(StatusFlags::IN_TRANSACTION, command.ends_with(b"BEGIN"));
                server.ok().await;
            }
        });
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        one.send_query("BEGIN").await;
        one.expect_ok().await;
        pass(ms(2500)).await;
        two.send_query("BEGIN").await;
        two.expect_ok().await;
        assert_eq!((open(&stage), stage.global("Server_Connections_delayed")), ((2, 0), 0));
    });
}
