//! What a seed plays beside the statements that all seeds have.

use std::time::Duration;

use super::dialect::Dialect;
use super::dice::Dice;
use super::sharding::Sharding;

/// Features that are on.
#[expect(clippy::struct_excessive_bools, reason = "features that are on or off, each by itself")]
#[derive(Debug, Clone)]
pub(super) struct Scopes {
    pub(super) dialect: Dialect,
    /// Commands of all kinds are sent at once.
    pub(super) has_pipelines: bool,
    /// Statements keep connections to their sessions.
    pub(super) has_pins: bool,
    /// Many clients share a connection, so that their reads go out as a batch.
    pub(super) is_crowded: bool,
    /// A rule has reads of the table cached.
    pub(super) cached: Option<Cached>,
    /// Reads at the reader, which is late, see all writes that were acknowledged.
    pub(super) causal: Option<Causal>,
    /// A table has its rows at two shards.
    pub(super) shards: Option<Sharding>,
    /// The worker is asked to drain in the middle.
    pub(super) has_drain: bool,
    /// `mysql-max_stmts_per_connection`.
    pub(super) statements_left: u32,
    /// `pointsman-statements_together`.
    pub(super) statements_together: u32,
}

/// How late the reader is, and how long reads wait for it.
#[derive(Debug, Clone)]
pub(super) struct Causal {
    pub(super) lag: Duration,
    pub(super) wait: Duration,
}

impl Causal {
    fn roll(dice: &Dice) -> Self {
        let ms = |all: &[u64]| Duration::from_millis(*dice.pick(all));
        Self { lag: ms(&[0, 3, 30, 300]), wait: ms(&[0, 20, 50]) }
    }
}

/// How reads are cached.
#[derive(Debug, Clone)]
pub(super) struct Cached {
    pub(super) ttl: Duration,
    /// A write of a client is seen at once.
    pub(super) is_own: bool,
    pub(super) attributes: &'static str,
}

impl Cached {
    fn roll(dice: &Dice) -> Self {
        let is_own = !dice.one_in(3);
        let attributes = match (is_own, dice.one_in(2)) {
            (true, true) => r#"{"cache": {"mode": "own"}}"#,
            (true, false) => r#"{"cache": {"mode": "own", "soft_ttl_ms": 20, "scope": "shared"}}"#,
            (false, true) => "",
            (false, false) => r#"{"cache": {"soft_ttl_ms": 20}}"#,
        };
        Self { ttl: Duration::from_millis(*dice.pick(&[50, 1000, 60_000])), is_own, attributes }
    }
}

impl Scopes {
    /// How late the reader is.
    pub(super) fn lag(&self) -> Duration {
        self.causal.as_ref().map_or(Duration::ZERO, |causal| causal.lag)
    }

    /// The age that an answer outside of transactions may have beside acknowledged writes; nothing
    /// if it has to show all of them.
    pub(super) fn age(&self) -> Option<Duration> {
        let cached = self.cached.as_ref().filter(|cached| !cached.is_own)?;
        Some(cached.ttl + self.lag())
    }

    /// The schema that sessions begin in.
    pub(super) fn schema(&self) -> Option<String> {
        self.cached.is_some().then(|| "s0".to_owned())
    }

    pub(super) fn roll(seed: u64, dice: &Dice) -> Self {
        let causal = dice.one_in(5).then(|| Causal::roll(dice));
        let shards = Sharding::roll(seed);
        Self {
            dialect: *dice.pick(&[Dialect::MariaDb, Dialect::MariaDb, Dialect::MySql8, Dialect::MySql9]),
            has_pipelines: dice.one_in(2),
            has_pins: dice.one_in(2),
            is_crowded: dice.one_in(4),
            cached: dice.one_in(4).then(|| Cached::roll(dice)),
            causal,
            shards,
            has_drain: dice.one_in(8),
            statements_left: *dice.pick(&[1, 20, 20]),
            statements_together: *dice.pick(&[1, 4, 8, 8]),
        }
    }
}
