//! What a server tells of a table or view, as far as the query cache has to know it.
//!
//! The server is asked over a client's connection: it shows what the client's user may see. The
//! answer tells besides whether that is all. At MariaDB, a user with `SELECT` alone sees no foreign
//! keys; at both, triggers are shown to users with the privilege `TRIGGER`.

use sql::routine::unhex;
use sql::shape::{Effects, Table, names_all_tables};
use sql::{Modes, Shape, routine};

use crate::clock::Clock;
use crate::refusal::Refusal;
use crate::size;

/// Rows of an answer at most, and one that is not looked at.
const ROWS_MAX: usize = 128;

/// Tables that one statement leads to, at most; also by one definition. What leads to more is not
/// followed.
pub(crate) const TABLES_MAX: usize = 32;

/// Bytes of a definition that is looked at.
const DEFINITION_BYTES_MAX: usize = 64 * 1024;

/// Engines whose tables change by the transactions of their server alone.
const TRANSACTIONAL: [&str; 2] = ["InnoDB", "ROCKSDB"];

/// Engines of which a write changes rows of that table alone, or of tables of engines among these.
const LOCAL: [&str; 9] =
    ["InnoDB", "ROCKSDB", "MyISAM", "MRG_MyISAM", "MEMORY", "Aria", "ARCHIVE", "CSV", "BLACKHOLE"];

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The user sees nothing of that name.
    Unseen,
    /// A table.
    Table {
        /// What a transaction writes is seen by others when it is committed.
        is_transactional: bool,
        /// A write changes no table of another name.
        is_local: bool,
    },
    /// A view whose definition was read.
    View,
    /// A view whose definition the user may not see, or that was not understood; a sequence.
    Other,
}

/// What is known of a table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub(crate) kind: Kind,
    /// Why answers that read it are not cached: a view's text, a virtual column.
    pub(crate) refusal: Option<Refusal>,
    /// The tables of a view.
    pub(crate) tables: Vec<Table>,
    /// A view may call stored code.
    pub(crate) calls: bool,
    /// Tables of which a change changes rows of this one by a foreign key; nothing if not known.
    pub(crate) parents: Option<Vec<Table>>,
    /// Tables that its triggers use; nothing if not known.
    pub(crate) triggers: Option<Vec<Table>>,
    /// All columns were seen.
    pub(crate) is_whole: bool,
    /// Its columns with times and dates, and what a view makes of those of its tables.
    pub(crate) clock: Clock,
}

/// The user that asks, as tables of privileges name it.
const GRANTEE: &str = "CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - 1 - \
     CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))), '''@''', \
     SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')";

/// Privileges that show definitions.
const SHOWING: &str = "('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRIGGER')";

