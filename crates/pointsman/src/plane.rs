//! The running proxy as the admin port sees it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use admin::{AdminDid, AdminEvent, Check, DataPlane, Explained, NotApplied, Order, Question, ShardCheck};
use config::{Config, RowProblem};
use observe::micros;
use observe::rows::{
    AuroraCheckStats, AuroraFailover, Census, CheckStats, ClientHost, Collation, CommandCounts, DigestStats,
    ErrorStats, FreeConnection, GtidStats, HostgroupStats, HostgroupTimes, InjectionStats, MemberStats,
    ServerEvent, ServerStats, SessionStats, ShardDdl, StatementStats, UserConnections,
};
use proxy::{ApplyError, Assumed, AuditEvent, AuditRecord, Finding, Inspected, Port, Remote, rule_problem};
use querylog::Record;
use rustls::ServerConfig;
use tokio::sync::mpsc::UnboundedSender;

use crate::log::Log;
use crate::memory;
use crate::overrides::Overrides;

/// The running proxy, and the channel to the task that can end it.
#[derive(Debug)]
pub(crate) struct Plane {
    remote: Remote,
    log: Log,
    overrides: Overrides,
    wishes: UnboundedSender<Wish>,
}

/// What only the process as a whole can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To end at once.
    Exit,
    /// To end when sessions had the time of a drain.
    End,
    /// The same, and to start anew.
    Restart,
}

impl Plane {
    /// The proxy behind `remote`, in the process that has this log and command line, and listens to
    /// `wishes`.
    pub(crate) const fn new(
        remote: Remote,
        log: Log,
        overrides: Overrides,
        wishes: UnboundedSender<Wish>,
    ) -> Self {
        Self { remote, log, overrides, wishes }
    }

    fn wish(&self, wish: Wish) -> Result<(), String> {
        self.wishes.send(wish).map_err(|_| "the process is about to end".to_owned())
    }
}

/// Methods that [`Remote`] has under the same name.
macro_rules! forwards {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        $(fn $name(&self $(, $argument: $type)*) $(-> $result)? { self.remote.$name($($argument),*) })*
    };
}

impl DataPlane for Plane {
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied> {
        self.remote.apply(&self.overrides.effective(config)).map_err(|error| match error {
            ApplyError::Rules(errors) => NotApplied::Rows(errors.iter().map(rule_problem).collect()),
            ApplyError::Tls(error) => NotApplied::Because(error.to_string()),
        })
    }

    fn check(&self, config: &Config) -> Vec<RowProblem> {
        proxy::check_rules(config)
    }

    fn check_shards(&self, config: &Config) -> ShardCheck {
        let Some(layout) = &config.shards else { return ShardCheck::default() };
        let Inspected { problems, warnings } = self.remote.inspect(layout);
        let problem = |finding: Finding| RowProblem {
            table: String::new(),
            row: String::new(),
            message: finding.to_string(),
        };
        ShardCheck { problems: problems.into_iter().map(problem).collect(), warnings }
    }

    fn explain(&self, question: &Question) -> Result<Explained, String> {
        let Question { user, schema, client, port, statement } = question.clone();
        let assumed = Assumed { user, schema, client, port };
        let explanation = self.remote.explain(&assumed, statement.as_bytes());
        let explanation = explanation.map_err(|error| error.to_string())?;
        Ok(Explained { steps: explanation.rows(), json: explanation.json() })
    }

    fn audit(&self, event: &AdminEvent) {
        self.remote.audit(|| Box::new(audited(event)));
    }

    fn order(&self, order: Order) -> Result<(), String> {
        match order {
            Order::Pause if self.remote.pause() => Ok(()),
            Order::Pause => Err("it is already paused".to_owned()),
            Order::Resume => match self.remote.resume() {
                Ok(true) => Ok(()),
                Ok(false) => Err("it is not paused".to_owned()),
                Err(error) => Err(format!("{error}: {}", error.source)),
            },
            Order::Shutdown { slow: false } => self.wish(Wish::Exit),
            Order::Shutdown { slow: true } => self.wish(Wish::End),
            Order::Restart => self.wish(Wish::Restart),
            Order::ReloadTls => match self.remote.reload_tls() {
                Ok(certificate) => {
                    tracing::info!(certificate, "the files of TLS were read again");
                    Ok(())
                }
                Err(error) => Err(error.to_string()),
            },
            Order::FlushLogs => {
                self.log.reopen();
                self.remote.flush_logs().map_err(|error| error.to_string())
            }
            Order::FlushClientHosts => {
                self.remote.client_hosts(true);
                Ok(())
            }
        }
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        memory::metrics(self.remote.digest_memory(), self.remote.text_memory())
    }

