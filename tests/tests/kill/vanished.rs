//! What vanished clients left running.

use e2e::{Backend, Setup, on_each_server, run, wait_for};

use super::{options, proxy_for, running, sleeper};

on_each_server! {
    c23_the_statement_of_a_client_that_vanishes_is_killed,
    it_can_be_left_running,
}

fn c23_the_statement_of_a_client_that_vanishes_is_killed(db: &Backend) {
    let proxy = proxy_for(db, "vanished");
    run(async {
        drop(sleeper(db, "vanished", &options(&proxy, "vanished")).await);
        wait_for("the statement to be killed", || running(db, "vanished") == 0);
        wait_for("its connection to be closed", || db.connections_of("vanished") == 0);
    });
}

fn it_can_be_left_running(db: &Backend) {
    db.sql("CREATE USER left_running IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO left_running");
    let proxy = Setup::before(&db.sandbox, &db.server)
        .user("left_running", "pw", "max_connections = 1")
        .variable("kill_backend_connection_when_disconnect", false)
        .start();
    let options = options(&proxy, "left_running");
    run(async {
        drop(sleeper(db, "left_running", &options).await);
        // The session is over as soon as another one gets its place.
        let mut next = testkit::client::Client::connect(&options).await;
        while next.is_err() {
            tokio::task::yield_now().await;
            next = testkit::client::Client::connect(&options).await;
        }
        next.unwrap().query("SELECT 1").await.unwrap();
        assert_eq!(running(db, "left_running"), 1);
    });
}
