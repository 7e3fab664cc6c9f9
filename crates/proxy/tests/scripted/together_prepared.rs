//! Executions of prepared statements of several sessions that go out together over one connection:
//! each names the statement that is there.

use config::Config;
use proxy::stage::Stage;
use tokio::time::timeout;
use wire::Capabilities;
use wire::command::Kind;

use super::compress::accept;
use super::left_statements::{config_with, expect_close};
use super::shared::{comes, let_in};
use super::shared_traces::COLUMN;
use super::support::{
    Client, Database, Servers, begin, commit, log_in, messages, ms, play, run, settle, stage,
};

const SQL: &[u8] = b"SELECT c FROM t WHERE id = ?";

/// The server's number for the statement of the session that prepares it last.
const LAST: u8 = 4;

/// The type of an integer, and of a real number with as many bytes.
const INTEGER: u8 = 8;
const REAL: u8 = 5;

/// An execution of the statement `id` with this value, and with its type if there is one.
fn execution(id: u8, typed: Option<u8>, value: u8) -> Vec<u8> {
    let types = typed.map_or(vec![0], |code| vec![1, code, 0]);
    [&[id, 0, 0, 0, 0, 1, 0, 0, 0, 0][..], &types, &[value, 0, 0, 0, 0, 0, 0, 0]].concat()
}

/// A session's own answer.
fn answer_of(of: usize) -> Vec<u8> {
    messages(1, &[&[0, u8::try_from(of).expect("it is small"), 0, 2, 0, 0, 0]])
}

/// Four sessions that have prepared the same statement, and one that has the only connection in a
/// transaction whenever they have to wait.
struct Four {
    stage: Stage,
    servers: Servers,
    holder: Client,
    clients: Vec<Client>,
    server: Database,
}

fn config() -> Config {
    let mut config = config_with(20);
    config.variables.connect_timeout_server_max = ms(1_000);
    config.pointsman.statements_together = 8;
    // All are served in the order in which they come.
    config.pointsman.connection_turn = ms(0);
    config
}

async fn at_mariadb(servers: &mut Servers) -> Database {
    servers.accept().await
}

async fn at_mysql(servers: &mut Servers) -> Database {
    accept(servers, Capabilities::default()).await.0
}

impl Four {
    /// All have prepared it; of statements that are the same the last one is left. That its
    /// executions are done in no time is known.
    async fn new(config: Config, accept: impl AsyncFn(&mut Servers) -> Database) -> Self {
        let (stage, mut servers) = stage(config);
        let mut holder = log_in(&stage).await;
        holder.send_query("SELECT 0").await;
        let mut server = accept(&mut servers).await;
        comes(&mut holder, &mut server, "SELECT 0").await;
        let mut clients = Vec::new();
        for _ in 0..LAST {
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 0").await;
            let_in(&mut server).await;
            comes(&mut client, &mut server, "SELECT 0").await;
            clients.push(client);
        }
        for (id, client) in (1..).zip(&mut clients) {
            client.send_command(Kind::StmtPrepare, SQL).await;
            if id > 2 {
                expect_close(&mut server, id - 2).await;
            }
            prepares(&mut server, id).await;
            client.read().await;
            client.read().await;
        }
        holder.send_query("SELECT 0").await;
        expect_close(&mut server, LAST - 1).await;
        comes(&mut holder, &mut server, "SELECT 0").await;
        let mut four = Self { stage, servers, holder, clients, server };
        for _ in 0..8 {
            four.hold().await;
            four.executes(0, Some(INTEGER)).await;
            four.let_go().await;
            four.expect(0, INTEGER).await;
            four.serve(0).await;
        }
        four
    }

    async fn hold(&mut self) {
        begin(&mut self.holder, &mut self.server).await;
    }

    async fn let_go(&mut self) {
        commit(&mut self.holder, &mut self.server).await;
    }

    /// A session executes the statement, which it calls by the number that it was told.
    async fn executes(&mut self, of: usize, typed: Option<u8>) {
        let id = u8::try_from(of + 1).expect("it is small");
        self.clients[of].send_command(Kind::StmtExecute, &execution(id, typed, id)).await;
        settle().await;
    }

    /// The server gets that execution, with types: the one before was another session's.
    async fn expect(&mut self, of: usize, code: u8) {
        let value = u8::try_from(of + 1).expect("it is small");
        self.server.expect_command(Kind::StmtExecute, &execution(LAST, Some(code), value)).await;
    }

    async fn answer(&mut self, of: usize) {
        self.server.send_bytes(&answer_of(of)).await;
    }

    async fn serve(&mut self, of: usize) {
        self.answer(of).await;
        self.expect_answer(of).await;
    }

    async fn expect_answer(&mut self, of: usize) {
        assert_eq!(self.clients[of].expect_ok().await.affected_rows, of as u64);
    }

