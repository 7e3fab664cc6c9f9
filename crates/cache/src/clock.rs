//! Conversions that depend on the day: what makes a date of a `TIME` takes today's.
//!
//! Servers make one where a `TIME` meets a `DATE`, `DATETIME` or `TIMESTAMP`: in comparisons, in
//! `COALESCE`, in a `UNION`, in functions of dates, in `CAST(... AS DATETIME)`. A statement with
//! both in it is taken for one that has them meet.

use sql::lexer::{Kind, Token};
use sql::{Lexer, Modes};

use crate::size;

/// Functions that return a `TIME`.
const TIME_FUNCTIONS: [&str; 7] =
    ["addtime", "maketime", "sec_to_time", "subtime", "time", "timediff", "timestampadd"];

/// Functions that return a date, or make one of their argument.
const DATE_FUNCTIONS: [&str; 33] = [
    "add_months",
    "adddate",
    "convert_tz",
    "date",
    "date_add",
    "date_format",
    "date_sub",
    "datediff",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "extract",
    "from_days",
    "from_unixtime",
    "last_day",
    "makedate",
    "month",
    "monthname",
    "quarter",
    "str_to_date",
    "subdate",
    "timestamp",
    "timestampadd",
    "timestampdiff",
    "to_char",
    "to_days",
    "to_seconds",
    "week",
    "weekday",
    "weekofyear",
    "year",
];

/// Functions whose arguments name a type.
const TYPED: [&str; 4] = ["cast", "convert", "json_table", "json_value"];

/// Columns of these types, of the tables of a statement, and what the texts of its views have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock {
    /// Columns of the type `TIME`.
    pub(crate) times: Vec<String>,
    /// Columns of the types `DATE`, `DATETIME` and `TIMESTAMP`.
    pub(crate) dates: Vec<String>,
    /// A view is among the tables. What its text makes of their columns is not known.
    pub(crate) has_view: bool,
    /// The texts of views make a `TIME`.
    pub(crate) makes_time: bool,
    /// The texts of views make a date, or have a function of dates.
    pub(crate) makes_date: bool,
}

impl Clock {
    /// That of a table of which nothing is known.
    pub(crate) const UNKNOWN: Self =
        Self { times: Vec::new(), dates: Vec::new(), has_view: false, makes_time: false, makes_date: false };

    /// That of tables with columns of these names: of the type `TIME`, and of types with a date.
    #[must_use]
    pub fn of(times: &[&str], dates: &[&str]) -> Self {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        Self { times: names(times), dates: names(dates), ..Self::default() }
    }

    /// What the text of a view says.
    pub(crate) fn of_view(text: &[u8], modes: Modes) -> Self {
        let facts = Facts::of(text, modes, &Self::default());
        Self { has_view: true, makes_time: facts.has_time, makes_date: facts.has_date, ..Self::default() }
    }

    /// Takes note of a column.
    pub(crate) fn add(&mut self, data_type: &[u8], name: String) {
        let all = if data_type == b"time" { &mut self.times } else { &mut self.dates };
        all.push(name);
        all.shrink_to_fit();
    }

    /// Adds what is known of another table of the same statement.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times.extend_from_slice(&other.times);
        self.dates.extend_from_slice(&other.dates);
        self.has_view |= other.has_view;
        self.makes_time |= other.makes_time;
        self.makes_date |= other.makes_date;
    }

    /// Bytes of memory besides itself.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |all: &Vec<String>| {
            let names: usize = all.iter().map(|name| size::block(name.len())).sum();
            names + size::block(all.len() * size_of::<String>())
        };
        bytes(&self.times) + bytes(&self.dates)
    }

    /// Whether the answer to a statement that reads these tables may depend on the day.
    #[must_use]
    pub fn takes_today(&self, sql: &[u8], modes: Modes) -> bool {
        // Most have no time, and are looked up often.
        let has_none = self.times.is_empty() && !self.makes_time && !may_make_time(sql);
        if has_none {
            return false;
        }
        let facts = Facts::of(sql, modes, self);
        let has_time = facts.has_time || self.makes_time || self.has_view && !self.times.is_empty();
        let has_date = facts.has_date || self.makes_date || self.has_view && !self.dates.is_empty();
        has_time && has_date
    }
}

