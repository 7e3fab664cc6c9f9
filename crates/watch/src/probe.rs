//! Carrying out checks.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use config::{Endpoint, MonitorVariables};
use monitor::{Check, Finding, Lag, Order, Told, Word};
use net::clock;
use session::users::User;
use tokio::time::{Instant, timeout};
use upstream::servers::logins::Login;
use upstream::{Configuration, Connection, OpenError, Target, Worker};
use wire::auth::Secret;
use wire::command::Kind;
use wire::reply::Answer;

use crate::ask::{accepted, ask_galera, ask_rds, query, read, request, say};
use crate::cluster;
use crate::cluster::aurora::Reading;
use crate::limits::{CONNECTIONS_MAX, MONITOR_LATE_MAX};
use crate::question::{self, Rows};
use crate::{discovered, replicas};

/// `ER_SERVER_SHUTDOWN`: the server says so itself that it will not be there any more.
const SERVER_SHUTDOWN: u16 = 1053;

/// What servers say to a statement that they do not know: `ER_PARSE_ERROR`.
const PARSE_ERROR: u16 = 1064;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) finding: Finding,
    /// What a server of a cluster has said.
    pub(crate) word: Option<Word<Endpoint>>,
    /// When it began, in microseconds of Unix time.
    pub(crate) start_us: u64,
    pub(crate) took: Duration,
    /// When it began, as a time of the process, if it went well over a connection that it has made.
    pub(crate) reached: Option<Duration>,
    /// The time from a ping to its answer.
    pub(crate) latency: Option<Duration>,
    pub(crate) error: Option<String>,
}

/// What is asked, and who.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    server: &'a Endpoint,
    check: Check,
    /// The writer hostgroup where a server was or may be found that is in no row.
    found_in: Option<u32>,
}

/// What a check brings besides its finding.
#[derive(Debug, Default)]
struct Learned {
    /// It was logged in over a new connection.
    has_reached: bool,
    latency: Option<Duration>,
    word: Option<Word<Endpoint>>,
}

/// Why a check has failed.
pub(crate) enum Failure {
    Finding(Finding, String),
    /// The server has answered with an error, or with what makes no sense. The connection is of use
    /// as before.
    Refused(Cow<'static, str>),
    /// The connection was kept and is of no use any more.
    Stale(String),
}

impl Failure {
    /// An answer does not say what it should.
    pub(crate) const fn nonsense(why: &'static str) -> Self {
        Self::Refused(Cow::Borrowed(why))
    }
}

/// Makes checks as one configuration wants them.
#[derive(Debug)]
pub(crate) struct Prober {
    pub(crate) configuration: Arc<Configuration>,
    login: Login,
    targets: HashMap<Endpoint, Target>,
    read_only: HashMap<Endpoint, String>,
    /// The same for servers that are discovered, by the writer hostgroup of their pair.
    read_only_in: HashMap<u32, String>,
    /// What answers mean of servers with a row in these hostgroups of Aurora clusters.
    aurora: HashMap<u32, Reading>,
    /// One of those hostgroups for each of the servers.
    hostgroups: HashMap<Endpoint, u32>,
    heartbeat: Option<String>,
    idle: RefCell<HashMap<Endpoint, Vec<Connection>>>,
    /// Which of the statements for the same thing a server has understood.
    dialects: RefCell<HashMap<(Endpoint, Check), usize>>,
}

impl Prober {
    /// The connections that `before` has kept are used on if servers and user are the same.
    pub(crate) fn new(configuration: &Arc<Configuration>, before: Option<&Self>) -> Self {
        let config = configuration.config();
        let variables = &config.monitor;
        let mut targets: HashMap<Endpoint, Target> = HashMap::new();
        let mut read_only = HashMap::new();
        let pairs: HashMap<u32, &str> = (config.replication_hostgroups.iter())
            .flat_map(|pair| [pair.writer_hostgroup, pair.reader_hostgroup].map(|id| (id, &*pair.check_type)))
            .collect();
        let active = config.aurora_hostgroups.iter().filter(|row| row.active);
        let aurora: HashMap<u32, Reading> = active
            .flat_map(|row| [row.writer_hostgroup, row.reader_hostgroup].map(|id| (id, Reading::new(row))))
            .collect();
        let mut hostgroups = HashMap::new();
        for server in &config.servers {
            if aurora.contains_key(&server.hostgroup_id) {
                hostgroups.entry(server.endpoint()).or_insert(server.hostgroup_id);
            }
            let target = targets.entry(server.endpoint()).or_insert_with(|| Target::new(server));
            // One of its rows is enough to have TLS.
            target.use_ssl |= server.use_ssl;
            target.compression = false;
            if let Some(check_type) = pairs.get(&server.hostgroup_id) {
                read_only.entry(server.endpoint()).or_insert_with(|| question::read_only(check_type));
            }
        }
        let same = |before: &&Self| {
            let (old, new) = (before.configuration.config(), config);
            (&old.monitor.username, &old.monitor.password) == (&new.monitor.username, &new.monitor.password)
                && before.configuration.has_servers_of(configuration)
        };
        let before = before.filter(same);
        let read_only_in = (config.replication_hostgroups.iter())
            .map(|pair| (pair.writer_hostgroup, question::read_only(&pair.check_type)))
            .collect();
        Self {
            login: account(variables),
            targets,
            read_only,
            read_only_in,
            aurora,
            hostgroups,
            heartbeat: question::heartbeat(variables),
            configuration: Arc::clone(configuration),
            idle: RefCell::new(before.map(|before| before.idle.take()).unwrap_or_default()),
            dialects: RefCell::default(),
        }
    }

