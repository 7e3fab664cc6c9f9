//! Connections that clients have left, and who gets them.

use config::Config;
use testkit::client::Options;
use wire::command::Kind;

use super::support::{
    CLASSIC, Client, Database, begin, config as usual, expect_alive, expect_nothing_left, first_query,
    log_in, log_in_as, ms, options, options_for, play, run, settle, stage, user,
};

/// The question that goes with a reset.
const QUESTION: &str = "SELECT 1 FROM DUAL WHERE @@init_connect <> ''";

/// What a client with the usual collation has said at its login.
const CHARSET: &str = "SET character_set_client = 45, character_set_results = 45, collation_connection = 45";

/// The usual configuration, in which a server's connections are all kept.
fn config() -> Config {
    let mut config = usual();
    config.variables.free_connections_pct = 100;
    config
}

fn in_schema(schema: &str) -> Options {
    options().schema(schema)
}

/// The client says goodbye.
async fn quit(mut client: Client) {
    client.send_command(Kind::Quit, b"").await;
    client.expect_end().await;
}

/// The server is asked to forget what the client did there, and does.
async fn reset(server: &mut Database) {
    server.expect_command(Kind::ResetConnection, b"").await;
    server.ok().await;
    server.expect_query(QUESTION).await;
    server.rows(&["1"], &[]).await;
    settle().await;
}

/// A statement of a client that takes a connection which was kept.
async fn take(client: &mut Client, server: &mut Database) {
    client.send_query("DO 1").await;
    server.expect_query(CHARSET).await;
    server.ok().await;
    server.expect_query("DO 1").await;
    server.ok().await;
    client.expect_ok().await;
}

#[test]
fn the_next_client_of_the_user_gets_it() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for _ in 0..3 {
            quit(client).await;
            reset(&mut server).await;
            assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 1));
            client = log_in(&stage).await;
            take(&mut client, &mut server).await;
            assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 0));
            expect_alive(&mut client, &mut server).await;
        }
        assert_eq!(stage.global("Server_Connections_created"), 1);
        assert_eq!(stage.global("ConnPool_get_conn_immediate"), 3);
    });
}

#[test]
fn it_is_in_the_schema_of_its_next_client() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in_as(&stage, &in_schema("one")).await;
        let mut server = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut server, "USE other").await;
        quit(client).await;
        reset(&mut server).await;
        let mut client = log_in_as(&stage, &in_schema("two")).await;
        client.send_query("DO 1").await;
        server.expect_command(Kind::InitDb, b"two").await;
        server.ok().await;
        server.expect_query(CHARSET).await;
        server.ok().await;
        server.expect_query("DO 1").await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn what_a_server_has_against_the_schema_the_client_hears() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in_as(&stage, &in_schema("one")).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        let mut client = log_in_as(&stage, &in_schema("gone")).await;
        client.send_query("DO 1").await;
        server.expect_command(Kind::InitDb, b"gone").await;
        server.err(1049, "42000", "Unknown database 'gone'").await;
        server.expect_query(CHARSET).await;
        server.ok().await;
        client.expect_err(1049).await;
        server.expect_command(Kind::Quit, b"").await;
    });
}

#[test]
fn c01_another_client_than_its_own_never_gets_it() {
    let mut config = config();
    config.users.push(user("other", "word"));
    play(async || {
        for options in [options_for("other", "word"), in_schema("one"), options().capabilities(CLASSIC)] {
            let (stage, mut servers) = stage(config.clone());
            let mut client = log_in(&stage).await;
            let mut server = first_query(&mut client, &mut servers).await;
            quit(client).await;
            reset(&mut server).await;
            let mut other = log_in_as(&stage, &options).await;
            let mut its_server = first_query(&mut other, &mut servers).await;
            expect_alive(&mut other, &mut its_server).await;
            assert_eq!((stage.usage(0).open, stage.usage(0).resting), (2, 1), "{options:?}");
        }
    });
}

