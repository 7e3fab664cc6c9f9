//! A running proxy that is none: it remembers what it was told, and has constant counters.

#![allow(dead_code, reason = "every test file uses its part")]

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use config::{Config, RowProblem};
use observe::plane::{Check, DataPlane, Explained, NotApplied, Order, Question, ShardCheck};
use observe::rows::{
    AuroraCheckStats, AuroraFailover, CandidateStats, Census, CheckStats, ClientHost, Collation,
    CommandCounts, DigestStats, ErrorStats, FreeConnection, GtidStats, HostgroupStats, HostgroupTimes,
    InjectionStats, MemberStats, NO_HOSTGROUP, ServerEvent, ServerStats, SessionStats, ShardDdl,
    StatementStats, Times, UserConnections,
};
use querylog::{AuditRecord, Record};
use rustls::ServerConfig;

/// The only session that it has.
pub(crate) const SESSION: u32 = 1_073_741_825;

/// Where its client is.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A `KILL` of this session panics in the data plane.
pub(crate) const BUG: u32 = 13;

#[derive(Debug, Default)]
pub(crate) struct FakePlane {
    /// The orders that it was given.
    pub(crate) orders: Mutex<Vec<Order>>,
    /// The configurations that were applied.
    pub(crate) applied: Mutex<Vec<Arc<Config>>>,
    /// Whether it takes no configuration.
    pub(crate) refuses: AtomicBool,
    /// What clients of the admin port are offered.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    paused: AtomicBool,
    /// How often counters were read.
    pub(crate) reads: AtomicUsize,
    /// How often digests or sessions were listed.
    pub(crate) lists: AtomicUsize,
    /// What clients of the admin port did.
    pub(crate) audited: Mutex<Vec<AuditRecord>>,
    /// What happened to servers.
    pub(crate) server_events: Mutex<Vec<ServerEvent>>,
    /// Digests in place of the usual two.
    pub(crate) digests: Mutex<Option<Vec<DigestStats>>>,
    /// The last checks of servers by the monitor.
    pub(crate) checks: Mutex<Vec<CheckStats>>,
}

impl FakePlane {
    /// The configuration that was applied last.
    pub(crate) fn last(&self) -> Arc<Config> {
        Arc::clone(self.applied.lock().unwrap().last().unwrap())
    }

    pub(crate) fn count(&self) -> usize {
        self.applied.lock().unwrap().len()
    }
}

impl DataPlane for FakePlane {
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied> {
        let problems = self.check(config);
        if !problems.is_empty() {
            return Err(NotApplied::Rows(problems));
        }
        if self.refuses.load(Ordering::Relaxed) {
            return Err(NotApplied::Because("not today".to_owned()));
        }
        self.applied.lock().unwrap().push(Arc::clone(config));
        Ok(())
    }

    /// It cannot use rules with a pattern that is a lone parenthesis.
    fn check(&self, config: &Config) -> Vec<RowProblem> {
        let bad = config.query_rules.iter().filter(|rule| rule.match_pattern.as_deref() == Some("("));
        bad.map(|rule| RowProblem {
            table: "mysql_query_rules".to_owned(),
            row: format!("rule_id={}", rule.rule_id),
            message: "`match_pattern`: a parenthesis is not closed".to_owned(),
        })
        .collect()
    }

    /// Tables that are called `apart` differ, and no server has those that are called `nowhere`.
    fn check_shards(&self, config: &Config) -> ShardCheck {
        let tables = config.shards.iter().flat_map(|layout| layout.tables());
        let (apart, nowhere): (Vec<_>, Vec<_>) = tables
            .filter(|table| ["apart", "nowhere"].contains(&table.name.as_str()))
            .partition(|table| table.name == "apart");
        ShardCheck {
            problems: apart.iter().map(|_| "table shop.apart, hostgroup 2: it differs".to_owned()).collect(),
            warnings: nowhere.iter().map(|_| "table shop.nowhere: no server has it".to_owned()).collect(),
        }
    }

    /// Definition 3 has stopped.
    fn shard_ddl(&self) -> Vec<ShardDdl> {
        let node = |hostgroup, state, error: &str| ShardDdl {
            id: 3,
            statement: "ALTER TABLE orders ADD a INT".to_owned(),
            tables: "shop.orders".to_owned(),
            hostgroup,
            node: format!("shop.orders_{hostgroup}"),
            state,
            error: error.to_owned(),
            is_running: false,
        };
        vec![node(1, "done", ""), node(2, "failed", "1205: Lock wait timeout exceeded")]
    }

    fn explain(&self, question: &Question) -> Result<Explained, String> {
        if question.user.as_deref() == Some("nobody") {
            return Err("there is no active user `nobody`".to_owned());
        }
        let step = |step: &str, detail: String| [step.to_owned(), String::new(), detail];
        Ok(Explained {
            steps: vec![step("asked", format!("{question:?}")), step("destination", String::new())],
            json: format!("{{\"statement\":\"{}\"}}", question.statement),
        })
    }

