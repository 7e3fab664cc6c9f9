//! Which server a session gets: those that fail are left alone, slow ones passed over, and the
//! balance decides.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use config::{Balance, Config, HostgroupAttributes};
use testkit::script::ScriptedServer;
use tokio::time::{Instant, sleep};

use super::acquire::{no_server, retrying};
use super::shared::comes;
use super::support::{CAPACITY, first_query, lets_in, log_in, ms, play, run, stage, stage_with};

/// Servers of hostgroup 0 that are chosen like this.
fn balanced(balance: Balance, servers: &[&str]) -> Config {
    let mut row = HostgroupAttributes::default();
    row.hostgroup_settings.balance = Some(balance);
    Config { hostgroup_attributes: vec![row], ..retrying(servers, 10, ms(1)) }
}

#[test]
fn c24_a_server_that_fails_is_left_alone_and_sessions_wait_for_it() {
    play(async || {
        let (down, attempts) = (Rc::new(Cell::new(true)), Rc::new(Cell::new(0)));
        let (refused, count) = (Rc::clone(&down), Rc::clone(&attempts));
        let (stage, mut servers) = stage_with(retrying(&["db"], 10, ms(1)), CAPACITY, move |_| {
            count.set(count.get() + 1);
            refused.get()
        });
        let mut client = log_in(&stage).await;
        let start = Instant::now();
        let back = async {
            sleep(ms(500)).await;
            assert_eq!((attempts.get(), stage.servers(false)[0].status), (5, "SHUNNED"));
            down.set(false);
        };
        let (_, ()) = tokio::join!(first_query(&mut client, &mut servers), back);
        assert_eq!(start.elapsed(), ms(1004), "a second after the last of five attempts");
        assert_eq!((attempts.get(), stage.servers(false)[0].status), (6, "ONLINE"));
    });
}

#[test]
fn c24_the_wait_for_a_server_that_fails_has_an_end() {
    play(async || {
        let (stage, _servers) = stage_with(retrying(&["db"], 100, ms(1)), CAPACITY, |_| true);
        let mut client = log_in(&stage).await;
        let (text, elapsed) = no_server(&mut client).await;
        assert_eq!(elapsed, ms(10_000));
        for part in [
            "none of its 1 servers can be taken: db:3306: it was shunned, its last connect error was ",
            "; tried db:3306 50 times (connection refused)",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!((stage.usage(0).open, stage.usage(0).waiting), (0, 0));
    });
}

#[test]
fn errors_about_users_do_not_count_against_the_server() {
    play(async || {
        let (stage, mut servers) = stage(retrying(&["db"], 10, ms(1)));
        for code in [1045, 1862, 1044, 3118, 1049, 1045, 1045] {
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 1").await;
            let mut server = ScriptedServer::new(servers.dialled().await.1);
            server.greet().await;
            server.read_login().await;
            server.err(code, "HY000", "No").await;
            client.expect_err(code).await;
        }
        assert_eq!((stage.servers(false)[0].status, stage.servers(false)[0].failed), ("ONLINE", 7));
    });
}

/// A session whose connection no other session takes would stay for days at the server that it was
/// given first.
#[test]
fn sessions_are_spread_anew_from_time_to_time() {
    play(async || {
        let mut config = balanced(Balance::RoundRobin, &["a", "b"]);
        config.variables.multiplexing = true;
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        let (first, end) = servers.dialled().await;
        let mut server = lets_in(end).await;
        comes(&mut client, &mut server, "SELECT 1").await;
        let mut stayed = 0;
        let (second, end) = loop {
            client.send_query("SELECT 2").await;
            tokio::select! {
                biased;
                dialled = servers.dialled() => break dialled,
                command = server.read_command() => assert_eq!(command, b"\x03SELECT 2"),
            }
            server.ok().await;
            client.packets().expect_seq(1);
            client.expect_ok().await;
            stayed += 1;
        };
        assert_ne!(first, second);
        assert!((30..120).contains(&stayed), "it left after {stayed} statements");
        let mut other = lets_in(end).await;
        comes(&mut client, &mut other, "SELECT 2").await;
        // It returns to the first one without a login.
        for _ in 0..=stayed {
            client.send_query("SELECT 3").await;
            let server = tokio::select! {
                command = server.read_command() => { assert_eq!(command, b"\x03SELECT 3"); &mut server }
                command = other.read_command() => { assert_eq!(command, b"\x03SELECT 3"); &mut other }
            };
            server.ok().await;
            client.packets().expect_seq(1);
            client.expect_ok().await;
        }
    });
}

/// Status of the server after one error, which is enough to shun it. The session gets its place
/// when `left` of its time to wait remains, and the server does not answer.
fn status_after_silence(left: Duration, one_attempt: Duration) -> &'static str {
    let status = Cell::new("");
    play(async || {
        let mut config = retrying(&["db"], 0, ms(1));
        config.servers[0].max_connections = 1;
        config.variables.connect_timeout_server = one_attempt;
        let (stage, mut servers) = stage(config);
        let mut first = log_in(&stage).await;
        let _held = first_query(&mut first, &mut servers).await;
        let mut second = log_in(&stage).await;
        let leave = async {
            sleep(ms(10_000).saturating_sub(left)).await;
            drop(first);
        };
        let ((_, elapsed), ()) = tokio::join!(no_server(&mut second), leave);
        assert_eq!(elapsed + left.saturating_sub(one_attempt), ms(10_000));
        status.set(stage.servers(false)[0].status);
    });
    status.get()
}

