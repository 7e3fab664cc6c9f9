//! Warnings of statements in the log.

use config::Config;

use super::log::Lines;
use super::support::{Client, Database, config, expect_alive, play, run, session_in, settle};

const WARNED: &str = "a statement has warnings";

/// A statement that is answered with so many warnings.
async fn warns(client: &mut Client, server: &mut Database, text: &str, warnings: u8) {
    client.send_query(text).await;
    server.expect_query(text).await;
    let [low, high] = server.status.bits().to_le_bytes();
    server.send(&[0, 1, 0, low, high, warnings, 0]).await;
}

/// Where warnings are logged.
fn logging() -> Config {
    let mut config = config();
    config.variables.log_mysql_warnings_enabled = true;
    config
}

#[test]
fn warnings_of_statements_are_logged() {
    play(async || {
        let lines = Lines::default();
        let _guard = tracing::subscriber::set_default(lines.clone());
        let (_stage, _servers, mut client, mut server) = session_in(logging()).await;
        warns(&mut client, &mut server, "INSERT INTO t VALUES ('long')", 1).await;
        // The client has its answer while the server is asked.
        client.expect_ok().await;
        server.expect_query("SHOW WARNINGS LIMIT 8").await;
        let row = [Some("Warning"), Some("1265"), Some("Data truncated for column 'a'\n at row 1")];
        server.rows(&["Level", "Code", "Message"], &[&row]).await;
        expect_alive(&mut client, &mut server).await;
        let logged = lines.with(WARNED);
        assert_eq!(logged.len(), 1, "{logged:?}");
        for part in [
            "server=db:3306",
            "user=app",
            "code=\"1265\"",
            "Data truncated for column 'a'  at row 1",
            "hidden=0",
        ] {
            assert!(logged[0].contains(part), "{part} is not in {logged:?}");
        }
        // Within a second there is not another one, and the server is not asked.
        warns(&mut client, &mut server, "INSERT INTO t VALUES ('longer')", 1).await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

/// Asking hides from the server how many rows the statement had: it is told what the session knows.
#[test]
fn what_the_client_asks_about_its_statement_is_what_it_was() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_in(logging()).await;
        warns(&mut client, &mut server, "INSERT INTO t VALUES ('long')", 1).await;
        client.expect_ok().await;
        server.expect_query("SHOW WARNINGS LIMIT 8").await;
        server.rows(&["Level", "Code", "Message"], &[]).await;
        client.send_query("SELECT ROW_COUNT()").await;
        server.expect_query("SELECT COALESCE(1, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

#[test]
fn no_server_is_asked_for_warnings_where_logging_is_off() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_in(config()).await;
        warns(&mut client, &mut server, "INSERT INTO t VALUES ('long')", 1).await;
        client.expect_ok().await;
        settle().await;
        run(&mut client, &mut server, "DO 1").await;
    });
}
