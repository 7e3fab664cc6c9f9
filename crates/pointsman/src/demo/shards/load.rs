//! Clients of the shop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use testkit::client::{Client, Options};
use testkit::load::{Random, Stats};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::{CUSTOMERS, PRODUCTS};

/// Longest time of one statement and of one login; then it counts as failed.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(30);

/// Pause after a connection failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Of so many statements one goes to all shards.
const ALL_SHARDS_EVERY: u64 = 20;

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Reads a customer by the key: one shard.
    Customer,
    /// Joins a customer's orders with their items and products: one shard.
    Orders,
    /// Buys something, in a transaction: one shard.
    Purchase,
    /// Reads the newest orders of all customers: all shards.
    Newest,
}

impl Work {
    pub(super) const ALL: [Self; 4] = [Self::Customer, Self::Orders, Self::Purchase, Self::Newest];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Orders => "orders of one",
            Self::Purchase => "purchase",
            Self::Newest => "newest of all",
        }
    }

    fn choose(random: &mut Random) -> Self {
        match random.below(ALL_SHARDS_EVERY) {
            0 => Self::Newest,
            1..=3 => Self::Purchase,
            4..=8 => Self::Orders,
            _ => Self::Customer,
        }
    }

    /// The statements. The `number` is that of a new order.
    fn statements(self, random: &mut Random, number: u64) -> Vec<String> {
        let customer = 1 + random.below(CUSTOMERS);
        match self {
            Self::Customer => vec![format!("SELECT name FROM customers WHERE id = {customer}")],
            Self::Orders => vec![format!(
                "SELECT o.number, p.name, i.quantity FROM orders o \
                 JOIN order_items i ON i.customer_id = o.customer_id AND i.number = o.number \
                 JOIN products p ON p.id = i.product_id WHERE o.customer_id = {customer} ORDER BY o.number"
            )],
            Self::Purchase => {
                let (product, quantity) = (1 + random.below(PRODUCTS), 1 + random.below(5));
                vec![
                    "BEGIN".to_owned(),
                    format!("INSERT INTO orders (customer_id, number) VALUES ({customer}, {number})"),
                    format!(
                        "INSERT INTO order_items (customer_id, number, product_id, quantity) \
                         VALUES ({customer}, {number}, {product}, {quantity})"
                    ),
                    "COMMIT".to_owned(),
                ]
            }
            Self::Newest => {
                vec!["SELECT customer_id, number FROM orders ORDER BY number DESC LIMIT 10".to_owned()]
            }
        }
    }
}

/// What the clients have done.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    stats: [Stats; Work::ALL.len()],
    /// The first error.
    pub(super) first_error: Option<String>,
}

impl Done {
    /// Statements of one kind of work.
    pub(super) const fn of(&self, work: Work) -> &Stats {
        &self.stats[work as usize]
    }

    /// Statements of several kinds of work together.
    pub(super) fn total(&self, is_counted: fn(Work) -> bool) -> Stats {
        let mut total = Stats::default();
        for stats in Work::ALL.into_iter().filter(|work| is_counted(*work)).map(|work| self.of(work)) {
            total.queries += stats.queries;
            total.errors += stats.errors;
            total.latencies.merge(&stats.latencies);
        }
        total
    }

    /// Counts a statement, and how long it took.
    pub(super) fn note(&mut self, work: Work, time: Duration, outcome: &Result<(), String>) {
        let stats = &mut self.stats[work as usize];
        match outcome {
            Ok(()) => {
                stats.queries += 1;
                stats.latencies.record(time);
            }
            Err(error) => {
                stats.errors += 1;
                self.first_error.get_or_insert_with(|| format!("{}: {error}", work.name()));
            }
        }
    }
}

/// Clients that work until they are stopped.
#[derive(Debug)]
pub(super) struct Load {
    done: Arc<Mutex<Done>>,
    stop: watch::Sender<bool>,
    clients: JoinSet<()>,
}

impl Load {
    /// Starts so many clients on this runtime.
    pub(super) fn start(options: &Options, connections: u16) -> Self {
        let done = Arc::new(Mutex::new(Done::default()));
        let (stop, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        for seed in 0..connections {
            clients.spawn(run(seed.into(), options.clone(), Arc::clone(&done), stopped.clone()));
        }
        Self { done, stop, clients }
    }

    /// What has been done so far.
    pub(super) fn done(&self) -> Done {
        lock(&self.done).clone()
    }

    /// Lets every client finish its work and leave, and returns what has been done.
    pub(super) async fn stop(mut self) -> Done {
        // No client listens if all have ended.
        let _ = self.stop.send(true);
        while self.clients.join_next().await.is_some() {}
        self.done()
    }
}

fn lock(done: &Mutex<Done>) -> MutexGuard<'_, Done> {
    // Additions leave nothing half done.
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Works until told to stop; connects again after failures.
async fn run(seed: u64, options: Options, done: Arc<Mutex<Done>>, mut stopped: watch::Receiver<bool>) {
    let mut random = Random::new(seed);
    // Numbers of orders differ between clients.
    let mut number = seed << 40;
    while !*stopped.borrow() {
        match within(Client::connect(&options)).await {
            Ok(mut client) => {
                while !*stopped.borrow() {
                    let work = Work::choose(&mut random);
                    number += 1;
                    if !operate(&mut client, work, work.statements(&mut random, number), &done).await {
                        break;
                    }
                }
                // A server that is gone already has nothing to say goodbye to.
                let _ = within(client.quit()).await;
            }
            Err(error) => lock(&done).note(Work::Customer, Duration::ZERO, &Err(error)),
        }
        // Ends early when the load is stopped.
        let _ = timeout(RETRY_PAUSE, stopped.wait_for(|&stopped| stopped)).await;
    }
}

/// Executes statements up to the first that fails; whether none did.
async fn operate(client: &mut Client, work: Work, statements: Vec<String>, done: &Mutex<Done>) -> bool {
    for sql in statements {
        let started = Instant::now();
        let outcome = within(client.query(&sql)).await.map(drop);
        lock(done).note(work, started.elapsed(), &outcome);
        if outcome.is_err() {
            return false;
        }
    }
    true
}

/// The value of a future that has a deadline, or its error as text.
async fn within<T, E: std::fmt::Display>(future: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    match timeout(STATEMENT_TIME_MAX, future).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(error.to_string()),
        Err(elapsed) => Err(elapsed.to_string()),
    }
}
