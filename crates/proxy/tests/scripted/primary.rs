//! A pair whose primary changes: who gets the writes, and what becomes of sessions that were at the
//! old one.

use config::{QueryRule, ServerStatus};
use proxy::stage::Stage;
use tokio::time::{Instant, sleep};

use super::kill::log_in_with_id;
use super::support::{log_in, ms, options, play, rule};
use super::world::{World, events, pair, say, status, until};

#[test]
fn c13_a_demoted_primary_never_gets_a_write() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "INSERT 1").await;
        world.demote("a");
        until(&stage, (0, "a", "LEFT")).await;
        // There is no writer: the write waits, and no server is asked in vain.
        let begun = Instant::now();
        client.send_query("INSERT 2").await;
        sleep(ms(3_000)).await;
        assert_eq!(world.told("INSERT 2"), [""; 0]);
        world.promote("b");
        client.expect_ok().await;
        assert!(begun.elapsed() <= ms(4_100), "{:?}", begun.elapsed());
        assert_eq!(
            (world.told("INSERT 1"), world.told("INSERT 2")),
            (vec!["a:3306".to_owned()], vec!["b:3306".to_owned()])
        );
        // Writers are readers, too; and the old one is one now.
        let readers: Vec<_> =
            stage.servers(false).into_iter().filter(|server| server.hostgroup == 1).collect();
        assert_eq!(readers.len(), 2, "{readers:?}");
    });
}

#[test]
fn c13_the_wait_for_a_writer_has_an_end() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.read_only.borrow_mut().extend(["a:3306".to_owned(), "b:3306".to_owned()]);
        sleep(ms(100)).await;
        let mut client = log_in(&stage).await;
        let begun = Instant::now();
        client.send_query("INSERT 1").await;
        let error = client.expect_err(9001).await;
        assert_eq!(begun.elapsed(), ms(10_000));
        assert!(error.message.contains("the monitor knows no server"), "{error:?}");
        // The session goes on.
        world.promote("b");
        say(&mut client, "INSERT 2").await;
    });
}

/// No failover brings one of them back. As long as one is in use, it may be what the others have
/// failed over to.
#[test]
fn a_pair_that_was_taken_out_of_use_refuses_at_once() {
    for (replica, waits) in [(ServerStatus::OfflineSoft, ms(0)), (ServerStatus::Online, ms(10_000))] {
        play(async || {
            let mut config = pair();
            config.servers[0].status = ServerStatus::OfflineSoft;
            config.servers[1].status = replica;
            let (_world, _stage, mut client) = World::with_replica(config).await;
            for hostgroup in [0, 1] {
                let begun = Instant::now();
                client.send_query(&format!("/* hostgroup={hostgroup} */ INSERT 1")).await;
                if hostgroup == 1 && replica == ServerStatus::Online {
                    client.expect_ok().await;
                } else {
                    client.expect_err(9001).await;
                    assert_eq!(begun.elapsed(), waits);
                }
            }
        });
    }
}

#[test]
fn c13_a_write_that_the_old_primary_refuses_is_done_by_the_new_one() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "INSERT 1").await;
        world.demote("a");
        // The monitor does not know yet, and no server is a writer for a while.
        let begun = Instant::now();
        client.send_query("INSERT 2").await;
        sleep(ms(500)).await;
        assert!(events(&stage).contains(&(0, "a".to_owned(), "LEFT")), "it has looked at once");
        world.promote("b");
        client.expect_ok().await;
        assert!(begun.elapsed() <= ms(1_600), "{:?}", begun.elapsed());
        assert_eq!(world.told("INSERT 2"), ["b:3306"]);
        say(&mut client, "INSERT 3").await;
    });
}

/// How many questions were counted; digests are counted anew.
fn questions(stage: &Stage) -> u64 {
    let _ = stage.take_digests();
    stage.global("Questions")
}

/// What was counted since then: questions, executions by their digests, and errors of servers.
fn counted(stage: &Stage, before: u64) -> (u64, u64, Vec<u16>) {
    let executed = stage.take_digests().iter().map(|digest| digest.count).sum();
    let errors = stage.errors(true).iter().map(|error| error.code).collect();
    (stage.global("Questions") - before, executed, errors)
}

/// It was counted as often as a server got it, with an error that its client never saw.
#[test]
fn a_write_that_is_said_again_is_one_statement() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "INSERT 1").await;
        world.demote("a");
        let before = questions(&stage);
        client.send_query("INSERT 2").await;
        sleep(ms(2_000)).await;
        let running = &stage.processes()[0];
        assert!(running.time >= ms(2_000), "{running:?}");
        world.promote("b");
        client.expect_ok().await;
        assert_eq!(counted(&stage, before), (1, 1, vec![]));
    });
}

