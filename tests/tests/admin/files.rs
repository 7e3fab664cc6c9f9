//! Where a configuration comes from, and files that cannot be written: `--reload`,
//! `pointsman import`, rollbacks, a disk that is full, one that is read-only.

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Proxy, Setup, run, tools};
use testkit::client::Client;
use testkit::guard::Signal;
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, admin, cli, with_admin};

fn serves(proxy: &Proxy) {
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        assert_eq!(client.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
    });
}

/// What an admin's statement is refused with.
fn refused(proxy: &Proxy, sql: &str) -> String {
    let output = cli(proxy, sql);
    assert_eq!(output.code, Some(1), "{output:#?}");
    output.stderr
}

fn end(mut proxy: Proxy) {
    proxy.signal(Signal::TERM);
    proxy.wait();
}

#[test]
fn reload_adds_the_file_to_what_is_saved() {
    let setup = with_admin(Setup::before(&DB.sandbox, &DB.server)).datadir();
    let proxy = setup.clone().start();
    cli(
        &proxy,
        "INSERT INTO mysql_users (username, password) VALUES ('saved', 'x'); SAVE MYSQL USERS TO DISK; \
         SET mysql-max_connections=111; SET mysql-wait_timeout=222000; SAVE MYSQL VARIABLES TO DISK",
    )
    .expect_success();
    end(proxy);
    let changed = setup.variable("max_connections", 333).user("new", "y", "");
    let what = "SELECT COUNT(*) FROM mysql_users WHERE username IN ('saved', 'new'); \
                SELECT variable_value FROM runtime_global_variables WHERE variable_name IN \
                ('mysql-max_connections', 'mysql-wait_timeout') ORDER BY variable_name";
    // Without it, what is saved counts alone, and a warning says so.
    let proxy = changed.clone().start();
    proxy.wait_for_log("--reload adds the file's rows to it");
    assert_eq!(cli(&proxy, what).expect_success(), "1\n111\n222000\n");
    end(proxy);
    let proxy = changed.clone().argument("--reload").start();
    assert_eq!(cli(&proxy, what).expect_success(), "2\n333\n222000\n");
    serves(&proxy);
    end(proxy);
    // It is saved.
    let proxy = changed.start();
    assert_eq!(cli(&proxy, what).expect_success(), "2\n333\n222000\n");
}

#[test]
fn what_proxysql_has_saved_serves_after_an_import() {
    let file = DB.sandbox.path().join("proxysql.db");
    let maker = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    let port = DB.server.port();
    // ATTACH makes no file.
    std::fs::write(&file, "").unwrap();
    cli(
        &maker,
        &format!(
            "ATTACH DATABASE '{}' AS old; \
             CREATE TABLE old.mysql_servers (hostgroup_id INT, hostname VARCHAR, port INT, status VARCHAR); \
             INSERT INTO old.mysql_servers VALUES (5, '127.0.0.1', {port}, 'ONLINE'); \
             CREATE TABLE old.mysql_users (username VARCHAR, password VARCHAR, default_hostgroup INT); \
             INSERT INTO old.mysql_users VALUES ('{USER}', '{PASSWORD}', 5); \
             CREATE TABLE old.global_variables (variable_name VARCHAR, variable_value VARCHAR); \
             INSERT INTO old.global_variables VALUES ('mysql-interfaces', '127.0.0.1:0'), \
             ('admin-mysql_ifaces', '127.0.0.1:0'), ('admin-admin_credentials', 'admin:admin'), \
             ('mysql-max_connections', '444'), ('mysql-nothing', '1'); \
             CREATE TABLE old.mysql_ldap_mapping (priority INT); INSERT INTO old.mysql_ldap_mapping VALUES (1); \
             DETACH DATABASE old",
            file.display()
        ),
    )
    .expect_success();
    let setup = with_admin(Setup::new(&DB.sandbox)).datadir();
    let paths = [file.display().to_string(), setup.folder().display().to_string()];
    let import = || tools::pointsman(&DB.sandbox, ["import", &paths[0], "--datadir", &paths[1]]);
    let told = import().expect_success();
    assert!(told.contains("left: mysql_ldap_mapping: 1 rows"), "{told}");
    assert!(told.contains("mysql-nothing"), "{told}");
    // What is there is not overwritten.
    let again = import();
    assert_eq!(again.code, Some(1), "{again:#?}");
    assert!(again.stderr.contains("it holds one already; move it away first"), "{}", again.stderr);
    let proxy = setup.start();
    serves(&proxy);
    assert_eq!(cli(&proxy, "SELECT @@mysql-max_connections").expect_success(), "444\n");
}

