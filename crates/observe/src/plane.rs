//! What the admin port asks the running proxy, and what the proxy asks the process around it.
//! Calls come from threads of the control plane and may block for milliseconds, never for a client.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use config::{Config, RowProblem};
use querylog::{AuditRecord, Record};
use rustls::ServerConfig;

use crate::rows::{
    AuroraCheckStats, AuroraFailover, Census, CheckStats, ClientHost, Collation, CommandCounts, DigestStats,
    ErrorStats, FreeConnection, GtidStats, HostgroupStats, HostgroupTimes, InjectionStats, MemberStats,
    ServerEvent, ServerStats, SessionStats, ShardDdl, StatementStats, UserConnections,
};

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
    fn check_shards(&self, config: &Config) -> ShardCheck;

    /// What would become of a statement, or why that cannot be said.
    fn explain(&self, question: &Question) -> Result<Explained, String>;

    /// Writes what a client of the admin port did to the audit log, if there is one. Any task may
    /// call it; does not block.
    fn audit(&self, record: AuditRecord);

    /// Definitions of sharded tables that have not come to their ends.
    fn shard_ddl(&self) -> Vec<ShardDdl>;

    /// Carries out an order, or says why it cannot be.
    fn order(&self, order: Order) -> Result<(), String>;

    /// Ends the client session with this id; false if there is none.
    fn kill(&self, id: u32) -> bool;

    /// TLS as clients of the proxy are offered it now; nothing if it is switched off.
    fn tls(&self) -> Option<Arc<ServerConfig>>;

    /// Until when the certificate is valid that clients are shown, in seconds of Unix time; nothing
    /// if they are shown none.
    fn certificate_end(&self) -> Option<u64>;

    /// The rows of `stats_mysql_global`.
    fn globals(&self) -> Vec<(&'static str, u64)>;

    /// The rows of `stats_memory_metrics`.
    fn memory(&self) -> Vec<(&'static str, u64)>;

    /// The clients that there are.
    fn processes(&self) -> Vec<SessionStats>;

    /// The servers, with counters; `reset` makes the counters start again from 0.
    fn pool(&self, reset: bool) -> Vec<ServerStats>;

    /// The servers that are in use in each hostgroup; `None`: those of `mysql_servers`.
    fn members(&self) -> Option<Vec<MemberStats>>;

    /// What came of the checks of servers of this kind, the oldest first.
    fn checks(&self, kind: Check) -> Vec<CheckStats>;

    /// Checks of the servers of Aurora clusters.
    fn aurora_checks(&self) -> Vec<AuroraCheckStats>;

    /// Changes of the writers of Aurora clusters, the oldest first.
    fn aurora_failovers(&self) -> Vec<AuroraFailover>;

    /// What has changed of servers, the oldest first.
    fn server_events(&self) -> Vec<ServerEvent>;

    /// How many changes of servers of each kind there were since the start.
    fn server_event_counts(&self) -> Vec<(&'static str, u64)>;

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
    fn hostgroup_times(&self) -> Vec<HostgroupTimes>;

    /// How many sessions there are, by state and by pin.
    fn census(&self) -> Census;

    /// Errors that servers answered; `reset` forgets them.
    fn errors(&self, reset: bool) -> Vec<ErrorStats>;

    /// Takes the statements of the query log that are kept in memory, the oldest first.
    fn take_events(&self) -> VecDeque<Box<Record>>;

    /// Gives back what could not be written of these.
    fn put_back_events(&self, events: VecDeque<Box<Record>>);

    /// What the query cache has done, by rule and digest; `reset` takes the rows away.
    fn cache(&self, reset: bool) -> cache::stats::Stats;

    /// The servers whose binary logs are followed for the query cache.
    fn cache_sources(&self) -> Vec<cache::SourceRow>;

    /// What rules would do that cache more; nothing while queries are not followed.
    fn cache_advice(&self) -> Option<Vec<cache::advice::Advice>>;

    /// Has these answers of the query cache served no more.
    fn flush_cache(&self, flush: &cache::Flush);

    /// Statements that looked like injected SQL, by fingerprint.
    fn injections(&self) -> Vec<InjectionStats>;

    /// What servers have executed, as far as they have a `gtid_port`.
    fn gtids(&self) -> Vec<GtidStats>;

    /// How often each rule matched since rules were loaded: `rule_id` and the number.
    fn rule_hits(&self) -> Vec<(i64, u64)>;

    /// Addresses whose connections failed; `reset` forgets them.
    fn client_hosts(&self, reset: bool) -> Vec<ClientHost>;

    /// Statements by digest, in the order of the key of `stats_mysql_query_digest`; `reset` makes
    /// the counters start again. With `latency` the percentiles are there.
    fn digests(&self, reset: bool, latency: bool) -> Vec<DigestStats>;

    /// What clients and connections to servers have prepared, in the order of the numbers. Some are
    /// left out if there are very many.
    fn statements(&self) -> Vec<StatementStats>;

    /// Whether new clients are accepted. Any thread may ask; does not block.
    fn accepts(&self) -> bool;

    /// How each hostgroup is used now, by number. Any thread may ask; does not block.
    fn hostgroups(&self) -> Vec<HostgroupStats>;

    /// For each server of a hostgroup why no session gets it now, nothing if sessions do; `None` if
    /// there is no such hostgroup. No element: servers may belong there, none does. Any thread may
    /// ask; does not block.
    fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>>;
}

/// The process around the proxy.
pub trait Process: Debug + Send + Sync + 'static {
    /// `config`, with what the command line says in its place.
    fn effective(&self, config: &Arc<Config>) -> Arc<Config> {
        Arc::clone(config)
    }

    /// Carries out the part of an order that the proxy cannot: ending the process, and a new file
    /// of the process's own log.
    fn order(&self, order: Order) -> Result<(), String>;

    /// The rows of `stats_memory_metrics`, with the bytes of digests and of prepared statements.
    fn memory(&self, _digests: u64, _texts: u64) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Order for the running proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To accept no new clients.
    Pause,
    /// To accept clients again.
    Resume,
    /// To end: at once, or after sessions had the time of a drain.
    Shutdown {
        /// Whether sessions are drained.
        slow: bool,
    },
    /// To end as in a slow shutdown and to start anew.
    Restart,
    /// To read the files of TLS again.
    ReloadTls,
    /// To forget the addresses whose connections failed.
    FlushClientHosts,
    /// To begin new files of all logs.
    FlushLogs,
    /// To forget all digests.
    ForgetDigests,
    /// To continue a definition of a sharded table that has stopped, without waiting for its end.
    ResumeDdl(u64),
    /// To forget a definition that has stopped.
    ForgetDdl(u64),
}

/// Why a configuration was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApplied {
    /// These rows cannot be used.
    Rows(Vec<RowProblem>),
    /// The rest of the sentence "the configuration was not applied: ".
    Because(String),
}

/// What servers say of the tables of a layout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardCheck {
    /// Why the layout is not loaded.
    pub problems: Vec<String>,
    /// What does not keep the layout from being loaded: single statements, and servers that were
    /// not asked.
    pub warnings: Vec<String>,
}

/// A statement that `POINTSMAN EXPLAIN ROUTE` asks about, and the session that would send it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The user; else the first one that clients may log in as.
    pub user: Option<String>,
    /// The current schema; else what a client gets that names none.
    pub schema: Option<String>,
    /// The client's address; else 127.0.0.1.
    pub client: Option<String>,
    /// The port that the client connected to; else that of the first listener for MySQL clients.
    pub port: Option<u16>,
    /// The statement.
    pub statement: String,
}

/// How the data plane decides about a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explained {
    /// The steps: what is looked at, what comes of it, and details.
    pub steps: Vec<[String; 3]>,
    /// The same as a JSON object.
    pub json: String,
}
