//! Statements of several sessions that go out together over one connection, of which no client may
//! notice anything.

use proxy::stage::Stage;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use super::shared::{config, let_in, two_of};
use super::support::{
    Client, Database, Servers, begin, commit, log_in, messages, ms, options, pair_of_servers, play, run,
    settle, stage,
};

/// Four sessions that wait for one connection, on which a transaction of a fifth one is open, with
/// statements that are known to be done in no time.
struct Waiting {
    stage: Stage,
    servers: Servers,
    holder: Client,
    clients: Vec<Client>,
    server: Database,
}

/// The statement of a session.
fn statement(of: usize) -> String {
    format!("SELECT c FROM t WHERE id = {of}")
}

/// A session's own answer, and the number of its warnings.
fn answer_of(of: usize, warnings: u8) -> Vec<u8> {
    messages(1, &[&[0, u8::try_from(of).expect("it is small"), 0, 2, 0, warnings, 0]])
}

/// The server answers the statement of a session.
async fn answer(server: &mut Database, of: usize) {
    server.send_bytes(&answer_of(of, 0)).await;
}

async fn refuse(server: &mut Database, code: u16) {
    let [low, high] = code.to_le_bytes();
    server.send_bytes(&messages(1, &[&[0xff, low, high, b'#', b'4', b'2', b'S', b'0', b'2', b'!']])).await;
}

async fn expect_answer(client: &mut Client, of: usize) {
    assert_eq!(client.expect_ok().await.affected_rows, of as u64);
}

impl Waiting {
    async fn new() -> Self {
        Self::with(8).await
    }

    /// The same where so many statements go out together at most.
    async fn with(together: u32) -> Self {
        let mut config = config();
        config.variables.connect_timeout_server_max = ms(1_000);
        config.pointsman.statements_together = together;
        // All are served in the order in which they come.
        config.pointsman.connection_turn = ms(0);
        let (stage, servers, holder, first, mut server) = two_of(config, &options(), &options()).await;
        let mut clients = vec![first];
        for _ in 1..4 {
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 0").await;
            let_in(&mut server).await;
            server.expect_query("SELECT 0").await;
            server.ok().await;
            client.expect_ok().await;
            clients.push(client);
        }
        let mut waiting = Self { stage, servers, holder, clients, server };
        // Each time one of them has to wait, it is seen to be done at once.
        for _ in 0..8 {
            waiting.hold().await;
            waiting.clients[0].send_query(&statement(0)).await;
            settle().await;
            waiting.let_go().await;
            waiting.server.expect_query(&statement(0)).await;
            answer(&mut waiting.server, 0).await;
            expect_answer(&mut waiting.clients[0], 0).await;
        }
        waiting.all_wait().await;
        waiting
    }

    /// The connection is in use.
    async fn hold(&mut self) {
        begin(&mut self.holder, &mut self.server).await;
    }

    /// It is not any more.
    async fn let_go(&mut self) {
        commit(&mut self.holder, &mut self.server).await;
    }

    /// All wait for it with their statements.
    async fn all_wait(&mut self) {
        self.hold().await;
        for (of, client) in self.clients.iter_mut().enumerate() {
            client.send_query(&statement(of)).await;
            settle().await;
        }
        assert_eq!(self.stage.usage(0).waiting, 4);
    }

    /// All that they have sent is there at once.
    async fn expect_all(&mut self) {
        for of in 0..4 {
            self.server.expect_query(&statement(of)).await;
        }
    }

    /// Clients whose statements are all at the server, before one is answered.
    async fn sent() -> Self {
        let mut all = Self::new().await;
        all.let_go().await;
        all.expect_all().await;
        all
    }

    /// These get their answers.
    async fn serve(&mut self, sessions: impl IntoIterator<Item = usize>) {
        for of in sessions {
            answer(&mut self.server, of).await;
            expect_answer(&mut self.clients[of], of).await;
        }
    }

