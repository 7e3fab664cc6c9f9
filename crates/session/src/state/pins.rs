//! Pins: what a session has left at a server that no other connection can be told. While there is
//! one, the connection is the session's; it can be lent to others again when what caused the pin
//! has ended.

use route::Hold;

use crate::limits::PINS_MAX;

macro_rules! pins {
    ($($(#[doc = $doc:literal])+ $pin:ident = $name:literal, $cause:literal, $end:literal;)+) => {
        /// Why a connection belongs to its session. What ends every one of them as well:
        /// `COM_CHANGE_USER`, the end of the session and, but for the schema,
        /// `COM_RESET_CONNECTION`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Pin {
            $($(#[doc = $doc])+ $pin,)+
        }

        impl Pin {
            /// All of them, with what causes them and what ends them, in words.
            #[cfg(test)]
            pub const ALL: &[(Self, &'static str, &'static str)] = &[$((Self::$pin, $cause, $end)),+];

            /// Its name in tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$pin => $name,)+
                }
            }
        }
    };
}

pins! {
    /// A transaction is open.
    Transaction = "transaction", "a transaction is open, as the server's status flags say; without `autocommit`, a savepoint", "`COMMIT`, `ROLLBACK`";
    /// An XA transaction is.
    Xa = "xa", "`XA START`", "`XA COMMIT`, `XA ROLLBACK`";
    /// Something was said for the next transaction only.
    NextTransaction = "next_transaction", "`SET TRANSACTION` without `SESSION`, `SET @@transaction_isolation` without a scope; a `SET` of `autocommit` that ends a transaction that only reads, or any where `SET SESSION TRANSACTION` has said whether they only read; an error that ends one, if rows are not followed by what session trackers say; without `autocommit`, a write into a table that knows no transactions", "the transaction";
    /// It has temporary tables.
    TemporaryTable = "temporary_table", "`CREATE TEMPORARY TABLE`", "`DROP TABLE` of each";
    /// It has locked tables, or the server.
    LockedTables = "locked_tables", "`LOCK TABLES`, `FLUSH TABLES WITH READ LOCK`", "`UNLOCK TABLES`; of tables that are named, `BEGIN`";
    /// It has locks by name.
    NamedLock = "named_lock", "`GET_LOCK()`", "`RELEASE_LOCK()` of each, `RELEASE_ALL_LOCKS()`";
    /// It has opened tables with `HANDLER`.
    Handler = "handler", "`HANDLER ... OPEN`", "`HANDLER ... CLOSE` of each";
    /// It has prepared statements by name, in text.
    Prepare = "prepare", "`PREPARE`", "`DEALLOCATE PREPARE` of each";
    /// A cursor is open, parts of a value were sent, or a prepared statement could not be prepared
    /// elsewhere.
    Statement = "statement", "an open cursor, a value sent in parts, a prepared statement that would be another one if it were prepared now", "its execution to the end, `COM_STMT_RESET`, `COM_STMT_CLOSE`";
    /// The next statement may ask how many rows there were.
    FoundRows = "found_rows", "`SQL_CALC_FOUND_ROWS`, several statements with a `SELECT` in one text, a `UNION` with a `LIMIT`, an offset behind all rows, a cursor", "the next `SELECT`";
    /// The server has something to say of a statement.
    Warnings = "warnings", "an error, or warnings, also those told when a statement is prepared; `COM_FIELD_LIST`, which warns without saying so", "the next statement with tables, without either, at MySQL the next statement; of a single error, an idle second: the session keeps it without the connection";
    /// It has set user variables to what is not written in the statement.
    UserVariable = "user_variable", "a user variable set to anything but a literal, or by a statement that is prepared", "a reset";
    /// It has set something that cannot be repeated elsewhere.
    Setting = "setting", "a `SET` of a variable to anything but a literal; `SET ROLE`, `SET RESOURCE GROUP`, a `SET` of `profiling`, `optimizer_trace`, `insert_id` and their like, an `UPDATE` in `performance_schema`", "its server's word on the values, a `SET` of those to literals, a reset";
    /// It is in a schema of which the name is not certain.
    Schema = "schema", "a `USE` among several statements in one text, or of which the schema is not certain; a `DROP DATABASE` of the schema that it is in", "another `USE`, not a reset";
    /// Stored code has run.
    StoredCode = "stored_code", "`CALL`, `EXECUTE IMMEDIATE`, `PREPARE ... FROM` what is not one literal with a plain read or write of rows, one that is not understood", "its server's word that nothing of the procedure outlives the call, a reset";
    /// A function was called that is not built in.
    Function = "function", "a stored function, or one that is not known; a name such as `max` or `now` with a blank or a comment in front of its parenthesis", "its server's word that nothing of it outlives the call, a reset";
    /// It has taken a value of a sequence, and may ask for that again.
    Sequence = "sequence", "`NEXTVAL()`, `NEXT VALUE FOR`: `LASTVAL()` and `PREVIOUS VALUE FOR` tell it again", "a reset";
    /// Its server has reached a position of replication that it has waited for.
    Waited = "waited", "`MASTER_GTID_WAIT()`, `WAIT_FOR_EXECUTED_GTID_SET()`, `MASTER_POS_WAIT()` and their like: the next reads are to see what was waited for", "the next write, a reset";
    /// It was told the server's number of its connection.
    ConnectionId = "connection_id", "`CONNECTION_ID()` other than as a column of a `SELECT`, `@@pseudo_thread_id`", "a reset";
    /// It has set the counters of its connection to 0, to look at them later.
    Status = "status", "`FLUSH STATUS`", "a reset";
    /// It has called itself a replica.
    Replica = "replica", "`COM_REGISTER_SLAVE`", "a reset";
    /// A rule says so.
    Rule = "rule", "a query rule with `multiplex = 0`", "a query rule with `multiplex = 1`";
}

/// The name of locks that `BEGIN` releases: those of `LOCK TABLES`, and not that of
/// `FLUSH TABLES WITH READ LOCK`.
const TABLE_LOCKS: &[u8] = b"tables";

impl Pin {
    /// Whether the session must not leave the hostgroup even for a statement that rules send
    /// elsewhere.
    pub const fn locks(self) -> bool {
        matches!(self, Self::Setting | Self::Schema | Self::Handler | Self::Prepare)
    }

    /// Whether the client misses something if the connection is lost, besides its transaction. What
    /// is not certain it would rather not be told of, nor of what is over with its next statement.
    const fn is_missed(self) -> bool {
        !matches!(
            self,
            Self::Transaction
                | Self::Warnings
                | Self::FoundRows
                | Self::Function
                | Self::Sequence
                | Self::Waited
                | Self::ConnectionId
                | Self::Status
        )
    }

    /// What it is to reads that could go elsewhere; `None` if it keeps none from that.
    pub const fn hold(self) -> Option<Hold> {
        match self {
            Self::TemporaryTable => Some(Hold::TemporaryTables),
            Self::LockedTables => Some(Hold::LockedTables),
            Self::StoredCode | Self::Xa | Self::NextTransaction => Some(Hold::Unknown),
            _ => None,
        }
    }
}

/// A change of what is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// A pin, and the name of what it is about; without a name it ends only with all of its kind.
    Begin(Pin, Box<[u8]>),
    /// One of this name ends.
    End(Pin, Box<[u8]>),
    /// All of its kind end.
    EndAll(Pin),
}

