//! Orders: to listen no more, to end, to start anew, to end a session.

use e2e::{run, wait_for};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};

use super::{admin, start, tell, value};

#[test]
fn a_paused_proxy_serves_who_is_there() {
    run(async {
        let proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let mut admin = admin(&proxy).await;
        tell(&mut admin, &["PROXYSQL PAUSE"]).await;
        Client::connect(&proxy.options()).await.unwrap_err();
        assert_eq!(value(&mut client, "SELECT 1").await, "1");
        admin.query("PROXYSQL PAUSE").await.unwrap_err();
        tell(&mut admin, &["PROXYSQL RESUME"]).await;
        let mut other = Client::connect(&proxy.options()).await.unwrap();
        assert_eq!(value(&mut other, "SELECT 2").await, "2");
        assert_eq!(value(&mut client, "SELECT 3").await, "3");
    });
}

#[test]
fn a_session_ends_when_an_admin_says_so() {
    run(async {
        let proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let id = value(&mut client, "SELECT CONNECTION_ID()").await;
        let mut other = Client::connect(&proxy.options()).await.unwrap();
        tell(&mut admin(&proxy).await, &[&format!("KILL CONNECTION {id}")]).await;
        // Told or not before the connection is gone: it is over.
        client.query("SELECT 1").await.unwrap_err();
        assert_eq!(value(&mut other, "SELECT 1").await, "1");
    });
}

#[test]
fn the_proxy_starts_anew() {
    run(async {
        let mut proxy = start();
        let unix = Options::unix(proxy.socket(), USER, PASSWORD);
        let mut client = Client::connect(&unix).await.unwrap();
        // The admin is told nothing, as by ProxySQL.
        let _ = admin(&proxy).await.query("PROXYSQL RESTART").await;
        wait_for("the second start", || {
            proxy.log().iter().filter(|line| line.contains(" ready ")).count() == 2
        });
        assert!(proxy.runs(), "the process is the same");
        client.query("SELECT 1").await.unwrap_err();
        let mut client = Client::connect(&unix).await.unwrap();
        assert_eq!(value(&mut client, "SELECT 1").await, "1");
    });
}

#[test]
fn the_proxy_ends_at_once_or_in_order() {
    run(async {
        let mut proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        tell(&mut client, &["BEGIN"]).await;
        let _ = admin(&proxy).await.query("PROXYSQL SHUTDOWN").await;
        assert!(proxy.wait().success());
        client.query("COMMIT").await.unwrap_err();

        let mut proxy = start();
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        tell(&mut client, &["BEGIN"]).await;
        let _ = admin(&proxy).await.query("PROXYSQL SHUTDOWN SLOW").await;
        proxy.wait_for_log("shutting down");
        assert_eq!(value(&mut client, "SELECT 1").await, "1");
        tell(&mut client, &["COMMIT"]).await;
        assert!(proxy.wait().success());
    });
}
