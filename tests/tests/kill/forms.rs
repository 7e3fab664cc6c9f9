//! KILL in the forms that drivers and programs send besides the plain statement.

use e2e::{Backend, on_each_server, run, wait_for};
use testkit::client::{Client, Options, Value};

use super::{expect_interrupted, options, proxy_for, running, sleeper};

on_each_server! {
    c03_kill_is_understood_in_every_form,
    c03_kill_by_parameter,
}

fn c03_kill_is_understood_in_every_form(db: &Backend) {
    let proxy = proxy_for(db, "kill_forms");
    let options = options(&proxy, "kill_forms");
    let forms: [&[&str]; 5] = [
        &["KILL QUERY (ID)"],
        &["KILL QUERY ID + 0"],
        &["KILL QUERY 'ID'"],
        &["KILL QUERY ID; SELECT 1"],
        &["SET @id = ID", "KILL QUERY @id"],
    ];
    run(async {
        let mut killer = Client::connect(&options).await.unwrap();
        for form in forms {
            let mut victim = sleeper(db, "kill_forms", &options).await;
            let id = victim.server().connection_id.to_string();
            for text in form {
                killer
                    .query(&text.replace("ID", &id))
                    .await
                    .unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            expect_interrupted(&mut victim).await;
            wait_for("the end of the statement", || running(db, "kill_forms") == 0);
        }
        // The results are as many as the statements.
        let mut idle = Client::connect(&options).await.unwrap();
        // Its login is over for the client a moment before it is for the worker.
        idle.ping().await.unwrap();
        let text = format!("KILL {}; SELECT 1; SELECT 2", idle.server().connection_id);
        assert_eq!(killer.query_all(&text).await.unwrap().len(), 3);
        // The first error ends them.
        let error = killer.query(&format!("{text}; SELECT 3")).await.unwrap_err();
        let expected = format!("Unknown thread id: {}", idle.server().connection_id);
        assert!(error.code() == Some(1094) && error.to_string().contains(&expected), "{error}");
    });
}

/// MySQL 9 prepares no `KILL` with a parameter.
fn c03_kill_by_parameter(db: &Backend) {
    let proxy = proxy_for(db, "kill_by_parameter");
    let options = options(&proxy, "kill_by_parameter");
    run(async {
        let mut killer = Client::connect(&options).await.unwrap();
        let mut direct =
            Client::connect(&Options::tcp(db.server.address(), "kill_by_parameter", "pw")).await.unwrap();
        let code = direct.prepare("KILL QUERY ?").await.err().and_then(|error| error.code());
        let statement = match killer.prepare("KILL QUERY ?").await {
            Ok(statement) => statement,
            Err(error) => return assert_eq!(error.code(), code, "{error}"),
        };
        for as_text in [false, true, false] {
            let mut victim = sleeper(db, "kill_by_parameter", &options).await;
            let id = victim.server().connection_id;
            let value = if as_text { Value::from(&*id.to_string()) } else { Value::from(i64::from(id)) };
            killer.execute(&statement, &[value]).await.unwrap();
            expect_interrupted(&mut victim).await;
        }
        for value in [Value::from(1), Value::from(1_073_999_999), Value::Null, Value::from("a")] {
            assert_eq!(killer.execute(&statement, &[value]).await.unwrap_err().code(), Some(1094));
        }
    });
}
