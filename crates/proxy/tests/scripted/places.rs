//! Places for clients: of a user, of an address, and waiting for one.

use std::net::SocketAddr;

use config::Config;
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::script::ScriptedClient;

use super::support::{
    CAPACITY, Client, config as usual, connect, expect_alive, first_query, log_in, ms, options, play, secs,
    settle, stage,
};

/// The user may have one client.
fn config() -> Config {
    let mut config = usual();
    config.users[0].max_connections = 1;
    config
}

/// The same with clients that wait.
fn patient() -> Config {
    let mut config = config();
    config.variables.client_queue_timeout = secs(5);
    config
}

/// A client whose login goes on in the background.
fn logging_in(stage: &Stage) -> tokio::task::JoinHandle<Result<Client, testkit::client::ServerError>> {
    let stream = connect(stage);
    tokio::task::spawn_local(async move {
        let mut client = ScriptedClient::new(stream);
        client.log_in(&options()).await.map(|_| client)
    })
}

#[test]
fn who_finds_his_user_full_is_refused_at_once() {
    play(async || {
        let (stage, _servers) = stage(config());
        let _first = log_in(&stage).await;
        let error = logging_in(&stage).await.unwrap().map(drop).unwrap_err();
        let expected = "User 'app' has exceeded the 'max_user_connections' resource (current value: 1)";
        assert_eq!((error.code, error.message.as_str()), (1226, expected));
    });
}

#[test]
fn clients_get_in_in_the_order_in_which_they_came() {
    play(async || {
        let (stage, mut servers) = stage(patient());
        let first = log_in(&stage).await;
        let second = logging_in(&stage);
        settle().await;
        let third = logging_in(&stage);
        settle().await;
        assert!(!second.is_finished() && !third.is_finished());
        drop(first);
        let mut second = second.await.unwrap().unwrap();
        let mut server = first_query(&mut second, &mut servers).await;
        expect_alive(&mut second, &mut server).await;
        assert!(!third.is_finished());
        drop(second);
        third.await.unwrap().unwrap();
    });
}

#[test]
fn who_waits_too_long_hears_how_long_it_was() {
    play(async || {
        let (stage, _servers) = stage(patient());
        let _first = log_in(&stage).await;
        let second = logging_in(&stage);
        tokio::time::sleep(secs(1)).await;
        let third = logging_in(&stage);
        let error = second.await.unwrap().map(drop).unwrap_err();
        assert!(
            error.message.ends_with("(current value: 1); no place within 5000ms, 1 more clients wait"),
            "{}",
            error.message
        );
        let error = third.await.unwrap().map(drop).unwrap_err();
        assert_eq!(error.code, 1226);
        assert_eq!(stage.sessions(), 1);
    });
}

#[test]
fn the_time_for_a_login_is_not_forgotten_over_waiting() {
    let mut config = patient();
    config.variables.client_queue_timeout = secs(600);
    play(async || {
        let (stage, _servers) = stage(config.clone());
        let _first = log_in(&stage).await;
        let error = logging_in(&stage).await.unwrap().map(drop).unwrap_err();
        assert!(error.message.contains("; no place within 9750ms"), "{}", error.message);
    });
}

#[test]
fn a_client_that_leaves_the_line_leaves_its_place() {
    play(async || {
        let (stage, _servers) = stage(patient());
        let first = log_in(&stage).await;
        let second = logging_in(&stage);
        settle().await;
        second.abort();
        settle().await;
        let third = logging_in(&stage);
        settle().await;
        drop(first);
        third.await.unwrap().unwrap();
    });
}

/// What it holds of all places, others may have.
#[test]
fn a_client_that_leaves_the_line_is_gone_at_once() {
    play(async || {
        let (stage, _servers) = stage(patient());
        let _first = log_in(&stage).await;
        let second = logging_in(&stage);
        settle().await;
        assert_eq!(stage.sessions(), 2);
        second.abort();
        settle().await;
        assert_eq!(stage.sessions(), 1);
    });
}

/// It counted as one that the proxy had refused, and as an error that it had said.
#[test]
fn a_client_that_leaves_the_line_was_not_refused() {
    play(async || {
        let (stage, _servers) = stage(patient());
        let _first = log_in(&stage).await;
        let second = logging_in(&stage);
        settle().await;
        second.abort();
        settle().await;
        assert_eq!(stage.sessions(), 1);
        for name in ["Access_Denied_Max_User_Connections", "generated_error_packets"] {
            assert_eq!(stage.global(name), 0, "{name}");
        }
    });
}

/// Each of them has one of all places already.
#[test]
fn the_line_of_a_user_has_an_end() {
    let mut config = patient();
    config.variables.client_queue_size = 1;
    play(async || {
        let (stage, _servers) = stage(config.clone());
        let first = log_in(&stage).await;
        let second = logging_in(&stage);
        settle().await;
        let error = logging_in(&stage).await.unwrap().map(drop).unwrap_err();
        assert_eq!(error.code, 1226);
        assert!(!error.message.contains("no place within"), "{}", error.message);
        drop(first);
        second.await.unwrap().unwrap();
    });
}

/// A client from this address.
fn client_from(stage: &Stage, last: u8) -> End {
    let address = |host: [u8; 4], port| SocketAddr::from((host, port));
    stage.client_from(address([10, 0, 0, last], 40_000), address([10, 0, 0, 99], 6033), CAPACITY).unwrap()
}

#[test]
fn an_address_has_no_more_clients_than_it_may() {
    let mut config = usual();
    config.variables.max_connections_per_address = 2;
    play(async || {
        let (stage, _servers) = stage(config.clone());
        let mut inside = Vec::new();
        for _ in 0..2 {
            inside.push(ScriptedClient::connect(client_from(&stage, 1), &options()).await);
        }
        let mut third = ScriptedClient::new(client_from(&stage, 1));
        let error = third.read_greeting().await.map(drop).unwrap_err();
        let expected = "Too many connections from 10.0.0.1 (mysql-max_connections_per_address is 2)";
        assert_eq!((error.code, error.message.as_str()), (1040, expected));
        let _other = ScriptedClient::connect(client_from(&stage, 2), &options()).await;
        let _local = log_in(&stage).await;
        drop(inside.pop());
        tokio::time::sleep(ms(10)).await;
        ScriptedClient::connect(client_from(&stage, 1), &options()).await;
    });
}

/// The host cache would lock the address out for what others do.
#[test]
fn who_finds_no_place_has_not_failed() {
    for by_address in [true, false] {
        let mut config = usual();
        config.variables.client_host_cache_size = 10;
        config.variables.client_host_error_counts = 1;
        if by_address {
            config.variables.max_connections_per_address = 1;
        } else {
            config.users[0].max_connections = 1;
        }
        play(async || {
            let (stage, _servers) = stage(config.clone());
            let _inside = ScriptedClient::connect(client_from(&stage, 1), &options()).await;
            let mut second = ScriptedClient::new(client_from(&stage, 1));
            let error = second.log_in(&options()).await.map(drop).unwrap_err();
            assert_eq!(error.code, if by_address { 1040 } else { 1226 });
            settle().await;
            assert_eq!(stage.client_hosts().len(), 0);
        });
    }
}
