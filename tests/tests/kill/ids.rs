//! Ids of sessions in rows: all that a client is told are the same ids, however it asks.

use e2e::{Backend, Setup, on_each_server, run};
use testkit::client::{Client, Options, QueryResult, Value};
use wire::command::Kind;

use super::{options, proxy_for};

on_each_server! {
    a_cut_over_finds_its_own_lock,
    a_list_of_threads_has_all_sessions,
    ids_are_the_same_however_they_are_asked_for,
}

/// The id in the only column of a binary row, which has 4 or 8 bytes behind its two first ones.
fn binary_id(result: &QueryResult) -> u32 {
    let [row] = &result.rows[..] else { panic!("{result:?}") };
    assert!(row[6..].iter().all(|byte| *byte == 0), "{row:?}");
    u32::from_le_bytes(row[2..6].try_into().unwrap())
}

/// What gh-ost asks for, as text or prepared.
async fn ask(client: &mut Client, prepared: bool, sql: &str, params: &[&str]) -> u32 {
    if prepared {
        let statement = client.prepare(sql).await.unwrap();
        let values: Vec<_> = params.iter().map(|&param| Value::from(param)).collect();
        let id = binary_id(&client.execute(&statement, &values).await.unwrap());
        client.close(statement).await.unwrap();
        return id;
    }
    let text = params.iter().fold(sql.to_owned(), |sql, param| sql.replacen('?', &format!("'{param}'"), 1));
    client.query(&text).await.unwrap().first().expect(&text).parse().unwrap()
}

async fn rows(client: &mut Client, sql: &str) -> Vec<Vec<Option<String>>> {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).text().unwrap()
}

/// The words of gh-ost's atomic cut-over: one session holds a lock by the name of its id, another
/// one waits with its `RENAME`, and a third one finds both by their ids.
fn a_cut_over_finds_its_own_lock(db: &Backend) {
    let proxy = proxy_for(db, "cut_over");
    let options = options(&proxy, "cut_over").schema("test");
    db.sql("CREATE TABLE test.co (id INT PRIMARY KEY); CREATE TABLE test._co_gho (id INT PRIMARY KEY)");
    run(async {
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(Client::connect(&options).await.unwrap());
        }
        let [locker, renamer, other] = &mut clients[..] else { unreachable!() };
        for prepared in [false, true] {
            cut_over(locker, renamer, other, prepared).await;
            rows(other, "rename table co to _co_gho, _co_del to co").await;
        }
    });
}

async fn cut_over(locker: &mut Client, renamer: &mut Client, other: &mut Client, prepared: bool) {
    const OWN_ID: &str = "select /* gh-ost */ connection_id()";
    const HOLDER: &str = "select /* gh-ost */ is_used_lock(?)";
    rows(locker, "START TRANSACTION").await;
    let id = ask(locker, prepared, OWN_ID, &[]).await;
    assert_eq!(id, locker.server().connection_id);
    let lock = format!("gh-ost.{id}.lock");
    assert_eq!(ask(locker, prepared, "select /* gh-ost */ get_lock(?, 0)", &[&lock]).await, 1);
    rows(locker, "set /* gh-ost */ session lock_wait_timeout:=6").await;
    rows(other, "create /* gh-ost */ table _co_del (id int auto_increment primary key)").await;
    rows(locker, "set /* gh-ost */ session wait_timeout:=900").await;
    rows(locker, "lock /* gh-ost */ tables co write, _co_del write").await;
    assert_eq!(ask(other, prepared, HOLDER, &[&lock]).await, id);

    rows(renamer, "START TRANSACTION").await;
    let rename = ask(renamer, prepared, OWN_ID, &[]).await;
    assert_eq!(rename, renamer.server().connection_id);
    rows(renamer, "set /* gh-ost */ session lock_wait_timeout:=300").await;
    let text = b"rename /* gh-ost */ table co to _co_del, _co_gho to co";
    renamer.send_command(Kind::Query, text).await.unwrap();
    let processes = format!(
        "
        select /* gh-ost */ id
        from
            information_schema.processlist
        where
            id != connection_id()
            and {rename} in (0, id)
            and state like concat('%', 'metadata lock', '%')
            and info like concat('%', 'rename', '%')"
    );
    let expected = [[Some(rename.to_string())]];
    while rows(other, &processes).await != expected {
        tokio::task::yield_now().await;
    }
    assert_eq!(ask(other, prepared, HOLDER, &[&lock]).await, id);
    rows(locker, "drop /* gh-ost */ table if exists _co_del").await;
    rows(locker, "unlock /* gh-ost */ tables").await;
    renamer.read_result().await.unwrap();
    rows(renamer, "ROLLBACK").await;
    rows(locker, "ROLLBACK").await;
    rows(locker, &format!("select release_lock('{lock}')")).await;
}

