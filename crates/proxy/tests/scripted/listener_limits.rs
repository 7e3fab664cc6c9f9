//! Limits that a listener has of its own, in place of those of the variables.

use std::time::Duration;

use config::{Config, Listener, Role};
use proxy::memory::End;
use proxy::stage::Stage;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

use super::support::{CAPACITY, config, play, stage, stage_with};

fn route() -> Listener {
    Listener { role: Role::Tcp, hostgroup: Some(0), ..Listener::default() }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn connect(stage: &Stage, listener: &Listener) -> End {
    stage.client_of(listener, CAPACITY).expect("room for a client")
}

/// How long it takes until the proxy closes the connection, in whole seconds.
async fn lasts(mut client: End) -> u64 {
    let begun = Instant::now();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.expect("an end");
    begun.elapsed().as_secs()
}

#[test]
fn a_client_of_a_route_must_speak_within_its_time() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let limited = Listener { connect_timeout_client: Some(secs(7)), ..route() };
        let client = connect(&stage, &limited);
        let mut server = servers.dialled().await.1;
        server.write_all(b"greeting").await.unwrap();
        assert_eq!(lasts(client).await, 7);

        let mut client = connect(&stage, &limited);
        let mut server = servers.dialled().await.1;
        server.write_all(b"greeting").await.unwrap();
        client.read_exact(&mut [0; 8]).await.unwrap();
        client.write_all(b"login").await.unwrap();
        let mut login = [0; 5];
        server.read_exact(&mut login).await.unwrap();
        assert_eq!(&login, b"login");
        tokio::time::sleep(secs(100)).await;
        client.write_all(b"later").await.unwrap();
        server.read_exact(&mut login).await.unwrap();
        assert_eq!(&login, b"later");
    });
}

#[test]
fn a_login_has_the_time_of_its_listener() {
    let mut config: Config = config();
    config.variables.connect_timeout_client = secs(20);
    play(async || {
        let (stage, _servers) = stage(config.clone());
        let own = Listener { connect_timeout_client: Some(secs(3)), ..Listener::default() };
        assert_eq!(lasts(connect(&stage, &own)).await, 3);
        assert_eq!(lasts(connect(&stage, &Listener::default())).await, 20);
    });
}

#[test]
fn a_client_of_a_route_waits_for_a_server_as_long_as_its_listener_says() {
    let mut config: Config = config();
    config.variables.connect_retries_on_failure = 1_000;
    config.variables.connect_timeout_server_max = secs(30);
    play(async || {
        let (stage, _servers) = stage_with(config.clone(), CAPACITY, |_| true);
        let own = Listener { connect_timeout_server_max: Some(secs(5)), ..route() };
        // A search ends with the last attempt that fits.
        assert!((4..=5).contains(&lasts(connect(&stage, &own)).await));
        assert!((29..=30).contains(&lasts(connect(&stage, &route())).await));
    });
}
