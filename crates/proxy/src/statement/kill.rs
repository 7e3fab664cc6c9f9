//! `KILL`: whom, and what of it.

use super::words::Words;
use crate::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};

/// A `KILL` statement, or `COM_PROCESS_KILL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kill {
    /// The id of a session or of a server's thread.
    pub(crate) id: u64,
    pub(crate) what: What,
    pub(crate) force: Force,
}

/// What is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The statement that runs.
    Query,
    /// The session, and what runs in it.
    Connection,
}

/// MariaDB: whether a statement may be interrupted where that leaves something half done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// As the server thinks right.
    Unsaid,
    Hard,
    Soft,
}

impl Kill {
    /// `COM_PROCESS_KILL`, and what becomes of those who vanish.
    pub(crate) fn connection(id: u32) -> Self {
        Self { id: id.into(), what: What::Connection, force: Force::Unsaid }
    }

    /// Whether the id is one of those that the proxy gives.
    pub(crate) fn is_of_a_session(&self) -> bool {
        (u64::from(FIRST_CONNECTION_ID)..=u64::from(LAST_CONNECTION_ID)).contains(&self.id)
    }

    /// The same statement for a server's thread.
    pub(crate) fn at_server(&self, thread_id: u32) -> String {
        let force = match self.force {
            Force::Unsaid => "",
            Force::Hard => "HARD ",
            Force::Soft => "SOFT ",
        };
        let what = match self.what {
            What::Query => "QUERY",
            What::Connection => "CONNECTION",
        };
        format!("KILL {force}{what} {thread_id}")
    }
}

/// Reads `KILL [HARD | SOFT] [CONNECTION | QUERY] id`, and nothing else: ids of statements
/// (`QUERY ID`), users, and ids that have to be computed are for the server.
pub(crate) fn parse(text: &[u8]) -> Option<Kill> {
    let mut words = Words::new(text);
    words.keyword("KILL").then_some(())?;
    let force = if words.keyword("HARD") {
        Force::Hard
    } else if words.keyword("SOFT") {
        Force::Soft
    } else {
        Force::Unsaid
    };
    let what = if words.keyword("QUERY") {
        What::Query
    } else {
        words.keyword("CONNECTION");
        What::Connection
    };
    let id = words.number()?;
    words.ends().then_some(Kill { id, what, force })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(id: u64) -> Kill {
        Kill { id, what: What::Query, force: Force::Unsaid }
    }

    fn connection(id: u64) -> Kill {
        Kill { id, what: What::Connection, force: Force::Unsaid }
    }

    #[test]
    fn it_is_read_as_servers_read_it() {
        for text in [
            "KILL QUERY 7",
            "kill query 7",
            "Kill\tQuery\n7;",
            "  KILL/**/QUERY/* it */7 ; ; ",
            "# now\nKILL -- really\n QUERY 7",
            "KILL /*!50000 QUERY */ 7",
            "/* a */ /* b */ KILL QUERY 007",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(query(7)), "{text}");
        }
        for text in ["KILL 7", "KILL CONNECTION 7", "kill connection 7;"] {
            assert_eq!(parse(text.as_bytes()), Some(connection(7)), "{text}");
        }
        let hard = Kill { id: 7, what: What::Query, force: Force::Hard };
        assert_eq!(parse(b"KILL HARD QUERY 7"), Some(hard));
        let soft = Kill { id: 7, what: What::Connection, force: Force::Soft };
        assert_eq!(parse(b"KILL SOFT CONNECTION 7"), Some(soft));
        assert_eq!(parse(b"KILL SOFT 7"), Some(soft));
    }

    #[test]
    fn everything_else_is_the_servers() {
        for text in [
            "",
            "KILL",
            "KILL QUERY",
            "KILL QUERY ID 7",
            "KILL USER app",
            "KILL QUERY USER app",
            "KILL @id",
            "KILL CONNECTION_ID()",
            "KILL 7 + 0",
            "KILL -7",
            "KILL 7.0",
            "KILL 0x7",
            "KILL '7'",
            "KILL ?",
            "KILL 7; SELECT 1",
            "KILL 7 8",
            "KILL QUERY HARD 7",
            "KILL 18446744073709551616",
            "KILLER 7",
            "KILL7",
            "SELECT 7",
            "KILL 7 /*",
            "KILL /*M! QUERY */ 7",
            "KILL /*!99999 QUERY */ 7",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn servers_get_it_with_their_own_id() {
        assert_eq!(query(7).at_server(42), "KILL QUERY 42");
        let hard = Kill { id: 7, what: What::Connection, force: Force::Hard };
        assert_eq!(hard.at_server(42), "KILL HARD CONNECTION 42");
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(
            id: u32,
            what in prop_oneof![Just(What::Query), Just(What::Connection)],
            force in prop_oneof![Just(Force::Unsaid), Just(Force::Hard), Just(Force::Soft)],
        ) {
            let kill = Kill { id: id.into(), what, force };
            prop_assert_eq!(parse(kill.at_server(id).as_bytes()), Some(kill));
        }
    }
}