    /// Ends connections to servers that are not watched any more, and forgets what they understand:
    /// others are found for them.
    pub(crate) fn keep(&self, is_watched: impl Fn(&Endpoint) -> bool) {
        let gone: Vec<_> = self.idle.borrow_mut().extract_if(|server, _| !is_watched(server)).collect();
        gone.into_iter().flat_map(|(_, links)| links).for_each(|mut link| link.part());
        self.dialects.borrow_mut().retain(|(server, _), _| is_watched(server));
    }

    /// Makes a check, and says what came of it. `found_in` is the writer hostgroup of the pair or
    /// cluster where a server was or may be found that is in no row.
    pub(crate) async fn check(
        &self,
        worker: &Worker,
        order: &Order<Endpoint>,
        found_in: Option<u32>,
    ) -> Outcome {
        let (begun, uptime) = (Instant::now(), worker.shared.uptime());
        let since = clock::unix();
        let mut learned = Learned::default();
        let asked = Asked { server: &order.server, check: order.check, found_in };
        let made = timeout(order.limit, Box::pin(self.make(worker, asked, &mut learned))).await;
        let took = begun.elapsed();
        let (finding, error) = match made {
            Ok(Ok(told)) => (Finding::Well(told), None),
            Ok(Err(Failure::Finding(finding, error))) => (finding, Some(error)),
            Ok(Err(Failure::Refused(error))) => (Finding::Refused, Some(error.into_owned())),
            Ok(Err(Failure::Stale(error))) => (Finding::Unreachable, Some(error)),
            Err(_) if took > order.limit + MONITOR_LATE_MAX => {
                (Finding::Void, Some("the monitor itself was late".to_owned()))
            }
            Err(_) => (Finding::TimedOut, Some(timed_out(order.check).to_owned())),
        };
        let reached = (learned.has_reached && matches!(finding, Finding::Well(_))).then_some(uptime);
        let start_us = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        // What was said too late was not said.
        let word = learned.word.filter(|_| error.is_none());
        Outcome { finding, word, start_us, took, reached, latency: learned.latency, error }
    }

