//! Histories through two caches: writers at the server, at the inner and at the outer proxy, and
//! readers at both proxies. A [checker](e2e::history) finds each read that is too old.

use std::cell::{Cell, RefCell};
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use e2e::dice::Dice;
use e2e::history::{Fate, Read, Span, Write, Wrong, check};
use e2e::{Backend, Proxy, WAIT_MAX, admin, run};
use testkit::client::{Client, ClientError, Options};
use testkit::server::PASSWORD;
use tokio::sync::Notify;
use tokio::task::{JoinSet, LocalSet, yield_now};

use super::relay::Relay;
use super::{Mode, USER, connect, inner, options, outer, sum, value};

/// Reads of a round, of all readers.
const READS: usize = 12_000;
/// Reads between two writes.
const PAUSE: usize = 100;
/// Readers at each proxy.
const READERS: usize = 3;
/// How late reads in the mode `bounded` may be, in nanoseconds, as [`Mode`] says.
const BOUND_NS: u64 = 100_000_000;
/// Hits of a hundred reads, at least: with fewer the caches were hardly used.
const HITS_PCT_MIN: u64 = 10;
/// How late the log may come to the inner proxy, which has hits nevertheless.
const LATE: Duration = Duration::from_millis(50);
/// How often the inner proxy is killed.
const KILLS: usize = 3;

/// Tables with one row each: two are written at the server, two at the inner proxy, two at the
/// outer one.
const KEYS: usize = 6;

/// What all clients of a round share.
#[derive(Debug)]
struct Round {
    /// What the names of the tables begin with.
    table: String,
    begun: Instant,
    is_over: Cell<bool>,
    /// A writer may write.
    turn: Notify,
    seen: RefCell<Vec<Read>>,
    written: RefCell<Vec<Write>>,
}

impl Round {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Writes the versions of one table, until the round is over.
    async fn write(self: Rc<Self>, key: usize, at: Options) {
        let (mut client, mut version) = (None, 0);
        loop {
            self.turn.notified().await;
            if self.is_over.get() {
                // Others wait for the same.
                self.turn.notify_one();
                return;
            }
            let Some(to) = connected(&mut client, &at).await else { continue };
            version += 1;
            let sent = self.now();
            let result = to.query(&format!("UPDATE {}{key} SET a = {version}", self.table)).await;
            let fate = if result.is_ok() { Fate::Done } else { Fate::Unknown };
            let span = Span { sent, done: self.now() };
            self.written.borrow_mut().push(Write { key, version, removes: false, span, fate });
            if result.is_err() {
                client = None;
            }
        }
    }

    /// Reads tables, until the round is over.
    async fn read(self: Rc<Self>, at: Options, mut dice: Dice) {
        let mut client = None;
        while !self.is_over.get() {
            let Some(to) = connected(&mut client, &at).await else { continue };
            match self.read_one(to, dice.below(KEYS)).await {
                Ok(()) if self.seen.borrow().len().is_multiple_of(PAUSE) => self.turn.notify_one(),
                Ok(()) => {}
                Err(_) => client = None,
            }
        }
    }

    async fn read_one(&self, client: &mut Client, key: usize) -> Result<(), ClientError> {
        let sent = self.now();
        let result = client.query(&format!("SELECT a FROM {}{key}", self.table)).await?;
        let text = result.rows.first().and_then(|row| std::str::from_utf8(row.get(1..)?).ok());
        let seen = text.and_then(|version| version.parse().ok());
        self.seen.borrow_mut().push(Read { key, seen, span: Span { sent, done: self.now() } });
        Ok(())
    }

    /// Waits until there are so many reads.
    async fn wait_for_reads(&self, reads: usize) {
        let deadline = tokio::time::Instant::now() + WAIT_MAX;
        while self.seen.borrow().len() < reads {
            assert!(tokio::time::Instant::now() < deadline, "only {} reads", self.seen.borrow().len());
            yield_now().await;
        }
    }
}

/// The client, which connects if there is none. Nothing if nothing takes connections.
async fn connected<'a>(client: &'a mut Option<Client>, at: &Options) -> Option<&'a mut Client> {
    if client.is_none() {
        *client = Client::connect(at).await.ok();
    }
    if client.is_none() {
        yield_now().await;
    }
    client.as_mut()
}

/// Two proxies, of which the inner one may be started anew.
struct World {
    server: &'static Backend,
    inside: Mode,
    /// The way to the inner proxy.
    relay: Relay,
    inner: RefCell<Rc<Proxy>>,
    outer: Proxy,
    round: Rc<Round>,
}

impl World {
    /// The inner proxy gets the log so late.
    async fn new(server: &'static Backend, [outside, inside]: [Mode; 2], late: Duration) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // Its own: tests run at the same time.
        let table = format!("test.history{}_", COUNT.fetch_add(1, Ordering::Relaxed));
        for key in 0..KEYS {
            server.sql(&format!("CREATE TABLE {table}{key} (a INT); INSERT INTO {table}{key} VALUES (0)"));
        }
        let inner = if late.is_zero() {
            inner(server, inside)
        } else {
            let way = Relay::with_late_log(server.server.address(), late).await;
            let inner = outer(server, way.port(), inside);
            follow(&inner).await;
            inner
        };
        let relay = Relay::start(inner.tcp()).await;
        let outer = outer(server, relay.port(), outside);
        let first = |key| {
            let span = Span { sent: 0, done: 0 };
            Write { key, version: 0, removes: false, span, fate: Fate::Done }
        };
        let round = Round {
            table,
            begun: Instant::now(),
            is_over: Cell::new(false),
            turn: Notify::new(),
            seen: RefCell::default(),
            written: RefCell::new((0..KEYS).map(first).collect()),
        };
        Self { server, inside, relay, inner: RefCell::new(Rc::new(inner)), outer, round: Rc::new(round) }
    }

