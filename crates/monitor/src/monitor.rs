//! The state of all checks, and what follows from it.
//!
//! - `clusters`: what servers of clusters say, and the servers that only they know of;
//! - `families`: servers of pairs whose replicas are found;
//! - `learn`: what follows from a finding for the server itself;
//! - `changes`: what is different between two moments;
//! - `writers`: pairs of which several servers can be written to.

mod changes;
mod clusters;
mod families;
mod learn;
mod writers;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use crate::cluster::Nodes;
use crate::placement::{Groups, clusters_by_hostgroup, pairs_by_hostgroup, place_in};
use crate::replicas::Family;
use crate::schedule::Schedule;
use crate::watch::Watch;
use crate::{Check, Event, Finding, Member, Order, Pace, Pair, Plan, Row, Told, Word};
use changes::events;

pub use changes::Places;
pub use writers::{Conflict, Conflicts, Writers};

/// Time between the first checks of two servers: those of 2,000 are spread over a second.
const SPREAD: Duration = Duration::from_micros(500);

/// A server of a cluster that breaks off is asked again so many times in the time of one timeout:
/// unlike silence, that takes no time.
const RETRIES: u32 = 4;

/// A pair that has lost its last writer is asked so many times as often whether there is another
/// one.
const SEARCHES: u32 = 4;

/// For so long, unless there is one before: perhaps there is to be none.
const SEARCH_TIME: Duration = Duration::from_mins(1);

/// What is known of all servers.
#[derive(Debug)]
pub struct Monitor<E> {
    plan: Plan<E>,
    /// The rows of each server.
    rows: HashMap<E, Vec<usize>>,
    pairs: HashMap<u32, Pair>,
    /// The rows behind these are of servers that the operator has not named.
    configured: usize,
    /// The cluster that each hostgroup is part of.
    cluster_of: HashMap<u32, usize>,
    /// The rows of each cluster.
    cluster_rows: HashMap<usize, Vec<usize>>,
    /// What is known of the servers of each cluster, by its writer hostgroup.
    clusters: HashMap<u32, Nodes<E>>,
    /// What is known of the servers of each pair whose replicas are found, by its writer hostgroup.
    families: HashMap<u32, Family<E>>,
    /// Servers of which only is to be known who they are, with the writer hostgroup of the pair:
    /// those without a row that may be replicas of it, and those of its rows that are not to be
    /// used.
    candidates: BTreeMap<E, u32>,
    watches: HashMap<E, Watch>,
    /// Pairs that have lost their last writer, by their writer hostgroups, and until when they are
    /// asked more often.
    searched: BTreeMap<u32, Duration>,
    schedule: Schedule<E>,
    now: Duration,
}

/// What is known of a member of a hostgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// Whether it does not answer.
    pub down: bool,
    /// Its lag, if that is more than it may have.
    pub lag: Option<Duration>,
    /// The transactions that it has to apply, if they are more than it may have.
    pub behind: Option<u64>,
}

impl<E: Clone + Eq + Hash + Ord> Monitor<E> {
    /// Nothing is known yet; the first checks are due at `now`.
    pub fn new(plan: Plan<E>, now: Duration) -> Self {
        let empty = Plan { rows: Vec::new(), pairs: Vec::new(), clusters: Vec::new(), ..plan.clone() };
        let mut monitor = Self {
            plan: empty,
            rows: HashMap::new(),
            pairs: HashMap::new(),
            configured: 0,
            cluster_of: HashMap::new(),
            cluster_rows: HashMap::new(),
            clusters: HashMap::new(),
            families: HashMap::new(),
            candidates: BTreeMap::new(),
            watches: HashMap::new(),
            searched: BTreeMap::new(),
            schedule: Schedule::default(),
            now,
        };
        monitor.configure(plan, now);
        monitor
    }

    /// The operator wants something else from now on. What is known of servers that stay goes on to
    /// hold, and so do the moments of their checks.
    pub fn configure(&mut self, plan: Plan<E>, now: Duration) {
        let now = self.tell(now);
        let before = &self.plan;
        let paces_differ = (&plan.settings, &plan.clusters, &plan.pairs)
            != (&before.settings, &before.clusters, &before.pairs);
        let discovered = self.plan.rows.split_off(self.configured.min(self.plan.rows.len()));
        self.configured = plan.rows.len();
        self.pairs = pairs_by_hostgroup(&plan.pairs);
        self.cluster_of = clusters_by_hostgroup(&plan.clusters);
        let before = std::mem::replace(&mut self.plan, plan);
        self.keep_clusters(&before.clusters);
        self.keep_families();
        self.searched.retain(|writer, _| self.pairs.contains_key(writer));
        self.keep_discovered(discovered);
        self.follow_rows(now, paces_differ);
        self.follow_limits(&before.rows, now);
    }