/// How to ask for the definition of `schema.name`. Neither has a quote or a backslash. What may
/// have any letters comes in hexadecimal digits. Comments are for MySQL alone: MariaDB passes by
/// those with these versions.
#[must_use]
pub fn question(schema: &str, name: &str) -> String {
    let here = format!("TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}'");
    let restricts = "('RESTRICT', 'NO ACTION')";
    let may = format!("PRIVILEGE_TYPE IN {SHOWING} AND GRANTEE = {GRANTEE}");
    let schemas = "information_schema.SCHEMA_PRIVILEGES";
    format!(
        "SELECT 'table', TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE {here} UNION ALL \
         SELECT 'column', HEX(GENERATION_EXPRESSION), '' FROM information_schema.COLUMNS \
         WHERE {here} AND EXTRA LIKE '%VIRTUAL%' UNION ALL \
         SELECT LOWER(DATA_TYPE), HEX(COLUMN_NAME), '' FROM information_schema.COLUMNS \
         WHERE {here} AND DATA_TYPE IN ('time', 'date', 'datetime', 'timestamp') UNION ALL \
         SELECT 'view', HEX(VIEW_DEFINITION), '' FROM information_schema.VIEWS WHERE {here} UNION ALL \
         SELECT 'parent', HEX(UNIQUE_CONSTRAINT_SCHEMA), HEX(REFERENCED_TABLE_NAME) \
         FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE CONSTRAINT_SCHEMA = '{schema}' AND TABLE_NAME = '{name}' \
         AND NOT (UPDATE_RULE IN {restricts} AND DELETE_RULE IN {restricts}) UNION ALL \
         SELECT 'trigger', HEX(ACTION_STATEMENT), SQL_MODE FROM information_schema.TRIGGERS \
         WHERE EVENT_OBJECT_SCHEMA = '{schema}' AND EVENT_OBJECT_TABLE = '{name}' UNION ALL \
         SELECT 'may', PRIVILEGE_TYPE, '' FROM information_schema.USER_PRIVILEGES \
         WHERE {may} /*!80016 AND @@partial_revokes = 0 */ UNION ALL \
         SELECT 'may', PRIVILEGE_TYPE, '' FROM {schemas} \
         WHERE {may} AND REPLACE(TABLE_SCHEMA, CHAR(92), '') = '{schema}' UNION ALL \
         SELECT 'may', PRIVILEGE_TYPE, '' FROM information_schema.TABLE_PRIVILEGES \
         WHERE {may} AND {here} /*!80000 UNION ALL SELECT 'may', 'MYSQL', '' */ LIMIT {ROWS_MAX}"
    )
}

impl Definition {
    /// The definition of a table of which the server tells nothing that is understood.
    #[must_use]
    pub const fn unknown() -> Self {
        Self {
            kind: Kind::Other,
            refusal: None,
            tables: Vec::new(),
            calls: false,
            parents: None,
            triggers: None,
            is_whole: false,
            clock: Clock::UNKNOWN,
        }
    }

    /// Bytes of memory besides the definition itself.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |table: &Table| {
            let schema = table.schema.as_deref().map_or(0, str::len);
            size_of::<Table>() + size::block(schema) + size::block(table.name.len())
        };
        self.leads_to().map(bytes).sum::<usize>() + self.clock.bytes()
    }

    /// The tables that its view, its foreign keys and its triggers lead to.
    pub fn leads_to(&self) -> impl Iterator<Item = &Table> {
        let parents = self.parents.iter().chain(&self.triggers).flatten();
        self.tables.iter().chain(parents)
    }

    /// What an answer to [`question`] says of a table of `schema`, by the values of its rows, of
    /// which a NULL is nothing; nothing if it was not understood.
    #[must_use]
    pub fn of<'a>(schema: &str, rows: &[impl AsRef<[Option<&'a [u8]>]>]) -> Option<Self> {
        if rows.len() >= ROWS_MAX {
            return None;
        }
        let mut seen = Seen::default();
        for row in rows {
            seen.row(row.as_ref())?;
        }
        Some(seen.definition(schema))
    }
}

/// What the rows of an answer say.
#[derive(Debug, Default)]
struct Seen {
    kinds: Vec<Kind>,
    virtuals: Vec<Vec<u8>>,
    clock: Clock,
    view: Option<Vec<u8>>,
    parents: Vec<Table>,
    triggers: Vec<(Vec<u8>, String)>,
    may: Vec<String>,
}

impl Seen {
    /// Takes note of a row.
    fn row(&mut self, row: &[Option<&[u8]>]) -> Option<()> {
        let &[kind, first, second] = row else { return None };
        let text = |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
        match kind? {
            b"table" => self.kinds.push(kind_of(&text(first)?, &text(second).unwrap_or_default())),
            b"column" => self.virtuals.push(unhex(first?)?),
            data_type @ (b"time" | b"date" | b"datetime" | b"timestamp") => {
                self.clock.add(data_type, text(Some(&unhex(first?)?))?);
            }
            b"view" => self.view = Some(first.map_or(Some(Vec::new()), unhex)?),
            b"parent" => {
                let [schema, name] = [text(Some(&unhex(first?)?)), text(Some(&unhex(second?)?))];
                self.parents.push(Table { schema, name: name? });
            }
            // Without the privilege the statement is NULL.
            b"trigger" => self.triggers.push((unhex(first.unwrap_or_default())?, text(second)?)),
            b"may" => self.may.push(text(first)?),
            _ => return None,
        }
        Some(())
    }

