//! Steering a proxy while it runs, from a thread that is not one of its own: another configuration,
//! listening or not, ending single sessions.
//!
//! Calls block until they are done, mostly for less than a millisecond, and never wait for a
//! client.

mod shards;
mod statements;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use config::{Config, Endpoint};
use monitor::Check;
use querylog::{AuditRecord, LateError, Record};
use rustls::ServerConfig;
use tokio::runtime::Handle;
use tokio::task::spawn_local;

use crate::counts::{fingerprints, hostgroups, report};
use crate::limits::{ASK_WAIT_MAX, DIGESTS_PAUSE, FLUSH_LOGS_MAX};
use crate::listeners::{ListenError, Listeners};
use crate::not_applied::ApplyError;
use crate::routing::Routing;
use crate::shared::Shared;
use crate::tls::TlsError;
use crate::users::User;
use crate::worker::{Inbox, Message, Question, Worker};
use observe::digests::{self, DIGESTS_PER_TURN};
use observe::rows::{
    AuroraCheckStats, AuroraFailover, Census, CheckStats, ClientHost, Collation, CommandCounts, DigestStats,
    ErrorStats, FreeConnection, GtidStats, HostgroupStats, HostgroupTimes, InjectionStats, MemberStats,
    ServerEvent, ServerStats, SessionStats, UserConnections,
};
use upstream::servers::collations::collations;
use upstream::{hostgroups, readiness};
use watch::probe_new;

/// A running proxy, as others see it. Copies mean the same proxy. Of one that has ended, calls do
/// nothing.
///
/// The methods must not be called on a thread of the runtime that the proxy was started with.
#[derive(Debug, Clone)]
pub struct Remote {
    pub(crate) shared: Arc<Shared>,
    pub(crate) workers: Arc<[Inbox]>,
    pub(crate) listeners: Arc<Listeners>,
    control: Handle,
    /// Held while the configuration changes.
    changes: Arc<Mutex<()>>,
}

impl Remote {
    pub(crate) fn new(
        shared: Arc<Shared>,
        workers: Arc<[Inbox]>,
        listeners: Listeners,
        control: &Handle,
    ) -> Self {
        let (listeners, changes) = (Arc::new(listeners), Arc::default());
        Self { shared, workers, listeners, control: control.clone(), changes }
    }

    /// Makes all workers use `config`, and returns when they do.
    ///
    /// Sessions that are there go on, also those whose user or server is configured no more; what
    /// has not changed is not disturbed. Listeners and the number of threads stay as they are until
    /// the process is started again.
    ///
    /// What takes long is done on the calling thread, which may have a low priority.
    pub fn apply(&self, config: &Arc<Config>) -> Result<(), ApplyError> {
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = self.shared.prepare(config)?;
        // Kept until no worker has it any more: to free 50,000 users takes milliseconds, which
        // workers do not have.
        let before = self.shared.snapshot();
        let others = !Arc::ptr_eq(&before.routes.rules, &prepared.routes().rules);
        let routings = others.then(|| self.workers.iter().map(|_| Routing::new(prepared.routes())).collect());
        let routings: Arc<Mutex<Vec<Routing>>> = Arc::new(Mutex::new(routings.unwrap_or_default()));
        // Workers may wait for its locks, and the caller may be a thread that has to stand back.
        let shared = Arc::clone(&self.shared);
        let committed = self.control.spawn_blocking(move || shared.commit(prepared));
        // Of a proxy that has ended, the runtime may have as well.
        let Ok((snapshot, new)) = self.control.block_on(committed) else { return Ok(()) };
        let replaced = self.ask(move |worker| {
            let routing = routings.lock().unwrap_or_else(PoisonError::into_inner).pop();
            worker.configure(Arc::clone(&snapshot), routing)
        });
        replaced.into_iter().flatten().for_each(Routing::free);
        if let Some(before) = Arc::into_inner(before) {
            before.free();
        }
        self.probe(new);
        Ok(())
    }

    fn probe(&self, servers: Vec<Endpoint>) {
        if !servers.is_empty() {
            self.control.spawn(probe_new(Arc::clone(&self.shared.upstream), servers));
        }
    }