    /// Replicas whose limit is another one than in the rows `before` are asked for their lag at
    /// once.
    fn follow_limits(&mut self, before: &[Row<E>], now: Duration) {
        let limits: HashMap<(u32, &E), Option<Duration>> =
            before.iter().map(|row| ((row.hostgroup, &row.server), row.max_lag)).collect();
        let is_other =
            |row: &&Row<E>| limits.get(&(row.hostgroup, &row.server)).is_some_and(|max| *max != row.max_lag);
        let others: Vec<E> = self.plan.rows.iter().filter(is_other).map(|row| row.server.clone()).collect();
        for server in &others {
            self.hurry(server, Check::Lag, now);
        }
    }

    /// Takes over the rows as they are now: servers that are new are watched, and those that are
    /// gone are not any more.
    fn follow_rows(&mut self, now: Duration, anew: bool) {
        self.rows.clear();
        self.cluster_rows.clear();
        for (at, row) in self.plan.rows.iter().enumerate() {
            self.rows.entry(row.server.clone()).or_default().push(at);
            if let Some(cluster) = self.cluster_of.get(&row.hostgroup) {
                self.cluster_rows.entry(*cluster).or_default().push(at);
            }
        }
        let gone: Vec<E> = self.watches.keys().filter(|server| !self.is_in_use(server)).cloned().collect();
        for server in gone {
            self.watches.remove(&server);
            self.schedule.forget(&server);
        }
        let mut servers: Vec<(usize, E)> =
            self.rows.iter().filter_map(|(server, rows)| Some((*rows.first()?, server.clone()))).collect();
        servers.sort_unstable_by_key(|(at, _)| *at);
        servers.retain(|(_, server)| self.is_in_use(server));
        for (nth, (_, server)) in servers.into_iter().enumerate() {
            let first = now.saturating_add(SPREAD.saturating_mul(u32::try_from(nth).unwrap_or(u32::MAX)));
            self.watch(&server, first, anew);
        }
        self.follow_candidates(now);
    }

    /// Begins to watch a server, or goes on with what is to be checked of it now.
    fn watch(&mut self, server: &E, first: Duration, anew: bool) {
        for check in Check::ALL {
            match (self.wants(server, check), self.schedule.has(server, check)) {
                (true, has) if !has || anew => {
                    self.schedule.plan(server, check, self.first_turn(server, check, first));
                }
                (false, true) => self.schedule.stop(server, check),
                _ => {}
            }
        }
        let is_of_pair = self.wants(server, Check::ReadOnly);
        let limited: HashMap<u32, (Duration, Duration)> =
            self.limited(server).map(|(row, max)| (row.hostgroup, (max, row.lag_when_unknown))).collect();
        let watch = self.watches.entry(server.clone()).or_default();
        if !is_of_pair {
            (watch.read_only, watch.is_assumed) = (None, false);
            (watch.read_only_timeouts, watch.returning) = (0, false);
        }
        watch.lags.retain(|hostgroup, _| limited.contains_key(hostgroup));
        for (hostgroup, lagging) in &mut watch.lags {
            if let Some((max, when_unknown)) = limited.get(hostgroup) {
                lagging.allow(*max, *when_unknown);
            }
        }
    }

    /// The checks that are to be made now. Each is reported to [`observe`](Self::observe) when it
    /// is over, and not made again before that.
    pub fn due(&mut self, now: Duration) -> Vec<Order<E>> {
        let now = self.tell(now);
        let mut orders = Vec::new();
        while let Some((server, check)) = self.schedule.take(now) {
            let limit = self.pace(&server, check).limit;
            orders.push(Order { server, check, limit });
        }
        orders
    }

    /// When the next checks are due; `None`: none will be before something else happens.
    pub fn next_due(&mut self) -> Option<Duration> {
        self.schedule.next_due()
    }