    async fn make(&self, worker: &Worker, asked: Asked<'_>, learned: &mut Learned) -> Result<Told, Failure> {
        if asked.check == Check::Connect {
            let link = self.open(worker, asked).await?;
            learned.has_reached = true;
            link.quit().await;
            return Ok(Told::Alive);
        }
        // A connection that was kept says nothing about the server when it is gone: the server
        // closes those that are idle.
        let kept = self.idle.borrow_mut().get_mut(asked.server).and_then(Vec::pop);
        if let Some(link) = kept {
            match self.use_link(worker, link, asked, learned).await {
                Err(Failure::Stale(_)) => {}
                outcome => return outcome,
            }
        }
        let link = self.open(worker, asked).await?;
        learned.has_reached = true;
        self.use_link(worker, link, asked, learned).await
    }

    /// Makes a check over this connection, and keeps it if it goes on to be of use.
    async fn use_link(
        &self,
        worker: &Worker,
        mut link: Connection,
        asked: Asked<'_>,
        learned: &mut Learned,
    ) -> Result<Told, Failure> {
        let told = self.ask(worker, &mut link, asked, learned).await;
        if !matches!(told, Err(Failure::Stale(_))) {
            let mut idle = self.idle.borrow_mut();
            let idle = idle.entry(asked.server.clone()).or_default();
            if idle.len() < CONNECTIONS_MAX {
                idle.push(link);
            }
        }
        told
    }

    async fn ask(
        &self,
        worker: &Worker,
        link: &mut Connection,
        Asked { server, check, found_in }: Asked<'_>,
        learned: &mut Learned,
    ) -> Result<Told, Failure> {
        let word = match check {
            Check::Connect | Check::Ping => {
                let begun = Instant::now();
                request(worker, link, (vec![Kind::Ping as u8], Answer::Single)).await?;
                learned.latency = Some(begun.elapsed());
                return Ok(Told::Alive);
            }
            Check::ReadOnly => {
                let found = || self.read_only_in.get(&found_in?);
                let statement = self.read_only.get(server).or_else(found).map_or("", String::as_str);
                let told = query(worker, link, statement).await?.read_only();
                return told.ok_or(Failure::nonsense("it does not say whether it is read-only"));
            }
            Check::Lag => return self.ask_lag(worker, link, server).await,
            Check::Group => {
                let word = cluster::group::read(&query(worker, link, cluster::group::QUESTION).await?);
                word.ok_or(Failure::nonsense("it does not say how its group is"))?
            }
            Check::Aurora => {
                let rows = query(worker, link, cluster::aurora::QUESTION).await?;
                let word = self.reading(server, found_in).and_then(|reading| reading.read(&rows));
                word.ok_or(Failure::nonsense("it does not say how its cluster is"))?
            }
            Check::Galera => ask_galera(worker, link).await?,
            Check::Replicas => self.ask_replicas(worker, link, server).await?,
            Check::Rds => ask_rds(worker, link).await?,
        };
        learned.word = Some(word);
        Ok(Told::Alive)
    }

    /// What answers of a server of an Aurora cluster mean.
    fn reading(&self, server: &Endpoint, found_in: Option<u32>) -> Option<&Reading> {
        self.aurora.get(&self.hostgroups.get(server).copied().or(found_in)?)
    }

    async fn ask_lag(
        &self,
        worker: &Worker,
        link: &mut Connection,
        server: &Endpoint,
    ) -> Result<Told, Failure> {
        let rows = match &self.heartbeat {
            // An empty table has one row with NULL in it.
            Some(statement) => query(worker, link, statement).await?,
            None => self.ask_in_dialects(worker, link, (server, Check::Lag), &question::LAG).await?,
        };
        rows.lag().ok_or(Failure::nonsense("it does not say how far it is behind"))
    }

