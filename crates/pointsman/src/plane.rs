//! The running proxy as the admin port sees it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use admin::{
    AdminDid, AdminEvent, AuroraChecks, AuroraFailover, CheckDetail, CheckKind, CheckResult, ClientHost,
    Collation, CommandCounter, DataPlane, Digest, ExecutedGtids, Explained, FreeConnection, Injection,
    Member, NotApplied, Order, PoolServer, PreparedStatement, Process, Question, ServerError, ServerEvent,
    UserConnections,
};
use config::{Config, RowProblem};
use observe::rows::{self as stats, DigestStats, ErrorStats, ServerStats, SessionStats, StatementStats};
use proxy::{ApplyError, Assumed, AuditEvent, AuditRecord, Check, Port, Remote, rule_problem};
use rustls::ServerConfig;
use tokio::sync::mpsc::UnboundedSender;

use crate::log::Log;
use crate::memory;

/// The running proxy, and the way to whoever can end it.
#[derive(Debug)]
pub(crate) struct Plane {
    remote: Remote,
    log: Log,
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
    /// The proxy behind `remote`, in the process that has this log and listens to `wishes`.
    pub(crate) const fn new(remote: Remote, log: Log, wishes: UnboundedSender<Wish>) -> Self {
        Self { remote, log, wishes }
    }

    fn wish(&self, wish: Wish) -> Result<(), String> {
        self.wishes.send(wish).map_err(|_| "the process is about to end".to_owned())
    }
}

impl DataPlane for Plane {
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied> {
        self.remote.apply(config).map_err(|error| match error {
            ApplyError::Rules(errors) => NotApplied::Rows(errors.iter().map(rule_problem).collect()),
            ApplyError::Tls(error) => NotApplied::Because(error.to_string()),
        })
    }

    fn check(&self, config: &Config) -> Vec<RowProblem> {
        proxy::check_rules(config)
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

    fn kill(&self, id: u32) -> bool {
        self.remote.kill(id)
    }

    fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.remote.tls()
    }

    fn globals(&self) -> Vec<(&'static str, u64)> {
        self.remote.globals()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        memory::metrics(self.remote.digest_memory(), self.remote.text_memory())
    }

    fn processes(&self) -> Vec<Process> {
        self.remote.sessions().into_iter().map(process).collect()
    }

    fn pool(&self, reset: bool) -> Vec<PoolServer> {
        self.remote.servers(reset).into_iter().map(pool_server).collect()
    }

    fn members(&self) -> Option<Vec<Member>> {
        let row = |stats::MemberStats { hostgroup, configured_in, host, port, status, discovered }| Member {
            hostgroup,
            configured_in,
            host,
            port,
            status,
            discovered,
        };
        Some(self.remote.members().into_iter().map(row).collect())
    }

    fn checks(&self, kind: CheckKind) -> Vec<CheckResult> {
        let check = match kind {
            CheckKind::Connect => Check::Connect,
            CheckKind::Ping => Check::Ping,
            CheckKind::ReadOnly => Check::ReadOnly,
            CheckKind::ReplicationLag => Check::Lag,
            CheckKind::GroupReplication => Check::Group,
            CheckKind::Galera => Check::Galera,
            CheckKind::Aurora => Check::Aurora,
        };
        let detail = |detail| match detail {
            stats::Detail::Text(text) => CheckDetail::Text(text),
            stats::Detail::Number(number) => CheckDetail::Number(number),
        };
        let row = |stats::CheckStats { host, port, start_us, took_us, value, details, error }| CheckResult {
            host,
            port,
            start_us,
            took_us,
            value,
            details: details.into_iter().map(detail).collect(),
            error,
        };
        self.remote.checks(check).into_iter().map(row).collect()
    }

    fn aurora_checks(&self) -> Vec<AuroraChecks> {
        let row = |row: stats::AuroraCheckStats| AuroraChecks {
            writer_hostgroup: row.writer_hostgroup,
            host: row.host,
            port: row.port,
            last_s: row.last_us / 1_000_000,
            total: row.total,
            well: row.well,
            error: row.error,
        };
        self.remote.aurora_checks().into_iter().map(row).collect()
    }

    fn aurora_failovers(&self) -> Vec<AuroraFailover> {
        let row = |row: stats::AuroraFailover| AuroraFailover {
            writer_hostgroup: row.writer_hostgroup,
            host: row.host,
            time_s: row.time_us / 1_000_000,
        };
        self.remote.aurora_failovers().into_iter().map(row).collect()
    }

    fn server_events(&self) -> Vec<ServerEvent> {
        let row = |stats::ServerEvent { time_us, hostgroup, host, port, event, cause }| ServerEvent {
            time_us,
            hostgroup,
            host,
            port,
            event,
            cause,
        };
        self.remote.server_events().into_iter().map(row).collect()
    }

    fn free_connections(&self) -> Vec<FreeConnection> {
        let row = |stats::FreeConnection { fd, hostgroup, host, port, user, schema, idle }| FreeConnection {
            fd,
            server: (hostgroup, host, port),
            user,
            schema,
            idle_ms: u64::try_from(idle.as_millis()).unwrap_or(u64::MAX),
        };
        self.remote.free_connections().into_iter().map(row).collect()
    }