#[test]
fn a_server_is_not_to_blame_for_the_little_time_that_a_session_has_left() {
    assert_eq!(status_after_silence(ms(400), ms(1000)), "ONLINE");
    assert_eq!(status_after_silence(ms(1000), ms(1000)), "SHUNNED");
    assert_eq!(status_after_silence(ms(5000), ms(1000)), "SHUNNED");
    // No attempt gets the whole time.
    assert_eq!(status_after_silence(ms(4000), ms(20_000)), "ONLINE");
    assert_eq!(status_after_silence(ms(6000), ms(20_000)), "SHUNNED");
}

#[test]
fn a_server_that_is_slow_to_connect_to_is_passed_over() {
    play(async || {
        let mut config = balanced(Balance::FirstAvailable, &["far", "near"]);
        config.servers[0].max_latency = ms(50);
        let (stage, mut servers) = stage(config);
        let start = Instant::now();
        let mut first = log_in(&stage).await;
        first.send_query("SELECT 1").await;
        let (name, end) = servers.dialled().await;
        sleep(ms(60)).await;
        let mut server = ScriptedServer::accept(end).await.0;
        server.expect_query("SELECT 1").await;
        server.ok().await;
        first.expect_ok().await;
        assert_eq!((name.as_str(), stage.servers(false)[0].latency), ("far:3306", ms(60)));
        for (at, expected) in [(61, "near:3306"), (10_059, "near:3306"), (10_061, "far:3306")] {
            sleep(ms(at).saturating_sub(start.elapsed())).await;
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 1").await;
            assert_eq!(servers.dialled().await.0, expected, "{at}");
        }
    });
}

/// The load under which a login takes seconds is no reason to refuse all sessions.
#[test]
fn c23_an_only_server_is_taken_however_slow_it_is() {
    play(async || {
        let mut config = balanced(Balance::Weighted, &["one"]);
        config.variables.default_max_latency = ms(50);
        let (stage, mut servers) = stage(config);
        let start = Instant::now();
        for _ in 0..2 {
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 1").await;
            let (_, end) = servers.dialled().await;
            sleep(ms(60)).await;
            let mut server = ScriptedServer::accept(end).await.0;
            server.expect_query("SELECT 1").await;
            server.ok().await;
            client.expect_ok().await;
            assert_eq!(stage.servers(false)[0].latency, ms(60));
        }
        assert_eq!(start.elapsed(), ms(120), "there is no other wait");
    });
}

#[test]
fn the_server_that_runs_less_is_taken() {
    play(async || {
        let (stage, mut servers) = stage(balanced(Balance::LeastLoaded, &["one", "two"]));
        let mut busy = log_in(&stage).await;
        busy.send_query("SELECT SLEEP(1)").await;
        let (busy_name, end) = servers.dialled().await;
        let mut slow = ScriptedServer::accept(end).await.0;
        slow.expect_query("SELECT SLEEP(1)").await;
        let mut clients = Vec::new();
        for _ in 0..20 {
            let mut client = log_in(&stage).await;
            client.send_query("DO 0").await;
            let (name, end) = servers.dialled().await;
            assert_ne!(name, busy_name);
            let mut server = ScriptedServer::accept(end).await.0;
            server.expect_query("DO 0").await;
            server.ok().await;
            client.expect_ok().await;
            clients.push((client, server));
        }
        // When its statement is over it is as good as the other again.
        slow.ok().await;
        busy.expect_ok().await;
        run(&mut busy, &mut slow, "DO 1").await;
        let mut names = Vec::new();
        for _ in 0..40 {
            let mut client = log_in(&stage).await;
            client.send_query("DO 0").await;
            names.push(servers.dialled().await.0);
            drop(client);
        }
        assert!(names.contains(&busy_name));
    });
}

#[test]
fn a_changed_balance_holds_at_once() {
    play(async || {
        let names = ["one", "two", "three"];
        let (stage, mut servers) = stage(balanced(Balance::FirstAvailable, &names));
        let mut dialled = Vec::new();
        for round in 0..6 {
            if round == 3 {
                stage.apply(balanced(Balance::RoundRobin, &names)).unwrap();
            }
            let mut client = log_in(&stage).await;
            client.send_query("DO 0").await;
            dialled.push(servers.dialled().await.0);
        }
        let expected = ["one:3306", "one:3306", "one:3306", "one:3306", "two:3306", "three:3306"];
        assert_eq!(dialled, expected);
    });
}
