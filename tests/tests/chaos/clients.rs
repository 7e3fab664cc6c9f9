//! Clients that write numbered rows and read, and remember what they were told of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use testkit::client::{Client, ClientError, Options, Value};
use tokio::runtime::Builder;
use tokio::sync::watch;

use e2e::dice::Dice;

/// Longer than any statement may take.
pub(crate) const STATEMENT_TIME_MAX: Duration = Duration::from_secs(8);

/// What a client was told of its rows.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// They are there.
    pub(crate) acknowledged: Vec<u32>,
    /// They are not.
    pub(crate) refused: Vec<u32>,
    /// It is unknown whether they are there.
    pub(crate) unknown: Vec<u32>,
    /// When something was acknowledged.
    pub(crate) times: Vec<Instant>,
    /// How often the session has ended.
    pub(crate) ended: u32,
    /// How often there was which error.
    pub(crate) errors: BTreeMap<String, u32>,
    /// Statements that were answered, or not.
    pub(crate) statements: u64,
    /// The longest time of a statement.
    pub(crate) longest: Duration,
    /// A statement that had no answer.
    pub(crate) stuck: Option<String>,
}

/// The clients of a round, on a thread of their own.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) told: Vec<Arc<Mutex<Told>>>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Crew {
    pub(crate) fn start(options: &Options, round: u32, seed: u64, count: usize) -> Self {
        let (stop, stopped) = watch::channel(false);
        let told: Vec<Arc<Mutex<Told>>> = (0..count).map(|_| Arc::default()).collect();
        let (all, options) = (told.clone(), options.clone());
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
            runtime.block_on(async {
                let clients = all.into_iter().enumerate().map(|(number, told)| {
                    let (options, stopped) = (options.clone(), stopped.clone());
                    let dice = Dice::new(seed, number);
                    tokio::spawn(async move {
                        Writer { options, round, number, dice, told, next: 0, client: None }
                            .run(stopped)
                            .await;
                    })
                });
                for client in clients.collect::<Vec<_>>() {
                    client.await.expect("a client does not panic");
                }
            });
        });
        Self { told, stop, thread }
    }

    /// Whether each has been told of a row since then.
    pub(crate) fn have_all_written_since(&self, since: Instant) -> bool {
        self.told.iter().all(|told| told.lock().unwrap().times.last().is_some_and(|last| *last > since))
    }

    /// Lets all of them finish what they do and leave.
    pub(crate) fn stop(self) -> Vec<Arc<Mutex<Told>>> {
        self.stop.send_replace(true);
        self.thread.join().expect("no client has panicked");
        self.told
    }
}

/// What has become of a piece of work.
enum Outcome {
    Done,
    Refused,
    Unknown,
}

struct Writer {
    options: Options,
    round: u32,
    number: usize,
    dice: Dice,
    told: Arc<Mutex<Told>>,
    next: u32,
    client: Option<Client>,
}

impl Writer {
    async fn run(mut self, stopped: watch::Receiver<bool>) {
        while !*stopped.borrow() {
            if self.client.is_none() {
                let connecting =
                    tokio::time::timeout(STATEMENT_TIME_MAX, Client::connect(&self.options)).await;
                match connecting {
                    Ok(Ok(client)) => self.client = Some(client),
                    Ok(Err(error)) => {
                        self.note("login", &error);
                        continue;
                    }
                    Err(_) => return self.told.lock().unwrap().stuck = Some("login".to_owned()),
                }
            }
            match self.dice.below(10) {
                0..4 => self.write().await,
                4..6 => self.write_prepared().await,
                6..9 => self.write_in_transaction().await,
                _ => drop(self.say("SELECT COUNT(*) FROM t").await),
            }
            if self.told.lock().unwrap().stuck.is_some() {
                return;
            }
        }
        if let Some(client) = self.client.take() {
            let _ = tokio::time::timeout(STATEMENT_TIME_MAX, client.quit()).await;
        }
    }

    fn row(&mut self) -> (u32, String) {
        self.next += 1;
        (self.next, format!("({}, {}, {})", self.round, self.number, self.next))
    }

    fn note_rows(&self, rows: &[u32], outcome: &Outcome) {
        let mut told = self.told.lock().unwrap();
        match outcome {
            Outcome::Done => {
                told.acknowledged.extend(rows);
                told.times.push(Instant::now());
            }
            Outcome::Refused => told.refused.extend(rows),
            Outcome::Unknown => told.unknown.extend(rows),
        }
    }

