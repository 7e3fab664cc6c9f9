//! Routines that a session has called, and tables that it has used, of which its server has not
//! been asked yet whether they leave anything.

use std::time::{Duration, Instant};

use route::reader::Reading;
use sql::Modes;
use sql::routine::{Called, Kind, called};
use sql::shape::Table;

use crate::limits::{ROUTINES_MAX, TABLES_MAX};
use crate::state::{Mark, Pin};

/// Pins of a session that may have run code which the proxy does not see.
pub const CODE: [Pin; 2] = [Pin::StoredCode, Pin::Function];

/// Whether such a pin begins.
pub fn is_of_code(mark: &Mark) -> bool {
    matches!(mark, Mark::Begin(pin, _) if CODE.contains(pin))
}

/// A routine of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routine {
    /// Whether it is a procedure or a function.
    pub kind: Kind,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The schema that it was called in, if that was not taken for its own: what was named may be
    /// something else there.
    pub near: Option<String>,
}

impl Routine {
    /// One that was called by a statement in this schema. None if there is no schema, or its name
    /// cannot be put into another statement as it is.
    pub fn of(called: Called, schema: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'-');
        let is_certain = schema.bytes().all(is_plain);
        let near = called.schema.is_some().then(|| schema.to_owned()).filter(|schema| !schema.is_empty());
        let schema = called.schema.unwrap_or_else(|| schema.to_owned());
        let is_named = is_certain && !schema.is_empty();
        is_named.then_some(Self { kind: called.kind, schema, name: called.name, near })
    }
}

/// The routines that a statement calls, and its tables.
#[derive(Debug, Clone)]
pub struct Calls {
    code: Vec<Code>,
    /// When the first statement was sent that calls one of the routines, or that has one of the
    /// tables. Unknown before that.
    since: Option<Instant>,
}

/// What may be behind the names of a statement's tables.
#[derive(Debug, Clone)]
pub enum Unseen {
    /// Of these nothing is known.
    Unknown(Box<Calls>),
    /// Something is.
    Known,
}

impl Unseen {
    /// What has to be judged of a statement that is sent at this time: what is behind its tables
    /// may change from then on.
    pub fn at(self, now: Instant) -> Option<Box<Calls>> {
        match self {
            Self::Unknown(mut calls) => {
                calls.begin(now);
                Some(calls)
            }
            Self::Known => None,
        }
    }
}

/// What has to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// A routine.
    Routine(Routine),
    /// What is behind the name of a table, which has its schema.
    Behind(Table),
}

impl Code {
    const fn is_table(&self) -> bool {
        matches!(self, Self::Behind(_))
    }
}

impl Calls {
    /// Those of this statement in this schema; none if not all of them are known.
    pub fn of(text: &[u8], schema: &[u8], reading: Reading) -> Option<Box<Self>> {
        // Then it was not understood what else the statement does.
        let is_doubtful = reading.no_backslash_escapes && text.contains(&b'\\');
        if is_doubtful || reading.two_byte_quotes && !text.is_ascii() {
            return None;
        }
        let schema = std::str::from_utf8(schema).ok()?;
        let routines = called(text, Modes::default())?.into_iter();
        let code = routines.map(|called| Routine::of(called, schema).map(Code::Routine));
        let code = code.collect::<Option<Vec<_>>>().filter(|routines| !routines.is_empty())?;
        Some(Box::new(Self { code, since: None }))
    }

    /// No routines, but these tables.
    pub fn of_tables(tables: Vec<Table>) -> Self {
        Self { code: tables.into_iter().map(Code::Behind).collect(), since: None }
    }

    /// They are called now.
    pub const fn begin(&mut self, now: Instant) {
        self.since = Some(now);
    }
}

/// What a session has called at a hostgroup since it was bound to a connection by that.
#[derive(Debug)]
pub struct Unjudged {
    /// Where they were called.
    pub hostgroup: u32,
    /// What was called.
    pub calls: Calls,
}

