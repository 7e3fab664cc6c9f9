//! Where a statement goes in the end: what rules and hints say, against what the session and its
//! transaction demand.

use std::sync::Arc;

use cache::Refusal;

use crate::caching::{CacheDefaults, CachePolicy};
use crate::firewall::{Asked, Firewall, Ruling};
use crate::injection::{Injections, Sighting};
use crate::plan::StatementPlan;
use crate::query::{Mirror, Query};
use crate::record::{Nothing, Record};
use crate::rules::Rules;
use crate::split::{Pairs, Split, split};
use crate::verdict::{Source, Verdict};

/// What a user's row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// `default_hostgroup`.
    pub default_hostgroup: u32,
    /// `transaction_persistent`: rules do not lead out of a transaction.
    pub transaction_persistent: bool,
    /// What the listener says in its place, if it does.
    pub listener: Option<ByListener>,
    /// Whether the hostgroup is that of a shard: rules and hints do not choose another one, but for
    /// its readers.
    pub is_shard: bool,
}

/// What a listener says about where statements go: rules and hints have no say in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByListener {
    /// Its role, as it is configured.
    pub role: &'static str,
    /// Where all of them go; nothing if the listener is for reads, and the user's hostgroup has no
    /// readers.
    pub hostgroup: Option<u32>,
    /// Where they go while no server there can be had.
    pub instead: Option<u32>,
}

impl Account {
    /// Where a session goes with what is no statement.
    pub fn hostgroup(&self) -> u32 {
        self.listener.and_then(|listener| listener.hostgroup).unwrap_or(self.default_hostgroup)
    }

    /// Where a statement goes that was sent to `hostgroup`, by the split or not, and that no server
    /// there can have.
    pub fn instead_of(&self, hostgroup: u32, is_split: bool) -> Option<u32> {
        let instead = match self.listener {
            Some(listener) if listener.hostgroup == Some(hostgroup) => listener.instead,
            Some(_) => None,
            None => Some(self.default_hostgroup).filter(|_| is_split),
        };
        instead.filter(|instead| *instead != hostgroup)
    }
}

/// What the session is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The hostgroup of the open transaction.
    pub transaction: Option<u32>,
    /// Whether autocommit is on.
    pub autocommit: bool,
    /// The hostgroup that the session is locked on, because of a SET that is not understood.
    pub locked_on: Option<u32>,
    /// What the session left at a server that its reads may depend on, and the hostgroup.
    pub hold: Option<(Hold, u32)>,
    /// The hostgroup of the statement before.
    pub last_hostgroup: Option<u32>,
}

/// Nothing.
impl Default for Session {
    fn default() -> Self {
        Self { transaction: None, autocommit: true, locked_on: None, hold: None, last_hostgroup: None }
    }
}

impl Session {
    /// Whether it has left something in this hostgroup that its statements need, so that no other
    /// server will do.
    pub fn is_bound_to(&self, hostgroup: u32) -> bool {
        self.locked_on == Some(hostgroup) || self.hold.is_some_and(|(_, at)| at == hostgroup)
    }

    /// What it is in the middle of, in words.
    pub(crate) fn text(&self) -> String {
        let mut texts = vec![match self.transaction {
            Some(hostgroup) => format!("in a transaction on hostgroup {hostgroup}"),
            None => "outside a transaction".to_owned(),
        }];
        texts.extend((!self.autocommit).then(|| "autocommit off".to_owned()));
        texts.extend(self.locked_on.map(|hostgroup| format!("locked on hostgroup {hostgroup}")));
        texts.extend(
            self.hold.map(|(hold, hostgroup)| format!("held on hostgroup {hostgroup}: {}", hold.text())),
        );
        texts.extend(self.last_hostgroup.map(|hostgroup| format!("last on hostgroup {hostgroup}")));
        texts.join(", ")
    }
}

/// What a session may have left at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// Temporary tables.
    TemporaryTables,
    /// LOCK TABLES.
    LockedTables,
    /// Something that is not known.
    Unknown,
}

impl Hold {
    /// The reason as the end of a sentence.
    pub const fn text(self) -> &'static str {
        match self {
            Self::TemporaryTables => "the session has temporary tables there",
            Self::LockedTables => "the session has locked tables there",
            Self::Unknown => "the session may have left something there",
        }
    }
}

/// Where a command goes. `A` is what the proxy answers itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route<A = Answer> {
    /// To no server: the proxy answers.
    Local(A),
    /// To the query cache; to this hostgroup if that has no answer.
    Cached(Target),
    /// To one hostgroup.
    One(Target),
    /// To several.
    Many(Box<Branches>),
}

/// What a rule, the firewall or the session's state answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// OK and this text.
    Ok(Arc<str>),
    /// This error.
    Error(Arc<str>),
    /// A refusal (9006): the session is locked on another hostgroup.
    Locked {
        /// The one that the session is locked on.
        locked_on: u32,
        /// The one that the statement would go to.
        hostgroup: u32,
    },
}

