//! How the pool chooses servers, from what the configuration says, and what it says about a choice.

use std::collections::HashMap;
use std::time::Duration;

use config::{Config, HostgroupAttributes, MysqlVariables};
use observe::counts::report::address;
use observe::rows::{CandidateStats, HostgroupStats};
use pool::{Balance, Policy, Pool, Reason, Shunning, Standing};
use route::Candidate;

use crate::Target;

/// The least time for which a server that has failed is left alone, as in ProxySQL.
const RECOVERY_MIN: Duration = Duration::from_secs(1);

/// So many connections in a second, and more, are no limit.
const UNTHROTTLED: u32 = 1_000_000;

/// How each hostgroup chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policies {
    /// Those that `mysql_hostgroup_attributes` has a row of.
    hostgroups: HashMap<u32, Policy>,
    /// The others.
    others: Policy,
}

impl Policies {
    /// What variables and hostgroups' attributes say.
    pub(crate) fn new(config: &Config) -> Self {
        let variables = &config.variables;
        let others = Policy {
            latency_aware_from: usize::try_from(variables.min_num_servers_latency_awareness)
                .unwrap_or(usize::MAX),
            shunning: shunning(variables),
            max_latency: limit(variables.default_max_latency),
            resting_percent: variables.free_connections_pct,
            warming: variables.connection_warming,
            opened_per_second: throttle(variables.throttle_connections_per_sec),
            ..Policy::default()
        };
        let of_group = |row: &HostgroupAttributes| Policy {
            max_online: usize::try_from(row.max_num_online_servers).unwrap_or(usize::MAX),
            // Where the variable keeps none, no row does: rows have a percentage whether or not
            // it was chosen.
            resting_percent: if others.resting_percent == 0 { 0 } else { row.free_connections_pct },
            warming: row.connection_warming,
            // The same with the number that rows have.
            opened_per_second: throttle(row.throttle_connections_per_sec).or(others.opened_per_second),
            max_open: row.hostgroup_settings.max_backend_connections.unwrap_or(u32::MAX),
            min_resting: row.hostgroup_settings.min_idle_connections.unwrap_or(0),
            ..chosen_by(others, row.hostgroup_settings.balance.unwrap_or_default())
        };
        let rows = config.hostgroup_attributes.iter();
        let mut hostgroups: HashMap<u32, Policy> =
            rows.map(|row| (row.hostgroup_id, of_group(row))).collect();
        // They say the same as the rows where both say something.
        let strategies =
            config.listeners.iter().filter_map(|listener| listener.hostgroup.zip(listener.strategy));
        for (hostgroup, strategy) in strategies {
            let policy = hostgroups.entry(hostgroup).or_insert(others);
            *policy = chosen_by(*policy, strategy.balance());
        }
        Self { hostgroups, others }
    }

    /// How this hostgroup chooses.
    pub(crate) fn of(&self, hostgroup: u32) -> Policy {
        self.hostgroups.get(&hostgroup).copied().unwrap_or(self.others)
    }
}

/// Connections that may be begun in a second: none of the numbers above ProxySQL's default is a
/// limit.
fn throttle(per_second: u32) -> Option<u32> {
    Some(per_second).filter(|per_second| *per_second < UNTHROTTLED)
}

/// The same policy with this choice.
fn chosen_by(policy: Policy, choice: config::Balance) -> Policy {
    let balance = match choice {
        config::Balance::Weighted => Balance::Weighted,
        config::Balance::LeastLoaded => Balance::LeastLoaded,
        config::Balance::RoundRobin => Balance::RoundRobin,
        config::Balance::FirstAvailable => Balance::FirstAvailable,
        config::Balance::NextAvailable => {
            return Policy {
                balance: Balance::FirstAvailable,
                shunning: policy.shunning.for_good(),
                ..policy
            };
        }
    };
    Policy { balance, ..policy }
}

/// ProxySQL's arithmetic: a session shall not run out of attempts before it has shunned a server,
/// and a server shall be back before a session that waits for it gives up.
fn shunning(variables: &MysqlVariables) -> Shunning {
    let wait = variables.connect_timeout_server_max;
    let recovery = variables.shun_recovery_time;
    let within_wait = |recovery: Duration, wait: Duration| {
        let time = if recovery >= wait { wait.saturating_sub(RECOVERY_MIN) } else { recovery };
        time.max(RECOVERY_MIN)
    };
    Shunning {
        errors: variables.shun_on_failures.min(variables.connect_retries_on_failure.saturating_add(1)),
        recovery: (!recovery.is_zero()).then(|| within_wait(recovery, wait)),
        last_resort: within_wait(recovery / 10, wait / 10),
        for_good: false,
    }
}