    fn audit(&self, record: AuditRecord) {
        self.audited.lock().unwrap().push(record);
    }

    fn order(&self, order: Order) -> Result<(), String> {
        self.orders.lock().unwrap().push(order);
        match order {
            Order::Pause if self.paused.swap(true, Ordering::Relaxed) => {
                Err("it is already paused".to_owned())
            }
            Order::Resume if !self.paused.swap(false, Ordering::Relaxed) => {
                Err("it is not paused".to_owned())
            }
            Order::ReloadTls => Err("no certificate".to_owned()),
            Order::ResumeDdl(id) | Order::ForgetDdl(id) if id != 3 => {
                Err(format!("there is no definition with the id {id}"))
            }
            _ => Ok(()),
        }
    }

    fn kill(&self, id: u32) -> bool {
        assert_ne!(id, BUG, "a bug, for once");
        id == SESSION
    }

    fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.clone()
    }

    fn globals(&self) -> Vec<(&'static str, u64)> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        vec![
            ("ProxySQL_Uptime", 60),
            ("Questions", 1_000),
            ("queries_with_max_lag_ms", 40),
            ("queries_with_max_lag_ms__delayed", 2),
            ("queries_with_max_lag_ms__total_wait_time_us", 11),
            ("get_aws_aurora_replicas_skipped_during_query", 3),
            ("Servers_table_version", 7),
        ]
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        vec![("jemalloc_resident", 4_096)]
    }

    fn processes(&self) -> Vec<SessionStats> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        vec![SessionStats {
            worker: 1,
            id: SESSION,
            user: "app".to_owned(),
            schema: Some("shop".to_owned()),
            client: Some((LOOPBACK, 50_000)),
            hostgroup: 2,
            local: Some((LOOPBACK, 50_001)),
            server: Some(("127.0.0.2".to_owned(), 3306)),
            command: "Query",
            time: Duration::from_millis(12),
            statement: Some(format!("SELECT '{}'", "x".repeat(200)).into_bytes()),
            pin: None,
            transaction: None,
            extended: None,
        }]
    }

    fn pool(&self, _: bool) -> Vec<ServerStats> {
        vec![ServerStats {
            hostgroup: 2,
            host: "127.0.0.2".to_owned(),
            port: 3306,
            status: "ONLINE",
            used: 1,
            free: 2,
            opened: 3,
            failed: 4,
            most_used: 5,
            queries: 6,
            synced: 5,
            bytes_sent: 7,
            bytes_received: 8,
            latency: Duration::from_micros(9),
        }]
    }

    fn free_connections(&self) -> Vec<FreeConnection> {
        vec![FreeConnection {
            fd: 20,
            hostgroup: 2,
            host: "127.0.0.2".to_owned(),
            port: 3306,
            user: "app".to_owned(),
            schema: None,
            idle: Duration::from_millis(5),
        }]
    }

    fn collations(&self) -> Vec<Collation> {
        Vec::new()
    }

    fn users(&self) -> Vec<UserConnections> {
        vec![UserConnections { user: "app".to_owned(), connections: 1, max: 100 }]
    }

    fn commands(&self) -> Vec<CommandCounts> {
        let buckets = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let times = Times { count: 78, total_us: 500, buckets };
        vec![CommandCounts { command: "SELECT", times }]
    }

    fn cache_advice(&self) -> Option<Vec<cache::advice::Advice>> {
        let one = cache::advice::Advice {
            digest: 0xABC,
            queries_per_second: 1234.5,
            keys: 700,
            hit_rates: [0.25, 0.875],
            bytes: 123_456,
            saved_us_per_second: 45_678.0,
            refusal: None,
        };
        let refused =
            cache::advice::Advice { digest: 0xABD, refusal: Some(cache::Refusal::Volatile), ..one.clone() };
        Some(vec![one, refused])
    }

    fn cache(&self, _: bool) -> cache::stats::Stats {
        let mut stats = cache::stats::Stats::default();
        let key = cache::stats::RowKey { rule: Some(10), digest: Some(0xABC) };
        stats.missed(key, cache::Miss::Absent);
        stats.stored(key, 200, 900);
        stats.hit(key, cache::stats::Served { is_near: true, age_ms: 40, bytes: 200 });
        stats.not_stored(key, cache::NotStored::TooLarge);
        let key = cache::stats::RowKey { digest: Some(0xABD), ..key };
        stats.refused(key, cache::Refusal::Volatile);
        stats
    }

    fn errors(&self, _: bool) -> Vec<ErrorStats> {
        let of_server = ErrorStats {
            hostgroup: 2,
            host: "127.0.0.2".to_owned(),
            port: 3306,
            user: "app".to_owned(),
            client: "127.0.0.1".to_owned(),
            schema: "shop".to_owned(),
            code: 1146,
            count: 3,
            first_seen: 1_700_000_000,
            last_seen: 1_700_000_001,
            message: "Table 'shop.x' doesn't exist".to_owned(),
        };
        let own = ErrorStats {
            hostgroup: 4,
            host: String::new(),
            port: 0,
            code: 9001,
            count: 2,
            message: "Max connect timeout reached while reaching hostgroup 4".to_owned(),
            ..of_server.clone()
        };
        let refused = ErrorStats { hostgroup: NO_HOSTGROUP, user: String::new(), code: 1045, ..own.clone() };
        vec![of_server, own, refused]
    }

    fn rule_hits(&self) -> Vec<(i64, u64)> {
        vec![(1, 4), (100, 0)]
    }

    fn client_hosts(&self, _: bool) -> Vec<ClientHost> {
        vec![ClientHost { address: [127, 0, 0, 3].into(), errors: 2, last: Duration::from_micros(9) }]
    }

    fn digests(&self, _: bool, latency: bool) -> Vec<DigestStats> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        if let Some(digests) = &*self.digests.lock().unwrap() {
            return digests.clone();
        }
        let reads = DigestStats {
            hostgroup: 2,
            schema: b"shop"[..].into(),
            user: b"app"[..].into(),
            client: Arc::default(),
            digest: 0x00d3_8a9a_ef5d_10c4,
            text: b"SELECT a FROM t WHERE b = ?"[..].into(),
            count: 3,
            first_seen: 1_700_000_000,
            last_seen: 1_700_000_010,
            sum_us: 600,
            min_us: 100,
            max_us: 300,
            percentiles_us: if latency { [200, 300, 300, 300] } else { [0; 4] },
            rows_affected: 0,
            rows_sent: 5,
            bytes_received: 90,
            bytes_sent: 400,
            errors: 1,
        };
        let writes =
            DigestStats { digest: 1, text: b"DO \xff"[..].into(), rows_affected: 4, ..reads.clone() };
        vec![reads, writes]
    }

    fn statements(&self) -> Vec<StatementStats> {
        let reads = StatementStats {
            id: 4_503_599_627_370_495,
            schema: b"shop"[..].into(),
            user: b"app"[..].into(),
            digest: 0x00d3_8a9a_ef5d_10c4,
            clients: 3,
            servers: 2,
            columns: 1,
            params: 1,
            text: b"SELECT a FROM t WHERE b = ?"[..].into(),
        };
        let writes =
            StatementStats { id: 7, clients: 0, columns: 0, text: b"DO \xff"[..].into(), ..reads.clone() };
        vec![writes, reads]
    }

    fn checks(&self, kind: Check) -> Vec<CheckStats> {
        let of_ping = self.checks.lock().unwrap().clone();
        if kind == Check::Ping { of_ping } else { Vec::new() }
    }

    /// None unless its servers are checked.
    fn hostgroups(&self) -> Vec<HostgroupStats> {
        let checks = self.checks.lock().unwrap();
        let candidate = |check: &CheckStats| CandidateStats {
            host: check.host.clone(),
            port: check.port,
            ..CandidateStats::default()
        };
        let servers: Vec<CandidateStats> = checks.iter().take(1).map(candidate).collect();
        let group = HostgroupStats { hostgroup: 2, limit: 10, waiting: 0, servers };
        if checks.is_empty() { Vec::new() } else { vec![group] }
    }

    fn server_events(&self) -> Vec<ServerEvent> {
        self.server_events.lock().unwrap().clone()
    }

    fn accepts(&self) -> bool {
        !self.paused.load(Ordering::Relaxed)
    }

    fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>> {
        match hostgroup {
            0 => Some(vec![None, Some("its weight is 0".to_owned())]),
            1 => Some(vec![Some("it does not answer the monitor".to_owned())]),
            3 => Some(Vec::new()),
            _ => None,
        }
    }

    fn certificate_end(&self) -> Option<u64> {
        None
    }

    fn members(&self) -> Option<Vec<MemberStats>> {
        None
    }

    fn aurora_checks(&self) -> Vec<AuroraCheckStats> {
        Vec::new()
    }

    fn aurora_failovers(&self) -> Vec<AuroraFailover> {
        Vec::new()
    }

    fn server_event_counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn hostgroup_times(&self) -> Vec<HostgroupTimes> {
        Vec::new()
    }

    fn census(&self) -> Census {
        Census::default()
    }

    fn take_events(&self) -> VecDeque<Box<Record>> {
        VecDeque::new()
    }

    fn put_back_events(&self, _: VecDeque<Box<Record>>) {}

    fn cache_sources(&self) -> Vec<cache::SourceRow> {
        Vec::new()
    }

    fn flush_cache(&self, _: &cache::Flush) {}

    fn injections(&self) -> Vec<InjectionStats> {
        Vec::new()
    }

    fn gtids(&self) -> Vec<GtidStats> {
        Vec::new()
    }
}
