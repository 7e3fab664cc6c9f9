//! From an empty proxy to one that serves, by statements of the admin port alone; and over a
//! restart.

use e2e::{Setup, run, wait_for};
use testkit::client::{Client, Options};
use testkit::guard::Signal;
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, admin, cli, with_admin};

#[test]
fn an_empty_proxy_becomes_one_that_serves_and_stays_one() {
    let setup = with_admin(Setup::new(&DB.sandbox)).datadir();
    let port = DB.server.port();
    let mut proxy = setup.clone().start();
    for sql in [
        format!(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES (10, '127.0.0.1', {port}), \
             (20, '127.0.0.1', {port})"
        ),
        "LOAD MYSQL SERVERS TO RUNTIME; SAVE MYSQL SERVERS TO DISK".to_owned(),
        format!(
            "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('{USER}', '{PASSWORD}', 10)"
        ),
        "LOAD MYSQL USERS TO RUNTIME; SAVE MYSQL USERS TO DISK".to_owned(),
        "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (10, 20)"
            .to_owned(),
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
         VALUES (1, 1, '^SELECT', 20, 1)"
            .to_owned(),
        "SAVE MYSQL QUERY RULES TO DISK".to_owned(),
        "SET mysql-max_connections=123; LOAD MYSQL VARIABLES TO RUNTIME; SAVE MYSQL VARIABLES TO DISK"
            .to_owned(),
    ] {
        cli(&proxy, &sql).expect_success();
    }
    let serves = |proxy: &e2e::Proxy| {
        run(async {
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            assert_eq!(client.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
        });
    };
    serves(&proxy);
    proxy.signal(Signal::TERM);
    proxy.wait();
    // What was not saved is gone, what was saved is there, whatever the file says.
    let again = setup.start();
    serves(&again);
    let sql = "SELECT COUNT(*) FROM mysql_servers; SELECT COUNT(*) FROM mysql_replication_hostgroups; \
               SELECT COUNT(*) FROM mysql_query_rules; SELECT @@mysql-max_connections";
    assert_eq!(cli(&again, sql).expect_success(), "2\n0\n1\n123\n");
}

#[test]
fn users_come_and_go_without_a_word_to_those_who_are_connected() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
        let mut admin = admin(&proxy).await;
        for sql in [
            &format!("UPDATE mysql_users SET active=0 WHERE username='{USER}'"),
            "LOAD MYSQL USERS TO RUNTIME",
        ] {
            admin.query(sql).await.unwrap();
        }
        let refused = Client::connect(&proxy.options()).await.unwrap_err();
        assert_eq!(refused.code(), Some(1045));
        client.query("SELECT 1").await.unwrap();
        admin.query("SAVE MYSQL USERS TO MEMORY").await.unwrap();
        admin.query("UPDATE mysql_users SET active=1").await.unwrap();
    });
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    let output = cli(
        &proxy,
        "UPDATE mysql_users SET password='*0123456789012345678901234567890123456789X' WHERE 1; \
         UPDATE global_variables SET variable_value='many' WHERE variable_name='mysql-max_connections'; \
         LOAD MYSQL VARIABLES TO RUNTIME",
    );
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("max_connections"), "{}", output.stderr);
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
    });
}

#[test]
fn admins_and_users_are_different_people() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    run(async {
        let user_as_admin = Options::tcp(proxy.admin(), USER, PASSWORD);
        assert_eq!(Client::connect(&user_as_admin).await.unwrap_err().code(), Some(1045));
        let admin_as_user = Options::tcp(proxy.tcp(), "admin", "admin");
        assert_eq!(Client::connect(&admin_as_user).await.unwrap_err().code(), Some(1045));
    });
}

#[test]
fn other_processes_see_a_saved_configuration_as_a_file() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    let path = DB.sandbox.path().join("saved.cnf");
    cli(&proxy, &format!("SAVE CONFIG TO FILE {}", path.display())).expect_success();
    wait_for("the file", || path.exists());
    let output = e2e::tools::pointsman(&DB.sandbox, ["check", "--config", &path.display().to_string()]);
    let text = output.expect_success();
    // The warning is of the accounts of this test, which are those of every new ProxySQL.
    assert!(text.contains(": ok, 2 listeners, 1 server, 1 user, 1 warning\n"), "{text}");
}
