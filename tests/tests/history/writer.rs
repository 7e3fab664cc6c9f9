//! A client that writes the versions of one load.

use std::time::Instant;

use e2e::dice::Dice;
use e2e::history::{Fate, Span, Write};
use testkit::client::{Client, ClientError, Statement, Value};

use crate::load::{Load, NEW_TRIGGER};
use crate::world::Site;

/// `XAER_NOTA`: at MariaDB only the connection of a transaction commits it, until it is gone.
const XAER_NOTA: u16 = 1397;
/// How often that is tried.
const XA_TRIES: usize = 10_000;
/// Writes of a hundred before which the format of the binary log is another one.
const FORMAT_PCT: usize = 20;
/// The formats of the binary log.
const FORMATS: [&str; 3] = ["ROW", "MIXED", "STATEMENT"];

/// Moments of a run, in nanoseconds since its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(pub(crate) Instant);

impl Clock {
    pub(crate) fn now(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How a writer writes.
#[derive(Debug, Clone)]
pub(crate) struct Hand {
    /// Where it connects to.
    pub(crate) site: Site,
    /// The format of the binary log is another one now and then.
    pub(crate) switches_format: bool,
    /// Connections may be lost.
    pub(crate) has_losses: bool,
}

/// The writer of a load.
#[derive(Debug)]
pub(crate) struct Writer {
    load: Load,
    hand: Hand,
    client: Client,
    clock: Clock,
    dice: Dice,
    /// The connection was lost.
    is_lost: bool,
    /// That of the last write.
    version: u64,
    prepared: Option<Statement>,
    /// What was written so far.
    pub(crate) written: Vec<Write>,
}

impl Writer {
    /// Connects. The `first` write is what the server has.
    pub(crate) async fn new(load: Load, hand: Hand, clock: Clock, first: Write) -> Self {
        let client = hand.site.connect().await;
        let dice = Dice::new(Dice::fresh_seed(), load.key());
        let (version, written) = (first.version, vec![first]);
        Self { load, hand, client, clock, dice, is_lost: false, version, prepared: None, written }
    }

    /// Writes the next version, over a new connection if the last one was lost.
    pub(crate) async fn write(&mut self) {
        if self.is_lost {
            (self.client, self.prepared, self.is_lost) = (self.hand.site.connect().await, None, false);
        }
        if self.hand.switches_format && self.dice.chance(FORMAT_PCT) {
            let format = *self.dice.pick(&FORMATS);
            self.say(&format!("SET SESSION binlog_format = {format}")).await;
        }
        self.write_next().await;
    }

    /// Writes the next version, or removes what has one and writes the next.
    async fn write_next(&mut self) {
        let next = self.version + 1;
        match self.load {
            Load::Autocommit => self.last(&update("plain", next), false).await,
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
                self.last(&update("with_trigger", next), false).await;
            }
            Load::NewTrigger => {
                self.say("DROP TRIGGER arms").await;
                self.say(NEW_TRIGGER).await;
                self.last(&update("armed", next), false).await;
            }
            Load::Cascade => self.last(&update("parent", next), false).await,
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
        self.say(&update("held", next)).await;
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
            None => match self.client.prepare("UPDATE plain SET v = ? WHERE id = 2").await {
                Ok(prepared) => prepared,
                Err(error) => return self.lose(&error, "PREPARE"),
            },
        };
        let value = Value::Int(i64::try_from(next).unwrap());
        let sent = self.clock.now();
        let result = self.client.execute(&prepared, &[value]).await.map(|_| ());
        self.prepared = Some(prepared);
        self.end(sent, false, "EXECUTE", &result);
    }

    /// Another connection commits what this one has prepared, and is the writer from then on.
    async fn distributed(&mut self, next: u64) {
        // A name is of the whole server, which has schemas of other tests.
        let name = format!("'{}-{next}'", self.hand.site.schema());
        for text in [
            format!("XA START {name}"),
            format!("UPDATE distributed SET v = {next} WHERE id = 1"),
            format!("XA END {name}"),
            format!("XA PREPARE {name}"),
        ] {
            self.say(&text).await;
        }
        let client = self.hand.site.connect().await;
        std::mem::replace(&mut self.client, client).quit().await.unwrap();
        let sent = self.clock.now();
        for _ in 0..XA_TRIES {
            let result = self.client.query(&format!("XA COMMIT {name}")).await;
            if !matches!(&result, Err(error) if error.code() == Some(XAER_NOTA)) {
                return self.end(sent, false, "XA COMMIT", &result.map(|_| ()));
            }
            tokio::task::yield_now().await;
        }
        panic!("nobody knows {name}");
    }

    /// A statement that the version does not show after yet.
    async fn say(&mut self, text: &str) {
        if self.is_lost {
            return;
        }
        if let Err(error) = self.client.query(text).await {
            self.lose(&error, text);
        }
    }

    /// The statement that makes the next version visible, or `removes` what there is.
    async fn last(&mut self, text: &str, removes: bool) {
        if self.is_lost {
            return;
        }
        let sent = self.clock.now();
        let result = self.client.query_all(text).await.map(|_| ());
        self.end(sent, removes, text, &result);
    }

    /// A write that was sent has come to this.
    fn end(&mut self, sent: u64, removes: bool, text: &str, result: &Result<(), ClientError>) {
        if let Err(error) = result {
            self.lose(error, text);
        }
        self.note(sent, removes, if result.is_ok() { Fate::Done } else { Fate::Unknown });
    }

    /// The connection is of no use any more.
    fn lose(&mut self, error: &ClientError, text: &str) {
        assert!(self.hand.has_losses, "{:?}: {text}: {error}", self.load);
        self.is_lost = true;
    }

    fn note(&mut self, sent: u64, removes: bool, fate: Fate) {
        self.version += 1;
        let span = Span { sent, done: self.clock.now() };
        self.written.push(Write { key: self.load.key(), version: self.version, removes, span, fate });
    }
}

/// Writes a version to the first row of a table. Of a statement whose connection is lost the server
/// may think of later than of the next one: then it does nothing.
fn update(table: &str, version: u64) -> String {
    format!("UPDATE {table} SET v = {version} WHERE id = 1 AND v < {version}")
}