/// What a text has.
#[derive(Debug, Default)]
struct Facts {
    has_time: bool,
    has_date: bool,
}

impl Facts {
    fn of(sql: &[u8], modes: Modes, clock: &Clock) -> Self {
        let tokens: Vec<Token> = Lexer::new(sql, modes).collect();
        let mut walk = Walk { sql, tokens: &tokens, facts: Self::default() };
        let mut typed = Self::default();
        let (mut is_typed, mut is_implicit, mut has_star, mut selects) = (false, false, false, 0);
        for at in 0..tokens.len() {
            walk.names(at, clock);
            if walk.is_star(at) {
                has_star = true;
            }
            let word = walk.word(at);
            let word = word.as_str();
            selects += usize::from(word == "select");
            is_implicit |= matches!(word, "natural" | "table");
            is_typed |= TYPED.contains(&word);
            typed.has_time |= word == "time";
            typed.has_date |= matches!(word, "date" | "datetime" | "timestamp");
            walk.value(at, word);
        }
        let mut facts = walk.facts;
        if is_typed {
            facts.has_time |= typed.has_time;
            facts.has_date |= typed.has_date;
        }
        // What a star stands for meets something if it is selected from again.
        if is_implicit || has_star && selects > 1 {
            facts.has_time |= !clock.times.is_empty();
            facts.has_date |= !clock.dates.is_empty();
        }
        facts
    }
}

/// A look at the tokens of a text.
struct Walk<'a> {
    sql: &'a [u8],
    tokens: &'a [Token],
    facts: Facts,
}

impl Walk<'_> {
    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn text(&self, at: usize) -> &[u8] {
        self.tokens.get(at).and_then(|token| self.sql.get(token.start..token.end)).unwrap_or_default()
    }

    /// The word at `at` in lower case; empty if it is something else, or a member of a table.
    fn word(&self, at: usize) -> String {
        let is_member = at.checked_sub(1).and_then(|at| self.kind(at)) == Some(Kind::Sign(b'.'));
        match self.kind(at) {
            Some(Kind::Word) if !is_member => String::from_utf8_lossy(self.text(at)).to_ascii_lowercase(),
            _ => String::new(),
        }
    }

    /// Takes note of a column.
    fn names(&mut self, at: usize, clock: &Clock) {
        let name = match self.kind(at) {
            Some(Kind::Word) => self.text(at),
            Some(Kind::Name) => {
                self.text(at).get(1..).and_then(<[u8]>::split_last).map_or(&[][..], |(_, name)| name)
            }
            _ => return,
        };
        // Servers fold the case of other letters as well.
        let is_one = |column: &String| {
            column.as_bytes().eq_ignore_ascii_case(name) || !column.is_ascii() && !name.is_ascii()
        };
        let found = (clock.times.iter().any(is_one), clock.dates.iter().any(is_one));
        self.facts.has_time |= found.0;
        self.facts.has_date |= found.1;
    }

    /// Whether a `*` stands for columns.
    fn is_star(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).filter(|_| self.kind(at) == Some(Kind::Sign(b'*'))) else {
            return false;
        };
        match self.kind(before) {
            Some(Kind::Sign(sign)) => matches!(sign, b'.' | b','),
            Some(Kind::Word) => {
                let word = self.word(before);
                word == "all"
                    || word.starts_with("sql_")
                    || word.starts_with("distinct")
                    || word == "select"
                    || word == "straight_join"
                    || word == "high_priority"
            }
            _ => false,
        }
    }

    /// Takes note of functions and literals.
    fn value(&mut self, at: usize, word: &str) {
        let next = self.kind(at + 1);
        let is_brace = at.checked_sub(1).and_then(|at| self.kind(at)) == Some(Kind::Sign(b'{'));
        let (is_time, is_date) = match next {
            _ if is_brace => (word == "t", matches!(word, "d" | "ts")),
            Some(Kind::Sign(b'(')) => (TIME_FUNCTIONS.contains(&word), is_date_function(word)),
            Some(Kind::Text) => (word == "time", matches!(word, "date" | "timestamp" | "interval")),
            Some(_) => (false, word == "interval"),
            None => (false, false),
        };
        self.facts.has_time |= is_time;
        self.facts.has_date |= is_date;
    }
}