    /// Clients at the inner proxy, by way of the relay.
    fn at_inner(&self) -> Options {
        Options::tcp((Ipv4Addr::LOCALHOST, self.relay.port()).into(), USER, PASSWORD).schema("test")
    }

    /// Runs a round; the inner proxy is killed so often meanwhile.
    async fn run(&self, kills: usize) {
        let mut clients = JoinSet::new();
        let direct = Options::tcp(self.server.server.address(), USER, PASSWORD).schema("test");
        let writers = [direct, self.at_inner(), options(&self.outer)];
        for key in 0..KEYS {
            clients.spawn_local(Rc::clone(&self.round).write(key, writers[key / 2].clone()));
        }
        for number in 0..2 * READERS {
            let at = if number < READERS { self.at_inner() } else { options(&self.outer) };
            clients.spawn_local(Rc::clone(&self.round).read(at, Dice::new(Dice::fresh_seed(), number)));
        }
        for kill in 1..=kills {
            self.round.wait_for_reads(READS * kill / (kills + 1)).await;
            self.restart().await;
        }
        self.round.wait_for_reads(READS).await;
        self.round.is_over.set(true);
        self.round.turn.notify_one();
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
    }

    /// Kills the inner proxy, and starts it anew.
    async fn restart(&self) {
        let (server, inside) = (self.server, self.inside);
        let anew = tokio::task::spawn_blocking(move || inner(server, inside)).await.unwrap();
        self.relay.lead_to(anew.tcp());
        drop(self.inner.replace(Rc::new(anew)));
    }

    /// Reads all tables at rest, and returns the reads that are wrong. Of tables that the server
    /// or the inner proxy writes, reads may be so late.
    async fn wrong(&self, late_ns: u64) -> Vec<Wrong> {
        tokio::time::sleep(Duration::from_nanos(late_ns)).await;
        for at in [self.at_inner(), options(&self.outer)] {
            let mut client = Client::connect(&at).await.unwrap();
            for key in 0..KEYS {
                self.round.read_one(&mut client, key).await.unwrap();
            }
        }
        let by = |key: usize| if key / 2 < 2 { late_ns } else { 0 };
        let writes: Vec<_> = self
            .round
            .written
            .borrow()
            .iter()
            .map(|one| Write { span: one.span.late(by(one.key)), ..*one })
            .collect();
        let reads: Vec<_> = self
            .round
            .seen
            .borrow()
            .iter()
            .map(|one| Read { span: one.span.late(by(one.key)), ..*one })
            .collect();
        println!("{} writes, {} reads", writes.len(), reads.len());
        check(&writes, &reads)
    }

    /// Hits of both proxies.
    async fn hits(&self) -> [u64; 2] {
        let mut hits = [0; 2];
        let inner = Rc::clone(&self.inner.borrow());
        for (hits, proxy) in hits.iter_mut().zip([&*inner, &self.outer]) {
            *hits = sum(&mut admin::connect(proxy).await, "hits").await;
        }
        hits
    }
}

/// Has a proxy follow the log.
async fn follow(proxy: &Proxy) {
    let (mut client, mut operator) = (connect(proxy).await, admin::connect(proxy).await);
    value(&mut client, "SELECT a FROM kept WHERE id = 1").await;
    admin::wait_for_value(&mut operator, "SELECT followed FROM stats_pointsman_sources", "1").await;
}

/// A round, in which no read is wrong, and both caches answer. The inner proxy gets the log so late
/// and is killed so often.
fn play(server: &'static Backend, [outside, inside]: [Mode; 2], late: Duration, kills: usize) {
    run(LocalSet::new().run_until(async {
        let world = World::new(server, [outside, inside], late).await;
        world.run(kills).await;
        let wrong = world.wrong(if outside == Mode::Bounded { BOUND_NS } else { 0 }).await;
        assert!(wrong.is_empty(), "{} reads are wrong: {:?}", wrong.len(), wrong.first());
        let [at_inner, at_outer] = world.hits().await;
        println!("{outside:?} before {inside:?}: {at_inner} hits inside, {at_outer} outside");
        let enough = READS as u64 * HITS_PCT_MIN / 100;
        assert!(at_outer >= enough, "only {at_outer} hits outside");
        assert!(inside == Mode::None || kills > 0 || at_inner >= enough, "only {at_inner} hits inside");
    }));
}

pub(super) fn c20_no_strict_read_through_two_caches_is_old(server: &'static Backend) {
    play(server, [Mode::Strict, Mode::Strict], Duration::ZERO, 0);
    play(server, [Mode::Strict, Mode::None], Duration::ZERO, 0);
}

pub(super) fn c20_no_bounded_read_through_two_caches_is_beyond_the_bound(server: &'static Backend) {
    play(server, [Mode::Bounded, Mode::Bounded], Duration::ZERO, 0);
    play(server, [Mode::Bounded, Mode::None], Duration::ZERO, 0);
}

/// The inner cache answers from before writes that the outer one knows already.
pub(super) fn c20_no_answer_stays_old_outside_if_the_inner_proxy_is_behind(server: &'static Backend) {
    play(server, [Mode::Bounded, Mode::Bounded], LATE, 0);
}

pub(super) fn c20_no_strict_read_is_old_while_the_inner_proxy_is_killed(server: &'static Backend) {
    play(server, [Mode::Strict, Mode::Strict], Duration::ZERO, KILLS);
}