/// A limit of which 0 means that there is none.
pub fn limit(limit: Duration) -> Option<Duration> {
    (!limit.is_zero()).then_some(limit)
}

/// The servers of a hostgroup, each with the reason why it could be taken at `now`, the time since
/// the start, or could not.
pub fn candidates(pool: &Pool<Target>, hostgroup: u32, now: Duration) -> Vec<Candidate> {
    let explained = pool.explain(hostgroup, now).into_iter().map(|explained| Candidate {
        server: explained.server.endpoint().to_string(),
        taken: explained.taken,
        reason: explained.reason.to_string(),
    });
    explained.collect()
}

/// For each server of a hostgroup why no session gets it at `now`, nothing if one does; `None` if
/// there is no such hostgroup. Sessions wait for one that is full. One that has failed and would be
/// tried only because there is no other is of no use.
pub fn readiness(pool: &Pool<Target>, hostgroup: u32, now: Duration) -> Option<Vec<Option<String>>> {
    let explained = pool.explain(hostgroup, now);
    let is_there = !explained.is_empty() || pool.usage(hostgroup).awaited;
    is_there.then(|| explained.iter().map(|explained| why_not(&explained.reason)).collect())
}

/// Why no session gets a server of which the pool says this; nothing if one does.
fn why_not(reason: &Reason) -> Option<String> {
    let is_ready = matches!(
        reason,
        Reason::Candidate { .. }
            | Reason::SlowLastResort { .. }
            | Reason::NotFirst
            | Reason::Closed(_)
            | Reason::Not(Standing::Full { .. } | Standing::Refusing { .. })
    );
    (!is_ready).then(|| reason.to_string())
}

/// How each hostgroup of `hostgroups` is used at `now`, the time since the start, and which of its
/// servers sessions get.
pub fn hostgroups(
    pool: &Pool<Target>,
    hostgroups: impl IntoIterator<Item = u32>,
    now: Duration,
) -> Vec<HostgroupStats> {
    let candidate = |explained: pool::Explained<Target>| {
        let (host, port) = address(&explained.server.endpoint().endpoint);
        CandidateStats {
            host,
            port,
            weight: explained.server.weight(),
            limit: explained.server.max_connections(),
            reason: why_not(&explained.reason),
        }
    };
    let row = |hostgroup: u32| {
        let usage = pool.usage(hostgroup);
        HostgroupStats {
            hostgroup,
            limit: usage.allowed,
            waiting: usage.waiting as u64,
            servers: pool.explain(hostgroup, now).into_iter().map(candidate).collect(),
        }
    };
    hostgroups.into_iter().map(row).collect()
}

/// Error numbers of servers that say something about the user, the schema or the session, not about
/// the server: they do not count against it. ProxySQL's, and those by which newer servers say the
/// same: passwords that have expired (1862, 1820) or are missing (1698), accounts that are locked
/// (3955; MariaDB 4151), login methods (1251, 1275, 1524).
pub(crate) const fn is_about_session(code: u16) -> bool {
    matches!(
        code,
        1007 | 1008 | 1044 | 1045 | 1048..=1052 | 1054..=1075 | 1099..=1104 | 1106..=1113 | 1116..=1118 | 1120 | 1136
            | 1138..=1149 | 1203 | 1226 | 3118
            | 1251 | 1275 | 1524 | 1698 | 1820 | 1862 | 3955 | 4151
    )
}

#[cfg(test)]
mod tests {
    use config::Endpoint;
    use pool::{Choice, ServerSpec, Status};

    use super::*;

    fn config() -> Config {
        Config::default()
    }

    #[test]
    fn defaults_are_those_of_the_pool() {
        let policies = Policies::new(&config());
        let max_latency = Some(Duration::from_secs(1));
        assert_eq!(policies.of(7), Policy { latency_aware_from: 1_000, max_latency, ..Policy::default() });
    }

    #[test]
    fn a_hostgroup_may_choose_its_own_way() {
        let mut row =
            HostgroupAttributes { hostgroup_id: 3, max_num_online_servers: 2, ..Default::default() };
        row.hostgroup_settings.balance = Some(config::Balance::FirstAvailable);
        let policies = Policies::new(&Config { hostgroup_attributes: vec![row], ..config() });
        let (own, others) = (policies.of(3), policies.of(4));
        assert_eq!((own.balance, own.max_online), (Balance::FirstAvailable, 2));
        assert_eq!(others.balance, Balance::Weighted);
    }