/// Whether a text may make a `TIME`: all that does has this word, or is a literal in braces.
fn may_make_time(sql: &[u8]) -> bool {
    sql.contains(&b'{') || sql.windows(4).any(|part| part.eq_ignore_ascii_case(b"time"))
}

/// Whether a function returns a date, or makes one of its argument.
fn is_date_function(name: &str) -> bool {
    DATE_FUNCTIONS.contains(&name) || name == "yearweek"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_meets_a_date_takes_the_day() {
        let mut clock = Clock::default();
        clock.add(b"time", "opens".to_owned());
        clock.add(b"datetime", "changed".to_owned());
        let takes = |sql: &str| clock.takes_today(sql.as_bytes(), Modes::default());
        for sql in [
            "SELECT a FROM t WHERE changed > opens",
            "SELECT CAST(`Opens` AS DATETIME) FROM t",
            "SELECT DATE_FORMAT(opens, '%Y') FROM t",
            "SELECT a FROM t WHERE changed > TIME'10:00:00'",
            "SELECT a FROM t WHERE changed > {t '10:00:00'}",
            "SELECT a FROM t WHERE changed > MAKETIME(1, 2, 3)",
            "SELECT opens + INTERVAL 1 DAY FROM t",
            "SELECT * FROM t UNION SELECT * FROM u",
            "SELECT a FROM t NATURAL JOIN u",
            "SELECT x FROM (SELECT * FROM t) d (x, y) WHERE x > y",
            "SELECT TIMESTAMP(t.opens) FROM t",
        ] {
            assert!(takes(sql), "{sql}");
        }
        for sql in [
            "SELECT * FROM t WHERE changed > '2026-11-26'",
            "SELECT opens, COUNT(*) FROM t WHERE opens > '10:00:00' GROUP BY opens",
            "SELECT DATE(changed), time, date FROM t WHERE changed > STR_TO_DATE('2026', '%Y')",
            "SELECT 2 * a, TIME_FORMAT(opens, '%H') FROM t",
        ] {
            assert!(!takes(sql), "{sql}");
        }
        let none = Clock::default();
        assert!(none.takes_today(b"SELECT CAST(TIME'10:00:00' AS DATETIME) FROM t", Modes::default()));
        assert!(!none.takes_today(b"SELECT time, date, year FROM log WHERE date > 5", Modes::default()));
    }

    #[test]
    fn what_a_view_makes_of_columns_is_not_known() {
        let mut clock = Clock::of_view(b"select `t`.`opens` AS `x` from `s`.`t`", Modes::default());
        let takes = |clock: &Clock| clock.takes_today(b"SELECT x FROM v", Modes::default());
        assert!(!takes(&clock));
        clock.add(b"time", "opens".to_owned());
        assert!(!takes(&clock));
        clock.add(b"date", "born".to_owned());
        assert!(takes(&clock));
        let made =
            Clock::of_view(b"select cast(`t`.`opens` as datetime) AS `x` from `s`.`t`", Modes::default());
        let mut all = Clock::default();
        all.add(b"time", "opens".to_owned());
        assert!(!takes(&all));
        all.merge(&made);
        assert!(takes(&all));
    }
}
