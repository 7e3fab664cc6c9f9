//! KILL as a statement and as a command, and the ids that lists show.

use e2e::{Backend, Setup, on_each_server, run, wait_for};
use testkit::client::{Client, Options};
use wire::command::Kind;

use super::{expect_interrupted, options, proxy_for, running, sleeper};

on_each_server! {
    c03_kill_query_ends_a_statement_of_another_client,
    c03_kill_ends_a_session,
    c03_other_users_kill_only_what_the_server_lets_them,
    c03_who_has_no_connection_is_killed_only_as_the_server_lets,
    lists_show_ids_that_kill_understands,
    lists_show_no_session_that_has_left,
    an_id_of_the_server_works_too,
}

fn c03_kill_query_ends_a_statement_of_another_client(db: &Backend) {
    let proxy = proxy_for(db, "kill_query");
    let tcp = options(&proxy, "kill_query");
    let unix = Options::unix(proxy.socket(), "kill_query", "pw");
    run(async {
        for (victim, killer) in [(&tcp, &unix), (&unix, &tcp)] {
            let mut victim = sleeper(db, "kill_query", victim).await;
            let mut killer = Client::connect(killer).await.unwrap();
            killer.query(&format!("KILL QUERY {}", victim.server().connection_id)).await.unwrap();
            expect_interrupted(&mut victim).await;
            assert_eq!(running(db, "kill_query"), 0);
            // Nothing else was hit.
            for _ in 0..10 {
                assert_eq!(victim.query("SELECT 'alive'").await.unwrap().first().as_deref(), Some("alive"));
            }
        }
    });
}

fn c03_kill_ends_a_session(db: &Backend) {
    let proxy = proxy_for(db, "kill_session");
    let options = options(&proxy, "kill_session");
    run(async {
        for as_command in [true, false] {
            let mut victim = sleeper(db, "kill_session", &options).await;
            let id = victim.server().connection_id;
            let mut killer = Client::connect(&options).await.unwrap();
            if as_command {
                killer.send_command(Kind::ProcessKill, &id.to_le_bytes()).await.unwrap();
                killer.read_result().await.unwrap();
            } else {
                killer.query(&format!("KILL {id}")).await.unwrap();
            }
            victim.read_result().await.unwrap_err();
            assert!(victim.query("SELECT 1").await.is_err(), "the session is over");
            wait_for("the end of the statement", || running(db, "kill_session") == 0);
            wait_for("the session to be gone", || db.connections_of("kill_session") == 0);
            assert_eq!(killer.query(&format!("KILL {id}")).await.unwrap_err().code(), Some(1094));
            // Idle.
            let mut idle = Client::connect(&options).await.unwrap();
            idle.query("SELECT 1").await.unwrap();
            killer.query(&format!("KILL {}", idle.server().connection_id)).await.unwrap();
            assert!(idle.query("SELECT 1").await.is_err());
            // Oneself.
            let own = killer.server().connection_id;
            let code = killer.query(&format!("KILL {own}")).await.unwrap_err().code();
            assert_eq!(code, Some(if db.is_mysql() { 1317 } else { 1927 }));
        }
    });
}

fn c03_other_users_kill_only_what_the_server_lets_them(db: &Backend) {
    let victim_and_stranger = [("killed_by_others", "ALL ON *.*"), ("stranger", "SELECT ON test.*")];
    let mut setup = Setup::before(&db.sandbox, &db.server);
    for (user, rights) in victim_and_stranger {
        db.sql(&format!("CREATE USER {user} IDENTIFIED BY 'pw'; GRANT {rights} TO {user}"));
        setup = setup.user(user, "pw", "");
    }
    let proxy = setup.start();
    run(async {
        let options = |user| options(&proxy, user);
        let mut victim = sleeper(db, "killed_by_others", &options("killed_by_others")).await;
        let id = victim.server().connection_id;
        let mut stranger = Client::connect(&options("stranger")).await.unwrap();
        for sql in [format!("KILL {id}"), format!("KILL QUERY {id}")] {
            let error = stranger.query(&sql).await.unwrap_err();
            assert_eq!(error.code(), Some(1095), "{error}");
            assert!(error.to_string().contains(&id.to_string()), "the id that clients know: {error}");
        }
        assert_eq!(running(db, "killed_by_others"), 1);
        // This one has all privileges at the server.
        let mut other = Client::connect(&proxy.options()).await.unwrap();
        other.query(&format!("KILL QUERY {id}")).await.unwrap();
        expect_interrupted(&mut victim).await;
    });
}

