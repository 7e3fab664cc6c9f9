//! Prepared statements, cursors, and messages of all sizes.

use e2e::{Backend, on_each_server, run};
use testkit::client::Value;
use wire::StatusFlags;
use wire::command::Kind;

use super::{connect, proxy, value};

on_each_server! {
    prepared_statements_work,
    cursors_return_their_rows_in_parts,
    c17_messages_of_any_size_pass_in_both_directions,
}

fn prepared_statements_work(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let statement = client.prepare("SELECT ?, ?, ?, CONCAT('a', ?)").await.unwrap();
        assert_eq!((statement.params, statement.columns.len()), (4, 4));
        client.send_long_data(&statement, 1, b"long ").await.unwrap();
        client.send_long_data(&statement, 1, b"text").await.unwrap();
        let params = [Value::Int(-7), Value::Sent, Value::Null, Value::from("b")];
        let row = b"\0\x10\xf9\xff\xff\xff\xff\xff\xff\xff\x09long text\x02ab";
        assert_eq!(client.execute(&statement, &params).await.unwrap().rows, [row.to_vec()]);
        client.send_command(Kind::StmtReset, &statement.id.to_le_bytes()).await.unwrap();
        client.read_result().await.unwrap();
        // Closing is not answered; what follows is.
        client.close(statement.clone()).await.unwrap();
        assert_eq!(client.execute(&statement, &params).await.unwrap_err().code(), Some(1243));
        assert_eq!(client.prepare("SELEC").await.unwrap_err().code(), Some(1064));
        assert_eq!(value(&mut client, "SELECT 'next'").await.as_deref(), Some("next"));
    });
}

fn cursors_return_their_rows_in_parts(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let statement = client.prepare("SELECT seq FROM seq_1_to_5").await.unwrap();
        let opened = client.open_cursor(&statement, &[]).await.unwrap();
        assert!(opened.rows.is_empty() && opened.status.contains(StatusFlags::CURSOR_EXISTS));
        assert_eq!(client.fetch(&statement, 3).await.unwrap().rows.len(), 3);
        // Another statement in between does not disturb it.
        assert_eq!(value(&mut client, "SELECT 1").await.as_deref(), Some("1"));
        let last = client.fetch(&statement, 3).await.unwrap();
        assert_eq!(last.rows.len(), 2);
        assert!(last.status.contains(StatusFlags::LAST_ROW_SENT));
        client.close(statement).await.unwrap();
    });
}

fn c17_messages_of_any_size_pass_in_both_directions(db: &Backend) {
    const HEADROOM: usize = "\x03SELECT LENGTH(''), ''".len();
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let statement = client.prepare("SELECT LENGTH(?), CRC32(?)").await.unwrap();
        for len in
            [1, (1 << 14), (1 << 16) - 1, (1 << 24) - 2, (1 << 24) - 1, 1 << 24, (1 << 25) - 2, 1 << 25]
        {
            // The command's payload has exactly this length.
            let text = "x".repeat(len.max(HEADROOM) - HEADROOM);
            let sql = format!("SELECT LENGTH('{text}'), ''");
            let answered = value(&mut client, &sql).await.unwrap();
            assert_eq!(answered, text.len().to_string());
            // The row's payload has exactly this length: the length of a cell takes 1, 3, 4 or 9
            // bytes.
            let prefix = if len < 251 {
                1
            } else if len < 1 << 16 {
                3
            } else if len < (1 << 24) + 4 {
                4
            } else {
                9
            };
            let sql = format!("SELECT REPEAT('y', {})", len - prefix);
            let rows = client.query(&sql).await.unwrap().rows;
            assert_eq!((rows.len(), rows[0].len()), (1, len));
            assert!(rows[0].ends_with(b"y") || len == prefix);
            let sent = "z".repeat(len);
            client.send_long_data(&statement, 0, sent.as_bytes()).await.unwrap();
            let row =
                client.execute(&statement, &[Value::Sent, Value::from("z")]).await.unwrap().rows.remove(0);
            assert!(
                row[2..].starts_with(&u32::try_from(len).unwrap().to_le_bytes()),
                "{len}: {:?}",
                &row[..10]
            );
        }
    });
}
