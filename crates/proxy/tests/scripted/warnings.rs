//! Warnings of statements in the log.

use super::log::Lines;
use super::support::{Client, Database, config, expect_alive, first_query, log_in, play, run, settle, stage};

const WARNED: &str = "a statement has warnings";

/// A statement that is answered with so many warnings.
async fn warns(client: &mut Client, server: &mut Database, text: &str, warnings: u8) {
    client.send_query(text).await;
    server.expect_query(text).await;
    let [low, high] = server.status.bits().to_le_bytes();
    server.send(&[0, 1, 0, low, high, warnings, 0]).await;
}

#[test]
fn warnings_of_statements_are_logged() {
    play(async || {
        let lines = Lines::default();
        let _guard = tracing::subscriber::set_default(lines.clone());
        let mut config = config();
        config.variables.log_mysql_warnings_enabled = true;
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
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
        let mut config = config();
        config.variables.log_mysql_warnings_enabled = true;
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        warns(&mut client, &mut server, "INSERT INTO t VALUES ('long')", 1).await;
        client.expect_ok().await;
        server.expect_query("SHOW WARNINGS LIMIT 8").await;
        server.rows(&["Level", "Code", "Message"], &[]).await;
        client.send_query("SELECT ROW_COUNT()").await;
        let asked = server.read_command().await;
        assert!(!String::from_utf8_lossy(&asked).contains("ROW_COUNT()\""), "{asked:?}");
        assert!(String::from_utf8_lossy(&asked).contains('1'), "{}", String::from_utf8_lossy(&asked));
    });
}

#[test]
fn nobody_is_asked_where_nobody_wants_it() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        warns(&mut client, &mut server, "INSERT INTO t VALUES ('long')", 1).await;
        client.expect_ok().await;
        settle().await;
        run(&mut client, &mut server, "DO 1").await;
    });
}