    fn processes(&self) -> Vec<SessionStats> {
        self.remote.sessions()
    }

    fn pool(&self, reset: bool) -> Vec<ServerStats> {
        self.remote.servers(reset)
    }

    fn members(&self) -> Option<Vec<MemberStats>> {
        Some(self.remote.members())
    }

    fn collations(&self) -> Vec<Collation> {
        self.remote.collations().map(|all| all.to_vec()).unwrap_or_default()
    }

    fn cache(&self, reset: bool) -> cache::stats::Stats {
        self.remote.cache_stats(reset)
    }

    fn flush_cache(&self, flush: &cache::Flush) {
        self.remote.cache().flush(flush);
    }

    fn rule_hits(&self) -> Vec<(i64, u64)> {
        self.remote.rule_hits().into_iter().collect()
    }

    fn digests(&self, reset: bool, latency: bool) -> Vec<DigestStats> {
        if reset { self.remote.take_digests(latency) } else { self.remote.digests(latency) }
    }

    fn accepts(&self) -> bool {
        !self.remote.is_paused()
    }

    forwards! {
        fn kill(&self, id: u32) -> bool;
        fn tls(&self) -> Option<Arc<ServerConfig>>;
        fn certificate_end(&self) -> Option<u64>;
        fn globals(&self) -> Vec<(&'static str, u64)>;
        fn checks(&self, check: Check) -> Vec<CheckStats>;
        fn aurora_checks(&self) -> Vec<AuroraCheckStats>;
        fn aurora_failovers(&self) -> Vec<AuroraFailover>;
        fn shard_ddl(&self) -> Vec<ShardDdl>;
        fn resume_ddl(&self, id: u64) -> Result<(), String>;
        fn forget_ddl(&self, id: u64) -> Result<(), String>;
        fn server_events(&self) -> Vec<ServerEvent>;
        fn free_connections(&self) -> Vec<FreeConnection>;
        fn users(&self) -> Vec<UserConnections>;
        fn commands(&self) -> Vec<CommandCounts>;
        fn server_event_counts(&self) -> Vec<(&'static str, u64)>;
        fn take_events(&self) -> VecDeque<Box<Record>>;
        fn put_back_events(&self, events: VecDeque<Box<Record>>);
        fn hostgroup_times(&self) -> Vec<HostgroupTimes>;
        fn census(&self) -> Census;
        fn errors(&self, reset: bool) -> Vec<ErrorStats>;
        fn cache_sources(&self) -> Vec<cache::SourceRow>;
        fn cache_advice(&self) -> Option<Vec<cache::advice::Advice>>;
        fn injections(&self) -> Vec<InjectionStats>;
        fn gtids(&self) -> Vec<GtidStats>;
        fn client_hosts(&self, reset: bool) -> Vec<ClientHost>;
        fn statements(&self) -> Vec<StatementStats>;
        fn forget_digests(&self);
        fn hostgroups(&self) -> Vec<HostgroupStats>;
        fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>>;
    }
}

/// What an admin did, as the audit log has it.
fn audited(admin: &AdminEvent) -> AuditRecord {
    let event = match admin.did {
        AdminDid::Connect => AuditEvent::ConnectOk(Port::Admin),
        AdminDid::FailToConnect => AuditEvent::ConnectErr(Port::Admin),
        AdminDid::ChangeUser => AuditEvent::ChangeUserOk(Port::Admin),
        AdminDid::FailToChangeUser => AuditEvent::ChangeUserErr(Port::Admin),
        AdminDid::Quit => AuditEvent::Quit(Port::Admin),
        AdminDid::Leave => AuditEvent::Close(Port::Admin),
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    AuditRecord {
        user: admin.user.as_bytes().into(),
        client: admin.client.map(|client| client.to_string()).unwrap_or_default().into(),
        tls: admin.tls,
        extra: admin.why.as_str().into(),
        lifetime_us: (admin.did == AdminDid::Leave).then(|| micros(admin.age)),
        ..AuditRecord::of(event, micros(now), admin.id)
    }
}