    fn note(&mut self, what: &str, error: &ClientError) {
        let mut told = self.told.lock().unwrap();
        let text = match error {
            ClientError::Server(error) => format!("{what}: {} {}", error.code, error.sql_state),
            ClientError::Io(_) => format!("{what}: the connection has ended"),
            // What breaks the protocol fails the test.
            error => panic!("{what}: {error}"),
        };
        *told.errors.entry(text).or_default() += 1;
    }

    /// Runs one statement. An error that is followed by the end of the session costs the session.
    async fn say(&mut self, sql: &str) -> Result<(), Outcome> {
        let Some(client) = &mut self.client else { return Err(Outcome::Refused) };
        let begun = Instant::now();
        let answer = tokio::time::timeout(STATEMENT_TIME_MAX, client.query(sql)).await;
        self.judge(sql, begun, answer.map(|answer| answer.map(drop)))
    }

    fn judge(
        &mut self,
        sql: &str,
        begun: Instant,
        answer: Result<Result<(), ClientError>, tokio::time::error::Elapsed>,
    ) -> Result<(), Outcome> {
        {
            let mut told = self.told.lock().unwrap();
            told.longest = told.longest.max(begun.elapsed());
            told.statements += 1;
        }
        let error = match answer {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => {
                self.told.lock().unwrap().stuck = Some(sql.to_owned());
                self.client = None;
                return Err(Outcome::Unknown);
            }
        };
        self.note(sql.split(' ').next().unwrap_or(sql), &error);
        match error.code() {
            Some(9009) => Err(Outcome::Unknown),
            // After these the connection is closed.
            None | Some(1053 | 1927 | 2013) => {
                self.client = None;
                self.told.lock().unwrap().ended += 1;
                Err(Outcome::Unknown)
            }
            Some(_) => Err(Outcome::Refused),
        }
    }

    async fn write(&mut self) {
        let (row, values) = self.row();
        let said = self.say(&format!("INSERT INTO t (round, client, number) VALUES {values}")).await;
        self.note_rows(&[row], &said.err().unwrap_or(Outcome::Done));
    }

    async fn write_prepared(&mut self) {
        const SQL: &str = "INSERT INTO t (round, client, number) VALUES (?, ?, ?)";
        let (row, _) = self.row();
        let values =
            [i64::from(self.round), i64::try_from(self.number).unwrap_or(-1), i64::from(row)].map(Value::Int);
        let Some(client) = &mut self.client else { return };
        let begun = Instant::now();
        let prepared = tokio::time::timeout(STATEMENT_TIME_MAX, client.prepare(SQL)).await;
        let mut statement = None;
        let prepared = prepared.map(|prepared| prepared.map(|prepared| statement = Some(prepared)));
        if self.judge("PREPARE", begun, prepared).is_err() {
            return self.note_rows(&[row], &Outcome::Refused);
        }
        let (Some(client), Some(statement)) = (&mut self.client, statement) else { return };
        let begun = Instant::now();
        let answer = tokio::time::timeout(STATEMENT_TIME_MAX, client.execute(&statement, &values)).await;
        let said = self.judge("EXECUTE", begun, answer.map(|answer| answer.map(drop)));
        self.note_rows(&[row], &said.err().unwrap_or(Outcome::Done));
        if let Some(client) = &mut self.client
            && client.close(statement).await.is_err()
        {
            self.client = None;
        }
    }

    async fn write_in_transaction(&mut self) {
        let ((one, first), (two, second)) = (self.row(), self.row());
        let rows = [one, two];
        for sql in [
            "BEGIN".to_owned(),
            format!("INSERT INTO t (round, client, number) VALUES {first}"),
            format!("INSERT INTO t (round, client, number) VALUES {second}"),
        ] {
            if self.say(&sql).await.is_err() {
                // Nothing was committed, whatever became of the statement.
                self.note_rows(&rows, &Outcome::Refused);
                if self.client.is_some() {
                    let _ = self.say("ROLLBACK").await;
                }
                return;
            }
            if self.dice.chance(10) {
                tokio::time::sleep(Duration::from_millis(self.dice.below(100) as u64)).await;
            }
        }
        let said = self.say("COMMIT").await;
        self.note_rows(&rows, &said.err().unwrap_or(Outcome::Done));
    }
}