impl Mark {
    /// `LOCK TABLES` has locked some.
    pub fn tables_locked() -> Self {
        Self::Begin(Pin::LockedTables, TABLE_LOCKS.into())
    }

    /// The beginning of a pin that has no name.
    pub fn begin(pin: Pin) -> Self {
        Self::Begin(pin, Box::default())
    }

    /// Whether statements behind the one that makes it need not know.
    pub const fn is_quiet(&self) -> bool {
        match self {
            Self::Begin(pin, _) => {
                !pin.locks() && !matches!(pin, Pin::NextTransaction | Pin::Xa | Pin::Replica)
            }
            Self::End(..) | Self::EndAll(_) => false,
        }
    }
}

/// What a session has left at one connection.
#[derive(Debug, Default)]
pub struct Pins(Vec<Pinned>);

#[derive(Debug)]
struct Pinned {
    pin: Pin,
    name: Box<[u8]>,
    /// The server was asked for the value of a variable, and has not told it.
    is_untold: bool,
}

impl Pinned {
    fn is_of_tables(&self) -> bool {
        self.pin == Pin::LockedTables && *self.name == *TABLE_LOCKS
    }

    /// Whether it is a variable that was set to what only its server knows, and may still tell.
    fn is_unknown_value(&self) -> bool {
        self.pin == Pin::Setting && !self.name.is_empty() && !self.is_untold
    }

