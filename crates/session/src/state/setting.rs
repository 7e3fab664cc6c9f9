//! One thing that a client has set in its session.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{SCHEMA, switches};

/// Variables by which a statement goes as they were when it was prepared, as by modes: those of
/// MySQL 9.7's session variables of which that is so. MariaDB goes by what they are when it is
/// executed.
pub const RESOLVED: [&str; 6] = [
    "default_collation_for_utf8mb4",
    "default_week_format",
    "div_precision_increment",
    "group_concat_max_len",
    "lc_time_names",
    // Of literals with another offset than the session's.
    "time_zone",
];

/// A setting: what it replaces, and how it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable in lower case, or a word that no variable is called.
    pub key: Box<str>,
    /// The statement.
    pub text: Box<[u8]>,
}

impl Setting {
    /// Whether it matters which of such settings comes first: character sets are set by several
    /// variables, a literal is in the one of its moment, lists of switches may have some in
    /// common, to set `max_join_size` changes `sql_big_selects`, and `last_gtid` is among the
    /// variables that MariaDB's session tracks.
    pub(super) fn interplays(&self) -> bool {
        const GROUPS: [&str; 14] = [
            "names",
            "character_set",
            "collation",
            "default_collation",
            "old_mode",
            "transaction",
            "tx_",
            "sql_mode",
            switches::GROUP,
            "max_join_size",
            "sql_max_join_size",
            "sql_big_selects",
            "session_track_",
            "@",
        ];
        GROUPS.iter().any(|group| self.key.starts_with(group)) || self.text.contains(&b'"')
    }

    /// Whether it decides what a text means, at whatever server.
    pub fn is_mode(&self) -> bool {
        self.is_charset()
            || self.key.starts_with("sql_mode")
            || *self.key == *SCHEMA
            || RESOLVED.contains(&&*self.key)
    }

    /// Whether it sets character sets, in which values are read as well.
    pub fn is_charset(&self) -> bool {
        ["names", "character_set", "collation"].iter().any(|group| self.key.starts_with(group))
    }

    /// Zero for the schema, which says nothing of the other settings of a server.
    pub fn hash(&self) -> u64 {
        if *self.key == *SCHEMA {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        (&self.key, &self.text).hash(&mut hasher);
        hasher.finish()
    }
}