    /// Reads the files of TLS again; new connections use what is in them. Returns where the
    /// certificate for clients comes from. On an error all stays as it was.
    pub fn reload_tls(&self) -> Result<String, TlsError> {
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.upstream.tls.reload()
    }

    /// The query cache.
    pub fn cache(&self) -> &Arc<cache::Cache> {
        &self.shared.cache
    }

    /// Logs what an admin did, if there is an audit log.
    pub fn audit(&self, record: impl FnOnce() -> Box<AuditRecord>) {
        if self.shared.snapshot().logs.audits() {
            self.shared.logs.audit.offer_audit(record());
        }
    }

    /// Begins new files of all logs. Blocks until it is done, but not for longer than two seconds:
    /// an error says that it will be done when the disk lets it.
    pub fn flush_logs(&self) -> Result<(), LateError> {
        self.shared.logs.rotate(FLUSH_LOGS_MAX)
    }

    /// TLS as clients are offered it now; `None` if they are not.
    pub fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.shared.upstream.tls.server_config()
    }

    /// Until when the certificate is valid that clients are shown, in seconds of Unix time; `None`
    /// if they are offered no TLS.
    pub fn certificate_end(&self) -> Option<u64> {
        self.shared.upstream.tls.certificate_end()
    }

    /// Closes all listeners, and returns when no client can connect any more; clients that are
    /// there go on. Returns false if they were closed already.
    pub fn pause(&self) -> bool {
        let Some(closing) = self.listeners.close() else { return false };
        self.control.block_on(closing);
        tracing::info!("no new clients are accepted");
        true
    }

    /// Listens again, at the same addresses. Returns false if listeners were not closed. On an
    /// error they are still closed.
    pub fn resume(&self) -> Result<bool, ListenError> {
        let _runtime = self.control.enter();
        let resumed = self.listeners.open(&self.shared, &self.workers)?;
        if resumed {
            tracing::info!("clients are accepted again");
        }
        Ok(resumed)
    }

    /// Whether listeners are closed.
    pub fn is_paused(&self) -> bool {
        self.listeners.is_closed()
    }

    /// For each server of `hostgroup` why no session gets it now, nothing if sessions do; `None` if
    /// there is no such hostgroup. Does not block.
    pub fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>> {
        readiness(&self.shared.upstream.pool, hostgroup, self.shared.uptime())
    }

    /// How each hostgroup is used now, by number. Does not block.
    pub fn hostgroups(&self) -> Vec<HostgroupStats> {
        let pool = &self.shared.upstream.pool;
        let all: BTreeSet<u32> = pool.servers().iter().map(|server| server.hostgroup()).collect();
        hostgroups(pool, all, self.shared.uptime())
    }

    /// Ends the session with this connection id, of any user: its statement is killed, and it is
    /// told error 1927. Returns false if there is no such session. Does not wait for its end.
    pub fn kill(&self, id: u32) -> bool {
        self.shared.directory.kill_any(id)
    }

    /// The rows of `stats_mysql_global`, all names of ProxySQL in its order; 0 where there is no
    /// such feature.
    pub fn globals(&self) -> Vec<(&'static str, u64)> {
        let statements = self.statement_sums();
        self.shared.globals(&self.ask(|worker| worker.report()), statements, self.is_paused())
    }

    /// All servers of all hostgroups; with `reset` their counters begin again at 0.
    pub fn servers(&self, reset: bool) -> Vec<ServerStats> {
        let workers = self.ask(move |worker| worker.counts.by_server(reset));
        self.shared.upstream.pool.forgive(self.shared.uptime());
        report::servers(&self.shared.upstream.pool, &workers, reset)
    }

    /// Checks of the servers of Aurora clusters.
    pub fn aurora_checks(&self) -> Vec<AuroraCheckStats> {
        self.shared.watching.records.aurora_checks()
    }

    /// Changes of the writers of Aurora clusters, the oldest first.
    pub fn aurora_failovers(&self) -> Vec<AuroraFailover> {
        self.shared.watching.records.aurora_failovers()
    }

    /// What came of the checks of this kind, the oldest first.
    pub fn checks(&self, check: Check) -> Vec<CheckStats> {
        self.shared.watching.records.checks(check)
    }

    /// What has changed of servers, the oldest first.
    pub fn server_events(&self) -> Vec<ServerEvent> {
        self.shared.watching.records.events()
    }

    /// How many changes of servers of each kind there were.
    pub fn server_event_counts(&self) -> Vec<(&'static str, u64)> {
        self.shared.watching.records.event_counts()
    }

    /// The servers in use in each hostgroup, put there by the configuration or by the monitor.
    pub fn members(&self) -> Vec<MemberStats> {
        self.shared.upstream.pool.forgive(self.shared.uptime());
        self.shared.watching.members(&self.shared.upstream)
    }

    /// The connections to servers that no session uses at the moment, in no order.
    pub fn free_connections(&self) -> Vec<FreeConnection> {
        self.ask(|worker| worker.upstream.kept.list()).into_iter().flatten().collect()
    }

    /// All sessions, those that log in among them.
    pub fn sessions(&self) -> Vec<SessionStats> {
        self.ask(|worker| worker.sessions()).into_iter().flatten().collect()
    }

    /// Statements by ProxySQL's commands.
    pub fn commands(&self) -> Vec<CommandCounts> {
        report::commands(self.ask(|worker| worker.counts.commands.counts()))
    }

    /// Takes the statements of the query log that are kept in memory, the oldest first.
    pub fn take_events(&self) -> VecDeque<Box<Record>> {
        self.shared.logs.recent.take()
    }

    /// Gives back what could not be written of these.
    pub fn put_back_events(&self, events: VecDeque<Box<Record>>) {
        self.shared.logs.recent.put_back(events);
    }

    /// Times of statements and of waits, in the order of hostgroups.
    pub fn hostgroup_times(&self) -> Vec<HostgroupTimes> {
        hostgroups::sum(self.ask(|worker| worker.counts.hostgroups.times()))
    }

    /// How many sessions there are, by state and by pin.
    pub fn census(&self) -> Census {
        let mut sum = Census::default();
        self.ask(|worker| worker.census()).iter().for_each(|census| sum.add(census));
        sum
    }

    /// Statements by digest, in the order of digest, hostgroup, user, schema and client. With
    /// `latency` there are percentiles of their times.
    ///
    /// Workers give their tables in small parts and serve their clients in between; what is counted
    /// meanwhile may be among it.
    pub fn digests(&self, latency: bool) -> Vec<DigestStats> {
        let mut sums = digests::report::Sums::default();
        let mut from = 0_u32;
        loop {
            let parts = self.ask(move |worker| worker.counts.digests.slice(from, DIGESTS_PER_TURN, latency));
            let more = parts.iter().any(|(_, next)| next.is_some());
            for (part, _) in parts {
                sums.add(part);
            }
            if !more {
                return sums.finish();
            }
            from = from.saturating_add(DIGESTS_PER_TURN);
            std::thread::sleep(DIGESTS_PAUSE);
        }
    }

    /// The same, and workers begin anew. Each execution is in what is returned, or will be counted
    /// later. What a worker has counted that does not answer in time is lost.
    pub fn take_digests(&self, latency: bool) -> Vec<DigestStats> {
        let mut sums = digests::report::Sums::default();
        for table in self.ask(|worker| worker.take_digests()) {
            sums.add_table(&table, latency);
        }
        sums.finish()
    }

    /// Forgets all digests.
    pub fn forget_digests(&self) {
        drop(self.ask(|worker| worker.take_digests()));
    }

    /// Bytes that digests take, about; not those that a worker keeps for digests to come after its
    /// budget became smaller.
    pub fn digest_memory(&self) -> u64 {
        digests::report::size(self.ask(|worker| worker.counts.digests.size())).bytes
    }

    /// Bytes of the texts that sessions have prepared.
    pub fn text_memory(&self) -> u64 {
        self.ask(|worker| worker.texts.bytes()).iter().sum()
    }

    /// Errors that servers have answered; with `reset` they are forgotten.
    pub fn errors(&self, reset: bool) -> Vec<ErrorStats> {
        report::errors(&self.shared.upstream.pool, self.ask(move |worker| worker.errors(reset)))
    }

    /// What rules would do that cache more; nothing while queries are not followed.
    pub fn cache_advice(&self) -> Option<Vec<cache::advice::Advice>> {
        let adviser = &self.shared.cache.adviser;
        let now_ms = u64::try_from(self.shared.uptime().as_millis()).unwrap_or(u64::MAX);
        adviser.is_on().then(|| adviser.advice(now_ms))
    }

    /// The servers whose binary logs are followed for the query cache.
    pub fn cache_sources(&self) -> Vec<cache::SourceRow> {
        self.shared.cache.sources.rows(self.shared.upstream.uptime_us())
    }

    /// What the query cache has done, by rule and digest; with `reset` the rows are taken away.
    pub fn cache_stats(&self, reset: bool) -> cache::stats::Stats {
        let workers = self.ask(move |worker| {
            let mut stats = worker.counts.cache.borrow_mut();
            if reset { stats.take() } else { stats.clone() }
        });
        workers.iter().fold(cache::stats::Stats::default(), |mut sum, stats| {
            sum.add(stats);
            sum
        })
    }

    /// Statements that looked like injected SQL, by fingerprint.
    pub fn injections(&self) -> Vec<InjectionStats> {
        fingerprints::sum(self.ask(|worker| worker.counts.fingerprints.list()))
    }

    /// What servers have executed, as far as they have a `gtid_port`.
    pub fn gtids(&self) -> Vec<GtidStats> {
        self.shared.watching.executed.rows()
    }

    /// How often each rule matched since rules were loaded, by its `rule_id`.
    pub fn rule_hits(&self) -> BTreeMap<i64, u64> {
        let of_worker = |worker: &Rc<Worker>| -> Vec<(i64, u64)> {
            let routing = worker.routing.borrow();
            let ids = routing.routes().rules.ids();
            ids.zip(routing.hits().matches()).collect()
        };
        let mut hits = BTreeMap::new();
        for (rule, matches) in self.ask(of_worker).into_iter().flatten() {
            *hits.entry(rule).or_default() += matches;
        }
        hits
    }

    /// Addresses whose connections have failed, in no order; with `reset` they are forgotten.
    pub fn client_hosts(&self, reset: bool) -> Vec<ClientHost> {
        self.shared.hosts.list(reset)
    }

    /// How many clients each user has that clients may log in as, in no order.
    pub fn users(&self) -> Vec<UserConnections> {
        let row = |user: &Arc<User>| UserConnections {
            user: String::from_utf8_lossy(&user.name).into_owned(),
            connections: user.connections(),
            max: user.max_connections,
        };
        self.shared.snapshot().upstream.users.iter().map(row).collect()
    }

    /// The collations of the first server of the configuration that lists them; `None` if none
    /// does. A server that was asked before is not asked again. Blocks for at most some seconds:
    /// see `COLLATIONS_TIME_MAX`.
    pub fn collations(&self) -> Option<Arc<[Collation]>> {
        let (sender, answer) = channel();
        let worker = self.workers.iter().find(|worker| worker.is_alive())?;
        worker.send(Message::Ask(Question::new(move |worker| {
            let worker = Rc::clone(&worker.upstream);
            // An answer that comes too late is dropped: its caller has gone on.
            spawn_local(async move { drop(sender.send(collations(&worker).await)) });
        })));
        answer.recv_timeout(ASK_WAIT_MAX).ok().flatten()
    }

    /// Asks every worker, and returns what those answer that have not ended.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(&Rc<Worker>) -> T + Send + Clone + 'static,
    ) -> Vec<T> {
        let (sender, answers) = channel();
        for worker in self.workers.iter() {
            let (question, sender) = (question.clone(), sender.clone());
            // An answer that comes too late is dropped: its caller has gone on.
            worker.send(Message::Ask(Question::new(move |worker| drop(sender.send(question(worker))))));
        }
        drop(sender);
        let deadline = Instant::now() + ASK_WAIT_MAX;
        let mut got = Vec::with_capacity(self.workers.len());
        loop {
            match answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(answer) => got.push(answer),
                // All have answered, or have ended.
                Err(RecvTimeoutError::Disconnected) => return got,
                Err(RecvTimeoutError::Timeout) => {
                    let ms = ASK_WAIT_MAX.as_millis();
                    tracing::error!("a worker has not answered within {ms}ms; it does so later");
                    return got;
                }
            }
        }
    }
}
