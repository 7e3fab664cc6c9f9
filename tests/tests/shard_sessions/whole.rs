//! Statements over several servers, outside of a transaction, that fail at one of them.

use e2e::{Proxy, run};
use testkit::client::{Client, Options, Value};
use testkit::server::{PASSWORD, USER};
use wire::StatusFlags;
use wire::command::Kind;

use crate::world::{Servers, World, change, code, refused, rows};

/// How many statements fail, unless the environment says another number.
const STATEMENTS: usize = 60;
const STATEMENTS_VARIABLE: &str = "POINTSMAN_FAILING_STATEMENTS";

/// Errors, in the order of [`fail`]'s kinds.
const ERRORS: [u16; 6] = [1062, 1406, 1292, 1205, 1317, 1213];

/// A client of the near server itself.
async fn direct(world: &World) -> Client {
    let address = world.servers.near.server.address();
    Client::connect(&Options::tcp(address, USER, PASSWORD).schema(world.name)).await.unwrap()
}

/// All that the statements may change.
fn state(world: &World) -> [String; 2] {
    let all = "SELECT COUNT(*), SUM(CRC32(CONCAT(id, note))), (SELECT COUNT(*) FROM `lines`) FROM orders";
    [world.near(all), world.far(all)]
}

/// The number of the connection to the near server that runs the statement with this comment,
/// which waits for a lock there.
async fn running(direct: &mut Client, comment: &str) -> String {
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE info LIKE '%{comment}%' AND id <> CONNECTION_ID()"
    );
    loop {
        if let Some(id) = rows(direct, &sql).await.pop() {
            return id;
        }
    }
}

/// Statements whose part at the near server fails because of their values.
async fn fail_by_value(client: &mut Client, kind: usize, form: usize) -> u16 {
    let long = "y".repeat(99);
    let sql = match (kind, form) {
        (0, 0) => "INSERT INTO orders (id, note) VALUES (101, 'new'), (103, 'new'), (2, 'again')".to_owned(),
        (0, 1) => "INSERT INTO `lines` SELECT id, 1 FROM orders WHERE id < 9".to_owned(),
        (0, 2) => "INSERT INTO `lines` VALUES (101, 1), (2, 1)".to_owned(),
        (0, _) => {
            let sql = "INSERT INTO orders (id, note) VALUES (?, 'new'), (?, 'again')";
            let statement = client.prepare(sql).await.unwrap();
            let error = client.execute(&statement, &[Value::Int(101), Value::Int(2)]).await.unwrap_err();
            client.close(statement).await.unwrap();
            return code(&error).0;
        }
        (1, 0) => format!("INSERT INTO orders (id, note) VALUES (101, 'new'), (102, '{long}')"),
        (1, 1) => format!("REPLACE INTO orders (id, note) VALUES (1, 'new'), (2, '{long}')"),
        (1, 2) => format!(
            "INSERT INTO orders (id, note) VALUES (1, 'new'), (2, '{long}') ON DUPLICATE KEY UPDATE note = VALUES(note)"
        ),
        (1, _) => format!("UPDATE orders SET note = IF(id = 2, '{long}', 'new')"),
        (_, 0 | 1) => "INSERT INTO orders (id, made) VALUES (101, NOW()), (102, '2024-02-30')".to_owned(),
        _ => "UPDATE orders SET note = 'new', made = IF(id = 2, '2024-02-30', made)".to_owned(),
    };
    refused(client, &sql).await.0
}

/// Statements that fail while their part at the near server waits for a lock.
async fn fail_while_waiting(
    world: &World,
    [client, other, direct]: [&mut Client; 3],
    (kind, form, number): (usize, usize, usize),
) -> u16 {
    let comment = format!("{} {number}.", world.name);
    let sql = match form {
        0 | 1 => format!("UPDATE orders SET note = /* {comment} */ 'new'"),
        2 => format!("DELETE /* {comment} */ FROM orders"),
        _ => format!(
            "REPLACE /* {comment} */ INTO orders (id, note) VALUES (1, 'new'), (101, 'new'), (2, 'x')"
        ),
    };
    client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
    match kind {
        3 => {}
        4 => {
            running(direct, &comment).await;
            change(other, &format!("KILL QUERY {}", client.server().connection_id)).await;
        }
        _ => {
            let id = running(direct, &comment).await;
            change(direct, &format!("KILL {id}")).await;
        }
    }
    code(&client.read_result().await.unwrap_err()).0
}