    fn collations(&self) -> Vec<Collation> {
        let row = |collation: &stats::Collation| Collation {
            id: collation.id,
            name: collation.name.clone(),
            charset: collation.charset.clone(),
            is_default: collation.is_default,
        };
        self.remote.collations().map(|all| all.iter().map(row).collect()).unwrap_or_default()
    }

    fn users(&self) -> Vec<UserConnections> {
        let row =
            |stats::UserConnections { user, connections, max }| UserConnections { user, connections, max };
        self.remote.users().into_iter().map(row).collect()
    }

    fn commands(&self) -> Vec<CommandCounter> {
        let row = |stats::CommandCounts { command, count, total_us, buckets }| CommandCounter {
            command,
            total_us,
            count,
            buckets,
        };
        self.remote.commands().into_iter().map(row).collect()
    }

    fn errors(&self, reset: bool) -> Vec<ServerError> {
        self.remote.errors(reset).into_iter().map(server_error).collect()
    }

    fn injections(&self) -> Vec<Injection> {
        let row = |stats::InjectionStats { fingerprint, found, passed, digest }| Injection {
            fingerprint,
            found,
            passed,
            digest,
        };
        self.remote.injections().into_iter().map(row).collect()
    }

    fn gtids(&self) -> Vec<ExecutedGtids> {
        let row = |stats::GtidStats { host, port, executed, events }| ExecutedGtids {
            host,
            port,
            executed,
            events,
        };
        self.remote.gtids().into_iter().map(row).collect()
    }

    fn rule_hits(&self) -> Vec<(i64, u64)> {
        self.remote.rule_hits().into_iter().collect()
    }

    fn client_hosts(&self, reset: bool) -> Vec<ClientHost> {
        let row = |stats::ClientHost { address, errors, last }| ClientHost {
            address: address.to_string(),
            errors,
            last_updated: micros(last),
        };
        self.remote.client_hosts(reset).into_iter().map(row).collect()
    }

    fn digests(&self, reset: bool, latency: bool) -> Vec<Digest> {
        let digests = if reset { self.remote.take_digests(latency) } else { self.remote.digests(latency) };
        config::in_turns(digests).map(digest).collect()
    }

    fn statements(&self) -> Vec<PreparedStatement> {
        config::in_turns(self.remote.statements()).map(statement).collect()
    }

    fn forget_digests(&self) {
        self.remote.forget_digests();
    }

    fn accepts(&self) -> bool {
        !self.remote.is_paused()
    }

    fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>> {
        self.remote.readiness(hostgroup)
    }
}

// Each field is named on both sides, so that a new one cannot be forgotten.

/// Moves the named fields, which must be all of both structs, from one to the other.
macro_rules! moved {
    ($value:expr, $from:ident => $to:ident { $($field:ident),+ $(,)? }) => {{
        let $from { $($field),+ } = $value;
        $to { $($field),+ }
    }};
}

fn digest(digest: DigestStats) -> Digest {
    moved!(digest, DigestStats => Digest {
        hostgroup,
        schema,
        user,
        client,
        digest,
        text,
        count,
        first_seen,
        last_seen,
        sum_us,
        min_us,
        max_us,
        percentiles_us,
        rows_affected,
        rows_sent,
        bytes_received,
        bytes_sent,
        errors,
    })
}

fn statement(statement: StatementStats) -> PreparedStatement {
    moved!(statement, StatementStats => PreparedStatement {
        id,
        schema,
        user,
        digest,
        clients,
        servers,
        columns,
        params,
        text,
    })
}

fn process(session: SessionStats) -> Process {
    let SessionStats {
        worker,
        id,
        user,
        schema,
        client,
        hostgroup,
        local,
        server,
        command,
        time,
        statement,
        pin,
        extended,
    } = session;
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let address = |(ip, port): (IpAddr, u16)| (ip.to_string(), port);
    Process {
        thread: worker,
        id,
        user,
        schema,
        client: client.map_or_else(|| ("localhost".to_owned(), 0), address),
        hostgroup,
        local: local.map(address),
        server,
        command,
        time_ms: ms(time),
        info: statement,
        pin: pin.map(|(pin, time)| (pin, ms(time))),
        extended,
    }
}

fn pool_server(server: ServerStats) -> PoolServer {
    let ServerStats {
        hostgroup,
        host,
        port,
        status,
        used,
        free,
        latency,
        opened,
        failed,
        most_used,
        queries,
        synced,
        bytes_sent,
        bytes_received,
    } = server;
    PoolServer {
        hostgroup,
        host,
        port,
        status,
        used: used.into(),
        free: free.into(),
        ok: opened,
        err: failed,
        max_used: most_used.into(),
        queries,
        synced,
        bytes_sent,
        bytes_received,
        latency_us: micros(latency),
    }
}

fn server_error(error: ErrorStats) -> ServerError {
    let ErrorStats {
        hostgroup,
        host,
        port,
        user,
        client,
        schema,
        code,
        count,
        first_seen,
        last_seen,
        message,
    } = error;
    ServerError {
        server: (hostgroup, host, port),
        user,
        client,
        schema,
        code,
        count,
        first_seen,
        last_seen,
        message,
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

/// A time in microseconds; one that is too long is the longest.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
