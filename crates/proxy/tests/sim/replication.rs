//! What servers say of transactions that they have, and how late the reader is.

use std::time::Duration;

use tokio::time::Instant;

use super::changes::UUID;
use super::model::{Answer, Database};

/// A question about transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// Whether the one with this number is there, and if a time is given, once more behind it.
    Has { number: u64, wait: Option<Duration> },
    /// All that are there.
    Executed,
    /// Those of some that are not there.
    Lacked,
    /// The last one that is there, as MariaDB writes it.
    Position,
}

/// What the expressions of a `SELECT` ask, if it is such a question.
pub(super) fn parse(rest: &str) -> Option<Question> {
    match rest {
        "@@global.gtid_executed" => return Some(Question::Executed),
        "@@SESSION.last_gtid" | "CONCAT_WS(',', @@global.gtid_binlog_pos, @@global.gtid_slave_pos)" => {
            return Some(Question::Position);
        }
        _ if rest.starts_with("GTID_SUBTRACT('") => return Some(Question::Lacked),
        _ => {}
    }
    let list = rest.strip_prefix("GTID_SUBSET('").or_else(|| rest.strip_prefix("MASTER_GTID_WAIT('"))?;
    let number = list.split('\'').next()?.rsplit('-').next()?.parse().ok()?;
    let (_, after) = rest.split_once("), ").or_else(|| rest.split_once(" = 0, ")).unzip();
    let seconds = after.map(|after| after.rsplit(", ").next()?.strip_suffix(") = 0")?.parse::<f64>().ok());
    Some(Question::Has { number, wait: seconds.flatten().map(Duration::from_secs_f64) })
}

impl Database {
    /// Number of the last transaction that a server has which is so late.
    pub(super) fn applied(&self, lag: Duration) -> u64 {
        let now = Instant::now();
        self.log.partition_point(|(at, _)| *at + lag <= now) as u64
    }

    /// Time until a server that is so late has the transaction with this number.
    pub(super) fn until_applied(&self, number: u64, lag: Duration) -> Option<Duration> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        let (committed, _) = self.log.get(at)?;
        Some((*committed + lag).saturating_duration_since(Instant::now()))
    }
}

/// The answer of a server that `had` so many transactions when it was asked, and has `then` as many
/// behind the time that it was to wait.
pub(super) fn answer(question: &Question, had: u64, then: u64) -> Answer {
    let is = |has: bool| Some(u8::from(has).to_string());
    let row = match question {
        Question::Has { number, wait: None } => vec![is(*number <= had)],
        Question::Has { number, .. } => vec![is(*number <= had), is(*number <= then)],
        Question::Executed if had > 0 => vec![Some(format!("{UUID}:1-{had}"))],
        Question::Position if had > 0 => vec![Some(format!("0-1-{had}"))],
        Question::Executed | Question::Position | Question::Lacked => vec![Some(String::new())],
    };
    let columns = (0..row.len()).map(|at| format!("answer {at}")).collect();
    Answer::Rows { columns, rows: vec![row] }
}
