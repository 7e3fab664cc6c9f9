//! What the rules say about a statement.

use std::sync::Arc;
use std::time::Duration;

use config::{CacheSettings, CausalReads, QueryRule};

use sql::hint::{AccessMode, Hints, MAX_LAG_MS};

/// What the rules and hints say about a statement; `None` where no rule and no hint says anything.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Where the statement goes.
    pub hostgroup: Option<u32>,
    /// Who said so.
    pub source: Option<Source>,
    /// The state at the end of the chain.
    pub flag_out: u32,
    /// The state that the session's statements start with from now on.
    pub next_query_flag_in: Option<u32>,
    /// The state that the mirrored copy starts with.
    pub mirror_flag_out: Option<u32>,
    /// Where a copy of the statement goes.
    pub mirror_hostgroup: Option<u32>,
    /// Answer with this error (1148, SQLSTATE 42000), unless `ok` is there as well.
    pub error: Option<Arc<str>>,
    /// Answer with OK and this text.
    pub ok: Option<Arc<str>>,
    /// How long the result is cached.
    pub cache_ttl: Option<Duration>,
    /// The rule or hint that says so.
    pub cache_source: Option<Source>,
    /// What else it says about caching.
    pub cache: Option<Arc<CacheSettings>>,
    /// Whether a result without rows is cached.
    pub cache_empty_result: Option<bool>,
    /// How long equal queries wait for the answer of the first.
    pub cache_timeout: Option<Duration>,
    /// Nothing; shown by `PROXYSQL INTERNAL SESSION`.
    pub reconnect: Option<bool>,
    /// Nothing; shown by `PROXYSQL INTERNAL SESSION`.
    pub sticky_conn: Option<bool>,
    /// The statement is killed after this time.
    pub timeout: Option<Duration>,
    /// Further attempts.
    pub retries: Option<u32>,
    /// Artificial delay, added to that of the variable.
    pub delay: Option<Duration>,
    /// Sharing of the connection.
    pub multiplex: Option<Multiplex>,
    /// The server must have what the session last wrote to this hostgroup.
    pub gtid_from_hostgroup: Option<u32>,
    /// Whether the statement is written to the query log.
    pub log: Option<bool>,
    /// Most lag of the server, in milliseconds.
    pub max_lag_ms: Option<u32>,
    /// What the server must have executed.
    pub min_gtid: Option<Arc<str>>,
    /// Whose writes the statement must see at a reader.
    pub causal_reads: Option<CausalReads>,
    /// The application that the statement belongs to.
    pub causal_scope: Option<Arc<str>>,
    /// Whether the statement gets a connection of its own.
    pub create_new_connection: bool,
    /// The side of a replication pair that the client asks for.
    pub access_mode: Option<AccessMode>,
    /// The rules that matched, by their place in [`Rules`](crate::Rules), once for each time.
    pub matched: Box<[u32]>,
    /// Whether one of them has [`Extras`](crate::Extras).
    pub extras: bool,
}

/// Who decided on a hostgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The rule with this number.
    Rule(i64),
    /// A row of `mysql_query_rules_fast_routing`; with `any_user` one without a name.
    FastRoute {
        /// Whether the row is for all users.
        any_user: bool,
    },
    /// The statement's first comment.
    Hint,
    /// The rule that mirrors the original.
    Mirror,
}

/// The column `multiplex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiplex {
    /// 0: the session's connection is not shared from now on.
    Off,
    /// 1: it is shared again.
    On,
    /// 2: what may be hidden in this statement does not end sharing: user variables, stored code,
    /// functions.
    NotByThis,
}

impl Multiplex {
    /// What the column's number means.
    pub const fn from_column(number: u32) -> Self {
        match number {
            0 => Self::Off,
            1 => Self::On,
            _ => Self::NotByThis,
        }
    }
}

/// The value of `access_mode`.
const fn mode_name(mode: AccessMode) -> &'static str {
    match mode {
        AccessMode::ReadWrite => "read_write",
        AccessMode::ReadOnly => "read_only",
    }
}

/// Overwrites the named fields of the first with those of the second that say something.
macro_rules! overwrite {
    ($into:ident, $from:ident, $($field:ident)*) => {
        $(if $from.$field.is_some() {
            $into.$field.clone_from(&$from.$field);
        })*
    };
}

impl Verdict {
    /// What a match of the rule in `row` says.
    pub(crate) fn of_rule(row: &QueryRule, cache: Option<CacheSettings>) -> Self {
        let cache_ttl = row.cache_ttl.or(cache.and_then(|cache| cache.ttl));
        let text = |text: &Option<String>| text.as_deref().map(Arc::from);
        Self {
            hostgroup: row.destination_hostgroup,
            source: row.destination_hostgroup.map(|_| Source::Rule(row.rule_id)),
            next_query_flag_in: row.next_query_flag_in,
            mirror_flag_out: row.mirror_flag_out,
            mirror_hostgroup: row.mirror_hostgroup,
            error: text(&row.error_msg),
            ok: text(&row.ok_msg),
            cache_ttl,
            cache_source: cache_ttl.map(|_| Source::Rule(row.rule_id)),
            cache: cache.map(Arc::new),
            cache_empty_result: row.cache_empty_result,
            cache_timeout: row.cache_timeout,
            reconnect: row.reconnect,
            sticky_conn: row.sticky_conn,
            timeout: row.timeout,
            retries: row.retries,
            delay: row.delay,
            multiplex: row.multiplex.map(Multiplex::from_column),
            gtid_from_hostgroup: row.gtid_from_hostgroup,
            log: row.log,
            ..Self::default()
        }
    }