pub(crate) fn statements_that_fail_at_one_server_leave_no_row(servers: &'static Servers) {
    let world = servers.world("whole").best_effort();
    let proxy = world.proxy();
    world.near("INSERT INTO `lines` VALUES (2, 1)");
    let number = std::env::var(STATEMENTS_VARIABLE).ok().and_then(|number| number.parse().ok());
    let number: usize = number.unwrap_or(STATEMENTS);
    // Each run has a limit of its own.
    for first in (0..number).step_by(STATEMENTS) {
        run(fail_all(&world, &proxy, first..number.min(first + STATEMENTS)));
    }
}

/// Has the statements with these numbers fail.
async fn fail_all(world: &World, proxy: &Proxy, numbers: std::ops::Range<usize>) {
    let mut client = connect(world, proxy).await;
    let mut other = world.connect(proxy).await;
    let (mut rival, mut direct) = (direct(world).await, direct(world).await);
    let before = state(world);
    for number in numbers {
        let (kind, form) = (number % ERRORS.len(), number / ERRORS.len() % 4);
        let got = if kind < 3 {
            fail_by_value(&mut client, kind, form).await
        } else {
            change(&mut rival, "BEGIN").await;
            change(&mut rival, "UPDATE orders SET note = 'rival' WHERE id = 2").await;
            let clients = [&mut client, &mut other, &mut direct];
            let got = fail_while_waiting(world, clients, (kind, form, number)).await;
            change(&mut rival, "ROLLBACK").await;
            got
        };
        assert_eq!(got, ERRORS[kind], "statement {number}");
        assert_eq!(state(world), before, "statement {number}");
    }
    // One that succeeds leaves no transaction to the client, and nothing holds a lock.
    change(&mut client, "UPDATE orders SET made = made").await;
    assert!(!client.status().contains(StatusFlags::IN_TRANSACTION));
    change(&mut other, "BEGIN").await;
    assert_eq!(change(&mut other, "UPDATE orders SET note = CONCAT(note, '.') WHERE id > 0").await, 8);
    change(&mut other, "ROLLBACK").await;
}

async fn connect(world: &World, proxy: &Proxy) -> Client {
    let mut client = world.connect(proxy).await;
    change(&mut client, "SET innodb_lock_wait_timeout = 1").await;
    client
}

pub(crate) fn copies_of_a_reference_table_do_not_differ(servers: &'static Servers) {
    let world = servers.world("copies").best_effort().with(|setup| {
        setup.row(
            "shards.table",
            "schema = 'copies'\ntable = 'rates'\nkind = 'reference'\nnodes = '${1..2}/copies.rates'",
        )
    });
    for server in [&servers.near, &servers.far] {
        server.sql("CREATE TABLE copies.rates (code INT PRIMARY KEY, rate INT NOT NULL) ENGINE=InnoDB");
        server.sql("INSERT INTO copies.rates VALUES (1, 0), (2, 0)");
    }
    let proxy = world.proxy();
    let copies = || {
        let all = "SELECT code, rate FROM rates ORDER BY code";
        [world.near(all), world.far(all)]
    };
    run(async {
        let (mut one, mut two) = (connect(&world, &proxy).await, connect(&world, &proxy).await);
        for number in 0..40 {
            for (client, own) in [(&mut one, 1_000), (&mut two, 2_000)] {
                let sql = format!("UPDATE rates SET rate = {} WHERE code = 1", own + number);
                client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
            }
            one.read_result().await.unwrap();
            two.read_result().await.unwrap();
            let [near, far] = copies();
            assert_eq!(near, far, "pair {number}");
        }
        let before = copies();
        // A copy that is locked undoes the others: the first one, and the last one.
        for server in [&servers.near, &servers.far] {
            let options = Options::tcp(server.server.address(), USER, PASSWORD).schema("copies");
            let mut rival = Client::connect(&options).await.unwrap();
            change(&mut rival, "BEGIN").await;
            change(&mut rival, "UPDATE rates SET rate = 9 WHERE code = 2").await;
            for sql in ["UPDATE rates SET rate = 7", "REPLACE INTO rates VALUES (3, 7), (2, 7)"] {
                for begin in ["DO 0", "BEGIN"] {
                    change(&mut one, begin).await;
                    assert_eq!(refused(&mut one, sql).await.0, 1205, "{sql}");
                    change(&mut one, "COMMIT").await;
                    assert_eq!(copies(), before, "{begin}; {sql}");
                }
            }
            change(&mut rival, "ROLLBACK").await;
        }
        change(&mut one, "UPDATE rates SET rate = 8").await;
        let [near, far] = copies();
        assert!(near == far && near.contains('8'), "{near}");
    });
}
