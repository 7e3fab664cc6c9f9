//! `mysql_collations`: what the servers know, and what is shown as long as none has said.

use e2e::{Backend, Setup, on_each_server, run};
use testkit::client::Client;
use testkit::mariadb::{PASSWORD, USER};

use super::{DB, cli, with_admin};

on_each_server!(collations_are_those_of_the_server);

const ALL: &str = "SELECT Id, Collation, Charset, `Default` FROM mysql_collations ORDER BY Id";
/// Collations that are shown as long as no server has listed its own.
const BUILT_IN: usize = 143;

/// What the server itself says, in the same form.
fn listed_by(db: &Backend) -> String {
    let sql = if db.is_mysql() {
        "SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME, IS_DEFAULT FROM information_schema.COLLATIONS ORDER BY ID"
    } else {
        "SELECT ID, FULL_COLLATION_NAME, CHARACTER_SET_NAME, IS_DEFAULT \
         FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY ORDER BY ID"
    };
    db.sql(sql)
}

/// A collation that only this make of server has.
const fn own(db: &Backend) -> &'static str {
    if db.is_mysql() { "utf8mb4_0900_ai_ci" } else { "utf8mb4_uca1400_ai_ci" }
}

fn collations_are_those_of_the_server(db: &'static Backend) {
    let proxy = with_admin(Setup::before(&db.sandbox, &db.server)).start();
    let listed = listed_by(db);
    assert!(listed.contains(own(db)), "{listed}");
    assert_eq!(cli(&proxy, ALL).expect_success(), listed);
    let shown = cli(&proxy, "SHOW COLLATION; SHOW CHARSET").expect_success();
    assert!(shown.contains(&format!("{}\tutf8mb4\t", own(db))), "{shown}");
}

/// The proxy cannot log in to a server with the hash of such a row. After a client's login it can.
#[test]
fn a_login_makes_the_list_known_where_rows_have_hashes() {
    let hash = DB.sql(&format!("SELECT PASSWORD('{PASSWORD}')"));
    let setup = Setup::new(&DB.sandbox).server(&DB.server, "").user(USER, hash.trim(), "");
    let proxy = with_admin(setup).start();
    assert_eq!(cli(&proxy, ALL).expect_success().lines().count(), BUILT_IN);
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("SELECT 1").await.unwrap();
    });
    assert_eq!(cli(&proxy, ALL).expect_success(), listed_by(&DB));
}

#[test]
fn without_a_server_there_is_a_list_as_well() {
    let proxy = with_admin(Setup::new(&DB.sandbox)).start();
    let listed = cli(&proxy, ALL).expect_success();
    assert_eq!(listed.lines().count(), BUILT_IN);
    assert!(listed.contains("33\tutf8_general_ci\tutf8\tYes\n"), "{listed}");
    // No server listens there.
    let nowhere = Setup::new(&DB.sandbox)
        .row("mysql_servers", "hostname = \"127.0.0.1\"\nport = 1")
        .user(USER, PASSWORD, "");
    assert_eq!(cli(&with_admin(nowhere).start(), ALL).expect_success(), listed);
}
