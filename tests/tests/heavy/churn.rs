//! Many connections: short ones, idle ones, and ones that never log in.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use e2e::memory::{descriptors, raise_descriptor_limit, rss_kib};
use e2e::{Proxy, run, wait_for};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::{DB, machine, setup};

/// Connections from one source address: ports are finite.
const CONNECTIONS_PER_ADDRESS: usize = 2000;
/// The budget of a connection that does nothing: resident memory in bytes.
const BYTES_MAX: u64 = 4096;
/// Connections being made at the same time.
const AT_ONCE: usize = 64;

/// Runs `count` tasks, some at a time, and returns what they return.
async fn many<T: 'static + Send, F: 'static + Send + Future<Output = T>>(
    count: usize,
    task: impl Fn(usize) -> F,
) -> Vec<T> {
    many_of(count, AT_ONCE, task).await
}

/// Runs `count` tasks, so many at a time, and returns what they return.
pub(super) async fn many_of<T: 'static + Send, F: 'static + Send + Future<Output = T>>(
    count: usize,
    at_once: usize,
    task: impl Fn(usize) -> F,
) -> Vec<T> {
    let mut running = JoinSet::new();
    let mut results = Vec::with_capacity(count);
    for index in 0..count {
        if running.len() >= at_once {
            results.extend(running.join_next().await.map(Result::unwrap));
        }
        running.spawn(task(index));
    }
    results.extend(running.join_all().await);
    results
}