/// A hostgroup that gets a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which.
    pub hostgroup: u32,
    /// Whether the split has chosen it: then the writer may do instead.
    pub is_split: bool,
}

/// The targets of a command that goes to several hostgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branches {
    /// The one whose reply the client gets.
    pub target: Target,
    /// The copy of which the client sees nothing.
    pub copy: Mirror,
    /// Whether the copy's reply is compared with the client's.
    pub compare: bool,
}

impl<A> Route<A> {
    /// The route to one hostgroup, which the split has not chosen.
    pub const fn to(hostgroup: u32) -> Self {
        Self::One(Target { hostgroup, is_split: false })
    }

    /// The target whose reply the client gets, if the proxy does not answer itself.
    pub fn target(&self) -> Option<Target> {
        match self {
            Self::Local(_) => None,
            Self::Cached(target) | Self::One(target) => Some(*target),
            Self::Many(branches) => Some(branches.target),
        }
    }

    /// The same route with another answer of the proxy's own.
    pub fn map_local<B>(self, answer: impl FnOnce(A) -> B) -> Route<B> {
        match self {
            Self::Local(local) => Route::Local(answer(local)),
            Self::Cached(target) => Route::Cached(target),
            Self::One(target) => Route::One(target),
            Self::Many(branches) => Route::Many(branches),
        }
    }
}

/// Who decided on a hostgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The open transaction.
    Transaction,
    /// Rules, fast routing or a hint; nothing if the verdict does not say which.
    Verdict(Option<Source>),
    /// The split.
    Split(Split),
    /// The user's row.
    Default,
    /// The listener, whose role is this.
    Listener(&'static str),
}

/// What a route depends on besides the statement and the verdict.
#[derive(Clone, Copy)]
pub struct Ways<'a> {
    /// The user's row.
    pub account: Account,
    /// The session.
    pub session: &'a Session,
    /// Writers and readers.
    pub pairs: &'a Pairs,
    /// `mysql-read_write_split`.
    pub split_on: bool,
    /// The rules that the verdict is of.
    pub rules: &'a Rules,
    /// The firewall, if it judges the statement, and whether the statement's digest says all that a
    /// server would do.
    pub firewall: Option<(&'a Firewall, bool)>,
    /// What looks for injected SQL, if anything does.
    pub injections: Option<&'a Injections>,
    /// What users and hostgroups say about caching.
    pub caching: &'a CacheDefaults,
    /// Why the statement's text keeps its answer from being cached, if it does. Asked if the answer
    /// is to be cached.
    pub uncached: &'a dyn Fn() -> Option<Refusal>,
}

/// How the answer of a statement is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cached {
    /// What rules, users and hostgroups want.
    pub policy: CachePolicy,
    /// Why it is not cached all the same.
    pub refused: Option<Refusal>,
}

/// The route of a statement, and what was found on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routed {
    /// Where it goes.
    pub route: Route,
    /// What the firewall says; it passes if there is none.
    pub ruling: Ruling,
    /// What was found in it that looks like injected SQL.
    pub sighting: Option<Sighting>,
    /// How its answer is cached, if it is to be.
    pub cached: Option<Cached>,
}

/// The route of a statement with this plan and this verdict, behind whose rules the chain is in the
/// state `flag`.
pub fn route(
    query: &Query<'_>,
    plan: StatementPlan,
    verdict: &Verdict,
    flag: u32,
    ways: &Ways<'_>,
) -> Routed {
    route_with(query, plan, verdict, flag, ways, &mut Nothing)
}

/// The same with a record: the steps are those of [`route`], as there is no other function.
pub(crate) fn route_with(
    query: &Query<'_>,
    plan: StatementPlan,
    verdict: &Verdict,
    flag: u32,
    ways: &Ways<'_>,
    record: &mut impl Record,
) -> Routed {
    let mut found = hostgroup(verdict, plan, ways);
    // What rules answer themselves reaches no server, and nothing else judges it.
    let is_by_rule = matches!(found, Err(Answer::Ok(_) | Answer::Error(_)));
    let (mut ruling, mut sighting) = (None, None);
    if let Some((firewall, clear)) = ways.firewall {
        let asked = Asked { digest: query.statement.digest.filter(|_| clear), flag };
        let said = firewall.rule(query.caller, query.client_addr, asked);
        record.firewall(said, || firewall.why(query.caller, query.client_addr, asked));
        if said == Ruling::Refused && !is_by_rule {
            found = Err(Answer::Error(firewall.refusal()));
        }
        ruling = Some(said);
    }
    // As in ProxySQL, nothing is looked for if the firewall has it on a list, or leaves the user
    // alone.
    if let Some(injections) = ways.injections
        && !is_by_rule
        && matches!(ruling, None | Some(Ruling::Detected))
    {
        sighting = injections.look(query.statement.text);
        record.injection(sighting);
        found = sighting.and_then(Sighting::refusal).map_or(found, |text| Err(Answer::Error(text)));
    }
    let mut cached = None;
    let (route, why) = match found {
        Err(answer) => (Route::Local(answer), None),
        Ok((hostgroup, why)) => {
            let target = Target { hostgroup, is_split: matches!(why, Why::Split(_)) };
            let route = with_copy(target, query, verdict, ways.rules);
            let policy = ways.caching.policy(verdict, query.caller.user(), hostgroup);
            cached = policy.map(|policy| Cached { policy, refused: refusal(&route, query, verdict, ways) });
            let is_cached = cached.is_some_and(|cached| cached.refused.is_none());
            (if is_cached { Route::Cached(target) } else { route }, Some(why))
        }
    };
    record.routed(&route, why);
    Routed { route, ruling: ruling.unwrap_or_default(), sighting, cached }
}