    /// Whether it may stand for something that a reset does not take back, as roles. Code may have
    /// set one, and so may a `SET` that was not understood. MariaDB 10.11 and MySQL 9.7 were asked
    /// what that is: see the manual, docs/src/pool.md.
    fn may_outlive_reset(&self) -> bool {
        match self.pin {
            Pin::StoredCode | Pin::Function | Pin::Replica => true,
            Pin::Setting => !self.is_unknown_value(),
            _ => false,
        }
    }
}

impl Pins {
    /// A statement has run that makes this mark.
    pub fn note(&mut self, mark: Mark) {
        match mark {
            Mark::Begin(pin, name) => {
                // Those without a name are one, and so are those that are too many to be told
                // apart.
                let name = if self.0.len() < PINS_MAX { name } else { Box::default() };
                // Only locks are taken more than once under one name.
                let counts = pin == Pin::NamedLock && !name.is_empty();
                match self.0.iter_mut().find(|one| !counts && one.pin == pin && one.name == name) {
                    // What the variable is now, the server may tell.
                    Some(one) => one.is_untold = false,
                    None => self.0.push(Pinned { pin, name, is_untold: false }),
                }
            }
            Mark::End(pin, name) => {
                if let Some(at) = self.0.iter().position(|one| one.pin == pin && one.name == name) {
                    self.0.remove(at);
                }
            }
            Mark::EndAll(pin) => self.0.retain(|one| one.pin != pin),
        }
    }

    /// Whether tables are locked, and not the server.
    pub fn has_locked_tables(&self) -> bool {
        self.0.iter().any(Pinned::is_of_tables)
    }

    /// A transaction has begun: the server has released locked tables.
    pub fn unlock_tables(&mut self) {
        self.0.retain(|one| !one.is_of_tables());
    }

    /// The session was reset by its client: what that leaves. Whether the connection may have more,
    /// and is to be closed: not if only its server knows the schema.
    pub fn reset(&mut self) -> bool {
        let is_needed = self.holds(Pin::Schema);
        let closes = !is_needed && self.0.iter().any(Pinned::may_outlive_reset);
        self.0.retain(|one| one.pin == Pin::Schema || is_needed && one.may_outlive_reset());
        closes
    }

    /// The variables that were set to what only the server knows.
    pub fn unknown_values(&self) -> impl Iterator<Item = &str> {
        let unknown = self.0.iter().filter(|one| one.is_unknown_value());
        unknown.filter_map(|one| std::str::from_utf8(&one.name).ok())
    }

