//! Statements that are kept in memory, and dumped into tables as in ProxySQL 3.

use e2e::run;
use testkit::client::Client;

use super::{admin, setup};

#[test]
fn the_newest_statements_are_dumped_into_tables() {
    let proxy =
        setup().variable("eventslog_default_log", 1).variable("eventslog_buffer_history_size", 3).start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for sql in ["SELECT 1", "DO 2", "SELECT 3 UNION SELECT 4"] {
            client.query(sql).await.unwrap();
        }
        client.query("SELECT nothing").await.unwrap_err();
        let mut admin = admin(&proxy).await;
        let cells = async |admin: &mut Client, sql: &str| {
            let rows = admin.query(sql).await.unwrap().text().unwrap();
            rows.into_iter()
                .map(|row| row.into_iter().map(Option::unwrap_or_default).collect())
                .collect::<Vec<Vec<_>>>()
        };
        let sql = "SELECT query, rows_sent, errno, hid FROM stats_mysql_query_events ORDER BY id";
        assert!(cells(&mut admin, sql).await.is_empty(), "nothing was dumped yet");
        admin.query("DUMP EVENTSLOG FROM BUFFER TO BOTH").await.unwrap();
        let rows = [
            ["DO 2", "0", "0", "0"],
            ["SELECT 3 UNION SELECT 4", "2", "0", "0"],
            ["SELECT nothing", "0", "1054", "0"],
        ];
        for _ in 0..2 {
            assert_eq!(cells(&mut admin, sql).await, rows, "they stay when they are read");
        }
        let kept =
            "SELECT query, rows_sent, errno, hid FROM stats_history.history_mysql_query_events ORDER BY id";
        assert_eq!(cells(&mut admin, kept).await, rows);
        let times = "SELECT COUNT(*) FROM stats_mysql_query_events WHERE start_time <= end_time AND server <> '' \
                     AND client <> '' AND query_digest LIKE '0x%'";
        assert_eq!(cells(&mut admin, times).await, [["3"]]);
        admin.query("DUMP EVENTSLOG FROM BUFFER TO MEMORY").await.unwrap();
        assert_eq!(cells(&mut admin, sql).await.len(), 3, "what was dumped is in memory no more");
    });
}