    #[test]
    fn a_hostgroup_may_open_its_connections_another_way() {
        let mut row = HostgroupAttributes { hostgroup_id: 3, connection_warming: true, ..Default::default() };
        row.hostgroup_settings.max_backend_connections = Some(5);
        row.hostgroup_settings.min_idle_connections = Some(2);
        let mut config = Config { hostgroup_attributes: vec![row], ..config() };
        let policy = Policies::new(&config).of(3);
        assert_eq!((policy.warming, policy.max_open, policy.min_resting), (true, 5, 2));
        for (variable, row, expected) in
            [(1_000_000, 1_000_000, None), (7, 1_000_000, Some(7)), (7, 9, Some(9)), (1_000_000, 9, Some(9))]
        {
            config.variables.throttle_connections_per_sec = variable;
            config.hostgroup_attributes[0].throttle_connections_per_sec = row;
            assert_eq!(Policies::new(&config).of(3).opened_per_second, expected);
        }
    }

    #[test]
    fn where_the_variable_keeps_no_connections_no_row_does() {
        let row = HostgroupAttributes { hostgroup_id: 3, free_connections_pct: 20, ..Default::default() };
        let mut config = Config { hostgroup_attributes: vec![row], ..config() };
        for (pct, expected) in [(50, (20, 50)), (0, (0, 0))] {
            config.variables.free_connections_pct = pct;
            let policies = Policies::new(&config);
            assert_eq!((policies.of(3).resting_percent, policies.of(4).resting_percent), expected);
        }
    }

    #[test]
    fn a_server_that_is_full_is_as_ready_as_one_that_has_room() {
        let spec = |hostgroup, weight| ServerSpec {
            hostgroup,
            weight,
            max_connections: 1,
            status: Status::Online,
            max_latency: None,
            endpoint: Target::at(Endpoint::Unix("db".into())),
        };
        let pool = Pool::default();
        let policy = |id| Policy { awaited: id == 2, ..Policy::default() };
        pool.replace_all([spec(0, 1), spec(1, 0)], [2], policy);
        let now = Duration::ZERO;
        let permit = pool.choose(0, 0, now, |_| false);
        assert!(
            matches!(permit, Choice::Granted(_)) && matches!(pool.choose(0, 0, now, |_| false), Choice::Busy)
        );
        let weightless = Some("its weight is 0".to_owned());
        let expected = [Some(vec![None]), Some(vec![weightless]), Some(vec![]), None];
        assert_eq!([0, 1, 2, 3].map(|hostgroup| readiness(&pool, hostgroup, now)), expected);
        let rows = hostgroups(&pool, [0, 1, 2], now);
        let server = |weight, reason: Option<&str>| CandidateStats {
            host: "db".to_owned(),
            port: 0,
            weight,
            limit: 1,
            reason: reason.map(str::to_owned),
        };
        let servers: Vec<_> = rows.iter().map(|row| (row.hostgroup, row.waiting, &row.servers[..])).collect();
        assert_eq!(
            servers,
            [(0, 0, &[server(1, None)][..]), (1, 0, &[server(0, Some("its weight is 0"))]), (2, 0, &[]),]
        );
    }

    #[test]
    fn a_server_is_back_before_sessions_give_up() {
        let s = Duration::from_secs;
        for (recovery, wait, expected) in [
            (10, 10, (Some(9), 1)),
            (5, 10, (Some(5), 1)),
            (100, 1_000, (Some(100), 10)),
            (1_000, 100, (Some(99), 9)),
            (1, 1, (Some(1), 1)),
            (0, 10, (None, 1)),
        ] {
            let mut config = config();
            config.variables.shun_recovery_time = s(recovery);
            config.variables.connect_timeout_server_max = s(wait);
            let shunning = Policies::new(&config).of(0).shunning;
            let got = (shunning.recovery.map(|time| time.as_secs()), shunning.last_resort.as_secs());
            assert_eq!(got, expected, "{recovery} {wait}");
        }
    }

    #[test]
    fn a_search_shuns_before_it_gives_up() {
        let mut config = config();
        config.variables.connect_retries_on_failure = 1;
        assert_eq!(Policies::new(&config).of(0).shunning.errors, 2);
        config.variables.connect_retries_on_failure = 100;
        assert_eq!(Policies::new(&config).of(0).shunning.errors, 5);
    }
}