/// Why the answer to a statement with this route is not cached although it is to be.
fn refusal(route: &Route, query: &Query<'_>, verdict: &Verdict, ways: &Ways<'_>) -> Option<Refusal> {
    let Session { transaction, autocommit, locked_on, hold, .. } = *ways.session;
    let left = match hold {
        Some((Hold::TemporaryTables, _)) => Some(Refusal::TemporaryTables),
        Some((Hold::LockedTables, _)) => Some(Refusal::LockedTables),
        Some((Hold::Unknown, _)) => Some(Refusal::UnknownSession),
        None => locked_on.map(|_| Refusal::UnknownSession),
    };
    let must_see =
        verdict.gtid_from_hostgroup.is_some() || verdict.max_lag_ms.is_some() || verdict.min_gtid.is_some();
    let is_copied = query.mirror.is_some() || matches!(route, Route::Many(_));
    (ways.uncached)()
        .or(transaction.map(|_| Refusal::Transaction))
        .or((!autocommit).then_some(Refusal::Autocommit))
        .or(left)
        .or(must_see.then_some(Refusal::MustSee))
        .or(is_copied.then_some(Refusal::Mirrored))
}

/// The route to `target`, and to where rules want a copy. Copies have none.
fn with_copy(target: Target, query: &Query<'_>, verdict: &Verdict, rules: &Rules) -> Route {
    let copy = Mirror { hostgroup: verdict.mirror_hostgroup, flag_in: verdict.mirror_flag_out };
    if query.mirror.is_some() || copy.hostgroup.is_none() && copy.flag_in.is_none() {
        return Route::One(target);
    }
    let compares = |place: &u32| rules.rule(*place).is_some_and(|rule| rule.extras().compare);
    let compare = verdict.extras && verdict.matched.iter().any(compares);
    Route::Many(Box::new(Branches { target, copy, compare }))
}

/// Which hostgroup gets a statement, and why: first what a rule answers itself, then the listener
/// if it has a role, the transaction, rules and hints, the split if it is on, and the user's
/// hostgroup.
fn hostgroup(verdict: &Verdict, plan: StatementPlan, ways: &Ways<'_>) -> Result<(u32, Why), Answer> {
    let Ways { account, session, pairs, split_on, .. } = *ways;
    if let Some(text) = &verdict.ok {
        return Err(Answer::Ok(Arc::clone(text)));
    }
    if let Some(text) = &verdict.error {
        return Err(Answer::Error(Arc::clone(text)));
    }
    if let Some(listener) = account.listener {
        // Where the session is bound it stays: that may be the hostgroup that had to do instead.
        let held_on = session.hold.map(|(_, hostgroup)| hostgroup);
        let bound = session.transaction.or(session.locked_on).or(held_on);
        let hostgroup = bound.or(listener.hostgroup);
        let hostgroup = hostgroup.ok_or_else(|| Answer::Error(no_readers(account.default_hostgroup)))?;
        return Ok((hostgroup, Why::Listener(listener.role)));
    }
    let (hostgroup, why) = match (session.transaction, verdict.hostgroup) {
        (Some(hostgroup), _) if account.transaction_persistent => (hostgroup, Why::Transaction),
        (_, Some(hostgroup)) if !account.is_shard => (hostgroup, Why::Verdict(verdict.source)),
        _ if split_on => {
            let split = split(plan, session, verdict.access_mode, account.default_hostgroup, pairs);
            (split.hostgroup, Why::Split(split))
        }
        _ => (account.default_hostgroup, Why::Default),
    };
    match session.locked_on {
        Some(locked_on) if locked_on != hostgroup => Err(Answer::Locked { locked_on, hostgroup }),
        _ => Ok((hostgroup, why)),
    }
}

/// What a client is told of a listener for reads if there are no readers.
pub fn no_readers(hostgroup: u32) -> Arc<str> {
    format!(
        "this port is for reads only, and mysql_replication_hostgroups has no readers of hostgroup {hostgroup}, which is the \
         user's"
    )
    .into()
}

#[cfg(test)]
mod tests;
