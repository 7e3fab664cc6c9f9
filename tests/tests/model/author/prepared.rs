//! Prepared statements: prepared, executed, fetched from, reset and closed in many orders.

use super::{Author, P, SLOTS, Slot};
use crate::step::{Command, Param, Step};

/// Statements, what their parameters are, and whether they have rows.
const STATEMENTS: [(&str, &[P], bool); 31] = [
    ("SELECT ? AS value, 1", &[P::Tag], true),
    ("SELECT ?, id, a, b FROM {db}.t WHERE id >= ? ORDER BY id", &[P::Tag, P::Id], true),
    ("SELECT * FROM {db}.t ORDER BY id", &[], true),
    ("SELECT * FROM {db}.u ORDER BY id LIMIT 3", &[], true),
    ("SELECT id FROM t ORDER BY id LIMIT ?", &[P::Id], true),
    ("SELECT ?, s.* FROM shared.s s WHERE id > ? ORDER BY id", &[P::Tag, P::Id], true),
    ("SELECT ?, v FROM shared.big WHERE id < ? ORDER BY id", &[P::Tag, P::Number], true),
    ("INSERT INTO {db}.t (a, b) VALUES (?, ?)", &[P::Number, P::Tag], false),
    ("INSERT INTO {db}.u (k, v) VALUES (?, ?)", &[P::Number, P::Text], false),
    (
        "INSERT INTO {db}.u (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
        &[P::Number, P::Text],
        false,
    ),
    ("INSERT INTO {db}.t (a, b) VALUES (LAST_INSERT_ID(), ?)", &[P::Tag], false),
    ("UPDATE {db}.t SET a = ? WHERE id = ?", &[P::Number, P::Id], false),
    ("DELETE FROM {db}.t WHERE id = ?", &[P::Number], false),
    ("SELECT ?, LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS()", &[P::Tag], true),
    ("SELECT LAST_INSERT_ID()", &[], true),
    ("SELECT ROW_COUNT()", &[], true),
    ("SELECT ?, @@warning_count, @@error_count", &[P::Tag], true),
    ("SHOW WARNINGS", &[], true),
    ("SELECT ?, @a, @b, @@sql_mode, @@time_zone", &[P::Tag], true),
    ("SET @a = ?", &[P::Text], false),
    ("SELECT ?, GROUP_CONCAT(name ORDER BY id SEPARATOR ', '), SUM(id) / 7 FROM shared.s", &[P::Tag], true),
    ("SELECT ?, LENGTH(DAYNAME('2026-02-13')), WEEK('2026-02-13'), 1 / 3", &[P::Tag], true),
    ("SELECT ?, LENGTH(?), CONCAT(?, 'x')", &[P::Tag, P::Text, P::Text], true),
    ("SELECT LENGTH(CONCAT(?, 'x')), ? + 1", &[P::Any, P::Any], true),
    ("INSERT INTO {db}.t (b) SELECT COALESCE(?, 'none')", &[P::Any], false),
    ("CALL shared.p_two(?)", &[P::Tag], true),
    ("CALL shared.p_out(?, @out)", &[P::Number], false),
    ("SELECT SQL_CALC_FOUND_ROWS ?, id FROM shared.s ORDER BY id LIMIT 2", &[P::Tag], true),
    ("SELECT ?, DATABASE(), USER()", &[P::Tag], true),
    ("SELECT ?, '{char}', CHARSET('x')", &[P::Tag], true),
    ("BEGIN", &[], false),
];

/// Statements that all clients have, so that their executions go out together where sessions wait
/// for connections. Some have warnings, by their values alone.
const COMMON: [(&str, &[P]); 4] = [
    ("SELECT ?, s.* FROM shared.s s WHERE id = ?", &[P::Tag, P::Id]),
    ("SELECT ?, LENGTH(?), CONCAT(?, 'x')", &[P::Tag, P::Tag, P::Tag]),
    ("SELECT ?, s.id FROM shared.s s WHERE id < ? AND id + ? > 3 ORDER BY id", &[P::Tag, P::Id, P::Any]),
    ("SELECT ?, b.* FROM shared.big b WHERE id = ?", &[P::Tag, P::Id]),
];

