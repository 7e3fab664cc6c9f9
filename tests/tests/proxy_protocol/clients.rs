//! Headers in front of clients.

use e2e::{Setup, run};
use testkit::client::{Client, Options};
use testkit::mariadb::PASSWORD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{BINARY, DB, LINE, LINE6, behind, query, setup};

#[test]
fn the_address_of_the_header_is_in_messages_and_logs() {
    let proxy = setup().start();
    run(async {
        for (header, host) in [(LINE, "198.51.100.7"), (BINARY, "198.51.100.7"), (LINE6, "2001:db8::7")] {
            let error = behind(proxy.tcp(), header, "far", "wrong").await.unwrap_err().to_string();
            assert!(error.contains(&format!("'far'@'{host}'")), "{error}");
        }
        for header in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
            let error = behind(proxy.tcp(), header, "far", "wrong").await.unwrap_err().to_string();
            assert!(error.contains("'far'@'127.0.0.1'"), "{error}");
        }
        let mut client = behind(proxy.tcp(), LINE, "far", PASSWORD).await.unwrap();
        assert_eq!(query(&mut client, "SELECT 1").await, "1");
    });
}

#[test]
fn a_header_may_come_byte_by_byte() {
    let proxy = setup().start();
    run(async {
        for header in [LINE, BINARY] {
            let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            stream.set_nodelay(true).unwrap();
            for byte in header {
                stream.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            let options = Options::tcp(proxy.tcp(), "far", "wrong");
            let error = Client::over(stream, &options).await.unwrap_err().to_string();
            assert!(error.contains("'far'@'198.51.100.7'"), "{error}");
        }
    });
}

#[test]
fn what_is_no_header_is_closed_and_logged_once_in_a_while() {
    let proxy = setup().start();
    run(async {
        for _ in 0..50 {
            let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await;
            let mut answer = Vec::new();
            // What was not read makes the kernel reset the connection.
            let _ = stream.read_to_end(&mut answer).await;
            assert_eq!(answer, b"");
        }
    });
    let line = proxy.wait_for_log("not a PROXY header");
    assert!(line.contains("mysql-proxy_protocol_networks") && line.contains("127.0.0.1"), "{line}");
    let lines = proxy.log().iter().filter(|line| line.contains("not a PROXY header")).count();
    assert!(lines < 50, "{lines} lines for 50 connections");
}

#[test]
fn others_are_greeted_and_their_headers_not_believed() {
    let proxy = Setup::before(&DB.sandbox, &DB.server)
        .user("far", PASSWORD, "")
        .variable("proxy_protocol_networks", "\"192.0.2.0/24\"")
        .start();
    run(async {
        let mut client = behind(proxy.tcp(), b"", "far", PASSWORD).await.unwrap();
        assert_eq!(query(&mut client, "SELECT 1").await, "1");
        // It is taken for a login, and is none.
        behind(proxy.tcp(), LINE, "far", PASSWORD).await.unwrap_err();
    });
}

#[test]
fn without_a_header_there_is_no_greeting() {
    let proxy = setup().variable("connect_timeout_client", 500).start();
    run(async {
        let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"");
    });
    proxy.wait_for_log("no PROXY header within mysql-connect_timeout_client");
}
