//! Prepared statements, as the admin port shows them, against what clients have and what the server
//! says.

use std::collections::BTreeMap;

use e2e::admin::wait_for_value;
use e2e::dice::Dice;
use e2e::{Backend, Proxy, Setup, run, wait_for};
use testkit::client::{Client, Options, Statement, Value};
use testkit::server::{PASSWORD, USER};
use tokio::task::JoinSet;

use super::{admin, number, tell, value};

const CLIENTS: u64 = 8;

/// What clients have, of what.
const ROWS: &str = "SELECT group_concat(schemaname || ' ' || username || ' ' || query || ' ' || ref_count_client || ' ' || \
    num_columns || ' ' || num_params, '; ') FROM (SELECT * FROM stats_mysql_prepared_statements_info ORDER BY query)";

/// The numbers of all.
const IDS: &str = "SELECT group_concat(global_stmt_id) FROM stats_mysql_prepared_statements_info";

/// The table against the sums: names of values for which they differ.
const DIFFERENT: &str = "SELECT COALESCE(GROUP_CONCAT(Variable_Name), '') FROM stats_mysql_global, \
    (SELECT COUNT(*) n, COALESCE(SUM(ref_count_client), 0) c, COALESCE(SUM(ref_count_client > 0), 0) uc, \
     COALESCE(SUM(ref_count_server), 0) s, COALESCE(SUM(ref_count_server > 0), 0) us, COALESCE(MAX(global_stmt_id), 0) m \
     FROM stats_mysql_prepared_statements_info) \
    WHERE Variable_Name LIKE 'Stmt_%' AND Variable_Value <> CASE Variable_Name \
     WHEN 'Stmt_Client_Active_Total' THEN c WHEN 'Stmt_Client_Active_Unique' THEN uc \
     WHEN 'Stmt_Server_Active_Total' THEN s WHEN 'Stmt_Server_Active_Unique' THEN us \
     WHEN 'Stmt_Max_Stmt_id' THEN m ELSE n END";

#[test]
fn prepared_statements_are_those_of_mariadb() {
    statements_are_shown(&Backend::start(&[]));
}

#[test]
fn prepared_statements_are_those_of_mysql() {
    if let Some(db) = Backend::start_mysql_or_skip(&[]) {
        statements_are_shown(&db);
    }
}

/// How many statements the server has.
fn at_server(db: &Backend) -> String {
    let said = db.sql("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
    said.chars().filter(char::is_ascii_digit).collect()
}

/// Waits until the server has as many as the table says: it hears of closed connections a little
/// later.
async fn expect_agreement(db: &Backend, admin: &mut Client) {
    let count = "SELECT COALESCE(SUM(ref_count_server), 0) FROM stats_mysql_prepared_statements_info";
    let shown = value(admin, count).await;
    wait_for("the server to have as many", || at_server(db) == shown);
    assert_eq!(value(admin, DIFFERENT).await, "");
}

fn start(db: &Backend) -> Proxy {
    Setup::before(&db.sandbox, &db.server)
        .variable("multiplexing", true)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .start()
}

/// What random sessions follow from: the same in each run, so that a change is not refused for what
/// it has not changed.
const SEED: u64 = 20_261_125;

/// A statement that it has once, and one that it has twice.
async fn prepare(client: &mut Client) -> [Statement; 3] {
    let mut statements = Vec::new();
    for sql in ["SELECT ?, 2", "SELECT 'once more'", "SELECT 'once more'"] {
        statements.push(client.prepare(sql).await.unwrap());
    }
    client.execute(&statements[0], &[Value::Int(1)]).await.unwrap();
    client.execute(&statements[2], &[]).await.unwrap();
    statements.try_into().unwrap()
}

fn statements_are_shown(db: &Backend) {
    let proxy = start(db);
    run(async {
        let mut admin = admin(&proxy).await;
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            let statements = prepare(&mut client).await;
            clients.push((client, statements));
        }
        assert_eq!(
            value(&mut admin, ROWS).await,
            "test app SELECT 'once more' 16 1 0; test app SELECT ?, 2 8 2 1"
        );
        let digests = "SELECT COUNT(*) FROM stats_mysql_prepared_statements_info JOIN stats_mysql_query_digest USING (digest)";
        assert_eq!(number(&mut admin, digests).await, 2);
        expect_agreement(db, &mut admin).await;
        let before = value(&mut admin, IDS).await;
        // Every other client closes one, and executes another one.
        for (client, [common, once_more, _]) in clients.iter_mut().step_by(2) {
            client.close(common.clone()).await.unwrap();
            client.execute(once_more, &[]).await.unwrap();
        }
        let common =
            "SELECT ref_count_client FROM stats_mysql_prepared_statements_info WHERE query = 'SELECT ?, 2'";
        wait_for_value(&mut admin, common, "4").await;
        expect_agreement(db, &mut admin).await;
        assert_eq!(value(&mut admin, IDS).await, before);
        drop(clients);
        let handles =
            "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Stmt_Client_Active_Total'";
        wait_for_value(&mut admin, handles, "0").await;
        expect_agreement(db, &mut admin).await;
        // Idle connections are closed with the server's row.
        tell(
            &mut admin,
            &["UPDATE mysql_servers SET status = 'OFFLINE_HARD'", "LOAD MYSQL SERVERS TO RUNTIME"],
        )
        .await;
        wait_for_value(&mut admin, "SELECT COUNT(*) FROM stats_mysql_prepared_statements_info", "0").await;
        expect_agreement(db, &mut admin).await;
    });
}