#[test]
fn a_rollback_brings_back_what_ran_before() {
    let proxy = with_admin(Setup::before(&DB.sandbox, &DB.server)).start();
    serves(&proxy);
    cli(&proxy, "UPDATE mysql_users SET active=0; LOAD MYSQL USERS TO RUNTIME").expect_success();
    run(async {
        assert_eq!(Client::connect(&proxy.options()).await.unwrap_err().code(), Some(1045));
    });
    cli(&proxy, "POINTSMAN ROLLBACK MYSQL USERS").expect_success();
    serves(&proxy);
    let rows = "SELECT COUNT(*) FROM runtime_mysql_users WHERE active=1 AND frontend=1";
    assert_eq!(cli(&proxy, rows).expect_success(), "1\n");
}

/// A small file system of its own.
struct Disk(PathBuf);

impl Disk {
    /// Nothing where none can be mounted, which is said.
    fn new(name: &str, size: &str) -> Option<Self> {
        let path = DB.sandbox.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let disk = Self(path);
        if disk.mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]) {
            return Some(disk);
        }
        println!("skipped: needs the right to mount a tmpfs");
        None
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let output = Command::new("mount").args(arguments).arg(&self.0).output();
        output.is_ok_and(|output| output.status.success())
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // One that was never mounted, or is gone, is not there to be unmounted.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_is_told_and_the_old_state_stays() {
    let Some(disk) = Disk::new("full", "2m") else { return };
    let setup = with_admin(Setup::before(&DB.sandbox, &DB.server)).datadir_at(disk.path());
    let proxy = setup.clone().start();
    cli(&proxy, "SET mysql-max_connections=123; SAVE MYSQL VARIABLES TO DISK").expect_success();
    cli(
        &proxy,
        "INSERT INTO mysql_users (username, comment) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 \
         FROM n WHERE i < 20000) SELECT 'user_' || i, 'a comment that takes its place' FROM n",
    )
    .expect_success();
    let told = refused(&proxy, "SAVE MYSQL USERS TO DISK");
    assert!(told.contains("full"), "{told}");
    serves(&proxy);
    assert_eq!(cli(&proxy, "SELECT COUNT(*) FROM disk.mysql_users").expect_success(), "1\n");
    // With room again it can be saved.
    cli(&proxy, "DELETE FROM mysql_users WHERE username LIKE 'user_%' AND rowid > 100").expect_success();
    cli(&proxy, "SAVE MYSQL USERS TO DISK").expect_success();
    end(proxy);
    let proxy = setup.start();
    serves(&proxy);
    assert_eq!(cli(&proxy, "SELECT @@mysql-max_connections").expect_success(), "123\n");
}

#[test]
fn a_read_only_disk_is_told_and_the_proxy_serves() {
    let Some(disk) = Disk::new("readonly", "8m") else { return };
    let setup = with_admin(Setup::before(&DB.sandbox, &DB.server)).datadir_at(disk.path());
    let proxy = setup.clone().start();
    cli(&proxy, "SET mysql-max_connections=123; SAVE MYSQL VARIABLES TO DISK").expect_success();
    end(proxy);
    assert!(disk.mount(&["-o", "remount,ro"]));
    let proxy = setup.start();
    serves(&proxy);
    let sql =
        "SET mysql-max_connections=124; LOAD MYSQL VARIABLES TO RUNTIME; SELECT @@mysql-max_connections";
    assert_eq!(cli(&proxy, sql).expect_success(), "124\n");
    let told = refused(&proxy, "SAVE MYSQL VARIABLES TO DISK");
    assert!(told.contains("readonly"), "{told}");
    let saved =
        "SELECT variable_value FROM disk.global_variables WHERE variable_name='mysql-max_connections'";
    assert_eq!(cli(&proxy, saved).expect_success(), "123\n");
    run(async {
        admin(&proxy).await.query("SHOW PROCESSLIST").await.unwrap();
    });
    serves(&proxy);
}
