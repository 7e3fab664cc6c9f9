//! One noisy client: its login, and what it knows of its session.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::mpsc::Sender;
use std::time::Duration;

use e2e::dice::Dice;
use testkit::client::{Client, ClientError, Options, QueryResult, Statement};
use tokio::sync::mpsc::UnboundedSender;

use super::NoiseCounts;

/// Schemas that a client may be in.
pub(super) const SCHEMAS: [&str; 4] = ["test", "mtr", "mysql", "information_schema"];
/// Longest pause between two statements, in microseconds.
const PAUSE_US_MAX: usize = 6_000;
/// How long a client waits before it logs in again after an error.
const RETRY_TIME: Duration = Duration::from_millis(50);

/// Why a client stops in the middle of something.
#[derive(Debug)]
pub(super) enum Trouble {
    /// An error: it logs in again.
    Disturbed,
    /// It has got what was not for it.
    Crossed(anyhow::Error),
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Server(_) | ClientError::Io(_) | ClientError::Login(_) => Self::Disturbed,
            // The answer to something else may not be understood at all.
            ClientError::Wire(_) | ClientError::Unexpected(_) | _ => {
                Self::Crossed(anyhow::anyhow!("an answer that is none: {error}"))
            }
        }
    }
}

/// A client that comes and goes.
pub(super) struct Noisy {
    options: Options,
    /// The run's number: what an earlier one has left in tables has other tags.
    run: u64,
    number: usize,
    dice: Dice,
    counts: UnboundedSender<NoiseCounts>,
    /// Number of its tags so far.
    tags: u64,
}

/// A session of a client: what it has set, as far as it knows that.
pub(super) struct Session<'a> {
    pub(super) client: Client,
    pub(super) owner: &'a mut Noisy,
    /// The schema; `None`: not known, or none.
    pub(super) schema: Option<String>,
    /// Session variables and user variables with what was set, as `SELECT` shows it.
    pub(super) set: BTreeMap<&'static str, String>,
    /// What is prepared.
    pub(super) statements: Vec<Statement>,
}

impl Noisy {
    /// One of the clients of a run with this seed.
    pub(super) fn new(
        options: Options,
        seed: u64,
        number: usize,
        counts: UnboundedSender<NoiseCounts>,
    ) -> Self {
        Self { options, run: seed, number, dice: Dice::new(seed, number), counts, tags: 0 }
    }

    /// Makes noise until it gets what is not for it, which is what it returns. Says once that it
    /// has tried to log in.
    pub(super) async fn run(mut self, here: Sender<()>) -> anyhow::Result<Infallible> {
        let mut here = Some(here);
        loop {
            let session = self.log_in().await;
            if let Some(here) = here.take() {
                // The receiver may be gone.
                let _ = here.send(());
            }
            let trouble = match session {
                Ok(mut session) => session.work().await,
                Err(trouble) => Err(trouble),
            };
            match trouble {
                Ok(()) => {}
                Err(Trouble::Disturbed) => {
                    self.count(NoiseCounts { errors: 1, ..NoiseCounts::default() });
                    tokio::time::sleep(RETRY_TIME).await;
                }
                Err(Trouble::Crossed(error)) => return Err(error),
            }
        }
    }

    async fn log_in(&mut self) -> Result<Session<'_>, Trouble> {
        let schema = self.dice.chance(70).then(|| (*self.dice.pick(&SCHEMAS)).to_owned());
        let options = match &schema {
            None => self.options.clone(),
            Some(schema) => self.options.clone().schema(schema),
        };
        let client = Client::connect(&options).await?;
        self.count(NoiseCounts { logins: 1, ..NoiseCounts::default() });
        Ok(Session { client, owner: self, schema, set: BTreeMap::new(), statements: Vec::new() })
    }

    fn count(&self, more: NoiseCounts) {
        // Who counts is gone only when the run is over.
        let _ = self.counts.send(more);
    }
}

impl Session<'_> {
    /// Does things until it is time to leave.
    async fn work(&mut self) -> Result<(), Trouble> {
        for _ in 0..self.owner.dice.within(1..60) {
            self.unit().await?;
        }
        Ok(())
    }

    pub(super) const fn dice(&mut self) -> &mut Dice {
        &mut self.owner.dice
    }

    pub(super) const fn number(&self) -> usize {
        self.owner.number
    }

    /// A text that no other client has, and this one never had before.
    pub(super) fn tag(&mut self) -> String {
        self.owner.tags += 1;
        format!("noise {}-{} {}", self.owner.run, self.owner.number, self.owner.tags)
    }

    /// Says a statement after a pause.
    pub(super) async fn say(&mut self, sql: &str) -> Result<QueryResult, Trouble> {
        self.pause().await;
        Ok(self.client.query(sql).await?)
    }

    pub(super) async fn pause(&mut self) {
        let pause = self.owner.dice.below(PAUSE_US_MAX);
        tokio::time::sleep(Duration::from_micros(pause.try_into().unwrap_or_default())).await;
    }

    /// Asks for one row, which has to be this one.
    pub(super) async fn ask(&mut self, sql: &str, expected: &[&str]) -> Result<(), Trouble> {
        let result = self.say(sql).await?;
        let rows = result.text().map_err(ClientError::from)?;
        let row: Vec<&str> = rows.iter().flatten().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        self.check(sql, row == expected, || format!("{row:?} instead of {expected:?}"))
    }

    /// Takes note of an answer that was right, or says what is wrong with it.
    pub(super) fn check(
        &self,
        sql: &str,
        is_right: bool,
        wrong: impl FnOnce() -> String,
    ) -> Result<(), Trouble> {
        if is_right {
            self.owner.count(NoiseCounts { answers: 1, ..NoiseCounts::default() });
            return Ok(());
        }
        let (number, schema, set) = (self.owner.number, &self.schema, &self.set);
        let wrong = wrong();
        Err(Trouble::Crossed(anyhow::anyhow!(
            "client {number} got, for {sql:?}: {wrong}; it is in {schema:?} and has set {set:?}"
        )))
    }
}
