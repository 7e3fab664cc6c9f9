//! `KILL`: whom, and what of it.

use super::words::Words;
use crate::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};

/// Parentheses in each other that are read.
const SUM_DEPTH_MAX: usize = 8;

/// A `KILL` statement, or `COM_PROCESS_KILL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// The id of a session or of a server's thread.
    pub id: u64,
    /// What is to end.
    pub what: What,
    /// Whether it may be interrupted at any time.
    pub force: Force,
}

/// What is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The statement that runs.
    Query,
    /// The session, and what runs in it.
    Connection,
}

/// MariaDB: whether a statement may be interrupted where that leaves something half done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// As the server thinks right.
    Unsaid,
    /// It may.
    Hard,
    /// It may not.
    Soft,
}

impl Kill {
    /// `COM_PROCESS_KILL`, and what becomes of those who vanish.
    pub fn connection(id: u32) -> Self {
        Self { id: id.into(), what: What::Connection, force: Force::Unsaid }
    }

    /// Whether the id is one of those that the proxy gives.
    pub fn is_of_a_session(&self) -> bool {
        (u64::from(FIRST_CONNECTION_ID)..=u64::from(LAST_CONNECTION_ID)).contains(&self.id)
    }

    /// The statement as text, for its own id.
    pub fn text(&self) -> String {
        format!("{}{}", self.before_id(), self.id)
    }

    /// The same statement for a server's thread.
    pub fn at_server(&self, thread_id: u32) -> String {
        format!("{}{thread_id}", self.before_id())
    }

    fn before_id(&self) -> String {
        let force = match self.force {
            Force::Unsaid => "",
            Force::Hard => "HARD ",
            Force::Soft => "SOFT ",
        };
        let what = match self.what {
            What::Query => "QUERY",
            What::Connection => "CONNECTION",
        };
        format!("KILL {force}{what} ")
    }
}

/// A `KILL` as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form<'a> {
    /// Whose session, or statement.
    pub target: Target<'a>,
    /// What is to end.
    pub what: What,
    /// Whether it may be interrupted at any time.
    pub force: Force,
}

/// How a `KILL` says whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// With a constant: a number, or a sum of numbers.
    Id(u64),
    /// With `?`.
    Parameter,
    /// With a user variable of this name.
    Variable(&'a [u8]),
    /// With `CONNECTION_ID()`: the session that says it.
    Own,
}

impl Form<'_> {
    /// The same statement with this id.
    pub const fn with(self, id: u64) -> Kill {
        Kill { id, what: self.what, force: self.force }
    }

    /// The same statement with an id that is written so.
    pub fn text_by(self, id: &[u8]) -> Vec<u8> {
        [self.with(0).before_id().as_bytes(), id].concat()
    }

    /// The statement, if it names a session of the proxy by a constant.
    pub fn of_a_session(self) -> Option<Kill> {
        let Target::Id(id) = self.target else { return None };
        Some(self.with(id)).filter(Kill::is_of_a_session)
    }
}

/// Reads `KILL [HARD | SOFT] [CONNECTION | QUERY] id`, and nothing else: ids of statements
/// (`QUERY ID`), users, and ids that have to be computed from more than constants are for the
/// server.
pub fn parse(text: &[u8]) -> Option<Form<'_>> {
    let mut words = Words::new(text);
    form(&mut words).filter(|_| words.ends())
}

/// A `KILL` in front of other statements in the same text, and the text of those.
pub fn in_front(text: &[u8]) -> Option<(Form<'_>, &[u8])> {
    let mut words = Words::new(text);
    let form = form(&mut words)?;
    words.sign(b';').then_some(())?;
    while words.sign(b';') {}
    words.next_text().filter(|rest| !rest.is_empty()).map(|rest| (form, rest))
}

fn form<'a>(words: &mut Words<'a>) -> Option<Form<'a>> {
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
    let target = if words.sign(b'?') {
        Target::Parameter
    } else if words.sign(b'@') {
        Target::Variable(words.name()?)
    } else if words.keyword("CONNECTION_ID") {
        (words.sign(b'(') && words.sign(b')')).then_some(Target::Own)?
    } else {
        Target::Id(sum(words, SUM_DEPTH_MAX)?)
    };
    Some(Form { target, what, force })
}

