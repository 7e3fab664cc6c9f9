//! The loads of a history: ways to write a version, and the texts that read it.
//!
//! Each load has tables of its own and is one key: all its texts show the same version.

use e2e::Backend;

/// A way to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// One statement.
    Autocommit,
    /// A prepared statement.
    Prepared,
    /// Several statements in one text, of which the last one takes a while.
    Several,
    /// A transaction, which is rolled back every other time.
    Transaction,
    /// A transaction in one text.
    TransactionInText,
    /// With autocommit off.
    WithoutAutocommit,
    /// A trigger writes it into another table.
    Trigger,
    /// A trigger that was created just now does.
    NewTrigger,
    /// A foreign key does, `ON UPDATE CASCADE`.
    Cascade,
    /// Rows are deleted, with others by `ON DELETE CASCADE`, and come back in a transaction.
    Delete,
    /// A stored procedure.
    Call,
    /// `ALTER TABLE` changes the default of a column.
    Alter,
    /// `TRUNCATE`, and a new row.
    Truncate,
    /// Tables change their names.
    Rename,
    /// An XA transaction that another connection commits.
    Xa,
}

impl Load {
    pub(crate) const ALL: [Self; 15] = [
        Self::Autocommit,
        Self::Prepared,
        Self::Several,
        Self::Transaction,
        Self::TransactionInText,
        Self::WithoutAutocommit,
        Self::Trigger,
        Self::NewTrigger,
        Self::Cascade,
        Self::Delete,
        Self::Call,
        Self::Alter,
        Self::Truncate,
        Self::Rename,
        Self::Xa,
    ];

    /// Those that go on after a write whose connection was lost, whatever became of it.
    pub(crate) const SAFE: [Self; 4] = [Self::Autocommit, Self::Transaction, Self::Trigger, Self::Cascade];

    /// Its number as a key.
    pub(crate) const fn key(self) -> usize {
        self as usize
    }

    /// The texts that read its version.
    pub(crate) const fn texts(self) -> &'static [&'static str] {
        match self {
            Self::Autocommit => &[
                "SELECT v FROM plain WHERE id = 1",
                "SELECT v FROM seen_plain WHERE id = 1",
                "SELECT v FROM (SELECT v, id FROM plain) AS derived WHERE id = 1",
            ],
            Self::Prepared => &["SELECT v FROM plain WHERE id = 2"],
            Self::Several => &["SELECT v FROM plain WHERE id = 3"],
            Self::Transaction => &["SELECT v FROM held WHERE id = 1", "SELECT MAX(v) FROM held"],
            Self::TransactionInText => &["SELECT v FROM plain WHERE id = 4"],
            Self::WithoutAutocommit => &["SELECT v FROM plain WHERE id = 5"],
            Self::Trigger => {
                &["SELECT v FROM with_trigger WHERE id = 1", "SELECT v FROM triggered WHERE id = 1"]
            }
            Self::NewTrigger => &["SELECT v FROM armed WHERE id = 1", "SELECT v FROM fired WHERE id = 1"],
            Self::Cascade => &["SELECT v FROM parent WHERE id = 1", "SELECT v FROM child WHERE id = 1"],
            Self::Delete => &[
                "SELECT v FROM removed WHERE id = 1",
                "SELECT v FROM removed_child WHERE parent = 1",
                "SELECT c.v FROM removed p JOIN removed_child c ON c.parent = p.id",
            ],
            Self::Call => &["SELECT v FROM called WHERE id = 1"],
            Self::Alter => &["SELECT DEFAULT(v) FROM altered WHERE id = 1"],
            Self::Truncate => &["SELECT v FROM emptied WHERE id = 1"],
            Self::Rename => &["SELECT v FROM renamed WHERE id = 1"],
            Self::Xa => &["SELECT v FROM distributed WHERE id = 1"],
        }
    }
}

/// Creates the trigger of [`Load::NewTrigger`].
pub(crate) const NEW_TRIGGER: &str = "CREATE TRIGGER arms AFTER UPDATE ON armed FOR EACH ROW \
    UPDATE fired SET v = NEW.v WHERE id = NEW.id";

/// Makes a schema with version 1 of everything.
pub(crate) fn prepare(server: &Backend, schema: &str) {
    server.sql(&format!(
        "CREATE DATABASE {schema}; USE {schema}; \
         CREATE TABLE plain (id INT PRIMARY KEY, v BIGINT NOT NULL) ENGINE = InnoDB; \
         INSERT INTO plain VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1); \
         CREATE VIEW seen_plain AS SELECT id, v FROM plain; \
         CREATE TABLE held LIKE plain; INSERT INTO held VALUES (1, 1); \
         CREATE TABLE called LIKE plain; INSERT INTO called VALUES (1, 1); \
         CREATE PROCEDURE bump(n BIGINT) UPDATE called SET v = n WHERE id = 1; \
         CREATE TABLE with_trigger LIKE plain; CREATE TABLE triggered LIKE plain; \
         INSERT INTO with_trigger VALUES (1, 1); INSERT INTO triggered VALUES (1, 1); \
         CREATE TRIGGER carries AFTER UPDATE ON with_trigger FOR EACH ROW \
           UPDATE triggered SET v = NEW.v WHERE id = NEW.id; \
         CREATE TABLE armed LIKE plain; CREATE TABLE fired LIKE plain; \
         INSERT INTO armed VALUES (1, 1); INSERT INTO fired VALUES (1, 1); {NEW_TRIGGER}; \
         CREATE TABLE parent (id INT PRIMARY KEY, v BIGINT NOT NULL UNIQUE) ENGINE = InnoDB; \
         CREATE TABLE child (id INT PRIMARY KEY, v BIGINT NOT NULL, \
           FOREIGN KEY (v) REFERENCES parent (v) ON UPDATE CASCADE) ENGINE = InnoDB; \
         INSERT INTO parent VALUES (1, 1); INSERT INTO child VALUES (1, 1); \
         CREATE TABLE removed LIKE plain; \
         CREATE TABLE removed_child (parent INT NOT NULL, v BIGINT NOT NULL, \
           FOREIGN KEY (parent) REFERENCES removed (id) ON DELETE CASCADE) ENGINE = InnoDB; \
         INSERT INTO removed VALUES (1, 1); INSERT INTO removed_child VALUES (1, 1); \
         CREATE TABLE altered (id INT PRIMARY KEY, v BIGINT NOT NULL DEFAULT 1) ENGINE = InnoDB; \
         INSERT INTO altered VALUES (1, 0); \
         CREATE TABLE emptied LIKE plain; INSERT INTO emptied VALUES (1, 1); \
         CREATE TABLE renamed LIKE plain; INSERT INTO renamed VALUES (1, 1); \
         CREATE TABLE renamed_next LIKE plain; INSERT INTO renamed_next VALUES (1, 0); \
         CREATE TABLE distributed LIKE plain; INSERT INTO distributed VALUES (1, 1)"
    ));
}