#[test]
fn c04_what_a_reset_may_leave_is_not_kept() {
    play(async || {
        for statement in ["CALL p()", "SET ROLE admin", "XA START 'x'", "BEGIN", "USE chosen"] {
            let (stage, mut servers) = stage(config());
            let mut client = log_in(&stage).await;
            let mut server = first_query(&mut client, &mut servers).await;
            match statement {
                "BEGIN" => begin(&mut client, &mut server).await,
                _ => run(&mut client, &mut server, statement).await,
            }
            quit(client).await;
            server.expect_command(Kind::Quit, b"").await;
            expect_nothing_left(&stage).await;
        }
    });
}

#[test]
fn a_connection_that_a_client_drops_is_not_kept() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        drop(client);
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn one_that_cannot_be_reset_ends() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.err(1047, "08S01", "Unknown command").await;
        server.expect_query(QUESTION).await;
        server.rows(&["1"], &[]).await;
        server.expect_command(Kind::Quit, b"").await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn one_whose_server_does_something_at_logins_ends() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.ok().await;
        server.expect_query(QUESTION).await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        server.expect_command(Kind::Quit, b"").await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn one_that_its_server_has_closed_is_not_given() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        drop(server);
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        expect_alive(&mut client, &mut server).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn c02_one_over_which_its_server_says_something_is_not_given() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        server.ok().await;
        settle().await;
        let mut client = log_in(&stage).await;
        let mut other = first_query(&mut client, &mut servers).await;
        expect_alive(&mut client, &mut other).await;
    });
}

#[test]
fn one_that_does_not_take_the_greeting_is_not_given() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        server.expect_query(CHARSET).await;
        server.err(1115, "42000", "Unknown character set").await;
        let mut other = servers.accept().await;
        other.expect_query("DO 0").await;
        other.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn who_waits_for_a_server_gets_its_place() {
    let mut config = config();
    config.servers[0].max_connections = 1;
    config.users.push(user("other", "word"));
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        let mut other = log_in_as(&stage, &options_for("other", "word")).await;
        first_query(&mut other, &mut servers).await;
        server.expect_command(Kind::Quit, b"").await;
        assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 0));
    });
}

#[test]
fn the_user_gets_it_although_the_server_is_full() {
    let mut config = config();
    config.servers[0].max_connections = 1;
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        let mut client = log_in(&stage).await;
        take(&mut client, &mut server).await;
    });
}

#[test]
fn another_configuration_opens_others() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        stage.apply(config()).unwrap();
        let mut client = log_in(&stage).await;
        let mut its_server = first_query(&mut client, &mut servers).await;
        tokio::time::sleep(ms(2000)).await;
        server.expect_command(Kind::Quit, b"").await;
        expect_alive(&mut client, &mut its_server).await;
        assert_eq!((stage.usage(0).open, stage.usage(0).resting), (1, 0));
    });
}

#[test]
fn one_that_was_opened_under_another_configuration_ends() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        let mut changed = config();
        changed.servers[0].use_ssl = true;
        stage.apply(changed).unwrap();
        quit(client).await;
        server.expect_command(Kind::Quit, b"").await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_server_that_answers_no_more_is_waited_for_once() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut first = first_query(&mut one, &mut servers).await;
        let mut second = first_query(&mut two, &mut servers).await;
        for (client, server) in [(one, &mut first), (two, &mut second)] {
            quit(client).await;
            reset(server).await;
        }
        assert_eq!(stage.usage(0).resting, 2);
        let mut client = log_in(&stage).await;
        client.send_query("DO 0").await;
        second.expect_query(CHARSET).await;
        // Nothing is heard of it; the other one is not even asked.
        first.expect_command(Kind::Quit, b"").await;
        let mut server = servers.accept().await;
        server.expect_query("DO 0").await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn those_that_nobody_uses_are_pinged() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        quit(client).await;
        reset(&mut server).await;
        for _ in 0..3 {
            server.expect_command(Kind::Ping, b"").await;
            server.ok().await;
        }
        // One that is not answered was the last.
        server.expect_command(Kind::Ping, b"").await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn one_that_is_too_old_ends() {
    let mut config = config();
    config.variables.connection_max_age = ms(60_000);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        tokio::time::sleep(ms(60_000)).await;
        quit(client).await;
        reset(&mut server).await;
        server.expect_command(Kind::Quit, b"").await;
        expect_nothing_left(&stage).await;
    });
}
