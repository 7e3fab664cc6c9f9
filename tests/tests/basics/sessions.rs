//! Whose session it is, and what is left of it.

use e2e::{Backend, Setup, on_each_server, run, wait_for};
use testkit::client::{Client, Options};

use super::{connect, proxy, value};

on_each_server! {
    a_user_can_change_to_another,
    c09_a_client_that_leaves_in_a_transaction_has_changed_nothing,
    c03_the_id_of_the_greeting_is_unique,
}

fn a_user_can_change_to_another(db: &Backend) {
    db.sql("CREATE USER other IDENTIFIED BY 'other-secret'; GRANT ALL ON test.* TO other");
    let proxy = Setup::before(&db.sandbox, &db.server)
        .user("other", "other-secret", "default_schema = 'test'")
        .start();
    run(async {
        let mut client = connect(&proxy).await;
        client.query("SET @gone = 1").await.unwrap();
        let other = Options::tcp(proxy.tcp(), "other", "other-secret");
        client.change_user(&other).await.unwrap();
        assert_eq!(value(&mut client, "SELECT CURRENT_USER()").await.as_deref(), Some("other@%"));
        assert_eq!(value(&mut client, "SELECT DATABASE()").await.as_deref(), Some("test"));
        assert_eq!(value(&mut client, "SELECT @gone").await, None);
        client.change_user(&proxy.options()).await.unwrap();
        assert_eq!(value(&mut client, "SELECT CURRENT_USER()").await.as_deref(), Some("app@%"));
        let wrong = Options::tcp(proxy.tcp(), "other", "wrong");
        assert_eq!(client.change_user(&wrong).await.unwrap_err().code(), Some(1045));
        let mut client = connect(&proxy).await;
        if value(&mut client, "SELECT VERSION()").await.is_some_and(|version| version.contains("MariaDB")) {
            for code in [1045, 1045, 1045, 1047] {
                assert_eq!(client.change_user(&wrong).await.unwrap_err().code(), Some(code));
                // It goes on as the user that it was.
                assert_eq!(value(&mut client, "SELECT CURRENT_USER()").await.as_deref(), Some("app@%"));
            }
        }
    });
}

fn c09_a_client_that_leaves_in_a_transaction_has_changed_nothing(db: &Backend) {
    db.sql("CREATE TABLE test.left_behind (a INT); CREATE USER leaver IDENTIFIED BY 'pw'; GRANT ALL ON test.* TO leaver");
    let proxy = Setup::new(&db.sandbox).server(&db.server, "").user("leaver", "pw", "").start();
    run(async {
        for polite in [true, false] {
            let options = Options::tcp(proxy.tcp(), "leaver", "pw").schema("test");
            let mut client = Client::connect(&options).await.unwrap();
            client.query("BEGIN").await.unwrap();
            client.query("INSERT INTO left_behind VALUES (1)").await.unwrap();
            assert_eq!(value(&mut client, "SELECT COUNT(*) FROM left_behind").await.as_deref(), Some("1"));
            if polite {
                client.quit().await.unwrap();
            } else {
                drop(client);
            }
            wait_for("the end of the backend", || db.connections_of("leaver") == 0);
            assert_eq!(db.sql("SELECT COUNT(*) FROM test.left_behind"), "0\n");
        }
    });
}

fn c03_the_id_of_the_greeting_is_unique(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let id = client.server().connection_id;
        let error = client.query(&format!("KILL {}", id + 1000)).await.unwrap_err();
        assert_eq!(error.code(), Some(1094), "{error}");
        assert_eq!(value(&mut client, "SELECT CONNECTION_ID()").await, Some(id.to_string()));
        assert_ne!(value(&mut client, "SELECT CONNECTION_ID() + 0").await, Some(id.to_string()));
        let other = connect(&proxy).await;
        assert_ne!(other.server().connection_id, id);
        assert_ne!(other.server().nonce, client.server().nonce);
    });
}