    /// Three sessions send their statements once more, and get their answers. Which ones?
    async fn served_once_more(&mut self) -> Vec<usize> {
        let mut served = Vec::new();
        for _ in 0..3 {
            let command = self.server.read_command().await;
            let text = String::from_utf8_lossy(&command).into_owned();
            let of = text.rsplit(' ').next().and_then(|id| id.parse().ok()).expect("a statement of theirs");
            self.serve([of]).await;
            served.push(of);
        }
        served.sort_unstable();
        served
    }

    /// Nothing has been mixed up: all go on as usual.
    async fn expect_in_order(mut self) {
        for (of, client) in self.clients.iter_mut().enumerate() {
            run(client, &mut self.server, &format!("SELECT {of}")).await;
        }
        assert_eq!(self.stage.usage(0).waiting, 0);
        drop((self.holder, self.clients));
        settle().await;
        let usage = self.stage.usage(0);
        assert_eq!((self.stage.sessions(), usage.open, usage.resting, usage.waiting), (0, 1, 1, 0));
    }
}

#[test]
fn c01_what_goes_out_together_comes_back_to_who_has_asked() {
    play(async || {
        let mut all = Waiting::sent().await;
        for of in 0..4 {
            answer(&mut all.server, of).await;
        }
        for (of, client) in all.clients.iter_mut().enumerate() {
            expect_answer(client, of).await;
        }
        assert_eq!(all.stage.global("Server_Connections_created"), 1);
        assert_eq!(
            (all.stage.global("Queries_sent_together"), all.stage.global("Queries_sent_once_more")),
            (4, 0)
        );
        all.expect_in_order().await;
    });
}

#[test]
fn c02_answers_are_told_apart_wherever_they_are_cut() {
    play(async || {
        for len in [1, 2, 3, 4, 5, 7, 11, 13, 22, 43] {
            let mut all = Waiting::sent().await;
            let bytes: Vec<u8> = (0..4).flat_map(|of| answer_of(of, 0)).collect();
            for piece in bytes.chunks(len) {
                all.server.send_bytes(piece).await;
                // Each is read on its own, and no time goes by.
                for _ in 0..20 {
                    yield_now().await;
                }
            }
            for (of, client) in all.clients.iter_mut().enumerate() {
                expect_answer(client, of).await;
            }
            all.expect_in_order().await;
        }
    });
}

#[test]
fn each_goes_out_alone_if_the_operator_wants_that() {
    play(async || {
        let mut all = Waiting::with(1).await;
        all.let_go().await;
        for of in 0..4 {
            all.server.expect_query(&statement(of)).await;
            settle().await;
            answer(&mut all.server, of).await;
            expect_answer(&mut all.clients[of], of).await;
        }
        all.expect_in_order().await;
    });
}

#[test]
fn who_has_warnings_to_ask_about_is_served_alone() {
    play(async || {
        let mut all = Waiting::sent().await;
        // They are gone when the next statement runs, so the client is not told of these.
        all.server.send_bytes(&answer_of(0, 1)).await;
        all.serve(1..4).await;
        all.server.expect_query(&statement(0)).await;
        all.server.send_bytes(&answer_of(0, 1)).await;
        expect_answer(&mut all.clients[0], 0).await;
        // The connection is kept for the question.
        all.clients[1].send_query("SELECT 5").await;
        settle().await;
        all.clients[0].send_query("SHOW WARNINGS").await;
        all.server.expect_query("SHOW WARNINGS").await;
        all.server.rows(&["Level"], &[&[Some("Note")]]).await;
        all.clients[0].expect_rows(&[&[Some("Note")]]).await;
        run(&mut all.clients[0], &mut all.server, "DELETE FROM t").await;
        all.server.expect_query("SELECT 5").await;
        all.server.ok().await;
        all.clients[1].expect_ok().await;
        all.expect_in_order().await;
    });
}

