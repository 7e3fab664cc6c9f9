//! `LOAD DATA LOCAL`.

use e2e::tools::mariadb_through;
use e2e::{Backend, on_each_server, run};
use testkit::client::{CAPABILITIES, Client};
use wire::Capabilities;

use super::{connect, proxy, value};

on_each_server! {
    a_file_of_the_command_line_client_is_loaded,
    c19_the_file_is_the_clients_and_never_the_proxys,
}

/// The error that says that the client has not offered to send files.
fn refusal(db: &Backend) -> u16 {
    if db.is_mysql() { 3948 } else { 4166 }
}

fn a_file_of_the_command_line_client_is_loaded(db: &Backend) {
    db.sql("CREATE TABLE test.loaded (id INT PRIMARY KEY, name TEXT)");
    let proxy = proxy(db);
    let file = db.sandbox.path().join("rows.txt");
    let rows = (0..50_000).map(|i| format!("{i}\tname {i}")).collect::<Vec<_>>().join("\n");
    std::fs::write(&file, rows).unwrap();
    let load = format!(
        "LOAD DATA LOCAL INFILE '{}' INTO TABLE loaded; SELECT COUNT(*), SUM(id) FROM loaded",
        file.display()
    );
    let execute = format!("--execute={load}");
    let refused = mariadb_through(&db.sandbox, &proxy, &["--local-infile=0", &execute]);
    assert!(
        refused.code == Some(1) && refused.stderr.contains(&format!("ERROR {}", refusal(db))),
        "{refused:?}"
    );
    let output = mariadb_through(&db.sandbox, &proxy, &["--local-infile=1", &execute]);
    assert_eq!(output.expect_success(), "50000\t1249975000\n");
    let missing = load.replace("rows.txt", "missing.txt");
    let output = mariadb_through(&db.sandbox, &proxy, &["--local-infile=1", &format!("--execute={missing}")]);
    assert!(output.code == Some(1) && output.stderr.contains("missing.txt"), "{output:?}");
}

fn c19_the_file_is_the_clients_and_never_the_proxys(db: &Backend) {
    let proxy = proxy(db);
    let file = db.sandbox.path().join("proxys.txt");
    std::fs::write(&file, "the proxy could read this\n").unwrap();
    let sql = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t", file.display());
    run(async {
        let mut client = connect(&proxy).await;
        client.query("CREATE TEMPORARY TABLE t (line TEXT)").await.unwrap();
        client.load_local(&sql, b"from the client\nby packets\n", 3).await.unwrap();
        assert_eq!(
            value(&mut client, "SELECT GROUP_CONCAT(line) FROM t").await.as_deref(),
            Some("from the client,by packets")
        );
        // A client that does not want to gives an empty file.
        client.load_local(&sql, b"", 1).await.unwrap();
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t").await.as_deref(), Some("2"));
        // Without the capability the server may not even ask.
        let options = proxy.options().capabilities(CAPABILITIES - Capabilities::LOCAL_FILES);
        let mut client = Client::connect(&options).await.unwrap();
        client.query("CREATE TEMPORARY TABLE t (line TEXT)").await.unwrap();
        assert_eq!(client.query(&sql).await.unwrap_err().code(), Some(refusal(db)));
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t").await.as_deref(), Some("0"));
    });
}
