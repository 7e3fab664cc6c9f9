//! How fresh data has to be that a statement reads, and which servers have it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use config::Endpoint;
use gtid::mysql::Gtid;
use pool::Server;
use route::{MustSee, Verdict};

use crate::shared::Shared;
use upstream::{Avoid, Target};

/// What a statement has to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fresh {
    /// This transaction (`min_gtid`, `gtid_from_hostgroup`).
    pub gtid: Option<Gtid>,
    /// All that was there so long ago, as far as servers are known to be behind (`max_lag_ms`,
    /// `min_epoch_ms`).
    pub max_lag: Option<Duration>,
}

/// The servers of a hostgroup that have it, and which of them come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub(crate) fresh: Fresh,
    /// Those that are not behind at all come after the others: there are enough replicas, and the
    /// writer has other work (`mysql-aurora_max_lag_ms_only_read_from_replicas`).
    spares_writer: bool,
}

/// The same, with what is known of servers now.
#[derive(Debug)]
pub struct Behind<'a>(pub &'a Wanted, pub &'a Shared);

impl Avoid for Behind<'_> {
    fn avoids(&self, server: &Endpoint) -> bool {
        let Self(wanted, shared) = self;
        !wanted.is_first(shared, server)
    }
}

impl Fresh {
    /// What a verdict asks for, and this transaction of the session's own besides if the verdict
    /// names none. Readers of binary logs tell transactions of MySQL only. If there are no readers
    /// (`has_readers`), servers are asked, which is seen to elsewhere.
    pub fn new(
        verdict: &Verdict,
        own: impl FnOnce(u32) -> Option<gtid::Gtid>,
        has_readers: bool,
    ) -> Option<Self> {
        let gtid = match named(verdict, own) {
            Some(gtid::Gtid::MySql(gtid)) if has_readers => Some(gtid),
            _ => None,
        };
        let max_lag = verdict.max_lag_ms.map(|ms| Duration::from_millis(ms.into()));
        (gtid.is_some() || max_lag.is_some()).then_some(Self { gtid, max_lag })
    }

    /// What a statement must see, for EXPLAIN ROUTE, and the servers of its hostgroup that do not
    /// have it, or are to be left alone, each with the reason.
    pub fn explain(self, shared: &Shared, hostgroup: u32, replicas_from: u32) -> MustSee {
        let wanted = Wanted::new(self, shared, hostgroup, replicas_from);
        let servers = shared.upstream.pool.explain(hostgroup, shared.uptime()).into_iter();
        let lacking = servers.filter_map(|one| {
            let why = wanted.why_not(shared, &one.server.endpoint().endpoint)?;
            Some((one.server.endpoint().to_string(), why))
        });
        MustSee {
            gtid: self.gtid.map(|gtid| gtid.to_string()),
            max_lag_ms: self.max_lag.map(|max| max.as_millis()),
            lacking: lacking.collect(),
            writes: None,
        }
    }

    /// Whether a server has it. Its name is taken for that of one machine.
    pub fn is_at(&self, shared: &Shared, server: &Endpoint) -> bool {
        let executed = &shared.watching.executed;
        self.gtid.is_none_or(|gtid| executed.has(server, &gtid)) && self.excess(shared, server).is_none()
    }

    /// Whether the server at the other end of a connection to `machine` has it.
    pub fn is_at_peer(&self, shared: &Shared, server: &Endpoint, machine: Option<IpAddr>) -> bool {
        let executed = &shared.watching.executed;
        self.gtid.is_none_or(|gtid| executed.has_at(server, machine, &gtid))
            && self.excess(shared, server).is_none()
    }

    /// How far a server is behind, if that is too far.
    fn excess(&self, shared: &Shared, server: &Endpoint) -> Option<Duration> {
        let max = self.max_lag?;
        shared.watching.lags.of(server).filter(|lag| *lag > max)
    }

    /// How many servers of a hostgroup that sessions may get are too far behind.
    pub fn skipped(&self, shared: &Shared, hostgroup: u32) -> usize {
        if self.max_lag.is_none() {
            return 0;
        }
        shared
            .upstream
            .pool
            .count(hostgroup, |server| self.excess(shared, &server.endpoint().endpoint).is_some())
    }
}

/// The transaction that a verdict names: by a hint, or as the session's `own` last one in a
/// hostgroup.
pub fn named(verdict: &Verdict, own: impl FnOnce(u32) -> Option<gtid::Gtid>) -> Option<gtid::Gtid> {
    let hinted = verdict.min_gtid.as_deref().and_then(|gtid| gtid.parse().ok());
    hinted.or_else(|| verdict.gtid_from_hostgroup.and_then(own))
}

/// What servers are known to be, or not.
impl fmt::Display for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(gtid) = self.gtid {
            write!(f, "to have executed {gtid}")?;
        }
        if let Some(max) = self.max_lag {
            let and = if self.gtid.is_some() { " and " } else { "" };
            write!(f, "{and}to be at most {} ms behind", max.as_millis())?;
        }
        Ok(())
    }
}

impl Wanted {
    /// The servers of this hostgroup that have it.
    pub fn new(fresh: Fresh, shared: &Shared, hostgroup: u32, replicas_from: u32) -> Self {
        let is_fresh = |server: &Server<Target>| fresh.is_at(shared, &server.endpoint().endpoint);
        let is_behind = |server: &Server<Target>| {
            shared.watching.lags.of(&server.endpoint().endpoint) > Some(Duration::ZERO)
        };
        let enough = usize::try_from(replicas_from).unwrap_or(usize::MAX);
        let spares_writer = fresh.max_lag.is_some()
            && replicas_from > 0
            && shared.upstream.pool.count(hostgroup, is_fresh) >= enough
            && shared.upstream.pool.count(hostgroup, |server| is_fresh(server) && is_behind(server)) > 0;
        Self { fresh, spares_writer }
    }

    /// Whether a server is one of those that come first.
    pub fn is_first(&self, shared: &Shared, server: &Endpoint) -> bool {
        self.fresh.is_at(shared, server) && !self.is_spared(shared, server)
    }

    /// Whether a server is left alone where others will do.
    fn is_spared(&self, shared: &Shared, server: &Endpoint) -> bool {
        self.spares_writer && shared.watching.lags.of(server) == Some(Duration::ZERO)
    }

    /// Why a server does not come first, if it does not.
    pub fn why_not(&self, shared: &Shared, server: &Endpoint) -> Option<String> {
        let Fresh { gtid, .. } = self.fresh;
        if gtid.is_some_and(|gtid| !shared.watching.executed.has(server, &gtid)) {
            return Some("it is not known to have executed that".to_owned());
        }
        if let Some(lag) = self.fresh.excess(shared, server) {
            return Some(format!("it is {} ms behind", lag.as_millis()));
        }
        self.is_spared(shared, server).then(|| "it is the writer, and there are replicas enough".to_owned())
    }
}
