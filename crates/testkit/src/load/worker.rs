//! One connection of the load.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::counters::Counters;
use super::random::Random;
use super::schema::{ITEMS, PURCHASES_KEPT};
use super::{Mix, Operation};
use crate::client::{Client, ClientError, Options, QueryResult, Statement, Value};

/// Longest time of one query and of one login; then it counts as failed.
const QUERY_TIME_MAX: Duration = Duration::from_secs(30);
/// Pause after a connection failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Rows of a range.
const RANGE_LEN: u64 = 20;
/// The first connection removes old purchases once in so many operations.
const TRIM_EVERY: u64 = 500;
/// Rows removed at once.
const TRIM_ROWS_MAX: u64 = 20_000;

/// A query failed and was counted. The connection cannot go on unless the server said so.
struct Failed {
    usable: bool,
}

/// Works until it is told to stop; connects again after failures.
pub(super) async fn run(
    seed: u64,
    options: Options,
    mix: Mix,
    counters: Arc<Counters>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut random = Random::new(seed);
    while !*stopped.borrow() {
        let connected = match timeout(QUERY_TIME_MAX, Client::connect(&options)).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(error.to_string()),
            Err(elapsed) => Err(elapsed.to_string()),
        };
        match connected {
            Ok(client) => {
                counters.connected();
                let trims = seed == 0 && mix == Mix::ReadsAndWrites;
                let worker = Worker { client, counters: &counters, select: None, trims, operations: 0 };
                worker.work(mix, &mut random, &stopped).await;
                counters.disconnected();
            }
            Err(error) => counters.connection_failed(&error),
        }
        // Ends early when the load is stopped. An error means that the load was dropped: same
        // thing.
        let _ = timeout(RETRY_PAUSE, stopped.wait_for(|&stopped| stopped)).await;
    }
}

struct Worker<'a> {
    client: Client,
    counters: &'a Counters,
    select: Option<Statement>,
    trims: bool,
    operations: u64,
}

impl Worker<'_> {
    async fn work(mut self, mix: Mix, random: &mut Random, stopped: &watch::Receiver<bool>) {
        while !*stopped.borrow() {
            self.operations += 1;
            let operation = if self.trims && self.operations.is_multiple_of(TRIM_EVERY) {
                Operation::Trim
            } else {
                mix.choose(random)
            };
            if let Err(Failed { usable: false }) = self.operate(operation, random).await {
                return;
            }
        }
        // A server that is gone already has nothing to say goodbye to.
        let _ = timeout(QUERY_TIME_MAX, self.client.quit()).await;
    }

    async fn operate(&mut self, operation: Operation, random: &mut Random) -> Result<(), Failed> {
        let id = 1 + random.below(ITEMS);
        let quantity = 1 + random.below(5);
        match operation {
            Operation::PointSelect => {
                self.query(operation, &format!("SELECT name, price FROM item WHERE id = {id}")).await?;
            }
            Operation::Prepared => self.prepared(id).await?,
            Operation::RangeSelect => {
                let last = id + RANGE_LEN - 1;
                let sql =
                    format!("SELECT name, price FROM item WHERE id BETWEEN {id} AND {last} ORDER BY price");
                self.query(operation, &sql).await?;
            }
            Operation::Aggregate => {
                let sql = format!("SELECT COUNT(*), SUM(quantity) FROM purchase WHERE item = {id}");
                self.query(operation, &sql).await?;
            }
            Operation::Update => {
                self.query(operation, &format!("UPDATE item SET stock = stock - {quantity} WHERE id = {id}"))
                    .await?;
            }
            Operation::Insert => self.insert(operation, id, quantity).await?,
            Operation::Transaction => self.transaction(id, quantity).await?,
            Operation::Trim => self.trim().await?,
        }
        Ok(())
    }

    async fn prepared(&mut self, id: u64) -> Result<(), Failed> {
        let started = Instant::now();
        if self.select.is_none() {
            let sql = "SELECT name, price FROM item WHERE id = ?";
            let prepared = timeout(QUERY_TIME_MAX, self.client.prepare(sql)).await;
            self.select = Some(count(self.counters, Operation::Prepared, started, prepared)?);
        }
        let Some(statement) = &self.select else { return Ok(()) };
        let started = Instant::now();
        let params = [Value::Int(id.cast_signed())];
        let executed = timeout(QUERY_TIME_MAX, self.client.execute(statement, &params)).await;
        count(self.counters, Operation::Prepared, started, executed)?;
        Ok(())
    }

    async fn insert(&mut self, operation: Operation, id: u64, quantity: u64) -> Result<(), Failed> {
        let sql = format!("INSERT INTO purchase (item, quantity) VALUES ({id}, {quantity})");
        self.query(operation, &sql).await?;
        Ok(())
    }

    /// Locks one row of `item` only, so that transactions wait for each other but never deadlock.
    async fn transaction(&mut self, id: u64, quantity: u64) -> Result<(), Failed> {
        let operation = Operation::Transaction;
        self.query(operation, "BEGIN").await?;
        self.query(operation, &format!("SELECT stock FROM item WHERE id = {id} FOR UPDATE")).await?;
        self.query(operation, &format!("UPDATE item SET stock = stock - {quantity} WHERE id = {id}")).await?;
        self.insert(operation, id, quantity).await?;
        self.query(operation, "COMMIT").await?;
        Ok(())
    }

    async fn trim(&mut self) -> Result<(), Failed> {
        let last = self.query(Operation::Trim, "SELECT MAX(id) FROM purchase").await?.first();
        let last = last.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let first = last.saturating_sub(PURCHASES_KEPT);
        let sql = format!("DELETE FROM purchase WHERE id < {first} LIMIT {TRIM_ROWS_MAX}");
        self.query(Operation::Trim, &sql).await?;
        Ok(())
    }

    async fn query(&mut self, operation: Operation, sql: &str) -> Result<QueryResult, Failed> {
        let started = Instant::now();
        let result = timeout(QUERY_TIME_MAX, self.client.query(sql)).await;
        count(self.counters, operation, started, result)
    }
}

/// Counts a query that has ended in some way.
fn count<T>(
    counters: &Counters,
    operation: Operation,
    started: Instant,
    result: Result<Result<T, ClientError>, tokio::time::error::Elapsed>,
) -> Result<T, Failed> {
    match result {
        Ok(Ok(value)) => {
            counters.succeeded(operation, started.elapsed());
            Ok(value)
        }
        Ok(Err(error)) => {
            counters.failed(operation, &error);
            Err(Failed { usable: error.code().is_some() })
        }
        Err(elapsed) => {
            counters.failed(operation, &elapsed);
            Err(Failed { usable: false })
        }
    }
}
