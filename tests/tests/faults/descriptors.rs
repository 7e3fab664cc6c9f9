//! A process that may have no more descriptors refuses clients with a reason, blames no server, and
//! has some left for the admin port.

use std::path::Path;

use e2e::admin::{self, value};
use e2e::tools::pointsman_limited;
use e2e::{Backend, Proxy, on_each_server, run};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use testkit::client::Client;
use testkit::guard::Sandbox;

use super::setup_for;

on_each_server! {
    without_descriptors_clients_are_refused_and_the_admin_port_is_there,
}

/// Descriptors that the process may open before the limit is reached: fewer than it reserves.
const LEFT: u64 = 10;

/// Sets how many descriptors a proxy may have, and returns how many it might before.
fn limit(proxy: &Proxy, most: u64) -> u64 {
    let pid = Pid::from_raw(proxy.pid().cast_signed());
    let maximum = getrlimit(Resource::Nofile).maximum;
    let before = prlimit(pid, Resource::Nofile, Rlimit { current: Some(most), maximum });
    before.unwrap().current.unwrap_or(u64::MAX)
}

fn descriptors(proxy: &Proxy) -> u64 {
    let folder = format!("/proc/{}/fd", proxy.pid());
    std::fs::read_dir(Path::new(&folder)).unwrap().count() as u64
}

fn without_descriptors_clients_are_refused_and_the_admin_port_is_there(db: &Backend) {
    let proxy = setup_for(db).admin("mysql_ifaces", "\"127.0.0.1:0\"").one_thread().start();
    run(async {
        let mut first = Client::connect(&proxy.options()).await.unwrap();
        let mut second = Client::connect(&proxy.options()).await.unwrap();
        first.query("BEGIN").await.unwrap();
        let most = descriptors(&proxy) + LEFT;
        let before = limit(&proxy, most);
        let reason = format!("Too many connections (the proxy may have {most} open files, ");
        for _ in 0..3 {
            let refused = Client::connect(&proxy.options()).await.unwrap_err();
            assert_eq!(refused.code(), Some(1040), "{refused}");
            assert!(refused.to_string().contains(&reason), "{refused}");
        }
        // It needs a connection to the server, and the only one is the first client's.
        let refused = second.query("BEGIN").await.unwrap_err();
        assert_eq!(refused.code(), Some(1040), "{refused}");
        assert!(refused.to_string().contains(&reason), "{refused}");
        first.query("SELECT 1").await.unwrap();
        let mut admin = admin::connect(&proxy).await;
        let status = "SELECT status FROM stats_mysql_connection_pool";
        assert_eq!(value(&mut admin, status).await, "ONLINE");
        limit(&proxy, before);
        second.query("BEGIN").await.unwrap();
        Client::connect(&proxy.options()).await.unwrap();
    });
    let line = proxy.wait_for_log("clients could not be accepted");
    assert!(line.contains("ulimit -n") && line.contains(" clients=1 "), "{line}");
    assert!(!proxy.log().iter().any(|line| line.contains("shunned")), "{:?}", proxy.log());
}

#[test]
fn a_start_with_too_few_descriptors_is_warned_of() {
    let sandbox = Sandbox::new().unwrap();
    let file = sandbox.path().join("pointsman.toml");
    // No machine has this address, so that the start ends behind the warning.
    let text = "[[listeners]]\naddress = \"192.0.2.1:1\"\n[mysql_variables]\nmax_connections = 100\n";
    std::fs::write(&file, text).unwrap();
    let arguments = ["serve".as_ref(), "--config".as_ref(), file.as_os_str()];
    let warned = pointsman_limited(&sandbox, "-n 64", "", arguments).stderr;
    assert!(warned.contains("may have 64 open files") && warned.contains("100 for clients"), "{warned}");
    let enough = pointsman_limited(&sandbox, "-n 1000", "", arguments).stderr;
    assert!(!enough.contains("open files"), "{enough}");
}
