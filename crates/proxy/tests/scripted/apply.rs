//! Another configuration while sessions run.

use std::time::Duration;

use config::{Config, ServerStatus};
use testkit::script::ScriptedServer;

use super::acquire::no_server;
use super::support::{
    Client, config as usual, connect, database, expect_alive, expect_nothing_left, first_query, log_in,
    log_in_as, ms, options, options_for, play, run, session_in, settle, stage, user,
};

/// One server with this name.
fn only(host: &str) -> Config {
    let mut config = usual();
    config.servers = vec![database(host)].into();
    config
}

/// The usual server, which may have one connection.
fn full() -> Config {
    let mut config = usual();
    config.servers[0].max_connections = 1;
    config
}

#[test]
fn users_come_and_go_and_their_sessions_stay() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(usual()).await;
        let mut config = usual();
        config.users = vec![user("new", "other")].into();
        stage.apply(config).unwrap();
        expect_alive(&mut client, &mut server).await;
        let mut gone = Client::new(connect(&stage));
        assert_eq!(gone.log_in(&options()).await.unwrap_err().code, 1045);
        let mut new = log_in_as(&stage, &options_for("new", "other")).await;
        let mut its_server = first_query(&mut new, &mut servers).await;
        expect_alive(&mut new, &mut its_server).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_limit_of_a_user_counts_sessions_of_before() {
    play(async || {
        let (stage, _servers) = stage(usual());
        let first = log_in(&stage).await;
        let mut config = usual();
        config.users[0].max_connections = 1;
        config.users[0].default_hostgroup = 7;
        stage.apply(config).unwrap();
        let mut refused = Client::new(connect(&stage));
        assert_eq!(refused.log_in(&options()).await.unwrap_err().code, 1226);
        drop(first);
        settle().await;
        log_in(&stage).await;
    });
}

#[test]
fn a_server_is_replaced_under_running_sessions() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(only("old")).await;
        stage.apply(only("new")).unwrap();
        expect_alive(&mut client, &mut server).await;
        assert_eq!((stage.usage(0).servers, stage.usage(0).open), (1, 1), "the old one is left");
        let mut second = log_in(&stage).await;
        second.send_query("DO 1").await;
        let (name, end) = servers.dialled().await;
        assert_eq!(name, "new:3306");
        let mut new = ScriptedServer::accept(end).await.0;
        new.expect_query("DO 1").await;
        new.ok().await;
        second.expect_ok().await;
        drop(client);
        server.expect_end().await;
        expect_alive(&mut second, &mut new).await;
        assert_eq!(stage.usage(0).open, 1, "and forgotten");
    });
}

#[test]
fn a_changed_limit_of_a_server_holds_at_once() {
    play(async || {
        let (stage, mut servers) = stage(full());
        let mut first = log_in(&stage).await;
        let mut server = first_query(&mut first, &mut servers).await;
        let mut second = log_in(&stage).await;
        second.send_query("DO 0").await;
        settle().await;
        assert_eq!(stage.usage(0).waiting, 1);
        stage.apply(usual()).unwrap();
        let mut its_server = servers.accept().await;
        its_server.expect_query("DO 0").await;
        its_server.ok().await;
        second.expect_ok().await;
        stage.apply(full()).unwrap();
        // More than may be, for as long as they last.
        expect_alive(&mut first, &mut server).await;
        expect_alive(&mut second, &mut its_server).await;
        let mut third = log_in(&stage).await;
        third.send_query("DO 0").await;
        drop(first);
        assert!(servers.settled().await.is_none(), "one is left, which is enough");
        drop(second);
        servers.accept().await.expect_query("DO 0").await;
    });
}

#[test]
fn a_waiting_session_gets_an_error_when_the_last_server_has_gone() {
    for status in [None, Some(ServerStatus::OfflineSoft), Some(ServerStatus::Shunned)] {
        play(async || {
            let (stage, mut servers) = stage(full());
            let mut first = log_in(&stage).await;
            let mut server = first_query(&mut first, &mut servers).await;
            let mut waiting = log_in(&stage).await;
            let gone = async {
                settle().await;
                let mut config = full();
                match status {
                    Some(status) => config.servers[0].status = status,
                    None => config.servers.clear(),
                }
                stage.apply(config).unwrap();
            };
            let ((text, waited), ()) = tokio::join!(no_server(&mut waiting), gone);
            assert!(waited < ms(100), "{waited:?}");
            let why = match status {
                Some(_) => "none of its 1 servers can be taken: db:3306: its status is configured as ",
                None => "no server is configured for this hostgroup",
            };
            assert!(text.contains(why), "{text}");
            expect_alive(&mut first, &mut server).await;
            drop((first, waiting));
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn variables_hold_for_sessions_that_are_there() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(usual()).await;
        let mut config = usual();
        config.variables.max_allowed_packet = 8192;
        config.variables.wait_timeout = Duration::from_mins(1);
        stage.apply(config).unwrap();
        run(&mut client, &mut server, "DO 'short'").await;
        let mut other = log_in(&stage).await;
        let mut its_server = first_query(&mut other, &mut servers).await;
        client.send_query(&"x".repeat(9000)).await;
        client.expect_err(1153).await;
        expect_alive(&mut other, &mut its_server).await;
        tokio::time::sleep(Duration::from_secs(63)).await;
        assert_eq!(stage.sessions(), 0, "idle for too long");
    });
}

#[test]
fn what_cannot_be_applied_changes_nothing() {
    play(async || {
        let (stage, mut servers) = stage(usual());
        let mut config = only("new");
        config.users.clear();
        config.pointsman.tls_cert = "/nonexistent/cert.pem".to_owned();
        config.pointsman.tls_key = "/nonexistent/key.pem".to_owned();
        let error = format!("{:?}", stage.apply(config).unwrap_err());
        assert!(error.contains("/nonexistent/cert.pem"), "{error}");
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        assert_eq!(servers.dialled().await.0, "db:3306");
    });
}