/// A client that prepares, executes and closes as it likes, and what it has: schema and text of
/// each statement.
struct Restless {
    client: Client,
    dice: Dice,
    schema: &'static str,
    had: Vec<(&'static str, &'static str, Statement)>,
}

impl Restless {
    const TEXTS: [&str; 4] = ["SELECT ?", "SELECT ?, 2", "SELECT ? -- long", "DO ?"];
    const STEPS: usize = 150;

    async fn step(&mut self, options: &Options) {
        match self.dice.below(20) {
            0..7 => {
                let text = *self.dice.pick(&Self::TEXTS);
                self.had.push((self.schema, text, self.client.prepare(text).await.unwrap()));
            }
            7..12 if !self.had.is_empty() => {
                let (_, _, statement) = self.had.swap_remove(self.dice.below(self.had.len()));
                self.client.close(statement).await.unwrap();
            }
            12 => {
                self.client.reset_connection().await.unwrap();
                self.had.clear();
            }
            13 => {
                self.schema = *self.dice.pick(&["test", "mysql"]);
                self.client.init_db(self.schema).await.unwrap();
            }
            14 => {
                self.client = Client::connect(options).await.unwrap();
                (self.schema, self.had) = ("test", Vec::new());
            }
            15 => tell(&mut self.client, &["BEGIN", "SELECT 1", "COMMIT"]).await,
            16 => assert!(self.client.prepare("SELECT no_such_column").await.is_err()),
            _ if !self.had.is_empty() => {
                let (_, _, statement) = self.dice.pick(&self.had);
                self.client.execute(statement, &[Value::Int(1)]).await.unwrap();
            }
            _ => tell(&mut self.client, &["SET @@sql_mode = 'ANSI'"]).await,
        }
    }

    async fn run(mut self, options: Options) -> Self {
        for _ in 0..Self::STEPS {
            self.step(&options).await;
        }
        // What is not answered is done, too.
        self.client.ping().await.unwrap();
        self
    }
}

#[test]
fn whatever_clients_do_is_counted() {
    let db = Backend::start(&[]);
    let proxy = Setup::new(&db.sandbox)
        .server(&db.server, "max_connections = 16")
        .user(USER, PASSWORD, "")
        .variable("multiplexing", true)
        .variable("max_stmts_per_connection", 3)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .start();
    run(async {
        let mut all = JoinSet::new();
        for number in 0..16 {
            let (options, dice) = (proxy.options(), Dice::new(SEED, number));
            let client = Client::connect(&options).await.unwrap();
            all.spawn(Restless { client, dice, schema: "test", had: Vec::new() }.run(options));
        }
        let all = all.join_all().await;
        let mut expected: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (schema, text, _) in all.iter().flat_map(|one| &one.had) {
            *expected.entry((*schema, *text)).or_default() += 1;
        }
        let expected: Vec<String> =
            expected.iter().map(|((schema, text), count)| format!("{schema} {text} {count}")).collect();
        let mut admin = admin(&proxy).await;
        let rows = "SELECT group_concat(schemaname || ' ' || query || ' ' || ref_count_client) FROM \
                    (SELECT * FROM stats_mysql_prepared_statements_info WHERE ref_count_client > 0 ORDER BY schemaname, query)";
        wait_for_value(&mut admin, rows, &expected.join(",")).await;
        expect_agreement(&db, &mut admin).await;
    });
}