/// It has had its delay, and keeps its place under the limit, for which another one waits.
#[test]
fn a_write_that_is_said_again_has_had_its_turn() {
    play(async || {
        let mut config = pair();
        let attributes = r#"{"max_concurrent": 1}"#.to_owned();
        config.query_rules.push(QueryRule { delay: Some(ms(5_000)), attributes, ..rule(1, "INSERT 2") });
        let (world, stage, mut client) = World::with_replica(config).await;
        say(&mut client, "INSERT 1").await;
        let mut other = log_in(&stage).await;
        let begun = Instant::now();
        client.send_query("INSERT 2").await;
        sleep(ms(500)).await;
        other.send_query("INSERT 22").await;
        sleep(ms(4_490)).await;
        // The monitor does not know yet when the delay is over.
        world.demote("a");
        sleep(ms(1_010)).await;
        assert_eq!(world.said.borrow().len(), 1, "{:?}", world.said.borrow());
        world.promote("b");
        client.expect_ok().await;
        assert!(begun.elapsed() < ms(8_000), "{:?}", begun.elapsed());
        other.expect_ok().await;
        let said: Vec<String> = world.said.borrow().iter().map(|(_, sql)| sql.clone()).collect();
        assert_eq!(said, ["INSERT 1", "INSERT 2", "INSERT 22"]);
    });
}

#[test]
fn c03_a_write_that_waits_to_be_said_again_can_be_killed() {
    play(async || {
        let (world, stage, _) = World::with_replica(pair()).await;
        let (mut client, id) = log_in_with_id(&stage, &options()).await;
        say(&mut client, "INSERT 1").await;
        let mut killer = log_in(&stage).await;
        // The monitor does not find out what has become of it.
        *world.garbage.borrow_mut() = Some(b"\x01\0\0\x01x".to_vec());
        world.demote("a");
        client.send_query("INSERT 2").await;
        sleep(ms(10)).await;
        killer.send_query(&format!("KILL QUERY {id}")).await;
        killer.expect_ok().await;
        client.expect_err(1317).await;
        say(&mut client, "SELECT 1").await;
    });
}

#[test]
fn a_write_whose_refusal_the_client_hears_is_one_statement_with_one_error() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "INSERT 1").await;
        stage.stop_watching();
        world.demote("a");
        let before = questions(&stage);
        client.send_query("INSERT 2").await;
        client.expect_err(1290).await;
        assert_eq!(counted(&stage, before), (1, 1, vec![1290]));
        assert!(stage.processes()[0].statement.is_none(), "{:?}", stage.processes()[0]);
    });
}

#[test]
fn c13_a_refusal_behind_another_answer_takes_that_answer_not_away() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "BEGIN").await;
        world.demote("a");
        // Both go out in one write, and both answers come in one.
        client.send_query("UPDATE 1").await;
        client.send_query("INSERT 2").await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        client.packets().expect_seq(1);
        client.expect_err(1290).await;
        assert_eq!(world.told("UPDATE 1"), ["a:3306"]);
        assert_eq!(stage.errors(false).iter().map(|error| error.code).collect::<Vec<_>>(), [1290]);
    });
}

#[test]
fn c31_a_refusal_is_passed_on_where_nothing_has_changed() {
    play(async || {
        let mut config = pair();
        config.users[0].default_hostgroup = 1;
        config.monitor.writer_is_also_reader = false;
        let (world, _stage, mut client) = World::with_replica(config).await;
        let begun = Instant::now();
        client.send_query("INSERT 1").await;
        client.expect_err(1290).await;
        assert!(begun.elapsed() < ms(10), "{:?}", begun.elapsed());
        say(&mut client, "SELECT 1").await;
        assert_eq!((world.told("INSERT 1"), world.told("SELECT 1")), (vec![], vec!["b:3306".to_owned()]));
    });
}

#[test]
fn c13_a_write_that_was_decided_for_a_primary_goes_to_its_successor() {
    play(async || {
        let mut config = pair();
        config.query_rules.push(QueryRule { delay: Some(ms(5_000)), ..rule(1, "UPDATE") });
        let (world, stage, mut client) = World::with_replica(config).await;
        say(&mut client, "INSERT 1").await;
        // While it waits, the servers change places.
        client.send_query("UPDATE 1").await;
        sleep(ms(1_000)).await;
        world.demote("a");
        until(&stage, (0, "a", "LEFT")).await;
        world.promote("b");
        client.expect_ok().await;
        assert_eq!(world.told("UPDATE 1"), ["b:3306"]);
    });
}