    /// Who a server is, which replicas follow it, and whether it follows another one itself.
    async fn ask_replicas(
        &self,
        worker: &Worker,
        link: &mut Connection,
        server: &Endpoint,
    ) -> Result<Word<Endpoint>, Failure> {
        let who = query(worker, link, replicas::WHO).await?;
        let asked = (server, Check::Replicas);
        let named = self.ask_in_dialects(worker, link, asked, &replicas::REPLICAS).await?;
        let mut threads = None;
        if replicas::is_any_host_missing(&named) {
            let rows = threads.insert(query(worker, link, replicas::THREADS).await?);
            if replicas::are_all_hosts_missing(&named, rows) {
                return Err(Failure::nonsense(
                    "its replicas do not say where they are, and it does not show their threads (PROCESS)",
                ));
            }
        }
        // The last: what it says of read_only, if anything, is newer only if it was asked later.
        let follows = match self.ask_in_dialects(worker, link, (server, Check::Lag), &question::LAG).await {
            Err(Failure::Refused(_)) => None,
            status => status?.follows(),
        };
        let word = replicas::read(server, &who, follows, &named, threads.as_ref());
        word.ok_or(Failure::nonsense("it does not say which replicas follow it"))
    }

    /// The rows of the first of these statements that the server knows, remembered, or its error.
    async fn ask_in_dialects(
        &self,
        worker: &Worker,
        link: &mut Connection,
        (server, check): (&Endpoint, Check),
        statements: &[&str],
    ) -> Result<Rows, Failure> {
        let first = self.dialects.borrow().get(&(server.clone(), check)).copied().unwrap_or(0);
        let mut refusal = Failure::nonsense("");
        for (at, statement) in statements.iter().enumerate().skip(first) {
            let reply = say(worker, link, statement).await?;
            match (accepted(&reply), reply.error()) {
                (Ok(()), _) => {
                    self.dialects.borrow_mut().insert((server.clone(), check), at);
                    return read(&reply);
                }
                (Err(error), Some(PARSE_ERROR)) => refusal = error,
                (Err(error), _) => return Err(error),
            }
        }
        Err(refusal)
    }

    async fn open(
        &self,
        worker: &Worker,
        Asked { server, found_in, .. }: Asked<'_>,
    ) -> Result<Connection, Failure> {
        // One that was discovered is in no row.
        let found =
            || discovered::row(self.configuration.config(), found_in?, server).map(|row| Target::new(&row));
        let Some(target) = self.targets.get(server).cloned().or_else(found) else {
            return Err(Failure::Finding(Finding::Void, "it is configured no more".to_owned()));
        };
        self.login.open(worker, &target, None).await.map_err(|error| {
            let finding = match &error {
                // It says nothing about the server, and it would say it about all of them at once.
                error if error.is_ours() => Finding::Void,
                OpenError::Unreachable(_) | OpenError::Refused { code: SERVER_SHUTDOWN, .. } => {
                    Finding::Unreachable
                }
                OpenError::Refused { .. } | OpenError::Login(_) => Finding::Refused,
            };
            Failure::Finding(finding, error.to_string())
        })
    }
}

impl Drop for Prober {
    /// Without a goodbye servers would count and log aborted connections.
    fn drop(&mut self) {
        self.idle.take().into_values().flatten().for_each(|mut link| link.part());
    }
}

/// The account with which the proxy watches servers.
pub(crate) fn account(variables: &MonitorVariables) -> Login {
    let secret = match variables.password.as_bytes() {
        [] => Secret::Empty,
        password => Secret::Clear(password.to_vec()),
    };
    Login::new(&User::of_monitor(&variables.username, &variables.password), &secret)
}

/// The error of a check that takes too long, as in ProxySQL.
const fn timed_out(check: Check) -> &'static str {
    match check {
        Check::Connect => "timeout on creating new connection",
        Check::Ping => "timeout during ping",
        Check::ReadOnly
        | Check::Lag
        | Check::Group
        | Check::Galera
        | Check::Aurora
        | Check::Replicas
        | Check::Rds => "timeout check",
    }
}

impl Outcome {
    /// What the server has said, as a number.
    pub(crate) fn value(&self) -> Option<i64> {
        match self.finding {
            Finding::Well(Told::ReadOnly(read_only)) => Some(read_only.into()),
            Finding::Well(Told::Lag(Lag::Behind(lag))) => i64::try_from(lag.as_secs()).ok(),
            _ => None,
        }
    }
}
