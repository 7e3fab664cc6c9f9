//! Connections that no session used and that their servers have ended: the log says so.

use tokio::time::sleep;

use super::log::Lines;
use super::shared::config;
use super::support::{first_query, log_in, play, secs, session_in, settle, stage};

const DROPPED: &str = "an idle connection is dropped";

/// What is logged when a connection on the shelf ends in this way.
async fn logged(wanted: bool, last_words: bool) -> Vec<String> {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let mut config = config();
    config.variables.log_unhealthy_connections = wanted;
    let (stage, _servers, _client, mut server) = session_in(config).await;
    settle().await;
    assert_eq!(stage.free_connections().len(), 1);
    if last_words {
        server.err(4031, "HY000", "The client was disconnected by the server because of inactivity").await;
    }
    drop(server);
    sleep(secs(2)).await;
    assert_eq!(stage.free_connections().len(), 0);
    lines.with(DROPPED)
}

#[test]
fn a_connection_that_its_server_has_ended_is_logged() {
    play(async || {
        let lines = logged(true, false).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("server=db:3306") && lines[0].contains("has closed it"), "{lines:?}");
        let lines = logged(true, true).await;
        assert!(lines[0].contains("said something"), "{lines:?}");
    });
}

#[test]
fn nothing_is_logged_where_logging_is_off() {
    play(async || assert_eq!(logged(false, false).await, [""; 0]));
}

#[test]
fn a_ping_that_is_not_answered_is_logged() {
    play(async || {
        let lines = Lines::default();
        let _guard = tracing::subscriber::set_default(lines.clone());
        let mut config = config();
        config.servers[0].max_connections = 100;
        config.variables.ping_interval_server = secs(10);
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let _server = first_query(&mut client, &mut servers).await;
        sleep(secs(60)).await;
        let lines = lines.with(DROPPED);
        assert!(lines.len() == 1 && lines[0].contains("has not answered a ping"), "{lines:?}");
    });
}