fn c03_who_has_no_connection_is_killed_only_as_the_server_lets(db: &Backend) {
    let mut setup = Setup::before(&db.sandbox, &db.server);
    for user in ["idle", "idle_stranger"] {
        db.sql(&format!("CREATE USER {user} IDENTIFIED BY 'pw'; GRANT SELECT ON test.* TO {user}"));
        setup = setup.user(user, "pw", "");
    }
    let proxy = setup.start();
    run(async {
        let options = |user| options(&proxy, user);
        let mut victim = Client::connect(&options("idle")).await.unwrap();
        victim.query("EXPLAIN ROUTE SELECT 1").await.unwrap();
        let id = victim.server().connection_id;
        let mut stranger = Client::connect(&options("idle_stranger")).await.unwrap();
        for sql in [format!("KILL {id}"), format!("KILL QUERY {id}")] {
            let error = stranger.query(&sql).await.unwrap_err();
            assert_eq!(error.code(), Some(1095), "{error}");
            assert!(error.to_string().contains(&id.to_string()), "the id that clients know: {error}");
        }
        assert_eq!(victim.query("SELECT 'alive'").await.unwrap().first().as_deref(), Some("alive"));
        let mut victim = Client::connect(&options("idle")).await.unwrap();
        // The proxy answers this itself, so the test need not wait until the session is known.
        victim.query("EXPLAIN ROUTE SELECT 1").await.unwrap();
        // This one has all privileges at the server.
        let mut other = Client::connect(&proxy.options()).await.unwrap();
        other.query(&format!("KILL {}", victim.server().connection_id)).await.unwrap();
        assert!(victim.query("SELECT 1").await.is_err(), "the session is over");
    });
}

fn lists_show_no_session_that_has_left(db: &Backend) {
    let proxy = proxy_for(db, "gone");
    let options = options(&proxy, "gone");
    run(async {
        let mut client = Client::connect(&options).await.unwrap();
        // It has a connection of its own, and does not take that of the other one.
        client.query("BEGIN").await.unwrap();
        let mut other = Client::connect(&options).await.unwrap();
        other.query("SELECT 1").await.unwrap();
        let id = other.server().connection_id;
        drop(other);
        while client.query(&format!("KILL QUERY {id}")).await.is_ok() {}
        let list = client.query("SHOW PROCESSLIST").await.unwrap().text().unwrap();
        let ids = list.iter().filter(|row| row[1].as_deref() == Some("gone"));
        let ids: Vec<u32> = ids.filter_map(|row| row[0].as_deref()?.parse().ok()).collect();
        // The connection of the one that has left is there still, or was closed.
        assert!(ids.contains(&client.server().connection_id) && !ids.contains(&id), "{id}: {list:?}");
    });
}

fn lists_show_ids_that_kill_understands(db: &Backend) {
    let proxy = proxy_for(db, "listed");
    let options = options(&proxy, "listed");
    run(async {
        let mut victim = sleeper(db, "listed", &options).await;
        let id = victim.server().connection_id.to_string();
        let mut killer = Client::connect(&options).await.unwrap();
        let own = killer.server().connection_id.to_string();
        assert_eq!(killer.query("SELECT CONNECTION_ID()").await.unwrap().first(), Some(own.clone()));
        let list = killer.query("SHOW FULL PROCESSLIST").await.unwrap().text().unwrap();
        let sleeping: Vec<_> = list
            .iter()
            .filter(|row| row.iter().flatten().any(|cell| cell == "listed"))
            .filter(|row| row.iter().flatten().any(|cell| cell.contains("SLEEP(1000)")))
            .collect();
        assert_eq!(sleeping.len(), 1, "{list:?}");
        assert_eq!(sleeping[0][0].as_deref(), Some(&*id));
        assert!(list.iter().any(|row| row[0].as_deref() == Some(&own)), "{list:?}");
        killer.query(&format!("KILL QUERY {}", sleeping[0][0].as_deref().unwrap())).await.unwrap();
        expect_interrupted(&mut victim).await;
    });
}

fn an_id_of_the_server_works_too(db: &Backend) {
    let proxy = proxy_for(db, "server_id");
    let options = options(&proxy, "server_id");
    run(async {
        let mut victim = sleeper(db, "server_id", &options).await;
        let mut killer = Client::connect(&options).await.unwrap();
        let sql = "SELECT id FROM information_schema.processlist WHERE info LIKE '%SLEEP(1000) FROM%' \
            AND user = 'server_id' AND id <> CONNECTION_ID()";
        let id = killer.query(sql).await.unwrap().first().unwrap();
        killer.query(&format!("KILL QUERY {id}")).await.unwrap();
        expect_interrupted(&mut victim).await;
    });
}