    /// Sends the executions of all to the server before one is answered.
    async fn sent(mut self) -> Self {
        self.hold().await;
        for of in 0..4 {
            // The first one has told the type before.
            self.executes(of, (of > 0).then_some(INTEGER)).await;
        }
        self.let_go().await;
        for of in 0..4 {
            self.expect(of, INTEGER).await;
        }
        self
    }

    /// Nothing has been mixed up: all go on as usual.
    async fn expect_in_order(mut self) {
        for (of, client) in self.clients.iter_mut().enumerate() {
            run(client, &mut self.server, &format!("SELECT {of}")).await;
        }
        drop((self.holder, self.clients));
        settle().await;
        let usage = self.stage.usage(0);
        assert_eq!((self.stage.sessions(), usage.open, usage.resting, usage.waiting), (0, 1, 1, 0));
    }
}

/// A client prepares another statement, which the server calls `id`.
async fn prepare(client: &mut Client, server: &mut Database, sql: &[u8], id: u8) {
    client.send_command(Kind::StmtPrepare, sql).await;
    server.expect_command(Kind::StmtPrepare, sql).await;
    server.send(&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
    server.send(&COLUMN).await;
    client.read().await;
    client.read().await;
}

/// The server is to prepare the statement, which it calls `id`.
async fn prepares(server: &mut Database, id: u8) {
    server.expect_command(Kind::StmtPrepare, SQL).await;
    server.send(&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
    server.send(&COLUMN).await;
}

#[test]
fn c01_executions_that_go_out_together_come_back_to_who_has_asked() {
    async fn check(accept: impl AsyncFn(&mut Servers) -> Database) {
        let mut four = Four::new(config(), accept).await;
        for round in 1..4 {
            four = four.sent().await;
            for of in 0..4 {
                four.answer(of).await;
            }
            for of in 0..4 {
                four.expect_answer(of).await;
            }
            assert_eq!(four.stage.global("Queries_sent_together"), round * 4);
        }
        assert_eq!(four.stage.global("Queries_sent_once_more"), 0);
        four.expect_in_order().await;
    }
    play(async || check(at_mariadb).await);
    play(async || check(at_mysql).await);
}

/// `ER_NEED_REPREPARE` is among what may not be told.
#[test]
fn c15_an_error_is_told_only_if_it_comes_again() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await.sent().await;
        four.serve(0).await;
        let refusal = [&[0xff, 0x4f, 0x06][..], b"#HY000re-prepare"].concat();
        four.server.send_bytes(&messages(1, &[&refusal])).await;
        four.serve(2).await;
        four.serve(3).await;
        four.expect(1, INTEGER).await;
        four.serve(1).await;
        assert_eq!(four.stage.global("Queries_sent_once_more"), 1);
        four.expect_in_order().await;
    });
}

/// At MySQL a value is made what those before it were.
#[test]
fn c04_values_of_other_types_do_not_go_along() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await;
        four.hold().await;
        for of in 0..4 {
            four.executes(of, Some(if of == 1 { REAL } else { INTEGER })).await;
        }
        four.let_go().await;
        for of in [0, 2, 3] {
            four.expect(of, INTEGER).await;
        }
        assert!(timeout(ms(1), four.server.read_command()).await.is_err());
        for of in [0, 2, 3] {
            four.serve(of).await;
        }
        prepares(&mut four.server, 9).await;
        four.server.expect_command(Kind::StmtExecute, &execution(9, Some(REAL), 2)).await;
        four.serve(1).await;
        four.expect_in_order().await;
    });
}

/// The one whose execution is sent first may change what the statement is to the others.
#[test]
fn c04_no_execution_is_batched_behind_a_value_of_another_type() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await;
        // As often as it is executed, its parameter has had strings only.
        let sql: &[u8] = b"SELECT c FROM t WHERE  id = ?";
        prepare(&mut four.clients[0], &mut four.server, sql, 7).await;
        prepare(&mut four.clients[1], &mut four.server, sql, 8).await;
        four.holder.send_query("SELECT 0").await;
        expect_close(&mut four.server, 7).await;
        comes(&mut four.holder, &mut four.server, "SELECT 0").await;
        four.hold().await;
        let text = |id: u8| [&[id, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'a'][..]].concat();
        four.clients[0].send_command(Kind::StmtExecute, &execution(7, Some(INTEGER), 1)).await;
        settle().await;
        four.clients[1].send_command(Kind::StmtExecute, &text(8)).await;
        settle().await;
        four.let_go().await;
        four.server.expect_command(Kind::StmtExecute, &execution(8, Some(INTEGER), 1)).await;
        assert!(timeout(ms(1), four.server.read_command()).await.is_err());
        four.serve(0).await;
        four.server.expect_command(Kind::StmtPrepare, sql).await;
        four.server.send(&[0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
        four.server.send(&COLUMN).await;
        four.server.expect_command(Kind::StmtExecute, &text(9)).await;
        four.serve(1).await;
        four.expect_in_order().await;
    });
}