/// A `KILL` that a client has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreparedKill {
    /// Of a session of the proxy.
    Session(Kill),
    /// Of the session that executes it, whose id is missing here.
    Own(Kill),
    /// Of what its only parameter says: the id is missing here.
    ByParameter {
        /// The statement, without the id.
        kill: Kill,
        /// The parameter's type (`MYSQL_TYPE_*`), as it was sent last.
        kind: Option<u16>,
    },
}

impl PreparedKill {
    /// Of a text that is prepared, if it is a `KILL` that the proxy may have to carry out.
    pub fn of(text: &[u8]) -> Option<Self> {
        let form = parse(text)?;
        match form.target {
            Target::Parameter => Some(Self::ByParameter { kill: form.with(0), kind: None }),
            Target::Own => Some(Self::Own(form.with(0))),
            _ => form.of_a_session().map(Self::Session),
        }
    }
}

/// Numbers with `+` and `-` between them, in parentheses or not.
fn sum(words: &mut Words<'_>, depth: usize) -> Option<u64> {
    let mut sum = term(words, depth)?;
    loop {
        if words.sign(b'+') {
            sum = sum.checked_add(term(words, depth)?)?;
        } else if words.sign(b'-') {
            sum = sum.checked_sub(term(words, depth)?)?;
        } else {
            return Some(sum);
        }
    }
}

fn term(words: &mut Words<'_>, depth: usize) -> Option<u64> {
    if words.sign(b'(') {
        let inner = sum(words, depth.checked_sub(1)?)?;
        return words.sign(b')').then_some(inner);
    }
    if words.sign(b'\'') {
        let inner = words.number()?;
        return words.sign(b'\'').then_some(inner);
    }
    words.number()
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
        let parse = |text: &[u8]| {
            let form = parse(text)?;
            match form.target {
                Target::Id(id) => Some(form.with(id)),
                _ => None,
            }
        };
        for text in [
            "KILL QUERY 7",
            "kill query 7",
            "Kill\tQuery\n7;",
            "  KILL/**/QUERY/* it */7 ; ; ",
            "# now\nKILL -- really\n QUERY 7",
            "KILL /*!50000 QUERY */ 7",
            "/* a */ /* b */ KILL QUERY 007",
            "KILL QUERY (7)",
            "KILL QUERY((5 + 4) - '2')",
            "KILL QUERY 7+0",
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
            "KILL CONNECTION_ID() + 1",
            "KILL -7",
            "KILL 7.0",
            "KILL 0x7",
            "KILL 7; SELECT 1",
            "KILL 7 8",
            "KILL (7",
            "KILL 7)",
            "KILL 7 * 1",
            "KILL 7 + @a",
            "KILL '7",
            "KILL '7abc'",
            "KILL 5 - 12",
            "KILL ? + 1",
            "KILL @a + 1",
            "KILL @@a",
            "KILL @`a`",
            "KILL (((((((((7)))))))))",
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
    fn an_id_may_be_told_elsewhere() {
        let target = |text| parse(text).map(|form: Form<'_>| (form.target, form.what));
        assert_eq!(target(b"KILL ?"), Some((Target::Parameter, What::Connection)));
        assert_eq!(target(b"kill query ?;"), Some((Target::Parameter, What::Query)));
        assert_eq!(target(b"KILL QUERY @id"), Some((Target::Variable(b"id"), What::Query)));
        let own = PreparedKill::of(b"KILL CONNECTION_ID()");
        assert!(matches!(own, Some(PreparedKill::Own(kill)) if kill.what == What::Connection));
    }

    #[test]
    fn statements_may_stand_behind_it() {
        let of = |text: &'static str| {
            let (form, rest) = in_front(text.as_bytes())?;
            Some((form.target, std::str::from_utf8(rest).unwrap()))
        };
        assert_eq!(of("KILL 7; SELECT 1"), Some((Target::Id(7), "SELECT 1")));
        assert_eq!(of("KILL 7;/* a */;\nKILL 8;"), Some((Target::Id(7), "KILL 8;")));
        for text in
            ["KILL 7", "KILL 7;", "KILL 7 /* ; */ SELECT 1", "SELECT 1; KILL 7", "KILL 7; /*! SELECT 1 */"]
        {
            assert_eq!(of(text), None, "{text}");
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
            prop_assert_eq!(parse(kill.at_server(id).as_bytes()).map(|form| form.with(id.into())), Some(kill));
        }
    }
}
