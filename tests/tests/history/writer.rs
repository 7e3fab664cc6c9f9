//! A client that writes the versions of one load.

use std::time::Instant;

use e2e::history::{Fate, Span, Write};
use testkit::client::{Client, ClientError, Options, Statement, Value};

use crate::load::Load;

/// `XAER_NOTA`: at MariaDB only the connection of a transaction commits it, until it is gone.
const XAER_NOTA: u16 = 1397;
/// How often that is tried.
const XA_TRIES: usize = 10_000;

/// Moments of a run, in nanoseconds since its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(pub(crate) Instant);

impl Clock {
    pub(crate) fn now(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The writer of a load.
#[derive(Debug)]
pub(crate) struct Writer {
    load: Load,
    options: Options,
    client: Client,
    clock: Clock,
    /// That of the last write.
    version: u64,
    prepared: Option<Statement>,
    /// What was written so far.
    pub(crate) written: Vec<Write>,
}

impl Writer {
    /// Connects. The `first` write is what the server has.
    pub(crate) async fn new(load: Load, options: Options, clock: Clock, first: Write) -> Self {
        let client = Client::connect(&options).await.unwrap_or_else(|error| panic!("{load:?}: {error}"));
        let (version, written) = (first.version, vec![first]);
        Self { load, options, client, clock, version, prepared: None, written }
    }

    /// Writes the next version, or removes what has one and writes the next.
    pub(crate) async fn write(&mut self) {
        let next = self.version + 1;
        match self.load {
            Load::Autocommit => self.last(&format!("UPDATE plain SET v = {next} WHERE id = 1"), false).await,
            Load::Prepared => self.execute(next).await,
            Load::Several => {
                // Readers see it long before the reply is over.
                self.last(&format!("UPDATE plain SET v = {next} WHERE id = 3; DO SLEEP(0.05)"), false).await;
            }
            Load::Transaction => self.transaction(next).await,
            Load::TransactionInText => {
                let text = format!("BEGIN; UPDATE plain SET v = {next} WHERE id = 4; COMMIT; DO SLEEP(0.05)");
                self.last(&text, false).await;
            }
            Load::WithoutAutocommit => {
                self.say("SET autocommit = 0").await;
                self.say(&format!("UPDATE plain SET v = {next} WHERE id = 5")).await;
                // This commits as well.
                let end = if next.is_multiple_of(2) { "COMMIT" } else { "SET autocommit = 1" };
                self.last(end, false).await;
                self.say("SET autocommit = 1").await;
            }
            Load::Trigger => {
                self.last(&format!("UPDATE with_trigger SET v = {next} WHERE id = 1"), false).await;
            }
            Load::Cascade => self.last(&format!("UPDATE parent SET v = {next} WHERE id = 1"), false).await,
            Load::Delete => {
                self.last("DELETE FROM removed WHERE id = 1", true).await;
                let next = self.version + 1;
                self.say("START TRANSACTION").await;
                self.say(&format!("INSERT INTO removed VALUES (1, {next})")).await;
                self.say(&format!("INSERT INTO removed_child VALUES (1, {next})")).await;
                self.last("COMMIT", false).await;
            }
            Load::Call => self.last(&format!("CALL bump({next})"), false).await,
            Load::Alter => {
                self.last(&format!("ALTER TABLE altered ALTER COLUMN v SET DEFAULT {next}"), false).await;
            }
            Load::Truncate => {
                self.last("TRUNCATE TABLE emptied", true).await;
                let next = self.version + 1;
                self.last(&format!("INSERT INTO emptied VALUES (1, {next})"), false).await;
            }
            Load::Rename => {
                self.say(&format!("UPDATE renamed_next SET v = {next} WHERE id = 1")).await;
                let names = "renamed TO renamed_last, renamed_next TO renamed, renamed_last TO renamed_next";
                self.last(&format!("RENAME TABLE {names}"), false).await;
            }
            Load::Xa => self.distributed(next).await,
        }
    }

    async fn transaction(&mut self, next: u64) {
        self.say("BEGIN").await;
        self.say(&format!("UPDATE held SET v = {next} WHERE id = 1")).await;
        if next.is_multiple_of(2) {
            return self.last("COMMIT", false).await;
        }
        let sent = self.clock.now();
        self.say("ROLLBACK").await;
        self.note(sent, false, Fate::Undone);
    }

    async fn execute(&mut self, next: u64) {
        let prepared = match self.prepared.take() {
            Some(prepared) => prepared,
            None => self.client.prepare("UPDATE plain SET v = ? WHERE id = 2").await.unwrap(),
        };
        let value = Value::Int(i64::try_from(next).unwrap());
        let sent = self.clock.now();
        let result = self.client.execute(&prepared, &[value]).await;
        self.prepared = Some(prepared);
        self.note(sent, false, fate(&result));
    }

    /// Another connection commits what this one has prepared, and is the writer from then on.
    async fn distributed(&mut self, next: u64) {
        let name = format!("'history{next}'");
        for text in [
            format!("XA START {name}"),
            format!("UPDATE distributed SET v = {next} WHERE id = 1"),
            format!("XA END {name}"),
            format!("XA PREPARE {name}"),
        ] {
            self.say(&text).await;
        }
        let client = Client::connect(&self.options).await.unwrap();
        std::mem::replace(&mut self.client, client).quit().await.unwrap();
        let sent = self.clock.now();
        for _ in 0..XA_TRIES {
            let result = self.client.query(&format!("XA COMMIT {name}")).await;
            if !matches!(&result, Err(error) if error.code() == Some(XAER_NOTA)) {
                let result = result.unwrap_or_else(|error| panic!("XA COMMIT {name}: {error}"));
                return self.note(sent, false, fate(&Ok(result)));
            }
            tokio::task::yield_now().await;
        }
        panic!("nobody knows {name}");
    }

    /// A statement that the version does not show after yet.
    async fn say(&mut self, text: &str) {
        self.client.query(text).await.unwrap_or_else(|error| panic!("{:?}: {text}: {error}", self.load));
    }

    /// The statement that makes the next version visible, or `removes` what there is.
    async fn last(&mut self, text: &str, removes: bool) {
        let sent = self.clock.now();
        let result = self.client.query_all(text).await;
        if let Err(error) = &result {
            assert!(error.code().is_none(), "{:?}: {text}: {error}", self.load);
        }
        self.note(sent, removes, fate(&result));
    }

    fn note(&mut self, sent: u64, removes: bool, fate: Fate) {
        self.version += 1;
        let span = Span { sent, done: self.clock.now() };
        self.written.push(Write { key: self.load.key(), version: self.version, removes, span, fate });
    }
}

/// What became of a write that came to this.
fn fate<T>(result: &Result<T, ClientError>) -> Fate {
    match result {
        Ok(_) => Fate::Done,
        Err(error) if error.code().is_some() => Fate::Undone,
        Err(_) => Fate::Unknown,
    }
}