#[test]
fn an_error_is_told_only_if_it_comes_again() {
    play(async || {
        let mut all = Waiting::sent().await;
        answer(&mut all.server, 0).await;
        expect_answer(&mut all.clients[0], 0).await;
        refuse(&mut all.server, 1146).await;
        answer(&mut all.server, 2).await;
        expect_answer(&mut all.clients[2], 2).await;
        refuse(&mut all.server, 1146).await;
        // The last one has the connection and says it at once.
        all.server.expect_query(&statement(3)).await;
        refuse(&mut all.server, 1146).await;
        all.clients[3].expect_err(1146).await;
        run(&mut all.clients[3], &mut all.server, "DELETE FROM t").await;
        all.server.expect_query(&statement(1)).await;
        answer(&mut all.server, 1).await;
        expect_answer(&mut all.clients[1], 1).await;
        assert_eq!(
            (all.stage.global("Queries_sent_together"), all.stage.global("Queries_sent_once_more")),
            (4, 2)
        );
        all.expect_in_order().await;
    });
}

#[test]
fn what_is_interrupted_does_not_begin_anew() {
    play(async || {
        for code in [1317, 1969, 3024] {
            let mut all = Waiting::sent().await;
            refuse(&mut all.server, code).await;
            all.clients[0].expect_err(code).await;
            // No session waits any more for what the others have sent over that connection.
            all.server = all.servers.accept().await;
            assert_eq!(all.served_once_more().await, [1, 2, 3]);
            all.expect_in_order().await;
        }
    });
}

#[test]
fn the_warnings_of_a_statement_that_was_sent_once_more_are_cleared() {
    play(async || {
        let mut all = Waiting::sent().await;
        all.serve(0..3).await;
        all.server.send_bytes(&answer_of(3, 1)).await;
        all.server.expect_query(&statement(3)).await;
        answer(&mut all.server, 3).await;
        expect_answer(&mut all.clients[3], 3).await;
        // Behind a statement without tables, MariaDB would still have them.
        all.clients[3].send_query("SHOW WARNINGS").await;
        let command = all.server.read_command().await;
        assert_ne!(command, b"\x03SHOW WARNINGS", "they are taken away first");
        all.server.ok().await;
        all.server.expect_query("SHOW WARNINGS").await;
        all.server.ok().await;
        all.clients[3].expect_ok().await;
    });
}

#[test]
fn who_leaves_meanwhile_leaves_nothing_to_the_others() {
    play(async || {
        let mut all = Waiting::sent().await;
        drop(all.clients.remove(1));
        settle().await;
        for of in 0..4 {
            answer(&mut all.server, of).await;
        }
        for (client, of) in all.clients.iter_mut().zip([0, 2, 3]) {
            expect_answer(client, of).await;
        }
        all.expect_in_order().await;
    });
}

#[test]
fn a_kill_meanwhile_ends_only_the_killed_statement() {
    play(async || {
        let mut all = Waiting::new().await;
        let id = |sql: &str| {
            let rows = all.stage.processes();
            let row = rows.iter().find(|row| row.statement.as_deref() == Some(sql.as_bytes()));
            row.expect("it is shown").id
        };
        let (third, kill) = (id(&statement(2)), "KILL QUERY");
        all.let_go().await;
        all.expect_all().await;
        all.holder.send_query(&format!("{kill} {third}")).await;
        all.holder.expect_ok().await;
        all.clients[2].expect_err(1317).await;
        for of in 0..4 {
            answer(&mut all.server, of).await;
        }
        for of in [0, 1, 3] {
            expect_answer(&mut all.clients[of], of).await;
        }
        all.expect_in_order().await;
    });
}

#[test]
fn a_server_that_goes_away_ends_no_session() {
    play(async || {
        let mut all = Waiting::sent().await;
        answer(&mut all.server, 0).await;
        expect_answer(&mut all.clients[0], 0).await;
        all.server.shut_down().await;
        // They are reads: each is sent once more.
        all.server = all.servers.accept().await;
        assert_eq!(all.served_once_more().await, [1, 2, 3]);
        all.expect_in_order().await;
    });
}

