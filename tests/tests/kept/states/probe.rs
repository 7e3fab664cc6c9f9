//! What a session is asked that has set nothing.

use e2e::Make;
use testkit::client::{Client, ClientError};

/// An answer: rows, or the number of an error.
type Answer = Result<Vec<String>, u16>;

/// The answers of a session.
#[derive(Debug)]
pub(super) struct Probe(Vec<(&'static str, Answer)>);

/// About the statements before, first. Then about what is there by name: the errors are those of
/// something that is not there. The last one succeeds, so that no error binds the session.
const QUESTIONS: [&str; 8] = [
    "SELECT FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID(), @@identity, @@warning_count, @@error_count",
    "SHOW WARNINGS",
    "EXECUTE prepared_one",
    "HANDLER handled READ FIRST",
    "SELECT CONCAT_WS('|', IFNULL(CURRENT_ROLE(), 'none'), CURRENT_USER(), USER(), DATABASE(), \
     COLLATION(''), COLLATION(_utf8mb4''), @@autocommit, IFNULL(@a, '-'), IFNULL(@b, '-'), \
     ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) < 9, RAND() BETWEEN 1e-7 AND 1 - 1e-7, \
     IS_FREE_LOCK('lock_one'), IS_FREE_LOCK('lock_two'), 1 / 3, DATE_FORMAT('2020-01-01', '%W'), \
     WEEK('2019-12-30'), CAST(TIMESTAMP'2020-01-01 00:00:00+00:00' AS CHAR))",
    "INSERT INTO written VALUES (1, 'x')",
    "SELECT who FROM shadowed",
    "SHOW SESSION VARIABLES",
];

/// What one make has besides.
const fn more(make: Make) -> &'static [&'static str] {
    match make {
        Make::MariaDb => &[
            "SHOW PROFILES",
            "SELECT LASTVAL(numbers)",
            "SELECT @@in_transaction, @@last_gtid = ''",
            "SELECT query FROM information_schema.optimizer_trace",
        ],
        Make::MySql => &["SHOW PROFILES", "SELECT query FROM information_schema.optimizer_trace"],
    }
}

/// Variables that tell sessions or moments apart.
const OF_SESSIONS: [&str; 7] =
    ["pseudo_thread_id", "timestamp", "rand_seed", "statement_id", "gtid", "last_gtid", "tmpdir"];

impl Probe {
    /// Asks a session. Where it gets no connection, the number of that error.
    pub(super) async fn of(client: &mut Client, make: Make) -> Result<Self, u16> {
        let (last, questions) = QUESTIONS.split_last().expect("there are some");
        let mut told = Vec::new();
        for question in questions.iter().chain(more(make)).chain([last]) {
            let answer = match client.query(question).await {
                Ok(result) => Ok(result
                    .rows
                    .iter()
                    .filter(|row| is_of_all(row))
                    .map(|row| row.escape_ascii().to_string())
                    .collect()),
                Err(ClientError::Server(error)) if error.code == super::NO_CONNECTION => {
                    return Err(error.code);
                }
                Err(ClientError::Server(error)) => Err(error.code),
                Err(error) => panic!("{question}: {error}"),
            };
            told.push((*question, answer));
        }
        Ok(Self(told))
    }

    /// The first answer that is not as another session's, and that one's.
    pub(super) fn difference<'a>(
        &'a self,
        other: &'a Self,
    ) -> Option<(&'a (&'static str, Answer), &'a Answer)> {
        let mut both = self.0.iter().zip(&other.0);
        both.find(|(one, other)| one != other).map(|(one, other)| (one, &other.1))
    }
}

fn is_of_all(row: &[u8]) -> bool {
    !OF_SESSIONS.iter().any(|name| row.get(1..).is_some_and(|row| row.starts_with(name.as_bytes())))
}