    /// A check that was made is over, with this finding; `why` are the words for what went wrong.
    /// What has changed by it.
    pub fn observe(
        &mut self,
        server: &E,
        check: Check,
        finding: Finding,
        why: &str,
        now: Duration,
    ) -> Vec<Event<E>> {
        self.conclude(server, check, (finding, None), why, now)
    }

    /// The same for a server of a cluster that has said this.
    pub fn hear(&mut self, server: &E, check: Check, word: Word<E>, now: Duration) -> Vec<Event<E>> {
        self.conclude(server, check, (Finding::Well(Told::Alive), Some(word)), "", now)
    }

    fn conclude(
        &mut self,
        server: &E,
        check: Check,
        (finding, word): (Finding, Option<Word<E>>),
        why: &str,
        now: Duration,
    ) -> Vec<Event<E>> {
        let now = self.tell(now);
        let interval = self.interval(server, check, finding);
        if !self.schedule.done(server, check, now, interval) {
            return Vec::new();
        }
        if self.is_clustered(server) {
            return self.conclude_of_cluster(server, check, (finding, word), why, now);
        }
        if self.is_of_family(server) {
            return self.conclude_of_family(server, check, (finding, word), why, now);
        }
        let Some(mut before) = self.watches.get(server).cloned() else { return Vec::new() };
        let cause = self.learn(server, check, finding, why, now);
        // Mostly nothing has.
        if self.watches.get(server).is_none_or(|watch| watch.means_the_same_as(&before)) {
            return Vec::new();
        }
        let after = self.places(server);
        self.swap(server, &mut before);
        let places = self.places(server);
        self.swap(server, &mut before);
        events(server, &places, &after, |_, _| cause.clone())
    }

    fn swap(&mut self, server: &E, other: &mut Watch) {
        if let Some(watch) = self.watches.get_mut(server) {
            std::mem::swap(watch, other);
        }
    }

    /// There is reason to believe that a server does not answer: it is pinged at once.
    pub fn suspect(&mut self, server: &E, now: Duration) {
        let now = self.tell(now);
        for check in [Check::Ping].into_iter().chain(Check::OF_CLUSTERS) {
            self.hurry(server, check, now);
        }
    }

    fn hurry(&mut self, server: &E, check: Check, now: Duration) {
        if self.schedule.has(server, check) {
            self.schedule.hurry(server, check, now);
        }
    }

    /// There is reason to believe that a server has changed its role: it is asked at once.
    pub fn doubt(&mut self, server: &E, now: Duration) {
        let now = self.tell(now);
        for check in [Check::ReadOnly].into_iter().chain(Check::OF_CLUSTERS) {
            self.hurry(server, check, now);
        }
    }

    /// The members of all hostgroups.
    pub fn members(&self) -> Vec<Member> {
        self.place(&self.plan.rows)
    }

    /// The hostgroups that a server is in, and how. Takes time in proportion to its own rows, and
    /// in a cluster to those of all its servers.
    pub fn places(&self, server: &E) -> Places {
        if self.is_clustered(server) {
            return self.places_around(server).remove(server).unwrap_or_default();
        }
        let rows: Vec<usize> = self.rows.get(server).cloned().unwrap_or_default();
        let own: Vec<Row<E>> = rows.iter().filter_map(|at| self.plan.rows.get(*at)).cloned().collect();
        let at = |member: Member| Some(Member { row: *rows.get(member.row)?, ..member });
        let members = self.place(&own).into_iter().filter_map(at);
        members.map(|member| (member.hostgroup, self.health(member))).collect()
    }

    fn place(&self, rows: &[Row<E>]) -> Vec<Member> {
        let groups = Groups::of(&self.plan, &self.pairs, &self.cluster_of);
        let role = |writer, server: &E| self.role(writer, server);
        place_in(rows, &groups, |server| self.read_only(server), role)
    }

    /// Whether a server of a pair is read-only, as far as it has said so or that is to be assumed.
    pub fn read_only(&self, server: &E) -> Option<bool> {
        let said = self.watches.get(server)?.read_only;
        if said == Some(false) && self.is_held_back(server) { Some(true) } else { said }
    }

