//! Names that a script resolves, and servers that listen at what they are resolved to.

use std::sync::atomic::AtomicUsize;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::advance;

use super::*;

const KEEPING: Keeping = Keeping { ttl: Duration::from_mins(1), refresh: Duration::from_secs(10), queue: 16 };

/// A resolver that does what it is told.
#[derive(Default)]
struct Script {
    /// What it says; `None`: it fails.
    says: Mutex<HashMap<String, Option<Vec<IpAddr>>>>,
    asked: AtomicUsize,
    /// Permits to answer, where answers are held up.
    gate: Option<Semaphore>,
}

impl Script {
    fn say(&self, host: &str, ip: Option<[u8; 4]>) {
        self.says.lock().unwrap().insert(host.to_owned(), ip.map(|ip| vec![ip.into()]));
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn names(script: &Arc<Script>) -> Arc<Names> {
    let script = Arc::clone(script);
    let lookup = move |name: String| -> Saying {
        let script = Arc::clone(&script);
        Box::pin(async move {
            script.asked.fetch_add(1, Ordering::Relaxed);
            if let Some(gate) = &script.gate {
                gate.acquire().await.unwrap().forget();
            }
            let says = script.says.lock().unwrap().get(&name).cloned().flatten();
            let ips = says.ok_or_else(|| io::Error::other("no such name"))?;
            Ok(ips.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect())
        })
    };
    Names::new(&Handle::current(), Box::new(lookup))
}

fn addresses(ip: [u8; 4]) -> Vec<SocketAddr> {
    vec![(ip, 0).into()]
}

/// Until the tasks that were started have had their turn.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_is_asked_for_once_and_again_when_it_is_old() {
    let script = Arc::new(Script::default());
    script.say("db", Some([10, 0, 0, 1]));
    let names = names(&script);
    for _ in 0..3 {
        assert_eq!(names.resolve("db", KEEPING).await.unwrap(), addresses([10, 0, 0, 1]));
    }
    assert_eq!(script.asked(), 1);
    assert_eq!(names.counts(), NameCounts { queried: 3, known: 2, updated: 1 });
    script.say("db", Some([10, 0, 0, 2]));
    advance(Duration::from_secs(59)).await;
    names.refresh(KEEPING);
    settle().await;
    assert_eq!(script.asked(), 1, "it is not old enough");
    advance(Duration::from_secs(1)).await;
    names.refresh(KEEPING);
    settle().await;
    assert_eq!(names.resolve("db", KEEPING).await.unwrap(), addresses([10, 0, 0, 2]));
    assert_eq!(names.counts(), NameCounts { queried: 4, known: 3, updated: 2 });
}

#[tokio::test(start_paused = true)]
async fn when_the_resolver_fails_the_old_addresses_hold() {
    let script = Arc::new(Script::default());
    let names = names(&script);
    let error = names.resolve("db", KEEPING).await.unwrap_err();
    assert_eq!(error.to_string(), "its name cannot be resolved: no such name");
    script.say("db", Some([10, 0, 0, 1]));
    assert_eq!(names.resolve("db", KEEPING).await.unwrap(), addresses([10, 0, 0, 1]));
    script.say("db", None);
    for _ in 0..5 {
        advance(Duration::from_secs(100)).await;
        names.refresh(KEEPING);
        settle().await;
        assert_eq!(names.resolve("db", KEEPING).await.unwrap(), addresses([10, 0, 0, 1]));
    }
    assert_eq!(script.asked(), 7, "each time it is tried again");
}

#[tokio::test(start_paused = true)]
async fn those_who_want_to_know_the_same_name_wait_for_one_answer() {
    let script = Arc::new(Script { gate: Some(Semaphore::new(0)), ..Script::default() });
    script.say("db", Some([10, 0, 0, 1]));
    let names = names(&script);
    let ask = || {
        let names = Arc::clone(&names);
        tokio::spawn(async move { names.resolve("db", KEEPING).await })
    };
    let all = [ask(), ask(), ask()];
    settle().await;
    script.gate.as_ref().unwrap().add_permits(1);
    for one in all {
        assert_eq!(one.await.unwrap().unwrap(), addresses([10, 0, 0, 1]));
    }
    assert_eq!(script.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_never_answers_has_a_bounded_queue() {
    let script = Arc::new(Script { gate: Some(Semaphore::new(0)), ..Script::default() });
    let names = names(&script);
    let waits: Vec<_> =
        (0..100).map(|n| names.ask(&format!("db{n}"), KEEPING)).filter_map(Result::ok).collect();
    assert_eq!(waits.len(), NAMES_AT_ONCE_MAX + KEEPING.queue as usize);
    settle().await;
    assert_eq!(script.asked(), NAMES_AT_ONCE_MAX, "the others wait");
    let error = names.ask("one more", KEEPING).unwrap_err();
    assert!(error.to_string().contains("16 others wait"), "{error}");
    // Who does not wait any more leaves nothing behind but what was asked.
    let patience = tokio::time::timeout(Duration::from_secs(5), names.resolve("db0", KEEPING));
    patience.await.unwrap_err();
    script.gate.as_ref().unwrap().add_permits(100);
    settle().await;
    assert!(lock(&names.state).asked.is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_each_connection_asks() {
    let script = Arc::new(Script::default());
    script.say("db", Some([10, 0, 0, 1]));
    let names = names(&script);
    for keeping in
        [Keeping { ttl: Duration::ZERO, ..KEEPING }, Keeping { refresh: Duration::ZERO, ..KEEPING }]
    {
        for _ in 0..2 {
            names.resolve("db", keeping).await.unwrap();
        }
    }
    assert_eq!((script.asked(), names.counts()), (4, NameCounts::default()));
    names.resolve("127.0.0.1", KEEPING).await.unwrap();
    assert_eq!(script.asked(), 4, "an address is no name");
}

/// Two servers with the same port at two addresses.
async fn two_servers() -> (TcpListener, TcpListener, u16) {
    loop {
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = first.local_addr().unwrap().port();
        // Another process may have it at the other address.
        if let Ok(second) = TcpListener::bind(("127.0.0.2", port)).await {
            return (first, second, port);
        }
    }
}

#[tokio::test]
async fn new_connections_follow_a_name_to_another_address() {
    let (first, second, port) = two_servers().await;
    let script = Arc::new(Script::default());
    script.say("db", Some([127, 0, 0, 1]));
    let names = names(&script);
    let dial = || names.dial("db", port, KEEPING, |_| false, Blamed::Server);
    assert_eq!(dial().await.unwrap().peer_addr().unwrap(), first.local_addr().unwrap());
    script.say("db", Some([127, 0, 0, 2]));
    assert_eq!(dial().await.unwrap().peer_addr().unwrap(), first.local_addr().unwrap(), "it is not asked");
    names.refresh(Keeping { ttl: Duration::ZERO, ..KEEPING });
    while lock(&names.state).asked.contains_key("db") {
        tokio::task::yield_now().await;
    }
    assert_eq!(dial().await.unwrap().peer_addr().unwrap(), second.local_addr().unwrap());
}

#[tokio::test]
async fn connections_go_to_several_addresses_in_turn_but_for_one_that_refuses() {
    let (first, second, port) = two_servers().await;
    let script = Arc::new(Script::default());
    let ips: Vec<IpAddr> = vec![[127, 0, 0, 1].into(), [127, 0, 0, 2].into(), [127, 0, 0, 3].into()];
    script.says.lock().unwrap().insert("db".to_owned(), Some(ips));
    let names = names(&script);
    let mut counts = HashMap::new();
    for _ in 0..20 {
        let stream = names.dial("db", port, KEEPING, |_| false, Blamed::Server).await.unwrap();
        *counts.entry(stream.peer_addr().unwrap()).or_insert(0) += 1;
    }
    let of = |listener: &TcpListener| counts[&listener.local_addr().unwrap()];
    // The one that is tried behind the third is so once more.
    assert!(of(&first) >= 9 && of(&second) >= 9, "{counts:?}");
}

#[tokio::test]
async fn a_name_whose_server_cannot_be_reached_is_looked_up_at_once() {
    let (first, second, port) = two_servers().await;
    let script = Arc::new(Script::default());
    script.say("db", Some([127, 0, 0, 1]));
    let names = names(&script);
    names.dial("db", port, KEEPING, |_| false, Blamed::Server).await.unwrap();
    drop(first);
    script.say("db", Some([127, 0, 0, 2]));
    let deadline = Instant::now() + Duration::from_mins(1);
    let stream = loop {
        match names.dial("db", port, KEEPING, |_| false, Blamed::Server).await {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(stream.peer_addr().unwrap(), second.local_addr().unwrap());
    assert_eq!(script.asked(), 2);
}

#[tokio::test]
async fn what_says_nothing_of_a_server_leaves_its_addresses_where_they_are() {
    let (first, second, port) = two_servers().await;
    let script = Arc::new(Script::default());
    let ips: Vec<IpAddr> = vec![[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
    script.says.lock().unwrap().insert("db".to_owned(), Some(ips));
    let names = names(&script);
    names.dial("db", port, KEEPING, |_| false, Blamed::Server).await.unwrap();
    drop(first);
    let well = || lock(&names.state).cache.well("db");
    assert_eq!(well(), Some(2));
    for (ours, blamed) in [(true, Blamed::Server), (false, Blamed::Companion)] {
        for _ in 0..3 {
            names.dial("db", port, KEEPING, |_| ours, blamed).await.unwrap();
            assert_eq!(well(), Some(2), "{blamed:?}");
        }
    }
    for _ in 0..2 {
        names.dial("db", port, KEEPING, |_| false, Blamed::Server).await.unwrap();
    }
    assert_eq!(well(), Some(1));
    drop(second);
}
