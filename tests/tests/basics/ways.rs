//! The ways that lead to the proxy and from it to servers.

use e2e::tools::{mariadb, mariadb_through};
use e2e::{Backend, Setup, on_each_server, run};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use wire::compress::Method;

use super::{proxy, value};

on_each_server! {
    the_command_line_client_works_over_tcp,
    the_command_line_client_works_over_a_unix_socket,
    a_server_can_be_a_unix_socket,
    a_layer_4_listener_copies_bytes,
    a_user_may_have_its_bytes_copied_whatever_is_on_either_side,
    users_and_servers_of_several_hostgroups_keep_apart,
}

fn the_command_line_client_works_over_tcp(db: &Backend) {
    let proxy = proxy(db);
    let output = mariadb_through(&db.sandbox, &proxy, &["--execute=SELECT CURRENT_USER(), DATABASE(), 'ä'"]);
    assert_eq!(output.expect_success(), "app@%\ttest\tä\n");
}

fn the_command_line_client_works_over_a_unix_socket(db: &Backend) {
    let proxy = proxy(db);
    let socket = format!("--socket={}", proxy.socket().display());
    let (user, password) = (format!("--user={USER}"), format!("--password={PASSWORD}"));
    let output = mariadb(&db.sandbox, &[&socket, &user, &password, "--execute=SELECT 1; SELECT 2"]);
    assert_eq!(output.expect_success(), "1\n2\n");
}

fn a_server_can_be_a_unix_socket(db: &Backend) {
    let row = format!("hostname = \"{}\"\nport = 0", db.server.socket().display());
    let proxy = Setup::new(&db.sandbox).row("mysql_servers", &row).user(USER, PASSWORD, "").start();
    let output = mariadb_through(&db.sandbox, &proxy, &["--execute=SELECT 1"]);
    assert_eq!(output.expect_success(), "1\n");
}

fn a_layer_4_listener_copies_bytes(db: &Backend) {
    let proxy = Setup::before(&db.sandbox, &db.server).layer4().start();
    run(async {
        let options = Options::tcp(proxy.layer4(), USER, PASSWORD);
        let mut client = Client::connect(&options).await.unwrap();
        // It is the server itself that greets.
        let version = value(&mut client, "SELECT VERSION()").await.unwrap();
        assert_eq!(client.server().version.trim_start_matches("5.5.5-"), version);
        let id = value(&mut client, "SELECT CONNECTION_ID()").await.unwrap();
        assert_eq!(id, client.server().connection_id.to_string());
        let long = value(&mut client, "SELECT REPEAT('x', 20000000)").await.unwrap();
        assert_eq!(long.len(), 20_000_000);
        client.quit().await.unwrap();
    });
}

fn a_user_may_have_its_bytes_copied_whatever_is_on_either_side(db: &Backend) {
    for compression in ["", "compression = 1"] {
        let proxy = Setup::new(&db.sandbox)
            .server(&db.server, compression)
            .user(USER, PASSWORD, "fast_forward = 1")
            .variable("multiplexing", true)
            .start();
        run(async {
            for options in [proxy.options(), proxy.options().compression(Method::Zlib)] {
                let mut client = Client::connect(&options).await.unwrap();
                assert_eq!(value(&mut client, "SELECT DATABASE()").await.unwrap(), "test");
                // The proxy has not replaced it.
                let id = value(&mut client, "SELECT CONNECTION_ID()").await.unwrap();
                assert_ne!(id, client.server().connection_id.to_string());
                let long = value(&mut client, "SELECT REPEAT('x', 20000000)").await.unwrap();
                assert_eq!(long.len(), 20_000_000);
                client.query("SELECT nothing").await.unwrap_err();
                assert_eq!(value(&mut client, "SELECT CONNECTION_ID()").await.unwrap(), id);
                client.quit().await.unwrap();
            }
        });
    }
}

fn users_and_servers_of_several_hostgroups_keep_apart(db: &Backend) {
    db.sql("CREATE USER zero IDENTIFIED BY 'pw'; CREATE USER seven IDENTIFIED BY 'pw'");
    let proxy = Setup::new(&db.sandbox)
        .server(&db.server, "hostgroup_id = 7")
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