#[test]
fn c24_a_statement_at_a_primary_that_has_left_for_its_silence_is_broken_off() {
    play(async || {
        let mut config = pair();
        // It has left the hostgroup before it is known not to answer.
        (config.monitor.read_only_interval, config.monitor.read_only_timeout) = (ms(100), ms(100));
        let (world, stage) = World::of(config);
        world.demote("b");
        sleep(ms(1_000)).await;
        let mut client = log_in(&stage).await;
        say(&mut client, "INSERT 1").await;
        world.freeze("a");
        client.send_query("INSERT 2").await;
        let error = client.expect_err(9009).await;
        assert!(error.message.contains("server a:3306 does not answer"), "{error:?}");
        let of_a: Vec<_> = events(&stage).into_iter().filter(|event| event.1 == "a").collect();
        assert!(of_a.contains(&(0, "a".to_owned(), "LEFT")), "{of_a:?}");
        assert!(!of_a.contains(&(0, "a".to_owned(), "SHUNNED")), "{of_a:?}");
    });
}

#[test]
fn c14_a_transaction_at_a_demoted_primary_is_over() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "BEGIN").await;
        say(&mut client, "UPDATE 1").await;
        world.demote("a");
        until(&stage, (0, "a", "LEFT")).await;
        client.send_query("UPDATE 2").await;
        let error = client.expect_err(1213).await;
        assert_eq!(
            error.to_string(),
            "1213 (40001): Transaction was rolled back: server a:3306 has left the hostgroup; try restarting transaction"
        );
        world.promote("b");
        say(&mut client, "BEGIN").await;
        say(&mut client, "UPDATE 2").await;
        say(&mut client, "COMMIT").await;
        assert_eq!(
            (world.told("UPDATE 1"), world.told("UPDATE 2")),
            (vec!["a:3306".to_owned()], vec!["b:3306".to_owned()])
        );
    });
}

#[test]
fn c14_a_write_that_is_refused_in_a_transaction_ends_it() {
    play(async || {
        let (world, stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "BEGIN").await;
        // The monitor does not know yet.
        world.demote("a");
        let begun = Instant::now();
        let before = questions(&stage);
        client.send_query("INSERT 1").await;
        let error = client.expect_err(1213).await;
        assert_eq!(
            counted(&stage, before),
            (1, 1, vec![1213]),
            "what the server has said the client has not seen; the error is the proxy's own"
        );
        assert!(error.message.contains("server a:3306 has left the hostgroup"), "{error:?}");
        assert!(begun.elapsed() < ms(500), "{:?}", begun.elapsed());
        world.promote("b");
        say(&mut client, "BEGIN").await;
        say(&mut client, "INSERT 1").await;
        assert_eq!(world.told("INSERT 1"), ["b:3306"]);
    });
}

#[test]
fn what_is_left_at_a_demoted_primary_ends_the_session() {
    play(async || {
        let (world, _stage, mut client) = World::with_replica(pair()).await;
        say(&mut client, "CREATE TEMPORARY TABLE t (a INT)").await;
        world.demote("a");
        client.packets().expect_seq(1);
        let error = client.expect_err(1053).await;
        assert!(error.message.contains("server a:3306 has left the hostgroup"), "{error:?}");
        client.expect_end().await;
    });
}

#[test]
fn c13_a_primary_that_comes_back_gets_nothing_before_it_has_said_that_it_writes() {
    play(async || {
        let (world, stage) = World::of(pair());
        world.demote("b");
        sleep(ms(100)).await;
        world.gone.borrow_mut().insert("a:3306".to_owned());
        world.freeze("a");
        until(&stage, (0, "a", "SHUNNED")).await;
        world.promote("b");
        until(&stage, (0, "b", "JOINED")).await;
        // It comes back as a replica.
        world.demote("a");
        world.gone.borrow_mut().clear();
        world.frozen.borrow_mut().clear();
        until(&stage, (1, "a", "ONLINE")).await;
        assert!(!events(&stage).contains(&(0, "a".to_owned(), "ONLINE")), "{:?}", events(&stage));
        assert_eq!(status(&stage, 0, "a"), None);
        assert_eq!(status(&stage, 1, "a"), Some("ONLINE"));
    });
}