/// Texts that cannot be prepared.
const UNPREPARABLE: [&str; 5] = [
    "SELECT ? FROM {db}.nowhere",
    "SELEC ?",
    "",
    "SELECT 1; SELECT 2",
    "SELECT id, nothing FROM {db}.t WHERE id = ?",
];

/// Types of values whose type only the value decides: integers, floating point numbers, strings.
const CLASSES: usize = 3;

/// With a cursor for reading.
const CURSOR: u8 = 1;

impl Author {
    /// Something with a prepared statement.
    pub(super) fn prepared(&mut self) {
        let slot = self.dice.below(SLOTS);
        let Some(open) = self.session.slots[slot].clone() else {
            return self.prepare(slot);
        };
        match self.dice.below(20) {
            0 => self.say(Command::Reset(name(slot))),
            1 | 2 => {
                self.session.slots[slot] = None;
                self.say(Command::Close(name(slot)));
                if self.dice.chance(20) {
                    self.say(Command::Execute(name(slot), 0, Vec::new(), false));
                }
            }
            3 if open.has_cursor => self.fetch(slot),
            _ => {
                self.execute(slot, &open, false);
                while self.session.slots[slot].as_ref().is_some_and(|slot| slot.has_cursor)
                    && self.dice.chance(60)
                {
                    if self.dice.chance(25) {
                        self.read();
                    }
                    self.fetch(slot);
                }
                if self.dice.chance(25) {
                    self.ask_for_last();
                }
            }
        }
    }

    fn prepare(&mut self, slot: usize) {
        if self.dice.chance(6) {
            let sql = *self.dice.pick(&UNPREPARABLE);
            let sql = self.filled(sql);
            return self.say(Command::Prepare(name(slot), sql));
        }
        let (sql, params, is_select) = *self.dice.pick(&STATEMENTS);
        let mut sql = if self.is_certain || self.caching.is_some() {
            sql.replace(", FOUND_ROWS()", "")
        } else {
            sql.to_owned()
        };
        if self.forgets_types {
            sql = sql.replace("@a, @b, ", "");
        }
        let sql = self.filled(&sql);
        let calls = sql.starts_with("CALL");
        let open = self.open(slot, sql, params, is_select);
        if calls && !self.gaps {
            // MySQL has been in the procedure's schema, which it tells with the next OK.
            self.query("DO {n}");
        }
        if calls && self.is_certain {
            // MariaDB has been there and back, which ends that a reset has hidden the schema's
            // character set.
            self.query("USE {db}");
        }
        if self.dice.chance(80) {
            self.execute(slot, &open, false);
        }
    }

    pub(super) fn open(&mut self, slot: usize, sql: String, params: &'static [P], is_select: bool) -> Slot {
        let has_tables = sql.contains(" FROM ");
        self.say(Command::Prepare(name(slot), sql));
        let open = Slot {
            params,
            is_select,
            has_tables,
            class: self.dice.below(CLASSES),
            typed: None,
            typed_in: 0,
            has_cursor: false,
            had_cursor: false,
            is_common: false,
            had_parts: false,
        };
        self.session.slots[slot] = Some(open.clone());
        open
    }