    fn definition(self, schema: &str) -> Definition {
        let may = |privilege: &str| self.may.iter().any(|may| may == privilege);
        let shows_keys = ["INSERT", "UPDATE", "DELETE", "TRIGGER", "MYSQL"].into_iter().any(may);
        let triggers = may("TRIGGER").then(|| of_triggers(&self.triggers, schema)).flatten();
        let parents = shows_keys.then(|| few(self.parents.iter().cloned())).flatten();
        let is_whole = may("SELECT");
        let kind = match *self.kinds.as_slice() {
            [] => Kind::Unseen,
            [kind] => kind,
            // A temporary table beside another one.
            _ => Kind::Other,
        };
        let refusal = self.virtuals.iter().find_map(|column| of_column(column, &self.clock));
        let table = Definition {
            kind,
            refusal,
            tables: Vec::new(),
            calls: false,
            parents,
            triggers,
            is_whole,
            clock: self.clock,
        };
        if kind == Kind::View { self.view.map_or(table.clone(), |text| of_view(&text, table)) } else { table }
    }
}

/// What `TABLES` says of a table.
fn kind_of(kind: &str, engine: &str) -> Kind {
    let is_one = |engines: &[&str]| engines.iter().any(|one| one.eq_ignore_ascii_case(engine));
    match kind {
        "BASE TABLE" | "SYSTEM VERSIONED" => {
            Kind::Table { is_transactional: is_one(&TRANSACTIONAL), is_local: is_one(&LOCAL) }
        }
        "VIEW" => Kind::View,
        _ => Kind::Other,
    }
}

/// Why a virtual column keeps answers from being cached.
fn of_column(expression: &[u8], clock: &Clock) -> Option<Refusal> {
    let text = [b"SELECT ", expression, b" FROM t"].concat();
    let shape = Shape::of(&text, Modes::default());
    let refusal = Refusal::of_definition(&text, Modes::default(), &shape);
    refusal.or(clock.takes_today(&text, Modes::default()).then_some(Refusal::Volatile))
}

/// A view with this text, which its server has written. Without the privilege it is empty.
fn of_view(text: &[u8], table: Definition) -> Definition {
    let modes = Modes::default();
    if text.is_empty() || text.len() > DEFINITION_BYTES_MAX || !names_all_tables(text, modes) {
        return Definition { kind: Kind::Other, ..table };
    }
    let shape = Shape::of(text, modes);
    let refusal = Refusal::of_definition(text, modes, &shape);
    let calls = shape.effects.intersects(Effects::UNKNOWN | Effects::FUNCTION);
    let has_schemas = shape.reads.iter().all(|table| table.schema.is_some());
    let Some(tables) = few(shape.reads.into_iter()).filter(|_| has_schemas) else {
        return Definition { kind: Kind::Other, ..table };
    };
    let mut clock = table.clock;
    clock.merge(&Clock::of_view(text, modes));
    Definition { refusal: table.refusal.or(refusal), tables, calls, clock, ..table }
}

/// The tables that triggers use; nothing if that does not follow from their texts.
fn of_triggers(triggers: &[(Vec<u8>, String)], schema: &str) -> Option<Vec<Table>> {
    let mut all = Vec::new();
    for (action, modes) in triggers {
        if action.is_empty() || action.len() > DEFINITION_BYTES_MAX {
            return None;
        }
        let modes = routine::modes(modes)?;
        let uses = routine::trigger(action, modes)?;
        if !uses.routines.is_empty() || !names_all_tables(action, modes) {
            return None;
        }
        all.extend(uses.tables.into_iter().map(|table| table.within(schema)));
    }
    few(all.into_iter())
}