    /// Whether it says anything about a statement besides where it goes and which side the client
    /// asks for.
    pub fn says_more_than_where(&self) -> bool {
        let is_causal = self.causal_reads.is_some() || self.causal_scope.is_some();
        self.log.is_some() || is_causal || self.says_more_than_before_sending()
    }

    /// The same besides whether it is logged, which matters only when it is over, and whether the
    /// answer is cached, which is seen to before.
    pub fn says_more_than_before_sending(&self) -> bool {
        let Self { ok, error, delay, timeout, retries, multiplex, reconnect, sticky_conn, .. } = self;
        let Self { gtid_from_hostgroup, max_lag_ms, min_gtid, .. } = self;
        self.next_query_flag_in.is_some()
            || self.mirror_flag_out.is_some()
            || self.mirror_hostgroup.is_some()
            || ok.is_some()
            || error.is_some()
            || (delay.is_some() || timeout.is_some() || retries.is_some())
            || (multiplex.is_some() || gtid_from_hostgroup.is_some())
            || (reconnect.is_some() || sticky_conn.is_some())
            || (max_lag_ms.is_some() || min_gtid.is_some() || self.create_new_connection)
            || self.extras
    }

    /// Lets a later rule say what it says.
    pub(crate) fn overwrite(&mut self, later: &Self) {
        overwrite!(self, later,
            hostgroup source next_query_flag_in mirror_flag_out mirror_hostgroup error ok cache_ttl cache_source cache
            cache_empty_result cache_timeout reconnect sticky_conn timeout retries delay multiplex gtid_from_hostgroup log causal_reads);
    }

    /// Lets the client's hints beat the rules, at the time `now_ms` since 1970.
    pub(crate) fn hint(&mut self, hints: &Hints<'_>, now_ms: u64) {
        let ms = |ms: Option<u32>| ms.map(|ms| Duration::from_millis(ms.into()));
        let hinted = Self {
            hostgroup: hints.hostgroup,
            source: hints.hostgroup.map(|_| Source::Hint),
            mirror_hostgroup: hints.mirror,
            cache_ttl: ms(hints.cache_ttl),
            cache_source: hints.cache_ttl.map(|_| Source::Hint),
            timeout: ms(hints.query_timeout),
            retries: hints.query_retries,
            delay: ms(hints.query_delay),
            causal_reads: hints.causal_reads.and_then(CausalReads::of),
            ..Self::default()
        };
        self.overwrite(&hinted);
        let since = hints.min_epoch_ms.and_then(|epoch| u32::try_from(now_ms.saturating_sub(epoch)).ok());
        self.max_lag_ms = since.filter(|lag| *lag <= MAX_LAG_MS).or(hints.max_lag_ms);
        self.min_gtid = hints.min_gtid.map(Arc::from);
        self.causal_scope = hints.causal_scope.map(Arc::from);
        self.create_new_connection = hints.create_new_connection;
        self.access_mode = hints.access_mode;
    }

    /// What it says, as names and values in the words of the columns.
    pub fn outputs(&self) -> Vec<(&'static str, String)> {
        let ms = |duration: Option<Duration>| duration.map(|d| d.as_millis().to_string());
        let number = |number: Option<u32>| number.map(|n| n.to_string());
        let switch = |switch: Option<bool>| switch.map(|on| u8::from(on).to_string());
        let text = |text: &Option<Arc<str>>| text.as_ref().map(ToString::to_string);
        let all = [
            ("destination_hostgroup", number(self.hostgroup)),
            ("next_query_flagIN", number(self.next_query_flag_in)),
            ("mirror_flagOUT", number(self.mirror_flag_out)),
            ("mirror_hostgroup", number(self.mirror_hostgroup)),
            ("error_msg", text(&self.error)),
            ("OK_msg", text(&self.ok)),
            ("cache_ttl", ms(self.cache_ttl)),
            ("cache", self.cache.as_ref().map(ToString::to_string)),
            ("cache_empty_result", switch(self.cache_empty_result)),
            ("cache_timeout", ms(self.cache_timeout)),
            ("reconnect", switch(self.reconnect)),
            ("sticky_conn", switch(self.sticky_conn)),
            ("timeout", ms(self.timeout)),
            ("retries", number(self.retries)),
            ("delay", ms(self.delay)),
            ("multiplex", self.multiplex.map(|m| (m as u8).to_string())),
            ("gtid_from_hostgroup", number(self.gtid_from_hostgroup)),
            ("log", switch(self.log)),
            ("max_lag_ms", self.max_lag_ms.map(|ms| ms.to_string())),
            ("min_gtid", text(&self.min_gtid)),
            ("causal_reads", self.causal_reads.map(|scope| scope.word().to_owned())),
            ("causal_scope", text(&self.causal_scope)),
            ("create_new_connection", self.create_new_connection.then(|| "1".to_owned())),
            ("access_mode", self.access_mode.map(|mode| mode_name(mode).to_owned())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
