//! Privileges that are taken away through the proxy: no answer that the server would refuse.
//!
//! In the scopes `user` and `proven` only: in `shared` an account gets what another one may read,
//! as the operator has said.

use e2e::{Backend, Proxy, admin, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

use super::{USER, connect, proxy, value};

/// `ER_DBACCESS_DENIED_ERROR`, the same of tables and columns, that of views, and what a session
/// hears that has lost all of its schema: its connections are in none.
const DENIED: [u16; 5] = [1044, 1046, 1142, 1143, 1356];
/// The account that loses something.
const LOSER: &str = "loser";

/// A way to take a privilege away.
#[derive(Debug)]
struct Loss {
    /// What gives the privilege, run at the server itself before the accounts connect.
    gives: &'static str,
    /// What is read.
    sql: &'static str,
    /// What takes the privilege away, run through the proxy by an administrator.
    takes: &'static [&'static str],
    /// Whether it is a statement of one make of server.
    only: Option<bool>,
}

const READ: &str = "SELECT a FROM secret WHERE id = 1";

/// `only`: whether MySQL has it.
const LOSSES: [Loss; 11] = [
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &["REVOKE SELECT ON test.secret FROM loser@'127.0.0.1'"],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &["REVOKE ALL PRIVILEGES, GRANT OPTION FROM loser@'127.0.0.1'"],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT (id, a) ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &["REVOKE SELECT (a) ON test.secret FROM loser@'127.0.0.1'"],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: "SELECT MAX(a) FROM (SELECT a FROM secret) AS derived",
        takes: &["/* words in front */ revoke select on secret from loser@'127.0.0.1'"],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &["DO 1; REVOKE SELECT ON test.secret FROM loser@'127.0.0.1'; DO 2"],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &[
            "SET @text = 'REVOKE SELECT ON test.secret FROM loser@''127.0.0.1'''",
            "PREPARE of_revoke FROM @text",
            "EXECUTE of_revoke",
        ],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &[
            "DELETE FROM mysql.tables_priv WHERE User = 'loser' AND Table_name = 'secret'",
            "FLUSH PRIVILEGES",
        ],
        only: None,
    },
    Loss {
        gives: "GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: READ,
        takes: &[
            "USE mysql",
            "UPDATE tables_priv SET Table_priv = '' WHERE User = 'loser' AND Table_name = 'secret'",
            "FLUSH PRIVILEGES",
        ],
        only: None,
    },
    Loss {
        gives: "GRANT reading TO loser@'127.0.0.1'; SET DEFAULT ROLE reading FOR loser@'127.0.0.1'",
        sql: READ,
        takes: &["REVOKE SELECT ON test.secret FROM reading"],
        only: Some(false),
    },
    Loss {
        gives: "GRANT reading TO loser@'127.0.0.1'; SET DEFAULT ROLE reading TO loser@'127.0.0.1'",
        sql: READ,
        takes: &["REVOKE SELECT ON test.secret FROM reading"],
        only: Some(true),
    },
    Loss {
        gives: "GRANT SELECT, SHOW VIEW ON test.seen_secret TO loser@'127.0.0.1'; \
                GRANT SELECT ON test.secret TO loser@'127.0.0.1'",
        sql: "SELECT a FROM seen_secret WHERE id = 1",
        takes: &["ALTER SQL SECURITY INVOKER VIEW test.seen_secret AS SELECT id, a FROM test.hidden"],
        only: None,
    },
];

pub(super) fn c21_no_answer_that_the_server_would_refuse(server: &Backend) {
    server.sql(
        "CREATE TABLE test.secret (id INT PRIMARY KEY, a VARCHAR(20)); \
         CREATE TABLE test.hidden LIKE test.secret; INSERT INTO test.hidden VALUES (1, 'two')",
    );
    for scope in ["user", "proven"] {
        let proxy = proxy(server, &format!(r#"{{"cache": {{"scope": "{scope}"}}}}"#));
        for loss in
            LOSSES.iter().filter(|loss| loss.only.is_none_or(|of_mysql| of_mysql == server.is_mysql()))
        {
            lose(server, &proxy, scope, loss);
        }
    }
}

/// One account loses a privilege; another one keeps its own.
fn lose(server: &Backend, proxy: &Proxy, scope: &str, loss: &Loss) {
    server.sql(&format!(
        "DROP USER IF EXISTS loser@'127.0.0.1'; CREATE USER loser@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         DROP ROLE IF EXISTS reading; CREATE ROLE reading; GRANT SELECT ON test.secret TO reading; \
         REPLACE INTO test.secret VALUES (1, 'one'); \
         CREATE OR REPLACE VIEW test.seen_secret AS SELECT id, a FROM test.secret"
    ));
    server.sql(loss.gives);
    run(async {
        admin::connect(proxy).await.query("FLUSH CACHE").await.unwrap();
        let mut loser = connect(proxy, LOSER).await;
        let mut prepared = connect(proxy, LOSER).await;
        let statement = prepared.prepare(loss.sql).await.unwrap();
        for _ in 0..3 {
            value(&mut loser, loss.sql).await;
            prepared.execute(&statement, &[]).await.unwrap();
        }
        // The answers are in the cache: this change did not go through the proxy.
        server.sql("UPDATE test.secret SET a = 'changed' WHERE id = 1");
        assert_eq!(value(&mut loser, loss.sql).await, "one", "{scope}, {loss:?}: it is not cached");
        let mut boss = connect(proxy, "boss").await;
        for text in loss.takes {
            boss.query(text).await.unwrap_or_else(|error| panic!("{scope}, {text}: {error}"));
        }
        let mut keeper = connect(proxy, USER).await;
        for _ in 0..2 {
            // An answer for another account is in the cache again.
            for _ in 0..3 {
                value(&mut keeper, loss.sql).await;
            }
            is_denied(proxy, &mut loser, scope, loss).await;
            let error = prepared.execute(&statement, &[]).await.unwrap_err();
            assert!(error.code().is_some_and(|code| DENIED.contains(&code)), "{scope}, {loss:?}: {error}");
        }
    });
}

/// Sessions of the account that has lost it are refused, those from before and new ones.
async fn is_denied(proxy: &Proxy, loser: &mut Client, scope: &str, loss: &Loss) {
    let asks = async |client: &mut Client| match client.query(loss.sql).await {
        Ok(result) => panic!("{scope}, {loss:?}: {:?}", result.first()),
        Err(error) => error,
    };
    // An account that has lost all of the schema does not get into it.
    let later = match Client::connect(&Options::tcp(proxy.tcp(), LOSER, PASSWORD).schema("test")).await {
        Ok(mut later) => asks(&mut later).await,
        Err(error) => error,
    };
    for error in [asks(loser).await, later] {
        assert!(error.code().is_some_and(|code| DENIED.contains(&code)), "{scope}, {loss:?}: {error}");
    }
}