impl Unjudged {
    /// These, and those before. Nothing if that is not known of all that bind the session there.
    pub fn and(
        before: Option<Box<Self>>,
        calls: Option<Box<Calls>>,
        is_bound: bool,
        hostgroup: u32,
    ) -> Option<Box<Self>> {
        let calls = *calls?;
        if !is_bound {
            return Some(Box::new(Self { hostgroup, calls }));
        }
        let mut all = before.filter(|before| before.hostgroup == hostgroup)?;
        all.calls.since = all.calls.since.or(calls.since);
        add(&mut all.calls.code, calls.code);
        let tables = all.calls.code.iter().filter(|code| code.is_table()).count();
        let is_few = all.calls.code.len() - tables <= ROUTINES_MAX && tables <= TABLES_MAX;
        is_few.then_some(all)
    }

    /// Whether there are no routines among it.
    pub fn has_only_tables(&self) -> bool {
        self.calls.code.iter().all(Code::is_table)
    }

    /// All of it, routines first, and how long ago the first statement with some of it was sent.
    pub fn take(self, now: Instant) -> (Vec<Code>, Duration) {
        let Calls { mut code, since } = self.calls;
        code.sort_by_key(Code::is_table);
        (code, since.map(|since| now.saturating_duration_since(since)).unwrap_or_default())
    }
}

/// Adds each of `more` that is not there.
pub fn add<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str, schema: &str) -> Option<Vec<String>> {
        let calls = Calls::of(text.as_bytes(), schema.as_bytes(), Reading::default())?;
        let name = |code: &Code| match code {
            Code::Routine(routine) => format!("{}.{}", routine.schema, routine.name),
            Code::Behind(table) => panic!("{table:?}"),
        };
        Some(calls.code.iter().map(name).collect())
    }

    #[test]
    fn routines_are_those_of_the_schema_that_the_statement_is_in() {
        assert_eq!(calls("CALL p(b.f(1))", "a"), Some(vec!["a.p".to_owned(), "b.f".to_owned()]));
        assert_eq!(calls("CALL p()", ""), None);
        assert_eq!(calls("CALL p()", "it's"), None);
        assert_eq!(calls("SELECT 1", "a"), None);
        let reading = Reading { no_backslash_escapes: true, ..Reading::default() };
        assert!(Calls::of(b"SELECT f(1), @x := 'a\\b'", b"a", reading).is_none());
    }

    #[test]
    fn the_age_is_that_of_the_first_statement_also_if_it_had_only_tables() {
        let table = Table { schema: Some("a".to_owned()), name: "t".to_owned() };
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let first = Unseen::Unknown(Box::new(Calls::of_tables(vec![table]))).at(start);
        let first = Unjudged::and(None, first, false, 1);
        let mut call = Calls::of(b"CALL p", b"a", Reading::default());
        call.as_mut().unwrap().begin(after(100));
        let both = Unjudged::and(first, call, true, 1).unwrap();
        let (code, age) = both.take(after(4000));
        assert_eq!((code.len(), age), (2, Duration::from_secs(4000)));
    }

    #[test]
    fn who_is_bound_by_more_than_is_known_stays_so() {
        let calls = |text: &str| Calls::of(text.as_bytes(), b"a", Reading::default());
        let names =
            |unjudged: Option<Box<Unjudged>>| unjudged.map(|unjudged| unjudged.take(Instant::now()).0.len());
        let first = || Unjudged::and(None, calls("CALL p"), false, 1);
        assert_eq!(names(first()), Some(1));
        assert_eq!(names(Unjudged::and(first(), calls("CALL q"), true, 1)), Some(2));
        assert_eq!(names(Unjudged::and(first(), calls("CALL p"), true, 1)), Some(1));
        assert_eq!(names(Unjudged::and(None, calls("CALL p"), true, 1)), None);
        assert_eq!(names(Unjudged::and(first(), None, true, 1)), None);
        assert_eq!(names(Unjudged::and(first(), calls("CALL q"), true, 2)), None);
        assert_eq!(names(Unjudged::and(first(), calls("CALL q"), false, 2)), Some(1));
        let all = (0..=ROUTINES_MAX).fold(first(), |before, number| {
            Unjudged::and(before, calls(&format!("CALL p{number}")), true, 1)
        });
        assert_eq!(names(all), None);
    }
}
