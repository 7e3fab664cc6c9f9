//! What the admin port needs of the running proxy: to change its configuration, to give it orders,
//! and to read its counters. Calls come from the threads of the engine and may block for
//! milliseconds, never for a client; only health checks ask from elsewhere.

mod wishes;

use std::collections::VecDeque;
use std::sync::Arc;

use config::{Config, RowProblem};
use observe::rows::{
    AuroraCheckStats, AuroraFailover, Census, CheckStats, ClientHost, Collation, CommandCounts, DigestStats,
    ErrorStats, FreeConnection, GtidStats, HostgroupStats, HostgroupTimes, InjectionStats, MemberStats,
    ServerEvent, ServerStats, SessionStats, ShardDdl, StatementStats, UserConnections,
};
use querylog::Record;
use rustls::ServerConfig;

pub use self::wishes::{AdminDid, AdminEvent, Explained, NotApplied, Order, Question, ShardCheck};
pub use monitor::Check;

/// The running proxy, as the admin port sees it.
pub trait DataPlane: Send + Sync + 'static {
    /// Makes every worker use `config`, and returns when all of them do. What is the same in both
    /// configurations is not disturbed. On an error nothing has changed.
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied>;

    /// The rows of `config` for which [`apply`](Self::apply) would refuse it, although each of
    /// their values is right.
    fn check(&self, config: &Config) -> Vec<RowProblem>;

    /// What servers say of the tables of the layout of `config`. May block for some seconds where
    /// servers do not answer.
    fn check_shards(&self, _config: &Config) -> ShardCheck {
        ShardCheck::default()
    }

    /// What would become of a statement, or why that cannot be said.
    fn explain(&self, question: &Question) -> Result<Explained, String>;

    /// Hears what a client of the admin port did, for the audit log. Any task may say so; does not
    /// block.
    fn audit(&self, _event: &AdminEvent) {}

    /// Definitions of sharded tables that have not come to their ends.
    fn shard_ddl(&self) -> Vec<ShardDdl> {
        Vec::new()
    }

    /// Has one of them go on that has stopped, without waiting for its end; or why it does not.
    fn resume_ddl(&self, _id: u64) -> Result<(), String> {
        Err("there are no sharded tables".to_owned())
    }

    /// Forgets one of them that has stopped; or why it is not forgotten.
    fn forget_ddl(&self, _id: u64) -> Result<(), String> {
        Err("there are no sharded tables".to_owned())
    }

    /// Carries out an order, or says why it cannot be.
    fn order(&self, order: Order) -> Result<(), String>;

    /// Ends the client session with this id; false if there is none.
    fn kill(&self, id: u32) -> bool;

    /// TLS as clients of the proxy are offered it now; nothing if it is switched off.
    fn tls(&self) -> Option<Arc<ServerConfig>>;

    /// Until when the certificate is valid that clients are shown, in seconds of Unix time; nothing
    /// if they are shown none.
    fn certificate_end(&self) -> Option<u64> {
        None
    }

    /// The rows of `stats_mysql_global`.
    fn globals(&self) -> Vec<(&'static str, u64)>;

    /// The rows of `stats_memory_metrics`.
    fn memory(&self) -> Vec<(&'static str, u64)>;

    /// The clients that there are.
    fn processes(&self) -> Vec<SessionStats>;

    /// The servers, with counters; `reset` makes the counters start again from 0.
    fn pool(&self, reset: bool) -> Vec<ServerStats>;

    /// The servers that are in use in each hostgroup; `None`: those of `mysql_servers`.
    fn members(&self) -> Option<Vec<MemberStats>> {
        None
    }

    /// What came of the checks of servers of this kind, the oldest first.
    fn checks(&self, _kind: Check) -> Vec<CheckStats> {
        Vec::new()
    }

    /// Checks of the servers of Aurora clusters.
    fn aurora_checks(&self) -> Vec<AuroraCheckStats> {
        Vec::new()
    }

    /// Changes of the writers of Aurora clusters, the oldest first.
    fn aurora_failovers(&self) -> Vec<AuroraFailover> {
        Vec::new()
    }

    /// What has changed of servers, the oldest first.
    fn server_events(&self) -> Vec<ServerEvent> {
        Vec::new()
    }

    /// How many changes of servers of each kind there were since the start.
    fn server_event_counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Idle connections to servers.
    fn free_connections(&self) -> Vec<FreeConnection>;

    /// The collations of the servers; none if no server lists them now. May block for some seconds
    /// where servers do not answer.
    fn collations(&self) -> Vec<Collation>;

    /// Connections of each user.
    fn users(&self) -> Vec<UserConnections>;

    /// Counters of statements by their kind.
    fn commands(&self) -> Vec<CommandCounts>;

    /// Times of statements and of waits by hostgroup, in the order of hostgroups.
    fn hostgroup_times(&self) -> Vec<HostgroupTimes> {
        Vec::new()
    }

    /// How many sessions there are, by state and by pin.
    fn census(&self) -> Census {
        Census::default()
    }

    /// Errors that servers answered; `reset` forgets them.
    fn errors(&self, reset: bool) -> Vec<ErrorStats>;

    /// Takes the statements of the query log that are kept in memory, the oldest first.
    fn take_events(&self) -> VecDeque<Box<Record>> {
        VecDeque::new()
    }

    /// Gives back what could not be written of these.
    fn put_back_events(&self, _events: VecDeque<Box<Record>>) {}

    /// What the query cache has done, by rule and digest; `reset` takes the rows away.
    fn cache(&self, _reset: bool) -> cache::stats::Stats {
        cache::stats::Stats::default()
    }

    /// The servers whose binary logs are followed for the query cache.
    fn cache_sources(&self) -> Vec<cache::SourceRow> {
        Vec::new()
    }

    /// What rules would do that cache more; nothing while queries are not followed.
    fn cache_advice(&self) -> Option<Vec<cache::advice::Advice>> {
        None
    }

    /// Has these answers of the query cache served no more.
    fn flush_cache(&self, _flush: &cache::Flush) {}

    /// Statements that looked like injected SQL, by fingerprint.
    fn injections(&self) -> Vec<InjectionStats> {
        Vec::new()
    }

    /// What servers have executed, as far as they have a `gtid_port`.
    fn gtids(&self) -> Vec<GtidStats> {
        Vec::new()
    }

    /// How often each rule matched since rules were loaded: `rule_id` and the number.
    fn rule_hits(&self) -> Vec<(i64, u64)>;

    /// Addresses whose connections failed; `reset` forgets them.
    fn client_hosts(&self, reset: bool) -> Vec<ClientHost>;

    /// Statements by digest, in the order of the key of `stats_mysql_query_digest`; `reset` makes
    /// the counters start again. With `latency` the percentiles are there.
    fn digests(&self, reset: bool, latency: bool) -> Vec<DigestStats>;

    /// Forgets all digests.
    fn forget_digests(&self);

    /// What clients and connections to servers have prepared, in the order of the numbers. Some are
    /// left out if there are very many.
    fn statements(&self) -> Vec<StatementStats> {
        Vec::new()
    }

    /// Whether new clients are accepted. Any thread may ask; does not block.
    fn accepts(&self) -> bool;

    /// How each hostgroup is used now, by number. Any thread may ask; does not block.
    fn hostgroups(&self) -> Vec<HostgroupStats> {
        Vec::new()
    }

    /// For each server of a hostgroup why no session gets it now, nothing if sessions do; `None` if
    /// there is no such hostgroup. No element: servers may belong there, none does. Any thread may
    /// ask; does not block.
    fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>>;
}
