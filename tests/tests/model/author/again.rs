//! Reads that are said again and again, for runs in which they are cached.

use super::{Author, P, Topic, name};
use crate::step::{Command, Step};

/// Reads whose answers depend on what their sessions have set, or on their tables alone.
const READS: [&str; 22] = [
    "SELECT id, name, price FROM shared.s WHERE id = {id}",
    "SELECT s.* FROM shared.s s WHERE id < {id} ORDER BY id",
    "SELECT GROUP_CONCAT(name ORDER BY id), 7 / 3 FROM shared.s",
    "SELECT id, CONCAT(name, '{char}') AS c FROM shared.s WHERE id < 6 ORDER BY id",
    "SELECT FROM_UNIXTIME(1700000000), DAYNAME('2026-02-13'), WEEK('2026-01-02') FROM shared.s WHERE id = 1",
    "SELECT id, 'a' || 'b', \"x\", 'back\\\\slash' FROM shared.s WHERE id = {id}",
    "SELECT id, 1 / 0, CAST('abc' AS SIGNED) FROM shared.s WHERE id = {id}",
    "SELECT id, name FROM shared.s ORDER BY name, id",
    "SELECT b.* FROM shared.big b WHERE id < {id} ORDER BY id",
    "SELECT id FROM shared.s WHERE name = 'nothing'",
    "SELECT id, a, b, c, d FROM {db}.t ORDER BY id",
    "SELECT id, a, b FROM {db}.t WHERE id = {id}",
    "SELECT id, a FROM t ORDER BY id",
    "SELECT COUNT(*), SUM(a), MAX(b) FROM {db}.t WHERE a < {id}",
    "SELECT * FROM {db}.u WHERE k < {n} ORDER BY id",
    "SELECT v, HEX(v) FROM {db}.n ORDER BY id",
    "SELECT t.id, u.v FROM {db}.t LEFT JOIN {db}.u ON u.k = t.a ORDER BY t.id, u.id",
    "SELECT COUNT(*) FROM {db}.extra",
    "SELECT seen.* FROM {db}.seen ORDER BY id",
    "SELECT other FROM {db}b.t ORDER BY id",
    "SELECT id, NULLIF(a, 1) IS NULL FROM {db}.t WHERE id IS NULL OR a IS NULL ORDER BY id",
    "SELECT (SELECT COUNT(*) FROM {db}.u), id FROM {db}.t ORDER BY id LIMIT 2",
];

/// The same as prepared statements.
const PREPARED: [(&str, &[P]); 4] = [
    ("SELECT s.* FROM shared.s s WHERE id = ?", &[P::Id]),
    ("SELECT id, a, b FROM {db}.t WHERE id >= ? ORDER BY id", &[P::Id]),
    ("SELECT id, ? AS x FROM {db}.t WHERE a < ? ORDER BY id", &[P::Any, P::Id]),
    ("SELECT GROUP_CONCAT(name ORDER BY id), 7 / 3 FROM shared.s WHERE id < ?", &[P::Id]),
];

/// What sessions say that leave nothing behind for which they would get no answers.
pub(super) const TAME: [(usize, Topic); 6] = [
    (40, Author::read_again),
    (8, Author::write),
    (5, Author::ask_for_last),
    (8, Author::variable),
    (4, Author::transaction),
    (2, Author::define),
];

impl Author {
    /// Whether the last step is a read that may have come from the cache, and has not failed.
    pub(super) fn is_behind_read(&self) -> bool {
        let last = self.steps.last();
        self.session.is_tame && matches!(last, Some(Step::Say(Command::Query(sql))) if is_of_shared(sql))
    }

    /// A read, several times.
    pub(super) fn read_again(&mut self) {
        if self.dice.chance(30) {
            return self.execute_again();
        }
        let sql = *self.dice.pick(&READS);
        let command = if self.dice.chance(20) { self.spelled(sql) } else { Command::Query(self.filled(sql)) };
        for _ in 0..self.dice.within(1..5) {
            self.say(command.clone());
        }
        if self.dice.chance(20) {
            self.ask_for_last();
        }
    }

    /// An execution, several times.
    fn execute_again(&mut self) {
        let (sql, params) = *self.dice.pick(&PREPARED);
        let slot = self.dice.below(self.session.slots.len());
        if self.session.slots[slot].is_some() {
            self.say(Command::Close(name(slot)));
        }
        let sql = self.filled(sql);
        let open = self.open(slot, sql, params, true);
        for _ in 0..self.dice.within(1..4) {
            self.execute(slot, &open, true);
        }
    }
}

/// Whether a text is one of [`READS`] that all accounts may say.
fn is_of_shared(sql: &str) -> bool {
    sql.starts_with("SELECT") && sql.contains(" FROM shared.s") && !sql.contains("JSON")
}