/// The server says it once. What goes out together and has warnings is not told, and sent once
/// more.
#[test]
fn c15_a_client_hears_that_columns_have_changed_if_the_answer_that_said_so_was_not_told() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await.sent().await;
        for of in 0..3 {
            four.serve(of).await;
        }
        let two_columns = async |server: &mut Database, end: &[u8]| {
            server.send_bytes(&messages(1, &[&[2], &COLUMN, &COLUMN, end])).await;
        };
        two_columns(&mut four.server, &[0xfe, 0, 0, 2, 4, 1, 0]).await;
        four.expect(3, INTEGER).await;
        two_columns(&mut four.server, &[0xfe, 0, 0, 2, 0, 0, 0]).await;
        for _ in 0..3 {
            four.clients[3].read().await;
        }
        assert_eq!(four.clients[3].read().await, [0xfe, 0, 0, 2, 4, 0, 0]);
        four.holder.send_query("SELECT 0").await;
        expect_close(&mut four.server, LAST).await;
        comes(&mut four.holder, &mut four.server, "SELECT 0").await;
        four.expect_in_order().await;
    });
}

/// `SERVER_STATUS_METADATA_CHANGED` in an answer whose client has gone.
#[test]
fn c15_a_statement_whose_columns_have_changed_is_prepared_again() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await.sent().await;
        drop(four.clients.remove(3));
        settle().await;
        for of in 0..3 {
            four.serve(of).await;
        }
        four.server.send_bytes(&messages(1, &[&[0, 3, 0, 2, 4, 0, 0]])).await;
        settle().await;
        four.clients[0].send_command(Kind::StmtExecute, &execution(1, Some(INTEGER), 1)).await;
        expect_close(&mut four.server, LAST).await;
        prepares(&mut four.server, LAST + 1).await;
        let anew = execution(LAST + 1, Some(INTEGER), 1);
        four.server.expect_command(Kind::StmtExecute, &anew).await;
        four.serve(0).await;
        four.expect_in_order().await;
    });
}

#[test]
fn where_the_statement_is_not_its_executions_go_out_one_by_one() {
    play(async || {
        let mut config = config();
        config.variables.max_stmts_per_connection = 1;
        let mut four = Four::new(config, at_mariadb).await;
        let other: &[u8] = b"SELECT d FROM t WHERE id = ?";
        prepare(&mut four.clients[2], &mut four.server, other, 7).await;
        four.holder.send_query("SELECT 0").await;
        expect_close(&mut four.server, LAST).await;
        comes(&mut four.holder, &mut four.server, "SELECT 0").await;
        four.hold().await;
        for of in 0..4 {
            four.executes(of, Some(INTEGER)).await;
        }
        four.let_go().await;
        prepares(&mut four.server, LAST).await;
        four.expect(0, INTEGER).await;
        assert!(timeout(ms(1), four.server.read_command()).await.is_err());
        four.serve(0).await;
        // What is closed first is said with one command.
        expect_close(&mut four.server, 7).await;
        four.expect(1, INTEGER).await;
        assert!(timeout(ms(1), four.server.read_command()).await.is_err());
        four.serve(1).await;
        four.expect(2, INTEGER).await;
        four.expect(3, INTEGER).await;
        four.serve(2).await;
        four.serve(3).await;
        four.expect_in_order().await;
    });
}

#[test]
fn who_leaves_meanwhile_leaves_nothing_to_the_others() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await.sent().await;
        let gone = four.clients.remove(1);
        drop(gone);
        settle().await;
        for of in 0..4 {
            four.answer(of).await;
        }
        for (client, of) in four.clients.iter_mut().zip([0, 2, 3]) {
            assert_eq!(client.expect_ok().await.affected_rows, of);
        }
        four.expect_in_order().await;
    });
}

#[test]
fn a_server_that_goes_away_ends_no_session() {
    play(async || {
        let mut four = Four::new(config(), at_mysql).await.sent().await;
        four.serve(0).await;
        four.server.shut_down().await;
        four.server = at_mysql(&mut four.servers).await;
        // The session that comes first prepares it, and the others execute that statement.
        prepares(&mut four.server, LAST).await;
        let mut served = Vec::new();
        for _ in 0..3 {
            let command = four.server.read_command().await;
            let of =
                command.get(command.len() - 8).map(|value| usize::from(value - 1)).expect("an execution");
            let value = u8::try_from(of + 1).expect("it is small");
            assert_eq!(command[1..], execution(LAST, Some(INTEGER), value));
            four.serve(of).await;
            served.push(of);
        }
        served.sort_unstable();
        assert_eq!(served, [1, 2, 3]);
        four.expect_in_order().await;
    });
}