#[test]
fn c24_no_session_waits_long_for_the_statement_of_another() {
    play(async || {
        let mut all = Waiting::sent().await;
        // The first one takes its time. The others look for another connection, of which there is
        // none.
        let begun = Instant::now();
        sleep(ms(115)).await;
        assert_eq!(all.stage.usage(0).waiting, 3);
        answer(&mut all.server, 0).await;
        expect_answer(&mut all.clients[0], 0).await;
        // What they have sent is executed all the same, and no session gets the answers.
        for of in 1..4 {
            answer(&mut all.server, of).await;
        }
        assert_eq!(all.served_once_more().await, [1, 2, 3]);
        assert!(begun.elapsed() < ms(120));
        all.expect_in_order().await;
    });
}

#[test]
fn what_may_not_be_done_twice_goes_out_alone() {
    play(async || {
        let mut all = Waiting::sent().await;
        all.serve(0..4).await;
        for sql in ["INSERT INTO t VALUES (1)", "SELECT c FROM t WHERE id = 1 FOR UPDATE", "SHOW TABLES"] {
            for _ in 0..10 {
                all.hold().await;
                for of in [0, 1] {
                    all.clients[of].send_query(sql).await;
                    settle().await;
                }
                all.let_go().await;
                for of in [0, 1] {
                    all.server.expect_query(sql).await;
                    let more = timeout(ms(1), all.server.read_command()).await;
                    assert!(more.is_err(), "{sql}");
                    answer(&mut all.server, of).await;
                    expect_answer(&mut all.clients[of], of).await;
                }
            }
        }
    });
}

#[test]
fn reads_that_the_split_sends_to_a_reader_go_out_together_as_well() {
    play(async || {
        let mut config = pair_of_servers();
        config.variables.multiplexing = true;
        config.servers[1].max_connections = 1;
        config.variables.connect_timeout_server_max = ms(1_000);
        config.pointsman.connection_turn = ms(0);
        let (stage, mut servers) = stage(config);
        let mut clients = [log_in(&stage).await, log_in(&stage).await, log_in(&stage).await];
        clients[0].send_query(&statement(0)).await;
        let (to, end) = servers.dialled().await;
        assert_eq!(to, "reader:3306");
        let mut reader = Database::accept(end).await.0;
        for (of, client) in clients.iter_mut().enumerate() {
            if of > 0 {
                client.send_query(&statement(of)).await;
                let_in(&mut reader).await;
            }
            reader.expect_query(&statement(of)).await;
            answer(&mut reader, of).await;
            expect_answer(client, of).await;
        }
        for waiting in [&[1][..]; 8].into_iter().chain([&[1, 2][..]]) {
            clients[0].send_query(&statement(0)).await;
            reader.expect_query(&statement(0)).await;
            for of in waiting {
                clients[*of].send_query(&statement(*of)).await;
                settle().await;
            }
            answer(&mut reader, 0).await;
            expect_answer(&mut clients[0], 0).await;
            for of in waiting {
                reader.expect_query(&statement(*of)).await;
            }
            for of in waiting {
                answer(&mut reader, *of).await;
                expect_answer(&mut clients[*of], *of).await;
            }
        }
        assert_eq!(stage.global("Queries_sent_together"), 2);
        // Where there is no reader any more, the writer does it.
        drop(reader);
        clients[1].send_query(&statement(1)).await;
        let (to, end) = servers.dialled().await;
        assert_eq!(to, "reader:3306");
        drop(end);
        let mut writer = loop {
            let (to, end) = servers.dialled().await;
            if to == "db:3306" {
                break Database::accept(end).await.0;
            }
        };
        writer.expect_query(&statement(1)).await;
        answer(&mut writer, 1).await;
        expect_answer(&mut clients[1], 1).await;
    });
}

#[test]
fn a_large_answer_comes_whole_and_in_its_place() {
    play(async || {
        let mut all = Waiting::sent().await;
        let cell = "x".repeat(200_000);
        let rows: &[&[Option<&str>]] = &[&[Some(&cell)]];
        let Waiting { server, clients, .. } = &mut all;
        server.packets().expect_seq(1);
        tokio::join!(server.rows(&["c"], rows), clients[0].expect_rows(rows));
        all.serve(1..4).await;
        all.expect_in_order().await;
    });
}