fn ids_are_the_same_however_they_are_asked_for(db: &Backend) {
    let proxy = proxy_for(db, "ids");
    let options = options(&proxy, "ids");
    run(async {
        let mut client = Client::connect(&options).await.unwrap();
        let mut holder = Client::connect(&options).await.unwrap();
        let (own, held) = (client.server().connection_id, holder.server().connection_id);
        rows(&mut holder, "SELECT GET_LOCK('ids', 0)").await;
        let mut direct = Client::connect(&Options::tcp(db.server.address(), "ids", "pw")).await.unwrap();
        rows(&mut direct, "SELECT GET_LOCK('ids.direct', 0)").await;
        let stranger = direct.server().connection_id;
        let own_row = "FROM information_schema.processlist WHERE id = CONNECTION_ID()";
        for (sql, expected) in [
            ("SELECT CONNECTION_ID()", vec![own]),
            ("SELECT CONNECTION_ID() AS id", vec![own]),
            ("SELECT IS_USED_LOCK('ids') AS a, CONNECTION_ID() b", vec![held, own]),
            ("SELECT IS_USED_LOCK('ids.direct')", vec![stranger]),
            (&format!("SELECT id {own_row}"), vec![own]),
            (&format!("SELECT p.id AS x, p.* {}", own_row.replace("WHERE", "p WHERE")), vec![own, own]),
        ] {
            let got = rows(&mut client, sql).await;
            let got: Vec<u32> =
                got[0].iter().take(expected.len()).flatten().map(|id| id.parse().unwrap()).collect();
            assert_eq!(got, expected, "{sql}");
            let statement = client.prepare(sql).await.unwrap();
            let result = client.execute(&statement, &[]).await.unwrap();
            if result.columns.len() == 1 {
                assert_eq!(binary_id(&result), expected[0], "{sql}");
            }
            client.close(statement).await.unwrap();
        }
        // What is compared within one statement are the server's ids.
        assert_eq!(
            rows(&mut holder, "SELECT IS_USED_LOCK('ids') = CONNECTION_ID()").await,
            [[Some("1".to_owned())]]
        );
        assert_eq!(rows(&mut client, "SELECT IS_USED_LOCK('nobody')").await, [[None]]);
        // Other columns are left alone, whatever number they have.
        let thread = rows(&mut holder, "SELECT CONNECTION_ID() + 0").await[0][0].clone().unwrap();
        let same = rows(&mut client, &format!("SELECT {thread}, CONNECTION_ID(), {thread}")).await;
        assert_eq!(same, [[Some(thread.clone()), Some(own.to_string()), Some(thread)]]);
    });
}

fn a_list_of_threads_has_all_sessions(db: &Backend) {
    db.sql("CREATE USER threads IDENTIFIED BY 'pw'; CREATE USER others IDENTIFIED BY 'pw'; GRANT PROCESS ON *.* TO others");
    let setup = Setup::before(&db.sandbox, &db.server).user("threads", "pw", "").user("others", "pw", "");
    let proxy = setup.one_thread().start();
    run(async {
        let mut clients = Vec::new();
        for user in ["threads", "threads", "threads", "others"] {
            let mut client = Client::connect(&options(&proxy, user)).await.unwrap();
            client.query("SELECT 1").await.unwrap();
            clients.push(client);
        }
        let ids: Vec<u32> = clients.iter().map(|client| client.server().connection_id).collect();
        for sql in ["SHOW PROCESSLIST", "SHOW FULL PROCESSLIST"] {
            for (at, client) in clients.iter_mut().enumerate() {
                let list = rows(client, sql).await;
                let shown = ids.iter().map(|id| {
                    let id = id.to_string();
                    list.iter().filter(|row| row[0].as_ref() == Some(&id)).count()
                });
                // Only one of them may see the threads of others.
                let expected = if at < 3 { [1, 1, 1, 0] } else { [1; 4] };
                assert_eq!(shown.collect::<Vec<_>>(), expected, "{sql}: {list:?}");
            }
        }
    });
}
