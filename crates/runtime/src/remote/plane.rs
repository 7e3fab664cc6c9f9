//! What the control plane asks for, answered by the workers and by what they share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use config::{Config, RowProblem};
use net::lock;
use observe::digests;
use observe::plane::{Check, DataPlane, Explained, NotApplied, Order, Question, ShardCheck};
use observe::rows::{
    AuroraCheckStats, AuroraFailover, Census, CheckStats, ClientHost, Collation, CommandCounts, DigestStats,
    ErrorStats, FreeConnection, GtidStats, HostgroupStats, HostgroupTimes, InjectionStats, MemberStats,
    ServerEvent, ServerStats, SessionStats, ShardDdl, StatementStats, UserConnections,
};
use querylog::{AuditRecord, Record};
use rustls::ServerConfig;
use upstream::ledger::report::{list, sums};
use upstream::servers::collations::collations;
use upstream::{hostgroups, readiness};

use super::Remote;
use crate::clock;
use crate::counts::{fingerprints, hostgroups as times, report};
use crate::limits::ASK_WAIT_MAX;
use crate::routing::routes;
use crate::users::User;
use crate::worker::Worker;

impl DataPlane for Remote {
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied> {
        self.change(&self.process.effective(config))
    }

    fn check(&self, config: &Config) -> Vec<RowProblem> {
        routes::check(config)
    }

    fn check_shards(&self, config: &Config) -> ShardCheck {
        config.shards.as_ref().map(|layout| self.inspect(layout)).unwrap_or_default()
    }

    fn explain(&self, question: &Question) -> Result<Explained, String> {
        let explanation = self.explain_route(question)?;
        Ok(Explained { steps: explanation.rows(), json: explanation.json() })
    }

    fn audit(&self, record: AuditRecord) {
        if self.shared.snapshot().logs.audits() {
            self.shared.logs.audit.offer_audit(Box::new(record));
        }
    }

    fn order(&self, order: Order) -> Result<(), String> {
        match order {
            Order::Pause => self.pause()?,
            Order::Resume => self.resume()?,
            Order::Shutdown { .. } | Order::Restart => self.process.order(order)?,
            Order::ReloadTls => self.reload_tls()?,
            Order::FlushLogs => self.flush_logs()?,
            Order::FlushClientHosts => drop(self.client_hosts(true)),
            Order::ForgetDigests => drop(self.ask(|worker| worker.take_digests())),
            Order::ResumeDdl(id) => self.resume_ddl(id)?,
            Order::ForgetDdl(id) => self.shared.ddl.forget(id).map_err(|error| error.to_string())?,
        }
        Ok(())
    }

    fn kill(&self, id: u32) -> bool {
        self.shared.directory.kill_any(id)
    }

    fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.shared.upstream.tls.server_config()
    }

    fn certificate_end(&self) -> Option<u64> {
        self.shared.upstream.tls.certificate_end()
    }

    fn globals(&self) -> Vec<(&'static str, u64)> {
        let statements = sums(|from| self.slices(from, false));
        self.shared.globals(&self.ask(|worker| worker.report()), statements, !self.accepts())
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        let digests =
            digests::report::size(self.ask(|worker| worker.counts.digests.table.borrow().size())).bytes;
        self.process.memory(digests, self.ask(|worker| worker.texts.bytes()).iter().sum())
    }

    fn processes(&self) -> Vec<SessionStats> {
        self.ask(|worker| worker.sessions()).into_iter().flatten().collect()
    }

    fn pool(&self, reset: bool) -> Vec<ServerStats> {
        let workers = self.ask(move |worker| worker.counts.by_server(reset));
        self.shared.upstream.pool.forgive(self.shared.uptime());
        report::servers(&self.shared.upstream.pool, &workers, reset)
    }

    fn members(&self) -> Option<Vec<MemberStats>> {
        self.shared.upstream.pool.forgive(self.shared.uptime());
        Some(self.shared.watching.members(&self.shared.upstream))
    }

    fn checks(&self, kind: Check) -> Vec<CheckStats> {
        self.shared.watching.records.checks(kind)
    }

    fn aurora_checks(&self) -> Vec<AuroraCheckStats> {
        lock(&self.shared.watching.records.aurora).checks()
    }

    fn aurora_failovers(&self) -> Vec<AuroraFailover> {
        lock(&self.shared.watching.records.aurora).failovers()
    }

    fn server_events(&self) -> Vec<ServerEvent> {
        self.shared.watching.records.events()
    }

    fn server_event_counts(&self) -> Vec<(&'static str, u64)> {
        self.shared.watching.records.event_counts()
    }

    fn shard_ddl(&self) -> Vec<ShardDdl> {
        self.shared.ddl.rows()
    }

    fn free_connections(&self) -> Vec<FreeConnection> {
        self.ask(|worker| worker.upstream.kept.list()).into_iter().flatten().collect()
    }

    fn collations(&self) -> Vec<Collation> {
        let found = self.ask_one(ASK_WAIT_MAX, |worker| {
            let worker = Rc::clone(&worker.upstream);
            async move { collations(&worker).await }
        });
        found.flatten().map(|all| all.to_vec()).unwrap_or_default()
    }

    fn users(&self) -> Vec<UserConnections> {
        let row = |user: &Arc<User>| UserConnections {
            user: String::from_utf8_lossy(&user.name).into_owned(),
            connections: user.connections(),
            max: user.max_connections,
        };
        self.shared.snapshot().upstream.users.iter().map(row).collect()
    }

    fn commands(&self) -> Vec<CommandCounts> {
        report::commands(self.ask(|worker| worker.counts.commands.counts()))
    }

    fn hostgroup_times(&self) -> Vec<HostgroupTimes> {
        times::sum(self.ask(|worker| worker.counts.hostgroups.times()))
    }

    fn census(&self) -> Census {
        let mut sum = Census::default();
        self.ask(|worker| worker.census()).iter().for_each(|census| sum.add(census));
        sum
    }

    fn errors(&self, reset: bool) -> Vec<ErrorStats> {
        report::errors(&self.shared.upstream.pool, self.ask(move |worker| worker.errors(reset)))
    }

    fn take_events(&self) -> VecDeque<Box<Record>> {
        self.shared.logs.recent.take()
    }

    fn put_back_events(&self, events: VecDeque<Box<Record>>) {
        self.shared.logs.recent.put_back(events);
    }

    fn cache(&self, reset: bool) -> cache::stats::Stats {
        let workers = self.ask(move |worker| {
            let mut stats = worker.counts.cache.borrow_mut();
            if reset { stats.take() } else { stats.clone() }
        });
        workers.iter().fold(cache::stats::Stats::default(), |mut sum, stats| {
            sum.add(stats);
            sum
        })
    }

    fn cache_sources(&self) -> Vec<cache::SourceRow> {
        self.shared.cache.sources.rows(self.shared.upstream.uptime_us())
    }

    fn cache_advice(&self) -> Option<Vec<cache::advice::Advice>> {
        let adviser = &self.shared.cache.adviser;
        let now_ms = clock::millis(self.shared.uptime());
        adviser.is_on().then(|| adviser.advice(now_ms))
    }

    fn flush_cache(&self, flush: &cache::Flush) {
        self.shared.cache.flush(flush);
    }

    fn injections(&self) -> Vec<InjectionStats> {
        fingerprints::sum(self.ask(|worker| worker.counts.fingerprints.list()))
    }

    fn gtids(&self) -> Vec<GtidStats> {
        self.shared.watching.executed.rows()
    }

    fn rule_hits(&self) -> Vec<(i64, u64)> {
        let of_worker = |worker: &Rc<Worker>| -> Vec<(i64, u64)> {
            let routing = worker.routing.borrow();
            let ids = routing.routes().rules.ids();
            ids.zip(routing.hits().matches()).collect()
        };
        let mut hits = BTreeMap::new();
        for (rule, matches) in self.ask(of_worker).into_iter().flatten() {
            *hits.entry(rule).or_default() += matches;
        }
        hits.into_iter().collect()
    }

    fn client_hosts(&self, reset: bool) -> Vec<ClientHost> {
        self.shared.front.hosts.list(reset)
    }

    fn digests(&self, reset: bool, latency: bool) -> Vec<DigestStats> {
        if reset { self.take_digests(latency) } else { self.read_digests(latency) }
    }

    fn statements(&self) -> Vec<StatementStats> {
        list(|from| self.slices(from, true))
    }

    fn accepts(&self) -> bool {
        !self.listeners.is_closed()
    }

    fn hostgroups(&self) -> Vec<HostgroupStats> {
        let pool = &self.shared.upstream.pool;
        let all: BTreeSet<u32> = pool.servers().iter().map(|server| server.hostgroup()).collect();
        hostgroups(pool, all, self.shared.uptime())
    }

    fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>> {
        readiness(&self.shared.upstream.pool, hostgroup, self.shared.uptime())
    }
}