/// Connects from one of several loopback addresses.
pub(super) async fn connect_from(index: usize, to: SocketAddr) -> TcpStream {
    let last = u8::try_from(2 + index / CONNECTIONS_PER_ADDRESS).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// One query by a client that all others must not disturb.
async fn is_served(options: &Options) {
    let mut client = Client::connect(options).await.unwrap();
    assert_eq!(client.query("SELECT 'served'").await.unwrap().first().as_deref(), Some("served"));
    client.quit().await.unwrap();
}

/// Waits until the proxy has no more descriptors open than `before`.
fn wait_for_descriptors(proxy: &Proxy, before: usize) {
    wait_for("the proxy to close its sockets", || descriptors(proxy.pid()) <= before);
}

#[test]
fn thousands_of_short_connections_leave_nothing() {
    const ROUNDS: [usize; 3] = [500, 750, 750];
    let _machine = machine();
    // Not even connections that are kept for other clients.
    let proxy = setup().variable("multiplexing", false).start();
    let before = descriptors(proxy.pid());
    let backends = DB.connections_of(USER);
    let mut memory = Vec::new();
    for round in ROUNDS {
        run(async {
            let options = proxy.options();
            let task = |index: usize| {
                let options = options.clone();
                async move {
                    let mut client = Client::connect(&options).await.unwrap();
                    let answer = client.query(&format!("SELECT {index}")).await.unwrap().first();
                    assert_eq!(answer, Some(index.to_string()));
                    // Every other one leaves without a word.
                    if index.is_multiple_of(2) {
                        client.quit().await.unwrap();
                    }
                }
            };
            many(round, task).await;
        });
        wait_for_descriptors(&proxy, before);
        memory.push(rss_kib(proxy.pid()));
    }
    wait_for("the backends to be gone", || DB.connections_of(USER) <= backends);
    println!("resident after each round: {memory:?} KiB");
    // Nothing is kept per connection that is over.
    assert!(memory[2] <= memory[1] + 256, "{memory:?} KiB");
}

#[test]
fn c29_thousands_of_idle_clients_are_cheap() {
    const CLIENTS: usize = 5000;
    /// Connections to the server that may stay open and idle: 10 percent of its `max_connections`.
    const KEPT_MAX: usize = 100;
    let _machine = machine();
    raise_descriptor_limit();
    let proxy = setup().variable("max_connections", 20_000).start();
    run(async {
        let options = proxy.options();
        is_served(&options).await;
        let (before, files) = (rss_kib(proxy.pid()), descriptors(proxy.pid()));
        let mut with_clients = Vec::new();
        for _ in 0..2 {
            let log_in = |index: usize| {
                let (options, address) = (options.clone(), proxy.tcp());
                async move {
                    let stream = connect_from(index, address).await;
                    Client::over(stream, &options).await.unwrap()
                }
            };
            let mut clients = many(CLIENTS, log_in).await;
            with_clients.push(rss_kib(proxy.pid()));
            is_served(&options).await;
            // They are all alive.
            for client in clients.iter_mut().step_by(50) {
                client.ping().await.unwrap();
            }
            clients[CLIENTS / 2].query("SELECT 1").await.unwrap();
            drop(clients);
            wait_for_descriptors(&proxy, files + KEPT_MAX);
        }
        let after = rss_kib(proxy.pid());
        println!("{before} KiB alone, {with_clients:?} KiB with {CLIENTS} clients, {after} KiB afterwards");
        let each = (with_clients[0] - before) * 1024 / CLIENTS as u64;
        assert!(each <= BYTES_MAX, "{each} bytes each");
        assert!(with_clients[1] <= with_clients[0] * 7 / 5, "the second time is dearer");
    });
}

#[test]
fn c27_half_open_logins_disturb_no_client_and_end_at_their_deadline() {
    const LOGINS: usize = 10_000;
    const DEADLINE: Duration = Duration::from_secs(5);
    /// Descriptors of a process besides those of the logins.
    const SPARE: u64 = 500;
    let _machine = machine();
    let limit = raise_descriptor_limit();
    let logins = LOGINS.min(usize::try_from(limit.saturating_sub(SPARE)).unwrap());
    assert!(logins >= 500, "a process may have only {limit} open files here");
    let proxy = setup()
        .variable("max_connections", 20_000)
        .variable("connect_timeout_client", DEADLINE.as_millis())
        .start();
    let address = proxy.tcp();
    run(async {
        let options = Options::tcp(address, USER, PASSWORD);
        is_served(&options).await;
        let (before, files) = (rss_kib(proxy.pid()), descriptors(proxy.pid()));
        let mut with_logins = Vec::new();
        for _ in 0..2 {
            let started = Instant::now();
            let streams = many(logins, |index| half_open(index, address)).await;
            let opened = started.elapsed();
            with_logins.push(rss_kib(proxy.pid()));
            let asked = Instant::now();
            is_served(&options).await;
            let served = asked.elapsed();
            println!("{logins} opened in {opened:?}, another client served in {served:?}");
            assert!(served < DEADLINE, "another client had to wait for {served:?}");
            // All of them are ended by the proxy, none before its time.
            for (stream, since) in streams {
                let mut stream = stream;
                stream.read_to_end(&mut Vec::new()).await.unwrap();
                assert!(since.elapsed() >= DEADLINE, "ended after {:?}", since.elapsed());
            }
            wait_for_descriptors(&proxy, files);
        }
        let after = rss_kib(proxy.pid());
        println!(
            "{before} KiB alone, {with_logins:?} KiB with {logins} half-open logins, {after} KiB afterwards"
        );
        let each = (with_logins[0] - before) * 1024 / logins as u64;
        assert!(each <= BYTES_MAX, "{each} bytes each");
        // What the first ones had is there for the second ones, but for what the allocator makes of
        // it.
        assert!(with_logins[1] <= with_logins[0] * 7 / 5, "the second time is dearer");
        is_served(&options).await;
    });
}

/// A connection that reads the start of the greeting and goes no further; every other one after a
/// part of a login packet. With the time when it was made.
async fn half_open(index: usize, address: SocketAddr) -> (TcpStream, Instant) {
    let since = Instant::now();
    let mut stream = connect_from(index, address).await;
    let mut start = [0; 5];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(start[4], 10);
    if index.is_multiple_of(2) {
        stream.try_write(&[100, 0, 0, 1, 0xff]).unwrap();
    }
    (stream, since)
}