/// These tables, each once; nothing if there are too many.
fn few(tables: impl Iterator<Item = Table>) -> Option<Vec<Table>> {
    let mut all = Vec::new();
    for table in tables {
        if !all.contains(&table) {
            all.push(table);
        }
        if all.len() > TABLES_MAX {
            return None;
        }
    }
    all.shrink_to_fit();
    Some(all)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a server with these rows has told of a table of the schema `s`; texts of definitions
    /// are as they are, not in hexadecimal digits.
    pub(crate) fn of(rows: &[[&str; 3]]) -> Option<Definition> {
        let hex = |text: &str| text.bytes().fold(String::new(), |all, byte| all + &format!("{byte:02X}"));
        let rows: Vec<[String; 3]> = rows
            .iter()
            .map(|[kind, first, second]| {
                let (first, second) = match *kind {
                    "parent" => (hex(first), hex(second)),
                    "table" | "may" => ((*first).to_owned(), (*second).to_owned()),
                    _ => (hex(first), (*second).to_owned()),
                };
                [(*kind).to_owned(), first, second]
            })
            .collect();
        let rows: Vec<[_; 3]> =
            rows.iter().map(|row| row.each_ref().map(|one| Some(one.as_bytes()))).collect();
        Definition::of("s", &rows)
    }

    const TABLE: [&str; 3] = ["table", "BASE TABLE", "InnoDB"];

    fn names(tables: Option<&Vec<Table>>) -> Option<Vec<String>> {
        let name = |table: &Table| format!("{}.{}", table.schema.as_deref().unwrap_or_default(), table.name);
        Some(tables?.iter().map(name).collect())
    }

    #[test]
    fn what_the_user_may_not_see_is_not_known() {
        let of_select = of(&[TABLE, ["may", "SELECT", ""]]).unwrap();
        assert_eq!((of_select.is_whole, of_select.parents, of_select.triggers), (true, None, None));
        let of_insert = of(&[TABLE, ["may", "INSERT", ""], ["parent", "x", "p"]]).unwrap();
        assert!(!of_insert.is_whole && of_insert.triggers.is_none());
        assert_eq!(names(of_insert.parents.as_ref()), Some(vec!["x.p".to_owned()]));
        let at_mysql = of(&[TABLE, ["may", "MYSQL", ""]]).unwrap();
        assert_eq!(names(at_mysql.parents.as_ref()), Some(Vec::new()));
        assert_eq!(of(&[["may", "SELECT", ""]]).unwrap().kind, Kind::Unseen);
        assert_eq!(of(&[["view", "", ""], ["table", "VIEW", ""]]).unwrap().kind, Kind::Other);
    }

    #[test]
    fn triggers_tell_their_tables_or_nothing() {
        let triggers = |action| {
            let definition = of(&[TABLE, ["may", "TRIGGER", ""], ["trigger", action, ""]]).unwrap();
            names(definition.triggers.as_ref())
        };
        assert_eq!(triggers("INSERT INTO log VALUES (NEW.a)"), Some(vec!["s.log".to_owned()]));
        let counts = "INSERT INTO sums VALUES (NEW.a, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)";
        assert_eq!(triggers(counts), Some(vec!["s.sums".to_owned()]));
        assert_eq!(
            triggers("INSERT INTO x.log SELECT b FROM u"),
            Some(vec!["s.u".to_owned(), "x.log".to_owned()])
        );
        for unclear in ["CALL p()", "SET @a = 1", "INSERT INTO log SELECT f(1)", "DELETE FROM quick", ""] {
            assert_eq!(triggers(unclear), None, "{unclear}");
        }
    }

    #[test]
    fn what_leads_to_many_tables_is_not_known() {
        let of_tables = |count: usize| {
            let list: Vec<String> = (0..count).map(|n| format!("`s`.`t{n}`")).collect();
            let text = format!("select 1 from {}", list.join(" join "));
            let view = of(&[["table", "VIEW", ""], ["view", &text, ""]]).unwrap();
            let action = |n| format!("INSERT INTO t{n} VALUES (1)");
            let actions: Vec<String> = (0..count).map(action).collect();
            let mut rows = vec![TABLE, ["may", "TRIGGER", ""]];
            rows.extend(actions.iter().map(|action| ["trigger", action, ""]));
            let names: Vec<String> = (0..count).map(|n| n.to_string()).collect();
            rows.extend(names.iter().map(|name| ["parent", "s", name]));
            let table = of(&rows).unwrap();
            (view.kind, table.triggers.map(|all| all.len()), table.parents.map(|all| all.len()))
        };
        assert_eq!(of_tables(TABLES_MAX), (Kind::View, Some(TABLES_MAX), Some(TABLES_MAX)));
        assert_eq!(of_tables(TABLES_MAX + 1), (Kind::Other, None, None));
        let twice = of(&[TABLE, ["may", "MYSQL", ""], ["parent", "s", "p"], ["parent", "s", "p"]]).unwrap();
        assert_eq!(twice.parents.map(|all| all.len()), Some(1));
    }

    #[test]
    fn views_and_virtual_columns_are_judged_by_their_texts() {
        let view = |text| of(&[["table", "VIEW", ""], ["view", text, ""]]).unwrap();
        let plain = view("select `s`.`t`.`a` AS `a` from (`s`.`t` join `x`.`u`)");
        assert_eq!((plain.kind, plain.refusal, plain.calls), (Kind::View, None, false));
        assert_eq!(names(Some(&plain.tables)), Some(vec!["s.t".to_owned(), "x.u".to_owned()]));
        assert_eq!(view("select now() AS `n`").refusal, Some(Refusal::Volatile));
        assert_eq!(view("select current_user() AS `n`").refusal, Some(Refusal::ReadsSession));
        assert!(view("select `s`.`f`(1) AS `n`").calls);
        let column = |text| of(&[TABLE, ["column", text, ""]]).unwrap().refusal;
        assert_eq!(column("(`a` + 1)"), None);
        assert_eq!(column("now() - interval `a` day"), Some(Refusal::Volatile));
        assert_eq!(column("user()"), Some(Refusal::ReadsSession));
        assert_eq!(column("cast(`at` as datetime)"), None);
        let at = ["column", "cast(`at` as datetime)", ""];
        let with_time = of(&[TABLE, at, ["time", "at", ""]]).unwrap();
        assert_eq!(with_time.refusal, Some(Refusal::Volatile));
        assert_eq!((with_time.clock.times.len(), with_time.clock.dates.len()), (1, 0));
    }

    #[test]
    fn engines_are_told_apart() {
        let kind = |kind, engine| of(&[["table", kind, engine]]).unwrap().kind;
        let table = |is_transactional, is_local| Kind::Table { is_transactional, is_local };
        assert_eq!(kind("BASE TABLE", "InnoDB"), table(true, true));
        assert_eq!(kind("SYSTEM VERSIONED", "InnoDB"), table(true, true));
        for engine in ["MyISAM", "MEMORY", "Aria", "MRG_MyISAM"] {
            assert_eq!(kind("BASE TABLE", engine), table(false, true), "{engine}");
        }
        for engine in ["FEDERATED", "SPIDER", "CONNECT", "ndbcluster", "S3", ""] {
            assert_eq!(kind("BASE TABLE", engine), table(false, false), "{engine}");
        }
        assert_eq!(kind("SEQUENCE", "InnoDB"), Kind::Other);
    }

    #[test]
    fn what_is_no_answer_is_not_understood() {
        assert_eq!(Definition::of("s", &[[Some(&b"column"[..]), Some(b"4"), None]]), None);
        assert_eq!(Definition::of("s", &[[None::<&[u8]>; 3]]), None);
        let many = vec![TABLE; ROWS_MAX];
        assert_eq!(of(&many), None);
        assert!(question("a", "t").contains("TABLE_SCHEMA = 'a' AND TABLE_NAME = 't'"));
    }
}
