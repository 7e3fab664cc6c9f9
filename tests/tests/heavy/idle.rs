//! Many clients that share few connections to the server: nearly all of them have said something
//! once and wait.

use std::sync::Arc;
use std::time::Duration;

use e2e::memory::{processor_time, raise_descriptor_limit, rss_kib};
use e2e::{Proxy, Setup, run, wait_for};
use testkit::client::Client;
use testkit::mariadb::{PASSWORD, USER};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::churn::{connect_from, many_of};
use super::{DB, machine};

/// Connections that the server may see at a time.
const BACKENDS_MAX: u64 = 30;
/// Connections that the proxy may have. The server counts one for a moment longer that was closed
/// to make room for another one.
const LIMIT: u64 = 24;
/// Clients that log in at the same time.
const LOGINS_AT_ONCE: usize = 16;
/// Statements of an active client.
const STATEMENTS: usize = 50;
/// The budget of a client that waits: resident memory in bytes.
const BYTES_MAX: u64 = 3072;
/// The budget of all that wait: processor time in a second. An optimised build has to do with half
/// of it, 0.1 % of a core.
const WAITING_MAX: Duration = Duration::from_millis(2);
/// After this the memory that only logins needed has gone back to the kernel.
const REST: Duration = Duration::from_secs(12);

/// What was seen of a proxy and its many clients.
#[derive(Debug)]
struct Seen {
    /// Most connections that the server had at a time.
    backends: u64,
    /// Connections that were made to the server.
    made: u64,
    /// Resident memory of a client that waits, in bytes.
    each: u64,
    /// Processor time in a second in which all of them wait.
    waiting: Duration,
}

/// A count of the server, but for what it is for the client that asks.
fn status(name: &str) -> u64 {
    let row = DB.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    let value = row.split_whitespace().last().and_then(|value| value.parse().ok());
    value.unwrap_or_else(|| panic!("{name} is {row:?}"))
}

/// Sends a statement whose answer no other client gets.
async fn say(client: &mut Client<TcpStream>, number: usize, statement: usize) {
    let sql = format!("SELECT CONCAT({number}, '-', {statement})");
    let answer = client.query(&sql).await.unwrap().first();
    assert_eq!(answer, Some(format!("{number}-{statement}")));
}

async fn log_in(proxy: &Proxy, index: usize) -> Client<TcpStream> {
    let (options, address) = (proxy.options(), proxy.tcp());
    let stream = connect_from(index, address).await;
    let mut client = Client::over(stream, &options).await.unwrap();
    say(&mut client, index, 0).await;
    client
}

/// Has `clients` log in and say a statement each; their memory is looked at after a rest. Then
/// `active` of them say more, all at once.
fn play(clients: usize, active: usize, rest: Duration) -> Seen {
    let _machine = machine();
    raise_descriptor_limit();
    wait_for("earlier connections to be gone", || DB.connections_of(USER) == 0);
    let proxy = Setup::new(&DB.sandbox)
        .server(&DB.server, &format!("max_connections = {LIMIT}"))
        .user(USER, PASSWORD, &format!("max_connections = {}", 2 * clients))
        .variable("multiplexing", true)
        .variable("max_connections", 2 * clients)
        .start();
    // The most that there were begins with those that there are: the one that says this.
    DB.sql("FLUSH STATUS");
    let proxy = Arc::new(proxy);
    let log_in_one = |index: usize| {
        let proxy = Arc::clone(&proxy);
        async move { log_in(&proxy, index).await }
    };
    let (made, each, waiting) = run(async {
        let mut first = log_in_one(0).await;
        let (memory, made) = (rss_kib(proxy.pid()), status("Connections"));
        let mut idle = many_of(clients, LOGINS_AT_ONCE, log_in_one).await;
        tokio::time::sleep(rest).await;
        let each = (rss_kib(proxy.pid()) - memory) * 1024 / clients as u64;
        let before = processor_time(proxy.pid());
        tokio::time::sleep(rest).await;
        let seconds = u32::try_from(rest.as_secs()).unwrap().max(1);
        let waiting = processor_time(proxy.pid()).saturating_sub(before) / seconds;
        let start = Arc::new(Barrier::new(active));
        let mut running = JoinSet::new();
        for number in 0..active {
            let mut client = idle.swap_remove(number * 97 % idle.len());
            let start = Arc::clone(&start);
            running.spawn(async move {
                start.wait().await;
                for statement in 0..STATEMENTS {
                    say(&mut client, number, statement).await;
                }
                client
            });
        }
        let done = running.join_all().await;
        assert_eq!(done.len(), active);
        say(&mut first, clients, 1).await;
        for (number, client) in idle.iter_mut().enumerate().step_by(clients / 100) {
            say(client, number, 1).await;
        }
        // The question itself comes over a connection, too.
        (status("Connections") - made - 1, each, waiting)
    });
    Seen { backends: status("Max_used_connections") - 1, made, each, waiting }
}

fn few_backends_serve(clients: usize, active: usize, rest: Duration) {
    let seen = play(clients, active, rest);
    println!("{clients} clients, of whom {active} are active: {seen:?}");
    assert!(seen.backends <= BACKENDS_MAX, "{seen:?}");
    // One that is there serves a login as well.
    assert!(seen.made < (clients / 10) as u64, "{seen:?}");
    assert!(rest.is_zero() || seen.each <= BYTES_MAX, "{seen:?}");
    assert!(rest.is_zero() || seen.waiting <= WAITING_MAX, "{seen:?}");
}

#[test]
fn few_backends_serve_many_idle_clients_and_some_active_ones() {
    few_backends_serve(1_000, 20, Duration::ZERO);
}

#[test]
#[ignore = "takes 10,000 clients"]
fn few_backends_serve_10_000_clients_of_whom_100_are_active() {
    few_backends_serve(10_000, 100, REST);
}

#[test]
#[ignore = "takes 15,000 clients"]
fn few_backends_serve_15_000_clients_of_whom_100_are_active() {
    few_backends_serve(15_000, 100, REST);
}
