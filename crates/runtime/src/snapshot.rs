//! The configuration in the form that the data plane uses: one immutable value, which workers are
//! sent anew when it changes.
//!
//! Each worker keeps its own reference and reads it without a lock; what is not a worker asks
//! [`Shared`](crate::shared::Shared) for it. What a session has taken from it (its user, its
//! server) it keeps when the configuration changes.

use std::sync::Arc;
use std::time::Duration;

use config::{CausalReads, Config, MysqlVariables, QueryRule, TrackGtids};
use route::RuleError;
use shard::Layout;

use crate::limited::RuleLimits;
use crate::logs::LogSettings;
use crate::routing::routes::Routes;
use crate::state::gtids::Tracking;
use upstream::{Configuration, Local};

/// One configuration.
#[derive(Debug)]
pub struct Snapshot {
    /// What it says about servers, and about connections to them.
    pub upstream: Arc<Configuration>,
    /// The `mysql-` variables.
    pub variables: Arc<MysqlVariables>,
    /// Whether servers are asked what is behind the names of tables.
    pub judge_tables: bool,
    /// Where statements go.
    pub routes: Arc<Routes>,
    /// What is logged.
    pub logs: LogSettings,
    /// How many statements may run to which rules point.
    pub limits: RuleLimits,
    /// Tables that are split over servers, if any are.
    pub shards: Option<Arc<Layout>>,
    /// How reads see writes.
    pub causal: CausalSettings,
}

/// Which writes reads must see.
#[derive(Debug, Clone, Copy)]
pub struct CausalSettings {
    /// Those of this scope, where no user, rule or hint says something else.
    pub reads: CausalReads,
    /// Whether a rule says something else.
    pub by_rules: bool,
    /// How long a read waits for its reader.
    pub wait: Duration,
    /// Whether readers of binary logs tell what servers have (`gtid_port`).
    pub has_readers: bool,
}

impl CausalSettings {
    fn new(config: &Config) -> Self {
        let says = |rule: &QueryRule| rule.active && rule.attributes.contains("causal_reads");
        Self {
            reads: config.pointsman.causal_reads,
            by_rules: config.query_rules.iter().any(says),
            wait: config.pointsman.causal_wait,
            has_readers: config.servers.iter().any(|server| server.gtid_port > 0),
        }
    }
}

/// One worker's reference.
pub type Settings = Local<Snapshot>;

impl Snapshot {
    /// What `config` means; `before` is what it meant until now. Users keep what was learned about
    /// them. Fails with the rules that cannot be used.
    pub fn new(config: &Arc<Config>, before: Option<&Self>) -> Result<Self, Vec<RuleError>> {
        let routes = Routes::new(config, before.map(|before| (&**before.config(), &*before.routes)))?;
        let users = Configuration::users_of(config, before.map(|before| &*before.upstream));
        let upstream = Arc::new(Configuration::new(config, users));
        let variables = Arc::clone(&upstream.variables);
        Ok(Self {
            upstream,
            variables,
            judge_tables: config.pointsman.judge_tables,
            logs: LogSettings::new(config),
            limits: RuleLimits::new(&routes.rules, before.map(|before| &before.limits)),
            shards: config.shards.clone(),
            causal: CausalSettings::new(config),
            routes: Arc::new(routes),
        })
    }

    /// Frees what no other owner has of it, in turns with other threads: there may be many users.
    pub fn free(self) {
        let users = Arc::into_inner(self.upstream).and_then(|upstream| Arc::into_inner(upstream.users));
        if let Some(users) = users {
            users.free();
        }
    }

    /// The first user that clients may log in as and that `is` is true for.
    pub fn client_user(&self, is: impl Fn(&config::User) -> bool) -> Option<&config::User> {
        self.config().users.iter().find(|user| user.active && user.frontend && is(user))
    }

    /// Who wants to know of transactions.
    pub fn tracking(&self) -> Tracking {
        Tracking {
            causal: self.causal.reads,
            causal_by_rules: self.causal.by_rules,
            by_default: self.variables.default_session_track_gtids == TrackGtids::OwnGtid,
            for_clients: self.variables.client_session_track_gtid,
        }
    }

    /// What it says as a whole.
    pub fn config(&self) -> &Arc<Config> {
        self.upstream.config()
    }

    /// Whether this hostgroup has the writers of a pair or a cluster.
    pub fn is_writer(&self, hostgroup: u32) -> bool {
        self.config().pairs().any(|(writer, _)| writer == hostgroup)
    }

    /// Whether this hostgroup is one of a cluster.
    pub fn is_clustered(&self, hostgroup: u32) -> bool {
        self.config().clusters().any(|hostgroups| hostgroups.contains(&hostgroup))
    }
}