    /// The server was asked for these values, and does not tell those that are left. They bind
    /// until they are set again.
    pub fn stay_unknown(&mut self) {
        for one in self.0.iter_mut().filter(|one| one.is_unknown_value()) {
            one.is_untold = true;
        }
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is such a pin.
    pub fn holds(&self, pin: Pin) -> bool {
        self.has_any(&[pin])
    }

    /// Whether there are pins of these kinds.
    pub fn has_any(&self, pins: &[Pin]) -> bool {
        self.0.iter().any(|one| pins.contains(&one.pin))
    }

    /// Whether there are pins, and none but of these kinds.
    pub fn holds_only(&self, pins: &[Pin]) -> bool {
        !self.is_empty() && self.0.iter().all(|one| pins.contains(&one.pin))
    }

    /// The oldest pin.
    pub fn first(&self) -> Option<Pin> {
        self.0.first().map(|one| one.pin)
    }

    /// The oldest pin that the client would miss.
    pub fn missed(&self) -> Option<Pin> {
        self.0.iter().map(|one| one.pin).find(|pin| pin.is_missed())
    }

    /// Why the session cannot leave the hostgroup, if it cannot.
    pub fn lock(&self) -> Option<Pin> {
        self.0.iter().map(|one| one.pin).find(|pin| pin.locks())
    }

    /// What keeps reads here.
    pub fn hold(&self) -> Option<Hold> {
        self.0.iter().find_map(|one| one.pin.hold())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pin: Pin, name: &str) -> Mark {
        Mark::Begin(pin, name.as_bytes().into())
    }

    #[test]
    fn a_pin_ends_with_what_has_caused_it() {
        let mut pins = Pins::default();
        for name in ["a", "b", "a"] {
            pins.note(named(Pin::NamedLock, name));
        }
        for (name, left) in [("c", true), ("a", true), ("b", true), ("a", false)] {
            pins.note(Mark::End(Pin::NamedLock, name.as_bytes().into()));
            assert_eq!(!pins.is_empty(), left, "{name}");
        }
        for _ in 0..2 {
            pins.note(named(Pin::TemporaryTable, "t"));
        }
        pins.note(Mark::End(Pin::TemporaryTable, b"t".as_slice().into()));
        assert!(pins.is_empty(), "IF NOT EXISTS");
        pins.note(Mark::begin(Pin::LockedTables));
        pins.note(Mark::begin(Pin::LockedTables));
        assert_eq!(pins.first(), Some(Pin::LockedTables));
        pins.note(Mark::EndAll(Pin::LockedTables));
        assert!(pins.is_empty());
    }

    #[test]
    fn c04_a_reset_closes_connections_that_may_keep_something() {
        for (mark, closes) in [
            (named(Pin::Setting, "time_zone"), false),
            (Mark::begin(Pin::NamedLock), false),
            (Mark::begin(Pin::UserVariable), false),
            (Mark::begin(Pin::Setting), true),
            (Mark::begin(Pin::Function), true),
            (Mark::begin(Pin::StoredCode), true),
            (Mark::begin(Pin::Replica), true),
        ] {
            let mut pins = Pins::default();
            pins.note(mark.clone());
            assert_eq!((pins.reset(), pins.is_empty()), (closes, true), "{mark:?}");
            pins.note(Mark::begin(Pin::Schema));
            pins.note(mark.clone());
            assert!(!pins.reset(), "{mark:?}: nobody knows the schema");
            pins.note(Mark::EndAll(Pin::Schema));
            assert_eq!(pins.reset(), closes, "{mark:?}: it is still there");
        }
    }

    #[test]
    fn what_a_server_does_not_tell_stays_unknown() {
        let mut pins = Pins::default();
        pins.note(named(Pin::Setting, "a"));
        pins.note(named(Pin::Setting, "b"));
        assert_eq!(pins.unknown_values().collect::<Vec<_>>(), ["a", "b"]);
        pins.stay_unknown();
        assert_eq!((pins.unknown_values().count(), pins.first()), (0, Some(Pin::Setting)));
        pins.note(Mark::End(Pin::Setting, b"a".as_slice().into()));
        pins.note(named(Pin::Setting, "c"));
        assert_eq!(pins.unknown_values().collect::<Vec<_>>(), ["c"]);
        pins.note(named(Pin::Setting, "b"));
        assert_eq!(pins.unknown_values().collect::<Vec<_>>(), ["b", "c"], "it is set anew");
        pins.stay_unknown();
        assert!(pins.reset());
    }

    #[test]
    fn c29_there_is_an_end_to_what_is_kept() {
        let mut pins = Pins::default();
        for number in 0..PINS_MAX + 5 {
            pins.note(named(Pin::TemporaryTable, &number.to_string()));
        }
        assert_eq!(pins.0.len(), PINS_MAX + 1);
        for number in 0..PINS_MAX + 5 {
            pins.note(Mark::End(Pin::TemporaryTable, number.to_string().into_bytes().into()));
        }
        assert_eq!(pins.first(), Some(Pin::TemporaryTable), "nobody knows how many there are");
    }

    #[test]
    fn the_manual_has_all_of_them() {
        let manual = include_str!("../../../../docs/src/pool.md");
        for (pin, cause, end) in Pin::ALL {
            let row = format!("\n| `{}` | {cause} | {end} |\n", pin.name());
            assert!(manual.contains(&row), "docs/src/pool.md lacks this row: {row}");
        }
        let (_, behind) = manual.split_once("\n## What keeps a connection").unwrap();
        let (section, _) = behind.split_once("\n## ").unwrap();
        assert_eq!(section.matches("\n| `").count(), Pin::ALL.len(), "no other ones");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Pin::ALL.iter().map(|(pin, ..)| pin.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Pin::ALL.len());
    }
}