    /// Executes what others execute as well.
    pub(super) fn execute_as_others(&mut self) {
        let is_common = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| slot.is_common);
        let slot = self.session.slots.iter().position(is_common).filter(|_| self.dice.chance(95));
        let slot = slot.unwrap_or_else(|| {
            let slot = self.dice.below(SLOTS);
            if self.session.slots[slot].is_some() {
                self.say(Command::Close(name(slot)));
            }
            let (sql, params) = *self.dice.pick(&COMMON);
            self.open(slot, sql.to_owned(), params, true);
            slot
        });
        for _ in 0..self.dice.within(1..12) {
            if let Some(open) = &mut self.session.slots[slot] {
                open.is_common = true;
                let open = open.clone();
                self.execute(slot, &open, true);
            }
        }
    }

    /// An execution, if it `is_plain` without a cursor and values in parts.
    pub(super) fn execute(&mut self, slot: usize, open: &Slot, is_plain: bool) {
        let mut params: Vec<Param> = open.params.iter().map(|kind| self.param(*kind, open.class)).collect();
        let mut long = false;
        for (index, kind) in open.params.iter().enumerate() {
            if *kind == P::Text && !is_plain && self.dice.chance(15) {
                long = true;
                params[index] = Param::Sent;
                for _ in 0..self.dice.within(1..4) {
                    let data = vec![
                        b'a' + u8::try_from(index).unwrap_or_default();
                        *self.dice.pick(&[0, 10, 3000, 70_000])
                    ];
                    let index = u16::try_from(index).unwrap_or_default();
                    self.say(Command::LongData(name(slot), index, data));
                }
                if self.dice.chance(20) {
                    self.read();
                }
            }
        }
        if self.forgets_types && open.had_parts {
            // MySQL has made the parameter one of the connection's character set, which may not
            // have them all.
            let narrow = Param::Text(self.tag());
            params.iter_mut().filter(|param| is_wide(param)).for_each(|param| *param = narrow.clone());
        }
        // Without types only values of the types that were sent last are understood.
        let fits = |typed: &[Param]| typed.iter().zip(&params).all(|(old, new)| old.kind() == new.kind());
        // In other character sets the client hears that it has to prepare the statement again.
        let is_moved = self.is_certain && open.typed_in != self.session.modes;
        let typed = long || is_moved || !open.typed.as_deref().is_some_and(fits) || self.dice.chance(40);
        let cursor = open.is_select && (open.had_cursor || !is_plain && self.dice.chance(25));
        if let Some(open) = &mut self.session.slots[slot] {
            open.has_cursor = cursor;
            open.had_cursor |= cursor;
            open.had_parts |= long;
            if typed {
                open.typed = Some(params.clone());
                open.typed_in = self.session.modes;
            }
        }
        self.say(Command::Execute(name(slot), if cursor { CURSOR } else { 0 }, params, typed));
    }

    fn fetch(&mut self, slot: usize) {
        let opened = match self.steps.last() {
            Some(Step::Say(Command::Execute(..))) => {
                self.session.slots[slot].as_ref().is_some_and(|open| !open.has_tables)
            }
            _ => false,
        };
        if self.is_certain && !opened {
            // The error of one that fails is added to those that there are; told with the number
            // that the client knows, only it is there.
            let read = self.filled("SELECT {tag}, id FROM shared.s ORDER BY id LIMIT 3");
            self.say(Command::Query(read));
        }
        let rows = u32::try_from(*self.dice.pick(&[1, 2, 3, 100])).unwrap_or_default();
        self.say(Command::Fetch(name(slot), rows));
        if rows == 100
            && let Some(open) = &mut self.session.slots[slot]
        {
            open.has_cursor = false;
        }
    }

    fn param(&mut self, kind: P, class: usize) -> Param {
        let class = if self.forgets_types { class } else { self.dice.below(CLASSES) };
        match kind {
            P::Any => match class {
                0 => Param::Int(i64::try_from(self.dice.below(60)).unwrap_or_default()),
                1 => Param::Double(7.5),
                _ if self.dice.chance(30) => Param::Null,
                _ => Param::Text(self.tag()),
            },
            P::Tag => Param::Text(self.tag()),
            P::Id => Param::Int(i64::try_from(self.dice.within(1..9)).unwrap_or_default()),
            P::Number => match self.dice.below(8) {
                0 => Param::Null,
                1 => Param::Double(7.5),
                2 => Param::Text("12".to_owned()),
                _ => Param::Int(i64::try_from(self.dice.below(60)).unwrap_or_default()),
            },
            P::Text => match self.dice.below(6) {
                0 => Param::Null,
                1 => Param::Text("\u{e9}\u{4e2d}".to_owned()),
                2 => Param::Text("y".repeat(*self.dice.pick(&[0, 300, 20_000]))),
                _ => Param::Text(self.tag()),
            },
        }
    }
}

/// Whether a value has characters that not every character set has.
fn is_wide(param: &Param) -> bool {
    matches!(param, Param::Text(text) if !text.is_ascii())
}

/// A slot's name in commands.
pub(super) fn name(slot: usize) -> u8 {
    u8::try_from(slot).unwrap_or_default()
}
