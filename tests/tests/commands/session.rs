//! Commands about the session and the server; commands that servers have no more or never had;
//! garbage.

use e2e::{Backend, Twin, on_each_server, run};
use testkit::client::Client;
use wire::Capabilities;
use wire::command::Kind;

use super::{COLLATION, capabilities, command, execute, prepare, proxy};

on_each_server! {
    small_commands_are_answered_as_by_the_server,
    unknown_commands_are_refused_as_by_the_server,
    quit_ends_the_session_without_a_word,
    c09_a_change_of_the_user_lets_go_of_what_the_old_one_held,
    files_of_the_client_are_loaded_as_by_the_server,
}

#[rustfmt::skip]
fn script() -> Vec<Vec<u8>> {
    let query = |sql: &str| command(Kind::Query, sql.as_bytes());
    vec![
        command(Kind::Ping, &[]),
        command(Kind::InitDb, b"mysql"), query("SELECT DATABASE()"),
        command(Kind::InitDb, b"missing"), command(Kind::InitDb, b""), query("SELECT DATABASE()"),
        command(Kind::InitDb, b"test"),
        query("CREATE TEMPORARY TABLE listed (first INT DEFAULT 7, second TEXT, third DATE NOT NULL)"),
        command(Kind::FieldList, b"listed\0"), command(Kind::FieldList, b"listed\0%"),
        command(Kind::FieldList, b"listed\0f%"), command(Kind::FieldList, b"listed\0x%"),
        command(Kind::FieldList, b"missing\0"),
        command(Kind::SetOption, &[1, 0]), query("SELECT 1; SELECT 2"),
        command(Kind::SetOption, &[0, 0]), query("SELECT 1; SELECT 2"),
        command(Kind::SetOption, &[9, 9]),
        query("SET @gone = 1"), execute(1, 0), query("BEGIN"), query("SET NAMES latin1"),
        command(Kind::ResetConnection, &[]),
        query("SELECT @gone, @@character_set_client, @@in_transaction"), query("SELECT DATABASE()"), execute(1, 0),
        query("SELECT * FROM listed"),
        command(Kind::Debug, &[]),
        command(Kind::Ping, b"with a body"),
        command(Kind::ResetConnection, &[]), command(Kind::ResetConnection, &[]), command(Kind::Ping, &[]),
    ]
}

fn small_commands_are_answered_as_by_the_server(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        for capabilities in capabilities() {
            let capabilities = capabilities - Capabilities::QUERY_ATTRIBUTES;
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            twin.same(&prepare("SELECT @gone")).await;
            for command in script() {
                twin.same(&command).await;
            }
            let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
            twin.same(&prepare("SELECT @gone")).await;
            twin.same_ahead(&script()).await;
        }
    });
}

/// Commands whose answers cannot be compared, each with a test elsewhere: they end the session, end
/// the server, show the sessions of all users, or do not end. MySQL answers the two that are never
/// answered if they are too short.
const APART: [Kind; 12] = [
    Kind::Quit,
    Kind::Shutdown,
    Kind::Statistics,
    Kind::ProcessInfo,
    Kind::ProcessKill,
    Kind::ChangeUser,
    Kind::BinlogDump,
    Kind::BinlogDumpGtid,
    Kind::Clone,
    Kind::SubscribeGroupReplicationStream,
    Kind::SendLongData,
    Kind::StmtClose,
];

fn unknown_commands_are_refused_as_by_the_server(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut twin = Twin::new(db, &proxy, capabilities()[0], COLLATION).await;
        for byte in 0..=u8::MAX {
            if APART.iter().any(|kind| *kind as u8 == byte) {
                continue;
            }
            for body in [&b""[..], &[0; 9]] {
                twin.same(&[&[byte], body].concat()).await;
            }
        }
    });
}

fn quit_ends_the_session_without_a_word(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        for before in [None, Some("SELECT 1"), Some("BEGIN")] {
            let mut twin = Twin::new(db, &proxy, capabilities()[0], COLLATION).await;
            if let Some(sql) = before {
                twin.same_query(sql).await;
            }
            assert_eq!(twin.same_end(&command(Kind::Quit, &[])).await, b"");
        }
    });
}

fn c09_a_change_of_the_user_lets_go_of_what_the_old_one_held(db: &Backend) {
    let proxy = proxy(db);
    db.sql("CREATE TABLE test.held (a INT)");
    run(async {
        let options = proxy.options().schema("test");
        let mut client = Client::connect(&options).await.unwrap();
        let mut other = Client::connect(&options).await.unwrap();
        for _ in 0..20 {
            client.query("SELECT GET_LOCK('held', 0)").await.unwrap();
            client.query("BEGIN").await.unwrap();
            client.query("INSERT INTO held VALUES (1)").await.unwrap();
            client.change_user(&options).await.unwrap();
            let free = other.query("SELECT IS_FREE_LOCK('held')").await.unwrap().first();
            assert_eq!(free.as_deref(), Some("1"));
            // Would fail at once on rows that are locked.
            other.query("SELECT * FROM held FOR UPDATE NOWAIT").await.unwrap();
        }
    });
}

fn files_of_the_client_are_loaded_as_by_the_server(db: &Backend) {
    let proxy = proxy(db);
    let long = vec![b'x'; 100_000];
    run(async {
        for capabilities in capabilities() {
            let without = capabilities - Capabilities::LOCAL_FILES;
            for (capabilities, offered) in [(capabilities, true), (without, false)] {
                let mut twin = Twin::new(db, &proxy, capabilities, COLLATION).await;
                twin.same_query("CREATE TEMPORARY TABLE loaded (a VARCHAR(10), b INT)").await;
                let load = "LOAD DATA LOCAL INFILE 'file' INTO TABLE loaded";
                for data in
                    [&[&b"a\t1\nb\t2\n"[..], b"c\t", b"3"][..], &[], &[b"\n\nx\tnone\n"], &[b"d\t4\n", &long]]
                {
                    let end = twin.same_load(load, data).await;
                    assert_eq!(end.payload[0] == 0xff, !offered, "{end:?}");
                    twin.same_query("SHOW WARNINGS").await;
                    twin.same_query("SELECT * FROM loaded").await;
                }
                twin.same_load("LOAD DATA LOCAL INFILE 'file' INTO TABLE missing", &[b"x"]).await;
                twin.same_load("LOAD DATA LOCAL INFILE 'file' INTO TABLE loaded (nothing)", &[b"x"]).await;
                twin.same_query("SELECT 'next'").await;
            }
        }
    });
}
