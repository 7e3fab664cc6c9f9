//! What a seed plays beside the statements that all seeds have.

use super::dialect::Dialect;
use super::dice::Dice;

/// Features that are on.
#[derive(Debug, Clone)]
pub(super) struct Scopes {
    pub(super) dialect: Dialect,
    /// Commands of all kinds are sent at once.
    pub(super) has_pipelines: bool,
    /// Statements keep connections to their sessions.
    pub(super) has_pins: bool,
    /// Many clients share a connection, so that their reads go out as a batch.
    pub(super) is_crowded: bool,
    /// `mysql-max_stmts_per_connection`.
    pub(super) statements_left: u32,
    /// `pointsman-statements_together`.
    pub(super) statements_together: u32,
}

impl Scopes {
    pub(super) fn roll(dice: &Dice) -> Self {
        Self {
            dialect: *dice.pick(&[Dialect::MariaDb, Dialect::MariaDb, Dialect::MySql8, Dialect::MySql9]),
            has_pipelines: dice.one_in(2),
            has_pins: dice.one_in(2),
            is_crowded: dice.one_in(4),
            statements_left: *dice.pick(&[1, 20, 20]),
            statements_together: *dice.pick(&[1, 4, 8, 8]),
        }
    }
}
