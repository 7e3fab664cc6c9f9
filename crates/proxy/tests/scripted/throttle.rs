//! Clients that get their answers no faster than they may.

use config::Config;
use tokio::time::Instant;

use super::support::{CAPACITY, config, expect_alive, ms, play, secs, session_in, stage};

/// 100,000 bytes in a second.
fn slow() -> Config {
    let mut config = config();
    config.variables.throttle_max_bytes_per_second_to_client = 100_000;
    config
}

/// How long 20 rows of 50,000 bytes take.
async fn time_of_a_megabyte(config: Config) -> std::time::Duration {
    let (_stage, _servers, mut client, mut server) = session_in(config).await;
    client.patience(secs(1000));
    server.patience(secs(1000));
    client.send_query("SELECT a FROM t").await;
    server.expect_query("SELECT a FROM t").await;
    let (cell, begun) = ("x".repeat(50_000), Instant::now());
    let row = [Some(cell.as_str())];
    let rows = [&row[..]; 20];
    tokio::join!(server.rows(&["a"], &rows), client.expect_rows(&rows));
    let took = begun.elapsed();
    expect_alive(&mut client, &mut server).await;
    took
}

#[test]
fn a_megabyte_takes_as_long_as_it_should() {
    play(async || {
        let took = time_of_a_megabyte(slow()).await;
        // What is on its way at the end is not waited for.
        assert!(took >= ms(9_000) && took <= ms(10_500), "{took:?}");
        assert!(time_of_a_megabyte(config()).await < ms(100));
    });
}

#[test]
fn a_client_that_leaves_is_noticed_while_it_has_to_wait() {
    play(async || {
        let mut config = slow();
        config.variables.throttle_max_bytes_per_second_to_client = 1000;
        let (_stage, mut servers, mut client, mut server) = session_in(config).await;
        client.send_query("SELECT a FROM t").await;
        server.expect_query("SELECT a FROM t").await;
        let cell = "x".repeat(CAPACITY / 2);
        server.columns(&["a"]).await;
        server.row(&[Some(cell.as_str())]).await;
        // The next bytes may come in eight seconds.
        client.read_bytes(CAPACITY / 2).await;
        let begun = Instant::now();
        drop(client);
        let mut killer = servers.accept().await;
        killer.expect_query("KILL CONNECTION 7").await;
        assert!(begun.elapsed() < ms(50), "{:?}", begun.elapsed());
    });
}

#[test]
fn small_answers_do_not_wait() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_in(slow()).await;
        let begun = Instant::now();
        for _ in 0..20 {
            expect_alive(&mut client, &mut server).await;
        }
        assert!(begun.elapsed() < ms(50), "{:?}", begun.elapsed());
    });
}

#[test]
fn what_is_loaded_counts_at_once_at_layer_4_too() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let client = stage.tunnel(0, CAPACITY).unwrap();
        let (_, server) = servers.dialled().await;
        stage.apply(slow()).unwrap();
        let begun = Instant::now();
        let (mut client, mut server) = (client, server);
        let mut bytes = vec![0; 500_000];
        let sent = vec![7; bytes.len()];
        let (written, read) = tokio::join!(
            tokio::io::AsyncWriteExt::write_all(&mut server, &sent),
            tokio::io::AsyncReadExt::read_exact(&mut client, &mut bytes)
        );
        assert!(written.is_ok() && read.is_ok());
        let took = begun.elapsed();
        assert!(took >= ms(4_000) && took <= ms(5_200), "{took:?}");
    });
}
