//! The ways that lead to the proxy and from it to servers.

use e2e::tools::{mariadb, mariadb_through};
use e2e::{Setup, run};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, proxy, value};

#[test]
fn the_command_line_client_works_over_tcp() {
    let proxy = proxy();
    let output = mariadb_through(&DB.sandbox, &proxy, &["--execute=SELECT CURRENT_USER(), DATABASE(), 'ä'"]);
    assert_eq!(output.expect_success(), "app@%\ttest\tä\n");
}

#[test]
fn the_command_line_client_works_over_a_unix_socket() {
    let proxy = proxy();
    let socket = format!("--socket={}", proxy.socket().display());
    let (user, password) = (format!("--user={USER}"), format!("--password={PASSWORD}"));
    let output = mariadb(&DB.sandbox, &[&socket, &user, &password, "--execute=SELECT 1; SELECT 2"]);
    assert_eq!(output.expect_success(), "1\n2\n");
}

#[test]
fn a_server_can_be_a_unix_socket() {
    let row = format!("hostname = \"{}\"\nport = 0", DB.server.socket().display());
    let proxy = Setup::new(&DB.sandbox).row("mysql_servers", &row).user(USER, PASSWORD, "").start();
    let output = mariadb_through(&DB.sandbox, &proxy, &["--execute=SELECT 1"]);
    assert_eq!(output.expect_success(), "1\n");
}

#[test]
fn a_layer_4_listener_copies_bytes() {
    let proxy = Setup::before(&DB.sandbox, &DB.server).layer4().start();
    run(async {
        let options = Options::tcp(proxy.layer4(), USER, PASSWORD);
        let mut client = Client::connect(&options).await.unwrap();
        // It is the server itself that greets.
        assert!(client.server().version.contains("MariaDB"), "{:?}", client.server());
        let id = value(&mut client, "SELECT CONNECTION_ID()").await.unwrap();
        assert_eq!(id, client.server().connection_id.to_string());
        let long = value(&mut client, "SELECT REPEAT('x', 20000000)").await.unwrap();
        assert_eq!(long.len(), 20_000_000);
        client.quit().await.unwrap();
    });
}

#[test]
fn users_and_servers_of_several_hostgroups_keep_apart() {
    DB.sql("CREATE USER zero IDENTIFIED BY 'pw'; CREATE USER seven IDENTIFIED BY 'pw'");
    let proxy = Setup::new(&DB.sandbox)
        .server(&DB.server, "hostgroup_id = 7")
        .user("seven", "pw", "default_hostgroup = 7")
        .user("zero", "pw", "")
        .start();
    run(async {
        let connect = async |user| Client::connect(&Options::tcp(proxy.tcp(), user, "pw")).await.unwrap();
        assert_eq!(
            value(&mut connect("seven").await, "SELECT USER()").await.as_deref(),
            Some("seven@127.0.0.1")
        );
        let error = connect("zero").await.query("SELECT 1").await.unwrap_err().to_string();
        assert!(error.contains("9001") && error.contains("hostgroup 0"), "{error}");
    });
}
