//! A `mysqlrouter.conf` with static destinations: the strategies with servers that die, and the
//! limits.

use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use e2e::{Backend, Proxy, run, wait_for};
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::server::{PASSWORD, USER};

/// A proxy with a file that has a route to these servers for each strategy, with more options.
fn start(sandbox: &Sandbox, strategies: &[&str], servers: &[&Backend], more: &str) -> Proxy {
    let destinations: Vec<_> =
        servers.iter().map(|backend| format!("127.0.0.1:{}", backend.server.port())).collect();
    let routes: Vec<_> = strategies
        .iter()
        .map(|strategy| {
            format!(
                "[routing:{strategy}]\nbind_port = 0\ndestinations = {}\nrouting_strategy = {strategy}\n{more}\n",
                destinations.join(",")
            )
        })
        .collect();
    let file = sandbox.path().join("mysqlrouter.conf");
    std::fs::write(&file, format!("[DEFAULT]\nconnect_timeout = 2\n{}", routes.concat())).unwrap();
    Proxy::start(sandbox, Path::new(&file), &[], &[])
}

async fn connect(to: SocketAddr) -> Client {
    Client::connect(&Options::tcp(to, USER, PASSWORD)).await.unwrap_or_else(|error| panic!("{to}: {error}"))
}

/// The port of the server that a new client gets.
async fn port(to: SocketAddr) -> u16 {
    let mut client = connect(to).await;
    client.query("SELECT @@port").await.unwrap().first().unwrap().parse().unwrap()
}

#[test]
fn strategies_with_a_server_that_dies_and_comes_back() {
    let (mut first, second) = (Backend::start(&[]), Backend::start(&[]));
    let strategies = ["first-available", "next-available", "round-robin"];
    let proxy = start(&second.sandbox, &strategies, &[&first, &second], "");
    let [first_available, next_available, round_robin] = proxy.all_layer4() else { panic!("three routes") };
    let (one, two) = (first.server.port(), second.server.port());
    run(async {
        for _ in 0..3 {
            assert_eq!((port(*first_available).await, port(*next_available).await), (one, one));
        }
        let mut ports = Vec::new();
        for _ in 0..10 {
            ports.push(port(*round_robin).await);
        }
        assert_eq!(ports.iter().filter(|port| **port == one).count(), 5, "{ports:?}");
        assert!(ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");

        first.server.stop().unwrap();
        for _ in 0..3 {
            assert_eq!((port(*first_available).await, port(*next_available).await), (two, two));
            assert_eq!(port(*round_robin).await, two);
        }

        first.server.restart().unwrap();
        while port(*first_available).await != one {}
        while port(*round_robin).await != one {}
        for _ in 0..20 {
            assert_eq!(port(*next_available).await, two, "what has failed is not used again");
        }
    });
}

#[test]
fn a_route_takes_as_many_clients_as_it_may() {
    let server = Backend::start(&[]);
    let proxy =
        start(&server.sandbox, &["round-robin", "first-available"], &[&server], "max_connections = 2");
    let [limited, other] = proxy.all_layer4() else { panic!("two routes") };
    run(async {
        let held = [connect(*limited).await, connect(*limited).await];
        let refused = Client::connect(&Options::tcp(*limited, USER, PASSWORD)).await.unwrap_err();
        assert!(refused.to_string().contains("1040"), "{refused}");
        // Each route counts its own.
        port(*other).await;
        drop(held);
        while Client::connect(&Options::tcp(*limited, USER, PASSWORD)).await.is_err() {}
    });
}

#[test]
fn an_address_whose_connections_fail_too_often_is_shut_out() {
    let server = Backend::start(&[]);
    let proxy = start(&server.sandbox, &["round-robin"], &[&server], "max_connect_errors = 3");
    let to = proxy.layer4();
    run(async {
        // A client that gets through sets the count back.
        port(to).await;
    });
    let greeted = || {
        let mut stream = TcpStream::connect(to).unwrap();
        // A greeting, and no answer to it; or nothing.
        stream.read(&mut [0; 4]).is_ok_and(|read| read > 0)
    };
    assert!(greeted() && greeted() && greeted());
    wait_for("the address to be shut out", || !greeted());
}
