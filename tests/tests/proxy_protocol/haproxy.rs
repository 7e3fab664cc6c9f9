//! A real HAProxy in front, which sends headers of both versions.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use e2e::tools::Running;
use e2e::{run, wait_for};
use testkit::client::{Client, Options};
use testkit::mariadb::PASSWORD;
use testkit::net::free_port;
use tokio::net::TcpStream;

use super::{DB, announcing, query, setup};

/// HAProxy, and where it listens.
struct Haproxy {
    #[expect(dead_code, reason = "ends with it")]
    process: Running,
    address: SocketAddr,
}

/// Starts an HAProxy that sends its clients to `proxy` with `option` (`send-proxy`, for example).
fn haproxy(name: &str, proxy: SocketAddr, option: &str) -> Haproxy {
    let port = free_port().unwrap();
    let config = format!(
        "defaults\n    mode tcp\n    timeout connect 10s\n    timeout client 10m\n    timeout server 10m\n\
         listen mysql\n    bind 127.0.0.1:{port}\n    server pointsman {proxy} {option}\n"
    );
    let file = DB.sandbox.path().join(name);
    fs::write(&file, config).unwrap();
    let process = Running::start(&DB.sandbox, "haproxy", ["-db".as_ref(), "-f".as_ref(), file.as_os_str()]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    wait_for("HAProxy", || std::net::TcpStream::connect(address).is_ok());
    Haproxy { process, address }
}

const OPTIONS: [&str; 2] = ["send-proxy", "send-proxy-v2"];

/// From the client through HAProxy and Pointsman, the server sees the client's own address and
/// port.
#[test]
fn the_address_goes_all_the_way() {
    for (option, version) in OPTIONS.into_iter().zip([2, 1]) {
        let proxy = announcing(version).layer4().start();
        for (way, address) in [("login", proxy.tcp()), ("tunnel", proxy.layer4())] {
            let haproxy = haproxy(&format!("{option}-{way}.cfg"), address, option);
            run(async {
                let stream = TcpStream::connect(haproxy.address).await.unwrap();
                let here = stream.local_addr().unwrap();
                let options = Options::tcp(haproxy.address, "far", PASSWORD);
                let mut client = Client::over(stream, &options).await.unwrap();
                let sql = "SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()";
                assert_eq!(query(&mut client, sql).await, here.to_string(), "{option}, {way}");
            });
        }
    }
}

#[test]
fn health_checks_do_no_harm() {
    let proxy = setup().start();
    // One check that connects and closes, one that sends a header for itself.
    for (name, option) in
        [("check.cfg", "check inter 20"), ("check2.cfg", "send-proxy-v2 check inter 20 check-send-proxy")]
    {
        let haproxy = haproxy(name, proxy.tcp(), option);
        if name == "check2.cfg" {
            run(async {
                for _ in 0..20 {
                    let options = Options::tcp(haproxy.address, "far", PASSWORD);
                    let mut client = Client::connect(&options).await.unwrap();
                    assert_eq!(client.query("SELECT 1").await.unwrap().first().unwrap(), "1");
                }
            });
        }
    }
    let complaints: Vec<_> = proxy.log().into_iter().filter(|line| line.contains("PROXY header")).collect();
    assert_eq!(complaints, Vec::<String>::new());
}
