//! Counters against what was sent, by many clients at once.

use e2e::run;
use testkit::client::Client;
use tokio::task::JoinSet;

use super::{admin, number, start, tell, value};

const CLIENTS: u64 = 8;
const ROUNDS: u64 = 100;

/// A value of `stats_mysql_global`.
async fn global(admin: &mut Client, name: &str) -> u64 {
    number(admin, &format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'"))
        .await
}

#[test]
fn every_statement_is_counted_once() {
    run(async {
        let proxy = start();
        let mut clients = JoinSet::new();
        for n in 0..CLIENTS {
            let options = proxy.options();
            clients.spawn(async move {
                let mut client = Client::connect(&options).await.unwrap();
                for round in 0..ROUNDS {
                    assert_eq!(value(&mut client, "SELECT 1").await, "1");
                    tell(&mut client, &["BEGIN", "SET @a = 1", "COMMIT"]).await;
                    if round % 10 == 0 {
                        client.query(&format!("SELECT no_such_column_{n}")).await.unwrap_err();
                    }
                }
                client
            });
        }
        // All are still there.
        let clients: Vec<Client> = clients.join_all().await;
        let (errors, mut admin) = (CLIENTS * ROUNDS / 10, admin(&proxy).await);
        let statements = CLIENTS * ROUNDS * 4 + errors;
        assert_eq!(global(&mut admin, "Questions").await, statements);
        assert_eq!(global(&mut admin, "Com_commit").await, CLIENTS * ROUNDS);
        assert_eq!(global(&mut admin, "Client_Connections_created").await, CLIENTS);
        assert_eq!(global(&mut admin, "Client_Connections_connected").await, CLIENTS);
        assert_eq!(global(&mut admin, "Server_Connections_created").await, CLIENTS);
        assert_eq!(
            number(&mut admin, "SELECT SUM(Queries) FROM stats_mysql_connection_pool").await,
            statements
        );
        // A session that has waited for a second lets go of what a failed statement bound to it.
        let open = "SELECT ConnUsed + ConnFree FROM stats_mysql_connection_pool";
        assert_eq!(number(&mut admin, open).await, CLIENTS);
        for (class, count) in [
            ("SELECT", CLIENTS * ROUNDS + errors),
            ("BEGIN", CLIENTS * ROUNDS),
            ("SET", CLIENTS * ROUNDS),
            ("COMMIT", CLIENTS * ROUNDS),
        ] {
            let row = format!("FROM stats_mysql_commands_counters WHERE Command = '{class}'");
            assert_eq!(number(&mut admin, &format!("SELECT Total_cnt {row}")).await, count, "{class}");
            let buckets = "cnt_100us + cnt_500us + cnt_1ms + cnt_5ms + cnt_10ms + cnt_50ms + cnt_100ms + cnt_500ms \
                           + cnt_1s + cnt_5s + cnt_10s + cnt_INFs";
            assert_eq!(number(&mut admin, &format!("SELECT {buckets} {row}")).await, count, "{class}");
        }
        let listed = "SELECT count_star FROM stats_mysql_errors WHERE errno = 1054";
        assert_eq!(number(&mut admin, listed).await, errors);
        let sessions = "SELECT COUNT(*) FROM stats_mysql_processlist WHERE command = 'Sleep'";
        assert_eq!(number(&mut admin, sessions).await, CLIENTS);
        drop(clients);
    });
}

#[test]
fn reading_with_reset_begins_anew() {
    run(async {
        let proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        tell(&mut client, &["DO 1", "DO 2"]).await;
        let mut admin = admin(&proxy).await;
        assert_eq!(number(&mut admin, "SELECT Queries FROM stats_mysql_connection_pool_reset").await, 2);
        assert_eq!(number(&mut admin, "SELECT Queries FROM stats_mysql_connection_pool").await, 0);
        tell(&mut client, &["DO 3"]).await;
        assert_eq!(number(&mut admin, "SELECT Queries FROM stats_mysql_connection_pool").await, 1);
        assert_eq!(global(&mut admin, "Questions").await, 3, "which is another counter");
    });
}

#[test]
fn the_allocator_is_asked() {
    run(async {
        let proxy = start();
        let mut admin = admin(&proxy).await;
        let sql = "SELECT Variable_Value FROM stats_memory_metrics WHERE Variable_Name = 'jemalloc_resident'";
        assert!(number(&mut admin, sql).await > 1 << 20);
    });
}