    /// What is known of a member.
    pub fn health(&self, member: Member) -> Health {
        let Some(row) = self.plan.rows.get(member.row) else { return Health::default() };
        let Some(watch) = self.watches.get(&row.server) else { return Health::default() };
        // Others are behind the server that writes. A replica that has become the primary goes on
        // to say that it lags until it is made to forget its source, and it may be all that there
        // is.
        let writes = self.read_only(&row.server) == Some(false) && self.pairs.contains_key(&member.hostgroup);
        let lagging = watch.lags.get(&row.hostgroup).filter(|_| !writes);
        let lag = lagging.and_then(|lagging| lagging.lag).or(self.cluster_lag(member.hostgroup, &row.server));
        Health { down: watch.down, lag, behind: self.behind(member.hostgroup, &row.server) }
    }

    /// The row at this index.
    pub fn row(&self, at: usize) -> Option<&Row<E>> {
        self.plan.rows.get(at)
    }

    /// Takes note of the time, which only goes on.
    fn tell(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now);
        self.now
    }

    fn pace(&self, server: &E, check: Check) -> Pace {
        let settings = &self.plan.settings;
        match check {
            Check::Connect => settings.connect,
            Check::Ping => settings.ping,
            Check::ReadOnly => settings.read_only,
            Check::Lag => settings.lag,
            Check::Group | Check::Galera | Check::Aurora => {
                let mut clusters = self.clusters_of(server);
                let cluster = clusters.find(|cluster| cluster.topology.check() == check);
                cluster.map_or(settings.ping, |cluster| cluster.pace)
            }
            Check::Replicas | Check::Rds => {
                self.discover_at(server).map_or(settings.ping, |discover| discover.pace)
            }
        }
    }

    /// The time to the next check of this kind. A server of which it is not certain that it is
    /// there is pinged more often: a verdict takes no more than the time of so many timeouts, and
    /// so does its end. So is one of a cluster asked.
    fn interval(&self, server: &E, check: Check, finding: Finding) -> Duration {
        let Pace { interval, limit } = self.pace(server, check);
        if check.is_of_cluster() {
            return match finding {
                Finding::Unreachable if self.may_miss(server) => interval.min(limit / RETRIES),
                Finding::TimedOut if self.may_miss(server) => interval.min(limit),
                _ if check == Check::Aurora => interval.saturating_mul(self.turns(server)),
                _ => interval,
            };
        }
        if check == Check::ReadOnly && self.is_searched(server) {
            return interval / SEARCHES;
        }
        let is_down = self.watches.get(server).is_some_and(|watch| watch.down);
        let is_bad = finding.is_miss() || is_down && !finding.is_sign_of_life();
        let is_urgent = check == Check::Ping && is_bad;
        if is_urgent { interval.min(limit) } else { interval }
    }

    /// Whether a server is of a pair that has lost its last writer.
    fn is_searched(&self, server: &E) -> bool {
        let until = |row: &Row<E>| self.searched.get(&self.pairs.get(&row.hostgroup)?.writer);
        !self.searched.is_empty() && self.rows_of(server).filter_map(until).any(|until| self.now < *until)
    }

    /// Whether this check of a server is made.
    pub fn makes(&self, server: &E, check: Check) -> bool {
        self.schedule.has(server, check)
    }

    fn is_in_use(&self, server: &E) -> bool {
        self.rows_of(server).any(|row| row.in_use)
    }

    fn rows_of(&self, server: &E) -> impl Iterator<Item = &Row<E>> {
        self.rows.get(server).into_iter().flatten().filter_map(|at| self.plan.rows.get(*at))
    }

    /// The rows of a server whose lag has a limit, with that.
    fn limited(&self, server: &E) -> impl Iterator<Item = (&Row<E>, Duration)> {
        self.rows_of(server).filter(|row| row.in_use).filter_map(|row| Some((row, row.max_lag?)))
    }

    /// Whether this check is to be made.
    fn wants(&self, server: &E, check: Check) -> bool {
        match check {
            Check::Connect | Check::Ping => true,
            Check::ReadOnly => {
                self.rows_of(server).any(|row| row.in_use && self.pairs.contains_key(&row.hostgroup))
            }
            Check::Lag => self.limited(server).next().is_some(),
            Check::Group | Check::Galera | Check::Aurora => {
                self.clusters_of(server).any(|cluster| cluster.topology.check() == check)
            }
            Check::Replicas | Check::Rds => {
                !self.is_clustered(server)
                    && self.discover_at(server).is_some_and(|discover| discover.means.check() == check)
            }
        }
    }
}
