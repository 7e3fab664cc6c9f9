//! Ctrl-C in MariaDB's client.

use e2e::tools::start_mariadb;
use e2e::{Backend, on_each_server, wait_for};
use testkit::guard::Signal;

use super::{proxy_for, running};

on_each_server! { c03_ctrl_c_ends_the_statement }

fn c03_ctrl_c_ends_the_statement(db: &Backend) {
    let proxy = proxy_for(db, "ctrl_c");
    let socket = format!("--socket={}", proxy.socket().display());
    let port = format!("--port={}", proxy.tcp().port());
    for way in [&["--protocol=SOCKET", &socket][..], &["--protocol=TCP", "--host=127.0.0.1", &port]] {
        let fixed = ["--user=ctrl_c", "--password=pw"];
        let sql = "--execute=SELECT SLEEP(1000) FROM (SELECT 1) t";
        let arguments = [&fixed[..], way, &[sql]].concat();
        let mut client = start_mariadb(&db.sandbox, &arguments);
        wait_for("the statement to run", || running(db, "ctrl_c") == 1);
        client.process().signal(Signal::INT).unwrap();
        let output = client.wait();
        assert!(output.stdout.contains("Ctrl-C -- query killed"), "{output:?}");
        assert_eq!(running(db, "ctrl_c"), 0);
    }
}
